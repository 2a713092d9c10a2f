//! SHOW, DESCRIBE and EXPLAIN of MySQL's.
//!
//! Definitions are the same in every place, so the first place tells them, where its answer
//! holds no physical name. Lists of tables and databases leave physical schemas out.

use std::sync::Arc;

use crate::Refusal;
use crate::bound::{Place, Target};
use crate::dispatch::{Found, Reading};
use crate::lexer::string_literal;
use crate::names::{TableName, schema_edit};
use crate::parse;
use crate::plan::{Several, Work};
use crate::route::{Pins, analyze};
use crate::utility::{self, Described, Filter, Show, ShowKind};

/// Plans a SHOW.
///
/// # Errors
/// If what it shows is not what one MySQL server would show.
pub(crate) fn show(reading: &Reading<'_>, pins: &mut Pins) -> Result<Found, Refusal> {
    let source = &reading.source;
    let Ok(show) = utility::show(reading.body, source.mode) else {
        return match reading.mentioned() {
            Some(table) => Err(table.unsupported("this form of SHOW")),
            None => Ok(Found::pass(Target::Home)),
        };
    };
    let physical = reading.catalog.has_physical_schemas();
    let shown = show.database.map(|span| name(reading, span));
    let of_manifest = shown.as_deref().or(reading.context.database.as_deref())
        == Some(reading.catalog.database());
    match show.kind {
        ShowKind::Warnings
        | ShowKind::Errors
        | ShowKind::CountWarnings
        | ShowKind::CountErrors
        | ShowKind::ProcessList
        | ShowKind::RemoraShards
        | ShowKind::RemoraInstances
        | ShowKind::RemoraConnections => Ok(Found::plain(Work::Utility)),
        ShowKind::Columns | ShowKind::Indexes | ShowKind::CreateTable => table(reading, &show),
        ShowKind::Databases => Ok(databases(reading, &show)),
        ShowKind::Tables if physical && of_manifest => Ok(tables(reading, &show)),
        ShowKind::TableStatus
            if of_manifest
                && !reading.catalog.is_one_server()
                && reading.catalog.tables().next().is_some() =>
        {
            Err(refused(
                "SHOW TABLE STATUS, whose numbers would be those of one shard,",
            ))
        }
        ShowKind::OpenTables if physical => Err(refused("SHOW OPEN TABLES")),
        ShowKind::Server if reading.catalog.is_one_server() => Ok(Found::pass(Target::Home)),
        ShowKind::Server => Err(refused("what one server alone can tell")),
        ShowKind::Status if asks_of_client(reading, &show, pins) => Ok(Found::plain(Work::Utility)),
        ShowKind::Variables | ShowKind::Status | ShowKind::Catalog => Ok(Found::pass(Target::Any)),
        _ => Ok(Found::pass(Target::Home)),
    }
}

/// SHOW STATUS LIKE of what only the sidecar knows of a client's connection.
fn asks_of_client(reading: &Reading<'_>, show: &Show, pins: &mut Pins) -> bool {
    let Some(Filter::Like(pattern)) = show.filter else {
        return false;
    };
    let token = reading.token_at(pattern);
    if let Some(literal) = token.and_then(|token| reading.source.literal(token)) {
        pins.pin(literal);
    }
    let pattern = string_literal(pattern.text(reading.body), reading.source.mode);
    let known = [&b"ssl_cipher"[..], b"ssl_version", b"com_stmt_close"];
    !show.global && known.iter().any(|name| pattern.eq_ignore_ascii_case(name))
}

fn refused(what: &str) -> Refusal {
    Refusal::unsupported(format!(
        "{what} is not supported yet; ask the MySQL server itself"
    ))
}

fn name(reading: &Reading<'_>, span: utility::Span) -> String {
    String::from_utf8_lossy(&span.name(reading.body)).into_owned()
}

/// SHOW COLUMNS, INDEX and CREATE TABLE of one table.
fn table(reading: &Reading<'_>, show: &Show) -> Result<Found, Refusal> {
    let source = &reading.source;
    let token = show
        .object
        .map(|object| object.schema.unwrap_or(object.name))
        .and_then(|first| reading.token_at(first));
    let Some(named) = token.and_then(|token| TableName::at(source, token)) else {
        return Ok(Found::pass(Target::Home));
    };
    // SHOW COLUMNS FROM t FROM shop: the database stands behind, and wins.
    let behind = show.database.and_then(|span| reading.token_at(span));
    let database = behind.and_then(|token| source.name(token));
    let effective = TableName {
        schema: database.or_else(|| named.schema.clone()),
        ..named.clone()
    };
    let Some(table) = effective.find(reading.catalog, reading.context) else {
        return Ok(Found::pass(Target::Home));
    };
    let split = table.sharded().is_some_and(|sharded| sharded.slots > 1);
    let mut edits = Vec::new();
    if split {
        edits.push(match behind {
            Some(token) => schema_edit(source, token, true, 0),
            None => named.edit(source, 0),
        });
    }
    Ok(Found {
        work: Work::Fixed(Place::FIRST),
        edits,
        tables: vec![Arc::clone(table)],
        missing: table.is_missing(),
    })
}

