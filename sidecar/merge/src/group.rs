//! Rows that are equal in their keys become one.

use crate::aggregate::Accumulator;
use crate::column::Column;
use crate::comparator::Purpose;
use crate::error::MergeError;
use crate::key::{Datum, Keys};
use crate::row::{Row, Shape};
use crate::spec::{Function, Group};
use crate::writer::RowWriter;

/// The group whose rows are coming in.
#[derive(Debug)]
pub(crate) struct Grouping {
    /// The keys by which rows belong together.
    keys: Vec<usize>,
    accumulators: Vec<Accumulator>,
    extremes: Vec<Extreme>,
    /// Where each column of the group's row comes from.
    origins: Vec<Origin>,
    /// The group's first row.
    first: Row,
    state: State,
    /// A buffer to write numbers into.
    scratch: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    /// No row has come at all.
    Untouched,
    /// The group has rows.
    Open,
    /// The last group was given away.
    Closed,
}

#[derive(Clone, Copy, Debug)]
enum Origin {
    First,
    Accumulator(usize),
    Extreme(usize),
}

/// The row that has the lowest or the highest value.
#[derive(Debug)]
struct Extreme {
    key: usize,
    highest: bool,
    best: Row,
    seen: bool,
}

impl Grouping {
    /// Groups by `group`, whose keys are added to `keys`.
    pub(crate) fn new(
        group: &Group,
        keys: &mut Keys,
        shape: &Shape,
        client: &[Column],
    ) -> Result<Self, MergeError> {
        let mut grouping = Self {
            keys: Vec::new(),
            accumulators: Vec::new(),
            extremes: Vec::new(),
            origins: vec![Origin::First; shape.columns.len()],
            first: Row::default(),
            state: State::Untouched,
            scratch: Vec::new(),
        };
        for key in &group.keys {
            grouping
                .keys
                .push(keys.add(*key, Purpose::Order, shape, client)?);
        }
        for aggregate in &group.aggregates {
            let column = aggregate.column;
            let accumulator = match aggregate.function {
                Function::Count => Accumulator::count(column, shape)?,
                Function::Sum => Accumulator::sum(column, shape)?,
                Function::Avg { sum, count } => Accumulator::average(column, sum, count, shape)?,
                Function::Min(key) | Function::Max(key) => {
                    let origin = Origin::Extreme(grouping.extremes.len());
                    let columns = [Some(column), Some(key.value), key.weight, key.collation];
                    for column in columns.into_iter().flatten() {
                        grouping.take_from(column, origin)?;
                    }
                    grouping.extremes.push(Extreme {
                        key: keys.add(key, Purpose::Extreme, shape, client)?,
                        highest: matches!(aggregate.function, Function::Max(_)),
                        best: Row::default(),
                        seen: false,
                    });
                    continue;
                }
            };
            grouping.take_from(column, Origin::Accumulator(grouping.accumulators.len()))?;
            grouping.accumulators.push(accumulator);
        }
        Ok(grouping)
    }

    fn take_from(&mut self, column: usize, origin: Origin) -> Result<(), MergeError> {
        let place = self
            .origins
            .get_mut(column)
            .ok_or(MergeError::Changed { column })?;
        *place = origin;
        Ok(())
    }

    /// Whether there is a group to be given.
    pub(crate) fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Whether the row is one of the open group.
    pub(crate) fn holds(&self, row: &Row, keys: &Keys) -> bool {
        self.keys
            .iter()
            .all(|key| keys.compare_key(*key, &self.first, row).is_eq())
    }

    /// Begins a group with its first row.
    pub(crate) fn begin(&mut self, row: &Row, keys: &Keys) -> Result<(), MergeError> {
        self.reset();
        self.first.copy(row);
        self.state = State::Open;
        self.add(row, keys)
    }

    /// Adds a row to the open group.
    pub(crate) fn add(&mut self, row: &Row, keys: &Keys) -> Result<(), MergeError> {
        for accumulator in &mut self.accumulators {
            accumulator.add(row)?;
        }
        for extreme in &mut self.extremes {
            extreme.add(row, keys);
        }
        Ok(())
    }

    /// Ends the open group and makes its row.
    pub(crate) fn end(&mut self, shape: &Shape, into: &mut Row) -> Result<(), MergeError> {
        self.write(shape, into)?;
        self.state = State::Closed;
        Ok(())
    }

    /// The row of an aggregate over no rows at all, where no key divides it: as MySQL's
    /// `SELECT COUNT(*), SUM(a)` over an empty table, and NULL for what does not aggregate.
    pub(crate) fn end_of_nothing(
        &mut self,
        shape: &Shape,
        into: &mut Row,
    ) -> Result<bool, MergeError> {
        if !self.keys.is_empty() || self.state != State::Untouched {
            return Ok(false);
        }
        self.reset();
        self.first.bytes.clear();
        let mut writer = RowWriter::new(shape.format, shape.columns.len(), &mut self.first.bytes);
        for _ in &shape.columns {
            writer.null();
        }
        self.first.locate(shape)?;
        self.end(shape, into)?;
        Ok(true)
    }

    /// How many bytes are held.
    pub(crate) fn held(&self) -> usize {
        self.first.cost()
            + self
                .extremes
                .iter()
                .map(|extreme| extreme.best.cost())
                .sum::<usize>()
    }

    fn reset(&mut self) {
        for accumulator in &mut self.accumulators {
            accumulator.clear();
        }
        for extreme in &mut self.extremes {
            extreme.seen = false;
        }
    }

    fn write(&mut self, shape: &Shape, into: &mut Row) -> Result<(), MergeError> {
        into.bytes.clear();
        let mut writer = RowWriter::new(shape.format, shape.columns.len(), &mut into.bytes);
        for (column, origin) in self.origins.iter().enumerate() {
            let row = match *origin {
                Origin::Accumulator(number) => {
                    self.accumulators[number].write(&mut self.scratch, &mut writer)?;
                    continue;
                }
                // Where all values are NULL, so is the first row's.
                Origin::Extreme(number) if self.extremes[number].seen => {
                    &self.extremes[number].best
                }
                Origin::Extreme(_) | Origin::First => &self.first,
            };
            match row.encoded(column) {
                Some(value) => writer.encoded(value),
                None => writer.null(),
            }
        }
        into.locate(shape)
    }
}

impl Extreme {
    fn add(&mut self, row: &Row, keys: &Keys) {
        if matches!(row.data[self.key], Datum::Null) {
            return;
        }
        let better = !self.seen || {
            let ordering = keys.compare_key(self.key, row, &self.best);
            if self.highest {
                ordering.is_gt()
            } else {
                ordering.is_lt()
            }
        };
        if better {
            self.best.copy(row);
            self.seen = true;
        }
    }
}
