//! DESCRIBE, DESC and EXPLAIN, and the proxy's EXPLAIN REMORA.

use super::cursor::Cursor;
use super::span::{Span, TableName, Unparsed};
use crate::lexer::{SqlMode, TokenKind};

/// What is described.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Described {
    /// A table's columns.
    Table {
        /// The table.
        table: TableName,
        /// One column's name or pattern.
        column: Option<Span>,
    },
    /// The plan of a statement.
    Statement {
        /// ANALYZE: the statement is executed.
        analyze: bool,
        /// The statement's text.
        statement: Span,
    },
    /// The plan of another connection's statement.
    Connection(Span),
    /// The proxy's own plan of a statement.
    Remora(Span),
}

/// Words that begin a statement that can be explained.
const EXPLAINABLE: [&str; 8] = [
    "SELECT", "TABLE", "VALUES", "WITH", "INSERT", "REPLACE", "UPDATE", "DELETE",
];

/// Reads a statement of [`super::StatementKind::Describe`] or `ExplainRemora`.
///
/// # Errors
/// [`Unparsed`] where it is not of a form known here (FOR SCHEMA and INTO among them).
pub fn describe(sql: &[u8], mode: SqlMode) -> Result<Described, Unparsed> {
    let mut cursor = Cursor::new(sql, mode);
    if !cursor.any(&["EXPLAIN", "DESCRIBE", "DESC"]) {
        return Err(Unparsed);
    }
    let mut ahead = cursor.clone();
    if ahead.word("REMORA")
        && matches!(
            ahead.peek_kind(),
            Some(TokenKind::Word | TokenKind::LeftParen)
        )
    {
        return Ok(Described::Remora(ahead.rest()?.ok_or(Unparsed)?));
    }
    let mut options = false;
    let mut analyze = false;
    // ANALYZE, FORMAT and EXTENDED are not reserved: a table may have such a name.
    let mut ahead = cursor.clone();
    if ahead.word("ANALYZE") && !ahead.at_end() {
        analyze = true;
        options = true;
        cursor = ahead;
    }
    let mut ahead = cursor.clone();
    if ahead.word("FORMAT") && ahead.kind(TokenKind::Equal) {
        ahead.take()?;
        options = true;
        cursor = ahead;
    }
    if cursor.words(&["FOR", "CONNECTION"]) {
        return Ok(Described::Connection(cursor.rest()?.ok_or(Unparsed)?));
    }
    if cursor.is_any(&EXPLAINABLE) || cursor.peek_kind() == Some(TokenKind::LeftParen) {
        return Ok(Described::Statement {
            analyze,
            statement: cursor.rest()?.ok_or(Unparsed)?,
        });
    }
    if options {
        return Err(Unparsed);
    }
    let table = cursor.table_name()?;
    let column = match cursor.peek_kind() {
        Some(TokenKind::String) => Some(Span::from(cursor.take()?)),
        Some(kind) if kind.is_name() => Some(cursor.name()?),
        _ => None,
    };
    cursor.expect_end()?;
    Ok(Described::Table { table, column })
}
