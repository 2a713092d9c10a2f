//! LOCK TABLES, LOAD DATA, and the upkeep of tables.

use super::cursor::Cursor;
use super::span::{Span, TableName, Unparsed};
use crate::lexer::{SqlMode, TokenKind};

/// One table of a LOCK TABLES.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LockedTable {
    /// The table.
    pub table: TableName,
    /// Its alias.
    pub alias: Option<Span>,
    /// WRITE, not READ.
    pub write: bool,
}

/// Reads a LOCK TABLES.
///
/// # Errors
/// [`Unparsed`] where it is not of MySQL's grammar.
pub fn lock_tables(sql: &[u8], mode: SqlMode) -> Result<Vec<LockedTable>, Unparsed> {
    let mut cursor = Cursor::new(sql, mode);
    cursor.expect_word("LOCK")?;
    if !cursor.any(&["TABLES", "TABLE"]) {
        return Err(Unparsed);
    }
    let mut tables = Vec::new();
    loop {
        let table = cursor.table_name()?;
        let alias = match cursor.word("AS") || !cursor.is_any(&["READ", "WRITE"]) {
            true => Some(cursor.name()?),
            false => None,
        };
        let write = cursor.word("WRITE");
        if !write {
            cursor.expect_word("READ")?;
            cursor.word("LOCAL");
        }
        tables.push(LockedTable {
            table,
            alias,
            write,
        });
        if !cursor.kind(TokenKind::Comma) {
            cursor.expect_end()?;
            return Ok(tables);
        }
    }
}

/// What is done to tables.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MaintenanceVerb {
    /// ANALYZE TABLE.
    Analyze,
    /// OPTIMIZE TABLE.
    Optimize,
    /// CHECK TABLE.
    Check,
    /// REPAIR TABLE.
    Repair,
    /// CHECKSUM TABLE.
    Checksum,
}

/// The upkeep of some tables.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Maintenance {
    /// What is done.
    pub verb: MaintenanceVerb,
    /// The tables.
    pub tables: Vec<TableName>,
    /// What follows the tables (QUICK, UPDATE HISTOGRAM …).
    pub options: Option<Span>,
}

/// Reads a statement of [`super::StatementKind::Maintenance`].
///
/// # Errors
/// [`Unparsed`] where it is not of MySQL's grammar.
pub fn maintenance(sql: &[u8], mode: SqlMode) -> Result<Maintenance, Unparsed> {
    use MaintenanceVerb as V;
    let mut cursor = Cursor::new(sql, mode);
    let verbs = [
        ("ANALYZE", V::Analyze),
        ("OPTIMIZE", V::Optimize),
        ("CHECK", V::Check),
        ("REPAIR", V::Repair),
        ("CHECKSUM", V::Checksum),
    ];
    let verb = verbs
        .into_iter()
        .find(|(word, _)| cursor.word(word))
        .map(|(_, verb)| verb);
    let verb = verb.ok_or(Unparsed)?;
    if matches!(verb, V::Analyze | V::Optimize | V::Repair) {
        cursor.any(&["NO_WRITE_TO_BINLOG", "LOCAL"]);
    }
    if !cursor.any(&["TABLE", "TABLES"]) {
        return Err(Unparsed);
    }
    let tables = cursor.table_names()?;
    Ok(Maintenance {
        verb,
        tables,
        options: cursor.rest()?,
    })
}

/// A LOAD DATA.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LoadData {
    /// LOCAL: the client sends the file.
    pub local: bool,
    /// The table that is filled.
    pub table: TableName,
}

/// Reads a LOAD DATA or LOAD XML.
///
/// # Errors
/// [`Unparsed`] where it is not of MySQL's grammar.
pub fn load_data(sql: &[u8], mode: SqlMode) -> Result<LoadData, Unparsed> {
    let mut cursor = Cursor::new(sql, mode);
    cursor.expect_word("LOAD")?;
    if !cursor.any(&["DATA", "XML"]) {
        return Err(Unparsed);
    }
    cursor.any(&["LOW_PRIORITY", "CONCURRENT"]);
    // MySQL 9 also reads from elsewhere (URL, S3): not of the form known here.
    cursor.any(&["FROM"]);
    let local = cursor.word("LOCAL");
    cursor.expect_word("INFILE")?;
    cursor.expect(TokenKind::String)?;
    cursor.any(&["REPLACE", "IGNORE"]);
    if !cursor.words(&["INTO", "TABLE"]) {
        return Err(Unparsed);
    }
    let table = cursor.table_name()?;
    cursor.rest()?;
    Ok(LoadData { local, table })
}