/// SHOW DATABASES without the physical ones and Remora's own.
fn databases(reading: &Reading<'_>, show: &Show) -> Found {
    let (header, condition) = shown(reading, show, "Database");
    let database = reading.catalog.database();
    let text = format!(
        "SELECT {header} FROM (SELECT SCHEMA_NAME AS {header} FROM information_schema.SCHEMATA \
         WHERE SCHEMA_NAME <> 'remora' AND SCHEMA_NAME NOT REGEXP '^{}__[0-9]{{4}}$') \
         `SCHEMATA`{condition} ORDER BY 1",
        database.replace('$', "[$]")
    );
    Found::plain(Work::Replace(
        Target::Home,
        text.into_bytes().into_boxed_slice(),
    ))
}

/// The header that MySQL gives a list, and the condition on what is in it.
fn shown(reading: &Reading<'_>, show: &Show, title: &str) -> (String, String) {
    let quote = |name: &str| format!("`{}`", name.replace('`', "``"));
    let text = |span: utility::Span| String::from_utf8_lossy(span.text(reading.body)).into_owned();
    match show.filter {
        None => (quote(title), String::new()),
        Some(Filter::Where(span)) => (quote(title), format!(" WHERE {}", text(span))),
        Some(Filter::Like(span)) => {
            let value = string_literal(span.text(reading.body), reading.source.mode);
            let pattern = String::from_utf8_lossy(&value).into_owned();
            let header = quote(&format!("{title} ({pattern})"));
            let condition = format!(" WHERE {header} LIKE {}", text(span));
            (header, condition)
        }
    }
}

/// SHOW TABLES of the manifest's database: the logical schema's own, and one slot's.
fn tables(reading: &Reading<'_>, show: &Show) -> Found {
    let database = reading.catalog.database();
    let (header, condition) = shown(reading, show, &format!("Tables_in_{database}"));
    let types = if show.full { ", Table_type" } else { "" };
    let physical = remora_crds::layout::schema(
        database,
        reading.catalog.most_slots(),
        remora_crds::layout::Slot(0),
    );
    let text = format!(
        "SELECT {header}{types} FROM (SELECT TABLE_NAME AS {header}, TABLE_TYPE AS Table_type \
         FROM information_schema.TABLES WHERE TABLE_SCHEMA IN ('{database}', '{physical}')) \
         `TABLES`{condition} ORDER BY 1"
    );
    Found::plain(Work::Replace(
        Target::Home,
        text.into_bytes().into_boxed_slice(),
    ))
}

/// Plans a DESCRIBE or MySQL's EXPLAIN.
///
/// # Errors
/// If what it shows is not what one MySQL server would show.
pub(crate) fn describe(reading: &Reading<'_>, pins: &mut Pins) -> Result<Found, Refusal> {
    let source = &reading.source;
    let Some(mentioned) = reading.mentioned() else {
        return Ok(Found::pass(Target::Home));
    };
    match utility::describe(reading.body, source.mode) {
        Ok(Described::Table { table, .. }) => {
            let first = table.schema.unwrap_or(table.name);
            let named = reading
                .token_at(first)
                .and_then(|it| TableName::at(source, it));
            let found = named
                .as_ref()
                .and_then(|named| Some((named, named.find(reading.catalog, reading.context)?)));
            let Some((named, table)) = found else {
                return Ok(Found::pass(Target::Home));
            };
            let split = table.sharded().is_some_and(|sharded| sharded.slots > 1);
            let edits = if split {
                vec![named.edit(source, 0)]
            } else {
                Vec::new()
            };
            Ok(Found {
                work: Work::Fixed(Place::FIRST),
                edits,
                tables: vec![Arc::clone(table)],
                missing: table.is_missing(),
            })
        }
        Ok(Described::Statement { statement, .. }) => explain(reading, statement, pins),
        _ => Err(mentioned.unsupported("this form of EXPLAIN")),
    }
}

/// MySQL's plan of a statement that concerns one place.
fn explain(
    reading: &Reading<'_>,
    statement: utility::Span,
    pins: &mut Pins,
) -> Result<Found, Refusal> {
    let source = &reading.source;
    let refused = |what: &str| {
        Refusal::unsupported(format!(
            "EXPLAIN {what} is not supported over more than one shard or physical table; EXPLAIN \
             REMORA shows what is sent where"
        ))
    };
    // JSON names schemas, and so would the physical ones be seen.
    if source
        .find(0, source.len(), &["FORMAT"])
        .is_some_and(|it| source.is(it + 2, "JSON"))
    {
        return Err(refused("FORMAT=JSON, which names physical schemas,"));
    }
    let from = reading.token_at(statement).unwrap_or(0);
    let tokens = source.tokens.get(from..).unwrap_or_default();
    let tree = parse::parse_from(source.sql, source.mode, tokens, from)
        .ok_or_else(|| refused("of a statement of this form"))?;
    let analysis = analyze(reading.catalog, reading.context, source, &tree, pins)?;
    if analysis.classes.is_empty() {
        return Ok(Found::pass(Target::Home));
    }
    let mut found = reading.rows_of(&tree, analysis, pins)?;
    if let Work::Rows(plan) = &mut found.work {
        plan.several = Several::Refused(refused("of a statement"));
    }
    Ok(found)
}
