//! What UPDATE and ON DUPLICATE KEY UPDATE may set: anything but the sharding key.

use sqlparser::ast::{AssignmentTarget, Delete, Update};

use crate::Refusal;
use crate::catalog::{Table, same_name};
use crate::lexer::TokenKind;
use crate::route::Analysis;
use crate::text::Source;

/// Refuses to change a sharding key: its row would have to move.
fn changes_key(table: &Table, column: &str) -> Refusal {
    Refusal::unsupported(format!(
        "{column} is the sharding key of {}, and changing it would move the row; delete the row \
         and insert it anew",
        table.name
    ))
}

/// Refuses to change a generated value: nobody could keep it unique over the shards.
fn changes_generated(table: &Table, column: &str) -> Refusal {
    Refusal::unsupported(format!(
        "{column} is the generated column of {}, and a value that is not made cannot be kept \
         unique over the shards; leave it as it is",
        table.name
    ))
}

/// Checks the assignments of ON DUPLICATE KEY UPDATE, which begin at `from`. Gives whether one
/// of them is `column = LAST_INSERT_ID(column)` of the generated column.
pub(super) fn check_on_duplicate(
    source: &Source<'_>,
    table: &Table,
    from: usize,
) -> Result<bool, Refusal> {
    let one_schema = table.sharded().is_none_or(|sharded| sharded.slots == 1);
    if !one_schema && names_a_database(source, from) {
        return Err(Refusal::unsupported(format!(
            "a column that ON DUPLICATE KEY UPDATE names with its database is not supported for \
             {}; name it with its table alone",
            table.name
        )));
    }
    let mut keeps_answer = false;
    for (start, end) in source.list(from, source.len()) {
        let equal = (start..end).find(|token| source.kind(*token) == Some(TokenKind::Equal));
        let name = equal
            .and_then(|equal| source.name(equal.checked_sub(1)?))
            .unwrap_or_default();
        let same = equal.is_some_and(|equal| is_itself(source, equal + 1, end, &name));
        let generated = table
            .generated
            .as_ref()
            .is_some_and(|it| same_name(&it.column, &name));
        keeps_answer |= generated && same;
        if table.is_key(&name) && !same {
            return Err(changes_key(table, &name));
        }
        if generated && !same {
            return Err(changes_generated(table, &name));
        }
    }
    Ok(keeps_answer)
}

/// Whether a name of three parts stands behind `from`: a column with its database, which is
/// not the one where the physical table lives.
fn names_a_database(source: &Source<'_>, from: usize) -> bool {
    let dot = |token: usize| source.kind(token) == Some(TokenKind::Dot);
    (from..source.len()).any(|token| dot(token) && dot(token + 2))
}

/// Whether the tokens are the column itself, or LAST_INSERT_ID of it.
fn is_itself(source: &Source<'_>, from: usize, to: usize, column: &str) -> bool {
    let is_column = |token: usize| {
        source
            .name(token)
            .is_some_and(|name| same_name(&name, column))
    };
    match to.checked_sub(from) {
        Some(1) => is_column(from),
        Some(4) => {
            source.is(from, "LAST_INSERT_ID")
                && source.kind(from + 1) == Some(TokenKind::LeftParen)
                && is_column(from + 2)
        }
        _ => false,
    }
}

/// Checks the assignments of an UPDATE.
pub(crate) fn check_update(analysis: &Analysis, update: &Update) -> Result<(), Refusal> {
    let tables = analysis
        .blocks
        .first()
        .map_or(&[][..], |block| &block.tables);
    for assignment in &update.assignments {
        let AssignmentTarget::ColumnName(name) = &assignment.target else {
            return Err(Refusal::unsupported("this form of SET is not supported"));
        };
        let parts: Vec<&str> = name
            .0
            .iter()
            .filter_map(|part| part.as_ident())
            .map(|ident| ident.value.as_str())
            .collect();
        let Some((column, qualifier)) = parts.split_last() else {
            continue;
        };
        for table in tables {
            let found = table.table_use.and_then(|it| analysis.uses.get(it));
            let named = qualifier
                .last()
                .is_none_or(|qualifier| *qualifier == table.name);
            let Some(found) = found.filter(|_| named) else {
                continue;
            };
            if found.table.is_key(column) {
                return Err(changes_key(&found.table, column));
            }
            let generated = found.table.generated.as_ref();
            if generated.is_some_and(|it| same_name(&it.column, column)) {
                return Err(changes_generated(&found.table, column));
            }
            let broadcast = found.table.sharded().is_none();
            let its_own = !qualifier.is_empty() || found.table.column(column).is_some();
            if broadcast && its_own && !analysis.classes.is_empty() {
                return Err(Refusal::unsupported(format!(
                    "{} is on every shard and cannot be changed by a statement that reads a \
                     sharded table; read first, then UPDATE it by itself",
                    found.table.name
                )));
            }
        }
    }
    Ok(())
}

/// Checks the targets of a DELETE: rows of a broadcast table are not deleted by what is found
/// in a sharded one, since every shard would find something else.
pub(crate) fn check_delete(analysis: &Analysis, delete: &Delete) -> Result<(), Refusal> {
    let tables = analysis
        .blocks
        .first()
        .map_or(&[][..], |block| &block.tables);
    let multiple = !delete.tables.is_empty() || delete.using.is_some();
    let broadcast = tables
        .iter()
        .filter_map(|table| analysis.uses.get(table.table_use?))
        .find(|found| found.table.sharded().is_none());
    match broadcast {
        Some(found) if multiple => Err(Refusal::unsupported(format!(
            "DELETE over {}, which is on every shard, and a sharded table is not supported; \
             read first, then DELETE by key",
            found.table.name
        ))),
        _ => Ok(()),
    }
}
