//! One row of a part: its bytes, where its columns are, and its keys.

use bytes::BytesMut;
use remora_protocol::{ColumnType, Field, binary_fields, text_fields};

use crate::column::{Column, Format};
use crate::error::{MergeError, malformed};
use crate::key::Datum;

/// A buffer that once held a row of this size is not kept for smaller ones.
const KEEP: usize = 64 * 1024;

/// The largest value of `max_allowed_packet`, which leaves room in the 32 bits of a [`Span`].
const LARGEST: usize = 1 << 30;

/// Where a column's value is in its row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    /// The first byte of its encoding, the prefix included.
    start: u32,
    /// The first byte of the value itself; [`Span::NULL`] for NULL.
    value: u32,
    end: u32,
}

impl Span {
    const NULL: u32 = u32::MAX;

    fn of(field: &Field<'_>) -> Self {
        let start = field.offset as u32;
        let end = start + field.encoded.len() as u32;
        let value = field
            .value
            .map_or(Self::NULL, |value| end - value.len() as u32);
        Self { start, value, end }
    }
}

/// A row. It is overwritten by the next one, so that no row allocates.
#[derive(Debug, Default)]
pub(crate) struct Row {
    pub(crate) bytes: BytesMut,
    spans: Vec<Span>,
    /// The values of the keys, in the order of [`Keys`](crate::key::Keys).
    pub(crate) data: Vec<Datum>,
    /// The front of the first key in the order, so that most comparisons are one of integers.
    pub(crate) rank: u128,
}

impl Row {
    /// Takes over a packet.
    pub(crate) fn load(&mut self, packet: &[u8], shape: &Shape) -> Result<(), MergeError> {
        if self.bytes.capacity() > KEEP && packet.len() <= KEEP {
            self.bytes = BytesMut::with_capacity(packet.len());
        }
        self.bytes.clear();
        self.bytes.extend_from_slice(packet);
        self.locate(shape)
    }

    /// Finds the columns in `bytes`.
    pub(crate) fn locate(&mut self, shape: &Shape) -> Result<(), MergeError> {
        self.spans.clear();
        if self.bytes.len() > LARGEST {
            return Err(malformed("a row is larger than MySQL's largest"));
        }
        shape.locate(&self.bytes, &mut self.spans)
    }

    /// Makes this row a copy of `other`.
    pub(crate) fn copy(&mut self, other: &Self) {
        self.bytes.clear();
        self.bytes.extend_from_slice(&other.bytes);
        self.spans.clone_from(&other.spans);
        self.data.clone_from(&other.data);
        self.rank = other.rank;
    }

    /// The value of a column without its prefix; NULL is none.
    pub(crate) fn value(&self, column: usize) -> Option<&[u8]> {
        let span = self.spans[column];
        (span.value != Span::NULL).then(|| &self.bytes[span.value as usize..span.end as usize])
    }

    /// Where the value of a column is; NULL is none.
    pub(crate) fn range(&self, column: usize) -> Option<(u32, u32)> {
        let span = self.spans[column];
        (span.value != Span::NULL).then_some((span.value, span.end))
    }

    /// The value of a column as it is encoded, with its prefix; NULL is none.
    pub(crate) fn encoded(&self, column: usize) -> Option<&[u8]> {
        let span = self.spans[column];
        (span.value != Span::NULL).then(|| &self.bytes[span.start as usize..span.end as usize])
    }

    /// The encodings of the columns before `columns`, one after the other.
    pub(crate) fn leading(&self, columns: usize) -> &[u8] {
        match (self.spans.first(), columns.checked_sub(1)) {
            (Some(first), Some(last)) => {
                &self.bytes[first.start as usize..self.spans[last].end as usize]
            }
            _ => &[],
        }
    }

    /// How much memory the row takes, held on its own.
    pub(crate) fn cost(&self) -> usize {
        self.bytes.len()
            + self.spans.len() * size_of::<Span>()
            + self.data.len() * size_of::<Datum>()
            + size_of::<Self>()
    }
}

