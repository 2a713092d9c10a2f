//! Where the clauses of a plain SELECT stand, in tokens.
//!
//! sqlparser's spans are short for many expressions, so ranges of text come from the tokens;
//! the tree tells how many there must be.

use crate::text::Source;

use super::items::{Range, items};

/// The clauses of a SELECT.
#[derive(Debug)]
pub(crate) struct Clauses {
    /// The items of the select list.
    pub(crate) items: Vec<Range>,
    /// FROM.
    pub(crate) from: usize,
    /// The keys of GROUP BY.
    pub(crate) group: Vec<Range>,
    /// The keys of ORDER BY, with ASC and DESC.
    pub(crate) order: Vec<Range>,
    /// Where ORDER BY, LIMIT or the statement's end is, whichever comes first.
    pub(crate) tail: usize,
}

impl Clauses {
    /// Finds the clauses of a statement that begins with SELECT and reads tables.
    pub(crate) fn find(source: &Source<'_>) -> Option<Self> {
        if !source.is(0, "SELECT") {
            return None;
        }
        let end = source.len();
        let (items, from) = items(source, 0);
        if !source.is(from, "FROM") {
            return None;
        }
        let group = clause(source, from, end, "GROUP");
        let order = clause(source, from, end, "ORDER");
        let limit = source.find(from, end, &["LIMIT"]).unwrap_or(end);
        let after_group = source.find(from, end, &["HAVING", "WINDOW"]).unwrap_or(end);
        let tail = order.unwrap_or(end).min(limit);
        let list = |from: Option<usize>, to: usize| {
            from.map(|from| source.list(from + 2, to))
                .unwrap_or_default()
        };
        Some(Self {
            items,
            from,
            group: list(group, tail.min(after_group)),
            order: list(order, limit),
            tail,
        })
    }
}

/// GROUP BY or ORDER BY, unless it belongs to an index hint (`USE INDEX FOR ORDER BY (i)`).
fn clause(source: &Source<'_>, mut from: usize, end: usize, word: &str) -> Option<usize> {
    loop {
        let found = source.find(from, end, &[word])?;
        if source.is(found + 1, "BY") && !source.is(found.saturating_sub(1), "FOR") {
            return Some(found);
        }
        from = found + 1;
    }
}
