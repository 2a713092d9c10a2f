//! SHOW.

use super::cursor::Cursor;
use super::set::Scope;
use super::span::{Span, TableName, Unparsed};
use crate::lexer::{SqlMode, TokenKind};

/// What is shown.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ShowKind {
    /// DATABASES or SCHEMAS.
    Databases,
    /// TABLES.
    Tables,
    /// TABLE STATUS.
    TableStatus,
    /// OPEN TABLES.
    OpenTables,
    /// COLUMNS or FIELDS of a table.
    Columns,
    /// INDEX, INDEXES or KEYS of a table.
    Indexes,
    /// TRIGGERS.
    Triggers,
    /// EVENTS.
    Events,
    /// CREATE TABLE.
    CreateTable,
    /// CREATE VIEW.
    CreateView,
    /// CREATE DATABASE.
    CreateDatabase,
    /// CREATE of a procedure, function, trigger, event or account.
    CreateOther,
    /// VARIABLES.
    Variables,
    /// STATUS.
    Status,
    /// WARNINGS, with a LIMIT maybe.
    Warnings,
    /// ERRORS, with a LIMIT maybe.
    Errors,
    /// COUNT(*) WARNINGS.
    CountWarnings,
    /// COUNT(*) ERRORS.
    CountErrors,
    /// PROCESSLIST.
    ProcessList,
    /// GRANTS.
    Grants,
    /// PROCEDURE STATUS, FUNCTION STATUS or the code of either.
    Routines,
    /// CHARACTER SET, COLLATION, ENGINES and others that are the same on every server.
    Catalog,
    /// What one server alone can tell: its logs, replicas, storage engine's state, profiles.
    Server,
    /// REMORA SHARDS.
    RemoraShards,
    /// REMORA INSTANCES.
    RemoraInstances,
    /// SHOW REMORA CONNECTIONS.
    RemoraConnections,
}

/// The condition on what is shown.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Filter {
    /// LIKE with this string.
    Like(Span),
    /// WHERE with this expression.
    Where(Span),
}

/// A SHOW.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Show {
    /// What is shown.
    pub kind: ShowKind,
    /// FULL or EXTENDED stands in front.
    pub full: bool,
    /// GLOBAL, of VARIABLES and STATUS.
    pub global: bool,
    /// The table or other object shown.
    pub object: Option<TableName>,
    /// The database behind FROM or IN.
    pub database: Option<Span>,
    /// LIKE or WHERE.
    pub filter: Option<Filter>,
}

/// Reads a statement of [`super::StatementKind::Show`] or `ShowRemora`.
///
/// # Errors
/// [`Unparsed`] where it is not of MySQL's grammar or not known here.
pub fn show(sql: &[u8], mode: SqlMode) -> Result<Show, Unparsed> {
    let mut cursor = Cursor::new(sql, mode);
    cursor.expect_word("SHOW")?;
    let mut show = Show {
        kind: ShowKind::Catalog,
        full: false,
        global: false,
        object: None,
        database: None,
        filter: None,
    };
    if cursor.word("REMORA") {
        show.kind = remora(&mut cursor)?;
        cursor.expect_end()?;
        return Ok(show);
    }
    while cursor.any(&["FULL", "EXTENDED"]) {
        show.full = true;
    }
    let scope = scope(&mut cursor);
    show.global = scope == Some(Scope::Global);
    show.kind = kind(&mut cursor, &mut show)?;
    match show.kind {
        ShowKind::Warnings | ShowKind::Errors | ShowKind::Grants | ShowKind::Server => {
            cursor.rest()?;
            return Ok(show);
        }
        ShowKind::Databases
        | ShowKind::Variables
        | ShowKind::Status
        | ShowKind::Routines
        | ShowKind::Catalog => show.filter = filter(&mut cursor)?,
        ShowKind::Tables
        | ShowKind::TableStatus
        | ShowKind::OpenTables
        | ShowKind::Triggers
        | ShowKind::Events => {
            show.database = from_database(&mut cursor)?;
            show.filter = filter(&mut cursor)?;
        }
        ShowKind::Columns | ShowKind::Indexes => {
            show.object = Some(from_table(&mut cursor)?);
            show.database = from_database(&mut cursor)?;
            show.filter = filter(&mut cursor)?;
        }
        _ => {}
    }
    let scoped = matches!(show.kind, ShowKind::Variables | ShowKind::Status);
    if scope.is_some() && !scoped {
        return Err(Unparsed);
    }
    cursor.expect_end()?;
    Ok(show)
}

fn remora(cursor: &mut Cursor<'_>) -> Result<ShowKind, Unparsed> {
    if cursor.word("SHARDS") {
        Ok(ShowKind::RemoraShards)
    } else if cursor.word("INSTANCES") {
        Ok(ShowKind::RemoraInstances)
    } else if cursor.word("CONNECTIONS") {
        Ok(ShowKind::RemoraConnections)
    } else {
        Err(Unparsed)
    }
}