/// The columns of the parts' rows and how they are encoded.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) format: Format,
    pub(crate) columns: Vec<Column>,
    kinds: Vec<ColumnType>,
}

impl Shape {
    pub(crate) fn new(format: Format, columns: Vec<Column>) -> Self {
        let kinds = columns.iter().map(|column| column.kind).collect();
        Self {
            format,
            columns,
            kinds,
        }
    }

    /// Finds the columns of a row, which must be just these.
    fn locate(&self, row: &[u8], spans: &mut Vec<Span>) -> Result<(), MergeError> {
        let begin = match self.format {
            Format::Text => 0,
            Format::Binary => values_at(self.columns.len()),
        };
        match self.format {
            Format::Text => {
                for field in text_fields(row) {
                    spans.push(Span::of(&field?));
                }
            }
            Format::Binary => {
                for field in binary_fields(row, &self.kinds)? {
                    spans.push(Span::of(&field?));
                }
            }
        }
        let end = spans.last().map_or(begin, |span| span.end as usize);
        if spans.len() == self.columns.len() && end == row.len() {
            Ok(())
        } else {
            Err(malformed("a row does not have the announced columns"))
        }
    }
}

/// Where the values of a binary row of `columns` begin: after a zero and the NULL bitmap,
/// whose first two bits are unused.
pub(crate) fn values_at(columns: usize) -> usize {
    1 + (columns + 2).div_ceil(8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::tests::{column, text};

    fn located(format: Format, columns: Vec<Column>, row: &[u8]) -> Result<Row, MergeError> {
        let mut held = Row::default();
        held.load(row, &Shape::new(format, columns)).map(|()| held)
    }

    #[test]
    fn text_values_are_found_behind_their_lengths() {
        let long = vec![b'x'; 300];
        let mut packet = b"\x012\xFB\x00\xFC\x2C\x01".to_vec();
        packet.extend_from_slice(&long);
        let row = located(Format::Text, vec![text(); 4], &packet).unwrap();
        assert_eq!(row.value(0), Some(&b"2"[..]));
        assert_eq!(row.value(1), None);
        assert_eq!(row.value(2), Some(&b""[..]));
        assert_eq!(row.value(3), Some(&long[..]));
        assert_eq!(row.leading(3), b"\x012\xFB\x00");
        assert_eq!(row.encoded(0), Some(&b"\x012"[..]));
    }

    #[test]
    fn binary_values_are_found_by_their_types() {
        let columns = vec![
            column(ColumnType::MYSQL_TYPE_TINY),
            column(ColumnType::MYSQL_TYPE_LONGLONG),
            column(ColumnType::MYSQL_TYPE_DATE),
            text(),
        ];
        let row = located(
            Format::Binary,
            columns,
            b"\x00\x08\x07\x04\xE8\x07\x01\x02\x01x",
        )
        .unwrap();
        assert_eq!(row.value(0), Some(&[7][..]));
        assert_eq!(row.value(1), None);
        assert_eq!(row.value(2), Some(&b"\xE8\x07\x01\x02"[..]));
        assert_eq!(row.value(3), Some(&b"x"[..]));
    }

    #[test]
    fn a_row_that_is_too_short_or_too_long_is_malformed() {
        for packet in [
            &b""[..],
            b"\x02a",
            b"\x01ab",
            b"\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFFa",
            b"\xFF",
        ] {
            assert!(
                located(Format::Text, vec![text()], packet).is_err(),
                "{packet:?}"
            );
        }
        let number = column(ColumnType::MYSQL_TYPE_LONG);
        for packet in [
            &b""[..],
            b"\x00",
            b"\x00\x00\x01\x02\x03",
            b"\x01\x00\x01\x02\x03\x04",
        ] {
            assert!(
                located(Format::Binary, vec![number], packet).is_err(),
                "{packet:?}"
            );
        }
        assert!(
            located(
                Format::Binary,
                vec![column(ColumnType::MYSQL_TYPE_TIME)],
                b"\x00\x00"
            )
            .is_err()
        );
    }
}
