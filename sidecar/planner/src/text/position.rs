//! Places in a statement that stay right when its literals change.

use crate::lexer::Token;

/// A place in every statement of one fingerprint: so many bytes after so many literals.
///
/// Statements of one fingerprint are equal byte for byte but for their literals, so a place
/// is told by the literal before it.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Position {
    /// How many literals end at or before this place.
    pub(super) literals: u32,
    /// Bytes after the end of the last of them, or after the statement's first token's start.
    pub(super) delta: u32,
}

impl Position {
    /// The beginning of the statement.
    pub(crate) const START: Self = Self {
        literals: 0,
        delta: 0,
    };

    /// The byte that the place is at in one statement.
    pub(crate) fn resolve(self, frame: &Frame<'_>) -> usize {
        let base = (self.literals as usize)
            .checked_sub(1)
            .and_then(|last| frame.literals.get(last))
            .map_or(frame.start, |literal| literal.end as usize);
        base + self.delta as usize
    }
}

/// One of the statements that a plan is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    /// The text.
    pub(crate) sql: &'a [u8],
    /// Its literals.
    pub(crate) literals: &'a [Token],
    /// Where its first token, or the version comment around it, begins.
    pub(crate) start: usize,
}

/// A range of the statement.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Span {
    /// Its first byte.
    pub(crate) start: Position,
    /// One past its last byte.
    pub(crate) end: Position,
}
