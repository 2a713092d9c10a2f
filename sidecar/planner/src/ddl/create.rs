//! CREATE TABLE and CREATE INDEX of manifest tables.

use crate::Refusal;
use crate::catalog::{Table, same_name};
use crate::dispatch::Reading;
use crate::keys::KeyType;
use crate::lexer::TokenKind;
use crate::write::VARYING;

use super::definition::{Item, collation, column_type, holds, item, key_columns};

/// What the database's tables have where CREATE TABLE says nothing.
pub(crate) const DEFAULT_COLLATION: &str = "utf8mb4_0900_ai_ci";

/// Checks the definition that begins at token `open`.
pub(super) fn check(reading: &Reading<'_>, table: &Table, open: usize) -> Result<(), Refusal> {
    let source = &reading.source;
    let unread = || table.unsupported("a definition of this form");
    if source.kind(open) != Some(TokenKind::LeftParen) {
        return Err(unread());
    }
    let closing = source.closing(open).ok_or_else(unread)?;
    if table.sharded().is_none()
        && let Some(function) = source.calls(&VARYING)
    {
        return Err(table.unsupported(&format!(
            "a default by {function}(), which differs from shard to shard,"
        )));
    }
    let options = collation(source, closing + 1, source.len());
    let mut key_found = table.sharded().is_none();
    let mut generated_found = table.generated.is_none();
    for (from, to) in source.list(open + 1, closing) {
        match item(source, from, to).ok_or_else(unread)? {
            Item::Unique { columns } => check_unique(table, &columns)?,
            Item::Column { name, from, to } => {
                if source.find(from, to, &["REFERENCES"]).is_some() {
                    return Err(table.unsupported("a foreign key"));
                }
                check_column(reading, table, &name, (from, to))?;
                generated_found |= is_generated(table, &name);
                if table.is_key(&name) {
                    key_found = true;
                    let kind = column_type(source, from, to).ok_or_else(unread)?;
                    let collation = collation(source, from, to).or_else(|| options.clone());
                    check_key_type(table, &kind, collation.as_deref())?;
                }
            }
            Item::Other => {}
        }
    }
    if !key_found {
        return Err(no_column(
            table,
            table.sharded().map_or("", |sharded| &sharded.key),
        ));
    }
    match &table.generated {
        Some(generated) if !generated_found => Err(no_column(table, &generated.column)),
        _ => Ok(()),
    }
}

fn no_column(table: &Table, column: &str) -> Refusal {
    Refusal::unsupported(format!(
        "the manifest names the column {column} of {}, which this definition does not have; add \
         the column",
        table.name
    ))
}

fn is_generated(table: &Table, column: &str) -> bool {
    table
        .generated
        .as_ref()
        .is_some_and(|generated| same_name(&generated.column, column))
}

/// A column's own attributes: PRIMARY KEY, UNIQUE, AUTO_INCREMENT.
pub(super) fn check_column(
    reading: &Reading<'_>,
    table: &Table,
    name: &str,
    (from, to): (usize, usize),
) -> Result<(), Refusal> {
    let source = &reading.source;
    let has = |word: &str| source.find(from, to, &[word]).is_some();
    if has("UNIQUE") || has("PRIMARY") || has("KEY") || source.is(from, "SERIAL") {
        check_unique(table, &[name.to_owned()])?;
    }
    let counts = has("AUTO_INCREMENT") || source.is(from, "SERIAL");
    if counts && table.sharded().is_some() && !is_generated(table, name) {
        return Err(Refusal::unsupported(format!(
            "AUTO_INCREMENT in {} would give the same values on every shard; name the column in \
             the manifest's generatedKey, or leave AUTO_INCREMENT out",
            table.name
        )));
    }
    Ok(())
}

/// A unique key is unique only within a shard, unless it holds the sharding key: then equal
/// rows meet. Generated values are unique by themselves.
pub(super) fn check_unique(table: &Table, columns: &[String]) -> Result<(), Refusal> {
    let Some(sharded) = table.sharded() else {
        return Ok(());
    };
    let generated = table
        .generated
        .as_ref()
        .is_some_and(|generated| holds(columns, &generated.column));
    if holds(columns, &sharded.key) || generated {
        return Ok(());
    }
    Err(Refusal::unsupported(format!(
        "a unique key of {} that does not hold its sharding key {} cannot be kept unique over \
         the shards; add the column to the key, or make it a plain index",
        table.name, sharded.key
    )))
}

/// The key must be of a type that can be hashed, and of the same as tables it is colocated with.
fn check_key_type(table: &Table, kind: &str, collation: Option<&str>) -> Result<(), Refusal> {
    let text = [
        "char",
        "varchar",
        "tinytext",
        "text",
        "mediumtext",
        "longtext",
    ];
    let word = kind.split(['(', ' ']).next().unwrap_or_default();
    let collation = text
        .contains(&word)
        .then(|| collation.unwrap_or(DEFAULT_COLLATION));
    match KeyType::declared(kind, collation) {
        Ok(_) => Ok(()),
        Err(reason) => Err(Refusal::unsupported(format!(
            "the sharding key {} of {} cannot be of this type: {reason}",
            table.sharded().map_or("", |sharded| &sharded.key),
            table.name
        ))),
    }
}

/// CREATE INDEX: `table` is read, and the columns open at `open`.
pub(super) fn check_index(
    reading: &Reading<'_>,
    table: &Table,
    open: usize,
) -> Result<(), Refusal> {
    let source = &reading.source;
    if !source.is(1, "UNIQUE") {
        return Ok(());
    }
    let columns =
        key_columns(source, open).ok_or_else(|| table.unsupported("an index of this form"))?;
    check_unique(table, &columns)
}
