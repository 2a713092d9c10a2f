//! Places in a statement.

use std::borrow::Cow;
use std::ops::Range;

use crate::lexer::{Token, identifier};

/// A range of bytes of the statement.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The span as a range of indices.
    #[must_use]
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The bytes in the statement that the span belongs to.
    #[must_use]
    pub fn text(self, sql: &[u8]) -> &[u8] {
        sql.get(self.range()).unwrap_or_default()
    }

    /// The name that the bytes spell, without quotes.
    #[must_use]
    pub fn name(self, sql: &[u8]) -> Cow<'_, [u8]> {
        identifier(self.text(sql))
    }

    /// From the start of `self` to the end of `last`.
    #[must_use]
    pub(super) fn to(self, last: Self) -> Self {
        Self {
            start: self.start,
            end: last.end,
        }
    }
}

impl From<Token> for Span {
    fn from(token: Token) -> Self {
        Self {
            start: token.start,
            end: token.end,
        }
    }
}

/// A table's name (or that of another object in a schema), each part with its quotes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TableName {
    /// The schema in front of the point.
    pub schema: Option<Span>,
    /// The table.
    pub name: Span,
}

impl TableName {
    /// All bytes of the name.
    #[must_use]
    pub fn span(self) -> Span {
        self.schema.unwrap_or(self.name).to(self.name)
    }
}

/// The statement is not of the form that the parser reads.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the statement is not of a form known here")]
pub struct Unparsed;
