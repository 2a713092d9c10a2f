//! ALTER TABLE of manifest tables.

use crate::Refusal;
use crate::catalog::Table;
use crate::dispatch::Reading;
use crate::lexer::TokenKind;

use super::create::{check_column, check_unique};
use super::definition::{Item, item};

/// Checks the changes that begin at token `from`.
pub(super) fn check(reading: &Reading<'_>, table: &Table, from: usize) -> Result<(), Refusal> {
    let source = &reading.source;
    for (from, to) in source.list(from, source.len()) {
        change(reading, table, from, to)?;
    }
    Ok(())
}

fn change(reading: &Reading<'_>, table: &Table, from: usize, to: usize) -> Result<(), Refusal> {
    let source = &reading.source;
    let column = |token: usize| {
        if source.is(token, "COLUMN") {
            token + 1
        } else {
            token
        }
    };
    if source.is_any(from, &["DROP", "MODIFY", "CHANGE", "ALTER"]) {
        return existing(reading, table, from, column(from + 1));
    }
    if source.is(from, "RENAME") {
        let renames_key = source.is(from + 1, "COLUMN")
            && source
                .name(from + 2)
                .is_some_and(|name| is_fixed(table, &name));
        return if renames_key {
            Err(fixed(table))
        } else {
            Ok(())
        };
    }
    if source.is(from, "ADD") {
        return add(reading, table, column(from + 1), to);
    }
    if source.are(from, &["CONVERT", "TO"]) {
        return Err(table.unsupported(
            "CONVERT TO CHARACTER SET, which would change what its key is hashed by,",
        ));
    }
    if source.is_any(from, &["DISCARD", "IMPORT", "EXCHANGE"]) {
        return Err(table.unsupported("moving of tablespaces and partitions"));
    }
    Ok(())
}

/// DROP, MODIFY, CHANGE and ALTER of a column.
fn existing(
    reading: &Reading<'_>,
    table: &Table,
    verb: usize,
    column: usize,
) -> Result<(), Refusal> {
    let source = &reading.source;
    let other = [
        "INDEX",
        "KEY",
        "PRIMARY",
        "FOREIGN",
        "CHECK",
        "CONSTRAINT",
        "PARTITION",
    ];
    if source.is_any(column, &other) {
        return Ok(());
    }
    let Some(name) = source.name(column) else {
        return Ok(());
    };
    if is_fixed(table, &name) {
        return Err(fixed(table));
    }
    if source.is_any(verb, &["MODIFY", "CHANGE"]) {
        let from = column + if source.is(verb, "CHANGE") { 2 } else { 1 };
        return check_column(reading, table, &name, (from, end_of(reading, from)));
    }
    Ok(())
}

/// ADD of columns and keys.
fn add(reading: &Reading<'_>, table: &Table, from: usize, to: usize) -> Result<(), Refusal> {
    let source = &reading.source;
    let items = if source.kind(from) == Some(TokenKind::LeftParen) {
        let closing = source.closing(from);
        source.list(from + 1, closing.unwrap_or(to))
    } else {
        vec![(from, to)]
    };
    for (from, to) in items {
        match item(source, from, to) {
            Some(Item::Unique { columns }) => check_unique(table, &columns)?,
            Some(Item::Column { name, from, to }) => {
                check_column(reading, table, &name, (from, to))?;
            }
            Some(Item::Other) => {}
            None => return Err(table.unsupported("ALTER TABLE of this form")),
        }
    }
    Ok(())
}

/// Where the change ends that holds token `from`.
fn end_of(reading: &Reading<'_>, from: usize) -> usize {
    let source = &reading.source;
    source
        .list(from, source.len())
        .first()
        .map_or(from, |(_, to)| *to)
}

/// Whether the manifest depends on a column: then it stays as it is.
fn is_fixed(table: &Table, column: &str) -> bool {
    table.is_key(column)
        || table
            .generated
            .as_ref()
            .is_some_and(|generated| crate::catalog::same_name(&generated.column, column))
}

fn fixed(table: &Table) -> Refusal {
    Refusal::unsupported(format!(
        "the sharding key and the generated column of {} are fixed by the manifest: rows would \
         be looked for where they are not; make a new table with another key",
        table.name
    ))
}
