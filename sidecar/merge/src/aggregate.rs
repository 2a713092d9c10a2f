//! Counts, sums and averages of one group.

use std::io::Write;

use crate::column::{Class, Column, Format};
use crate::error::{MergeError, malformed};
use crate::row::{Row, Shape};
use crate::sum::Sum;
use crate::writer::RowWriter;
use crate::{double, number};

/// What one aggregating column has gathered.
#[derive(Debug)]
pub(crate) struct Accumulator {
    format: Format,
    /// The column that takes the result.
    column: Column,
    /// The column of what is summed up, and its number.
    source: (usize, Column),
    /// The column of the counts, for an average.
    counts: Option<(usize, Column)>,
    /// What an empty group gives.
    empty: Empty,
    total: Total,
    /// Values that were not NULL; for an average the sum of the counts.
    count: u64,
}

/// What a group without values gives.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Empty {
    Zero,
    Null,
}

#[derive(Debug)]
enum Total {
    Integer(i128),
    Decimal(Sum),
    Real(f64),
}

impl Accumulator {
    /// COUNT: a sum of counts, which is zero where there are none.
    pub(crate) fn count(column: usize, shape: &Shape) -> Result<Self, MergeError> {
        Self::over(column, column, None, Empty::Zero, shape)
    }

    /// SUM.
    pub(crate) fn sum(column: usize, shape: &Shape) -> Result<Self, MergeError> {
        Self::over(column, column, None, Empty::Null, shape)
    }

    /// AVG, of a column of sums and one of counts.
    pub(crate) fn average(
        column: usize,
        sum: usize,
        count: usize,
        shape: &Shape,
    ) -> Result<Self, MergeError> {
        Self::over(column, sum, Some(count), Empty::Null, shape)
    }

    fn over(
        column: usize,
        source: usize,
        counts: Option<usize>,
        empty: Empty,
        shape: &Shape,
    ) -> Result<Self, MergeError> {
        let at = |column: usize| {
            shape
                .columns
                .get(column)
                .copied()
                .ok_or(MergeError::Changed { column })
        };
        let total = match (at(source)?.class(), at(column)?.class(), counts) {
            (Class::Integer, Class::Integer, None) => Total::Integer(0),
            (Class::Decimal, Class::Decimal, _) => Total::Decimal(Sum::default()),
            (Class::Double, Class::Double, _) => Total::Real(0.0),
            _ => return Err(MergeError::Unsupported("an aggregate of this type")),
        };
        let counts = counts
            .map(|counts| at(counts).map(|column| (counts, column)))
            .transpose()?;
        if counts.is_some_and(|(_, column)| column.class() != Class::Integer) {
            return Err(MergeError::Unsupported(
                "an average whose count is no integer",
            ));
        }
        Ok(Self {
            format: shape.format,
            column: at(column)?,
            source: (source, at(source)?),
            counts,
            empty,
            total,
            count: 0,
        })
    }

    /// Forgets the last group.
    pub(crate) fn clear(&mut self) {
        self.count = 0;
        match &mut self.total {
            Total::Integer(sum) => *sum = 0,
            Total::Decimal(sum) => sum.clear(usize::from(self.source.1.decimals)),
            Total::Real(sum) => *sum = 0.0,
        }
    }

    pub(crate) fn add(&mut self, row: &Row) -> Result<(), MergeError> {
        let Some(value) = row.value(self.source.0) else {
            return Ok(());
        };
        match &mut self.total {
            Total::Integer(sum) => *sum += number::integer(value, &self.source.1, self.format)?,
            Total::Decimal(sum) => sum.add(value)?,
            Total::Real(sum) => *sum += number::real(value, self.format)?,
        }
        self.count += match &self.counts {
            None => 1,
            Some((counts, column)) => {
                let count = row
                    .value(*counts)
                    .ok_or(malformed("a sum without a count"))?;
                number::integer(count, column, self.format)?
                    .try_into()
                    .map_err(|_| malformed("a negative count"))?
            }
        };
        Ok(())
    }

    /// Gives the group's value. `scratch` is a buffer to write numbers into.
    pub(crate) fn write(
        &self,
        scratch: &mut Vec<u8>,
        out: &mut RowWriter<'_>,
    ) -> Result<(), MergeError> {
        if self.count == 0 && self.empty == Empty::Null {
            out.null();
            return Ok(());
        }
        scratch.clear();
        match &self.total {
            Total::Integer(sum) => {
                let (bytes, width) =
                    number::fitted(*sum, &self.column).ok_or(MergeError::OutOfRange("BIGINT"))?;
                match self.format {
                    Format::Text => {
                        // Writing to a Vec cannot fail.
                        let _ = write!(scratch, "{sum}");
                        out.prefixed(scratch);
                    }
                    Format::Binary => out.encoded(&bytes[..width]),
                }
            }
            Total::Decimal(sum) => {
                if self.counts.is_some() {
                    sum.average(self.count, usize::from(self.column.decimals), scratch)?;
                } else {
                    sum.write(scratch)?;
                }
                out.prefixed(scratch);
            }
            Total::Real(sum) => {
                let value = if self.counts.is_some() {
                    sum / self.count as f64
                } else {
                    *sum
                };
                if !value.is_finite() {
                    return Err(MergeError::OutOfRange("DOUBLE"));
                }
                match self.format {
                    Format::Text => {
                        double::write(value, self.column.decimals, scratch);
                        out.prefixed(scratch);
                    }
                    Format::Binary => out.encoded(&value.to_le_bytes()),
                }
            }
        }
        Ok(())
    }
}
