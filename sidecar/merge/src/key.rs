//! The keys of a merge: which columns they are, and how rows compare by them.

use std::cmp::Ordering;

use crate::column::Column;
use crate::comparator::{Comparator, Purpose};
use crate::error::MergeError;
use crate::row::{Row, Shape};
use crate::spec::{Key, OrderKey};

/// The value of a key, taken out of its row once so that comparing is cheap. The ranges point
/// into the row's bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Datum {
    Null,
    Int(i64),
    Uint(u64),
    /// Never NaN, which MySQL does not have, and never minus zero.
    Real(f64),
    Decimal(u32, u32),
    /// A binary string or a weight string.
    Bytes(u32, u32),
}

/// One term of an order.
#[derive(Clone, Copy, Debug)]
struct Term {
    /// Which of the comparators.
    key: usize,
    descending: bool,
}

/// All keys of a merge. A row that was given to [`decode`](Self::decode) can be compared.
#[derive(Debug)]
pub(crate) struct Keys {
    comparators: Vec<(Key, Purpose, Comparator)>,
    order: Vec<Term>,
    /// Whether equal ranks mean equal rows.
    exact: bool,
}

impl Keys {
    /// Keys that order by `order`.
    pub(crate) fn new(
        order: &[OrderKey],
        shape: &Shape,
        client: &[Column],
    ) -> Result<Self, MergeError> {
        let mut keys = Self {
            comparators: Vec::new(),
            order: Vec::new(),
            exact: false,
        };
        for OrderKey { key, descending } in order {
            let key = keys.add(*key, Purpose::Order, shape, client)?;
            keys.order.push(Term {
                key,
                descending: *descending,
            });
        }
        keys.exact = match keys.order[..] {
            [Term { key, .. }] => keys.comparators[key].2.front_is_all(),
            _ => false,
        };
        Ok(keys)
    }

    /// Adds a key that rows will be compared by and gives its number.
    pub(crate) fn add(
        &mut self,
        key: Key,
        purpose: Purpose,
        shape: &Shape,
        client: &[Column],
    ) -> Result<usize, MergeError> {
        let known = self
            .comparators
            .iter()
            .position(|(other, why, _)| (*other, *why) == (key, purpose));
        if let Some(known) = known {
            return Ok(known);
        }
        let comparator = Comparator::new(key, purpose, shape, client)?;
        self.comparators.push((key, purpose, comparator));
        Ok(self.comparators.len() - 1)
    }

    /// Takes the keys' values out of a row.
    pub(crate) fn decode(&mut self, row: &mut Row) -> Result<(), MergeError> {
        row.data.clear();
        for (_, _, comparator) in &mut self.comparators {
            let datum = comparator.decode(row)?;
            row.data.push(datum);
        }
        row.rank = match self.order.first() {
            Some(term) => self.rank(*term, row),
            None => 0,
        };
        Ok(())
    }

    /// A number that orders as the first term does, or does not tell. `u128::MAX` is above all
    /// of them.
    fn rank(&self, term: Term, row: &Row) -> u128 {
        let datum = row.data[term.key];
        let front = self.comparators[term.key].2.front(datum, row);
        let (null, front) = match (datum, term.descending) {
            (Datum::Null, false) => (0_u128, 0),
            (Datum::Null, true) => (2, 0),
            (_, false) => (1, front),
            (_, true) => (1, !front),
        };
        (null << 64) | u128::from(front)
    }

    /// Compares two rows by the order.
    pub(crate) fn compare(&self, a: &Row, b: &Row) -> Ordering {
        let ranks = a.rank.cmp(&b.rank);
        if ranks.is_ne() || self.exact {
            return ranks;
        }
        for term in &self.order {
            let ordering = self.compare_key(term.key, a, b);
            if ordering.is_ne() {
                return if term.descending {
                    ordering.reverse()
                } else {
                    ordering
                };
            }
        }
        Ordering::Equal
    }

    /// Compares two rows by one key, NULL lowest.
    pub(crate) fn compare_key(&self, key: usize, a: &Row, b: &Row) -> Ordering {
        self.comparators[key]
            .2
            .compare(a.data[key], a, b.data[key], b)
    }
}
