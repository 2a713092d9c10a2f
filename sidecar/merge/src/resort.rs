//! All groups in another order than the one they were found in.

use std::cmp::Ordering;

use crate::error::MergeError;
use crate::key::Keys;
use crate::row::Row;

/// Fewer rows than this are not worth dropping early.
const FEW: usize = 1024;

/// Holds the rows of all groups until the last is there.
#[derive(Debug)]
pub(crate) struct Resort {
    keys: Keys,
    rows: Vec<Row>,
    /// How many of the first rows will be asked for.
    wanted: usize,
    held: usize,
    given: usize,
}

impl Resort {
    pub(crate) fn new(keys: Keys, wanted: usize) -> Self {
        Self {
            keys,
            rows: Vec::new(),
            wanted,
            held: 0,
            given: 0,
        }
    }

    /// How many bytes are held.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    pub(crate) fn add(&mut self, mut row: Row) -> Result<(), MergeError> {
        self.keys.decode(&mut row)?;
        self.held += row.cost();
        self.rows.push(row);
        if self.rows.len() >= self.wanted.saturating_mul(2).max(FEW) {
            self.sort();
            self.rows.truncate(self.wanted);
            self.held = self.rows.iter().map(Row::cost).sum();
        }
        Ok(())
    }

    /// Orders the rows. Those that are equal keep the order in which they came.
    pub(crate) fn sort(&mut self) {
        let Self { keys, rows, .. } = self;
        rows.sort_by(|a, b| -> Ordering { keys.compare(a, b) });
    }

    /// Gives the next row in order.
    pub(crate) fn next(&mut self) -> Option<&Row> {
        let row = self.rows.get(self.given)?;
        self.given += 1;
        Some(row)
    }
}
