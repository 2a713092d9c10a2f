//! CREATE, ALTER, DROP, TRUNCATE and RENAME.
//!
//! A manifest table is made, changed and dropped in every place where its rows can be. What
//! would break the promise that equal keys meet, or that a unique key is unique, is refused.

mod alter;
mod create;
pub(crate) mod definition;

use std::sync::Arc;

pub(crate) use create::DEFAULT_COLLATION;

use crate::Refusal;
use crate::bound::Target;
use crate::catalog::Table;
use crate::dispatch::{Found, Reading};
use crate::names::{TableName, mentioned};
use crate::plan::{DdlPlan, Work};
use crate::utility::{Ddl, DdlObject, DdlVerb, TableName as Name, ddl};

/// Plans a statement of data definition.
///
/// # Errors
/// If it is not supported for the tables that it names.
pub(crate) fn plan(reading: &Reading<'_>) -> Result<Found, Refusal> {
    let source = &reading.source;
    let Ok(parsed) = ddl(reading.body, source.mode) else {
        return match reading.mentioned() {
            Some(table) => Err(table.unsupported("this form of data definition")),
            None => Ok(Found::pass(Target::Home)),
        };
    };
    if parsed.object == DdlObject::Database {
        return database(reading, &parsed);
    }
    let names: Vec<TableName> = own_tables(&parsed)
        .into_iter()
        .filter_map(|name| table_name(reading, name))
        .collect();
    let found: Vec<&Arc<Table>> = names
        .iter()
        .filter_map(|name| name.find(reading.catalog, reading.context))
        .collect();
    let Some(first) = found.first().copied() else {
        return elsewhere(reading, &parsed, None);
    };
    if found.len() < names.len() {
        return Err(first
            .unsupported("data definition of several tables, not all of them in the manifest,"));
    }
    elsewhere(reading, &parsed, Some(first))?;
    check(reading, &parsed, first, &names)?;
    tables(reading, &parsed, &names, &found)
}

/// The names of the tables that the statement itself makes, changes or drops.
fn own_tables(parsed: &Ddl) -> Vec<Name> {
    match parsed.object {
        DdlObject::Table => parsed.names.clone(),
        DdlObject::Index => parsed.on.into_iter().collect(),
        _ => Vec::new(),
    }
}

fn table_name(reading: &Reading<'_>, name: Name) -> Option<TableName> {
    let first = name.schema.unwrap_or(name.name);
    TableName::at(&reading.source, reading.token_at(first)?)
}

/// A statement whose own tables are not the manifest's, or (`own`) the rest of one whose are:
/// no manifest table may be named in it otherwise.
fn elsewhere(
    reading: &Reading<'_>,
    parsed: &Ddl,
    own: Option<&Arc<Table>>,
) -> Result<Found, Refusal> {
    let source = &reading.source;
    let Some(own) = own else {
        return match mentioned(reading.catalog, reading.context, source, 0) {
            Some(table) => Err(table.unsupported("data definition that refers to it")),
            None => Ok(Found::pass(Target::Home)),
        };
    };
    let refused = |what: &str| Err(own.unsupported(what));
    if parsed.temporary {
        return refused("a temporary table of its name");
    }
    if !parsed.references.is_empty() {
        return refused("a foreign key");
    }
    if parsed.like.is_some() || parsed.query.is_some() {
        return refused("CREATE TABLE … LIKE or SELECT");
    }
    if !parsed.others.is_empty() {
        return refused("a partition or MERGE table that refers to another table");
    }
    if !parsed.new_names.is_empty() {
        return refused("RENAME (the manifest has its name)");
    }
    Ok(Found::pass(Target::Home))
}

fn check(
    reading: &Reading<'_>,
    parsed: &Ddl,
    table: &Table,
    names: &[TableName],
) -> Result<(), Refusal> {
    let next = names.first().map_or(0, |name| name.next);
    match (parsed.object, parsed.verb) {
        (DdlObject::Table, DdlVerb::Create) => create::check(reading, table, next),
        (DdlObject::Table, DdlVerb::Alter) => alter::check(reading, table, next),
        (DdlObject::Index, DdlVerb::Create) => create::check_index(reading, table, next),
        _ => Ok(()),
    }
}

/// The statement for every place of its tables.
fn tables(
    reading: &Reading<'_>,
    parsed: &Ddl,
    names: &[TableName],
    found: &[&Arc<Table>],
) -> Result<Found, Refusal> {
    let slots = |table: &Arc<Table>| table.sharded().map_or(1, |sharded| sharded.slots);
    let Some(first) = found.first().copied() else {
        return Ok(Found::pass(Target::Home));
    };
    let count = slots(first);
    if found.iter().any(|table| slots(table) != count) {
        return Err(first.unsupported(
            "one statement over tables with different numbers of physical tables (name one table \
             in each statement)",
        ));
    }
    let edits = if count > 1 {
        let each = names.iter().enumerate();
        each.map(|(class, name)| name.edit(&reading.source, class))
            .collect()
    } else {
        Vec::new()
    };
    let of_table = parsed.object == DdlObject::Table;
    let creates = parsed.verb == DdlVerb::Create && of_table;
    let restarts = matches!(parsed.verb, DdlVerb::Drop | DdlVerb::Truncate) && of_table;
    Ok(Found {
        work: Work::Ddl(DdlPlan {
            slots: count,
            creates,
            restarts,
        }),
        edits,
        tables: found.iter().copied().map(Arc::clone).collect(),
        missing: false,
    })
}

/// Databases other than the manifest's live on the first shard.
fn database(reading: &Reading<'_>, parsed: &Ddl) -> Result<Found, Refusal> {
    let catalog = reading.catalog;
    let name = parsed
        .names
        .first()
        .map(|name| name.name.name(reading.body));
    let name = name.map(|name| String::from_utf8_lossy(&name).into_owned());
    // ALTER DATABASE without a name means the current one.
    let name = name
        .or_else(|| reading.context.database.clone())
        .unwrap_or_default();
    let changes = parsed.verb != DdlVerb::Create;
    if changes && name == catalog.database() {
        return Err(Refusal::unsupported(format!(
            "{name} is the manifest's database and is spread over the shards; it is neither \
             dropped nor altered by SQL"
        )));
    }
    if catalog.is_physical_schema(&name) || name.eq_ignore_ascii_case("remora") {
        return Err(Refusal::unsupported(format!(
            "{name} is a name that Remora keeps for itself; choose another"
        )));
    }
    Ok(Found::pass(Target::Home))
}