fn scope(cursor: &mut Cursor<'_>) -> Option<Scope> {
    if cursor.word("GLOBAL") {
        Some(Scope::Global)
    } else {
        cursor.any(&["SESSION", "LOCAL"]).then_some(Scope::Session)
    }
}

fn kind(cursor: &mut Cursor<'_>, show: &mut Show) -> Result<ShowKind, Unparsed> {
    /// The words of a kind without an object of its own.
    const KINDS: [(&[&str], ShowKind); 37] = [
        (&["DATABASES"], ShowKind::Databases),
        (&["SCHEMAS"], ShowKind::Databases),
        (&["TABLES"], ShowKind::Tables),
        (&["TABLE", "STATUS"], ShowKind::TableStatus),
        (&["OPEN", "TABLES"], ShowKind::OpenTables),
        (&["COLUMNS"], ShowKind::Columns),
        (&["FIELDS"], ShowKind::Columns),
        (&["INDEX"], ShowKind::Indexes),
        (&["INDEXES"], ShowKind::Indexes),
        (&["KEYS"], ShowKind::Indexes),
        (&["TRIGGERS"], ShowKind::Triggers),
        (&["EVENTS"], ShowKind::Events),
        (&["VARIABLES"], ShowKind::Variables),
        (&["STATUS"], ShowKind::Status),
        (&["WARNINGS"], ShowKind::Warnings),
        (&["ERRORS"], ShowKind::Errors),
        (&["PROCESSLIST"], ShowKind::ProcessList),
        (&["GRANTS"], ShowKind::Grants),
        (&["PROCEDURE", "STATUS"], ShowKind::Routines),
        (&["FUNCTION", "STATUS"], ShowKind::Routines),
        (&["CHARACTER", "SET"], ShowKind::Catalog),
        (&["CHARSET"], ShowKind::Catalog),
        (&["COLLATION"], ShowKind::Catalog),
        (&["ENGINES"], ShowKind::Catalog),
        (&["STORAGE", "ENGINES"], ShowKind::Catalog),
        (&["PLUGINS"], ShowKind::Catalog),
        (&["PRIVILEGES"], ShowKind::Catalog),
        (&["ENGINE"], ShowKind::Server),
        (&["BINARY"], ShowKind::Server),
        (&["BINLOG"], ShowKind::Server),
        (&["RELAYLOG"], ShowKind::Server),
        (&["REPLICA"], ShowKind::Server),
        (&["REPLICAS"], ShowKind::Server),
        (&["PROFILE"], ShowKind::Server),
        (&["PROFILES"], ShowKind::Server),
        (&["PROCEDURE", "CODE"], ShowKind::Server),
        (&["FUNCTION", "CODE"], ShowKind::Server),
    ];
    if cursor.word("CREATE") {
        return create(cursor, show);
    }
    if cursor.word("COUNT") {
        cursor.expect(TokenKind::LeftParen)?;
        cursor.expect(TokenKind::Star)?;
        cursor.expect(TokenKind::RightParen)?;
        let warnings = cursor.word("WARNINGS");
        if !warnings {
            cursor.expect_word("ERRORS")?;
        }
        return Ok(if warnings {
            ShowKind::CountWarnings
        } else {
            ShowKind::CountErrors
        });
    }
    let found = KINDS.into_iter().find(|(words, _)| cursor.words(words));
    found.map(|(_, kind)| kind).ok_or(Unparsed)
}

fn create(cursor: &mut Cursor<'_>, show: &mut Show) -> Result<ShowKind, Unparsed> {
    if cursor.any(&["DATABASE", "SCHEMA"]) {
        cursor.words(&["IF", "NOT", "EXISTS"]);
        show.database = Some(cursor.name()?);
        return Ok(ShowKind::CreateDatabase);
    }
    if cursor.word("USER") {
        cursor.rest()?;
        return Ok(ShowKind::CreateOther);
    }
    let kind = if cursor.word("TABLE") {
        ShowKind::CreateTable
    } else if cursor.word("VIEW") {
        ShowKind::CreateView
    } else if cursor.any(&["PROCEDURE", "FUNCTION", "TRIGGER", "EVENT", "LIBRARY"]) {
        ShowKind::CreateOther
    } else {
        return Err(Unparsed);
    };
    show.object = Some(cursor.table_name()?);
    Ok(kind)
}

fn from_table(cursor: &mut Cursor<'_>) -> Result<TableName, Unparsed> {
    if !cursor.any(&["FROM", "IN"]) {
        return Err(Unparsed);
    }
    cursor.table_name()
}

fn from_database(cursor: &mut Cursor<'_>) -> Result<Option<Span>, Unparsed> {
    if cursor.any(&["FROM", "IN"]) {
        cursor.name().map(Some)
    } else {
        Ok(None)
    }
}

fn filter(cursor: &mut Cursor<'_>) -> Result<Option<Filter>, Unparsed> {
    if cursor.word("LIKE") {
        return Ok(Some(Filter::Like(cursor.expect(TokenKind::String)?.into())));
    }
    if cursor.word("WHERE") {
        return Ok(Some(Filter::Where(cursor.rest()?.ok_or(Unparsed)?)));
    }
    Ok(None)
}
