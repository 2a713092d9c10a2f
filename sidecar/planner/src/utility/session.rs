//! USE, and prepared statements by name.

use super::cursor::Cursor;
use super::span::{Span, Unparsed};
use crate::lexer::{SqlMode, TokenKind};

/// The database of a USE.
///
/// # Errors
/// [`Unparsed`] where it is not of MySQL's grammar.
pub fn use_database(sql: &[u8], mode: SqlMode) -> Result<Span, Unparsed> {
    let mut cursor = Cursor::new(sql, mode);
    cursor.expect_word("USE")?;
    let database = cursor.name()?;
    cursor.expect_end()?;
    Ok(database)
}

/// A statement of SQL's own prepared statements.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Prepared {
    /// PREPARE name FROM text.
    Prepare {
        /// Its name.
        name: Span,
        /// The statement.
        text: PreparedText,
    },
    /// EXECUTE name USING variables.
    Execute {
        /// Its name.
        name: Span,
        /// The user variables.
        using: Vec<Span>,
    },
    /// DEALLOCATE PREPARE or DROP PREPARE.
    Deallocate(Span),
}

/// Where the text of a PREPARE comes from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PreparedText {
    /// A string literal.
    Literal(Span),
    /// A user variable.
    Variable(Span),
}

/// Reads a statement of [`super::StatementKind::Prepared`].
///
/// # Errors
/// [`Unparsed`] where it is not of MySQL's grammar.
pub fn prepared(sql: &[u8], mode: SqlMode) -> Result<Prepared, Unparsed> {
    let mut cursor = Cursor::new(sql, mode);
    let found = if cursor.words(&["DEALLOCATE", "PREPARE"]) || cursor.words(&["DROP", "PREPARE"]) {
        Prepared::Deallocate(cursor.name()?)
    } else if cursor.word("PREPARE") {
        let name = cursor.name()?;
        cursor.expect_word("FROM")?;
        let token = cursor.take()?;
        let text = match token.kind {
            TokenKind::String => PreparedText::Literal(token.into()),
            TokenKind::UserVariable => PreparedText::Variable(token.into()),
            _ => return Err(Unparsed),
        };
        Prepared::Prepare { name, text }
    } else if cursor.word("EXECUTE") {
        let name = cursor.name()?;
        let mut using = Vec::new();
        if cursor.word("USING") {
            using.push(cursor.expect(TokenKind::UserVariable)?.into());
            while cursor.kind(TokenKind::Comma) {
                using.push(cursor.expect(TokenKind::UserVariable)?.into());
            }
        }
        Prepared::Execute { name, using }
    } else {
        return Err(Unparsed);
    };
    cursor.expect_end()?;
    Ok(found)
}
