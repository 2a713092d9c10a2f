//! Makes a part's row the client's: hidden columns go, types become those that were announced.

use bytes::{BufMut, BytesMut};

use crate::column::{Class, Column, Format};
use crate::error::MergeError;
use crate::number;
use crate::row::{Row, Shape, values_at};
use crate::writer::RowWriter;

/// How rows are written for the client.
#[derive(Debug)]
pub(crate) struct ClientRow {
    format: Format,
    visible: usize,
    /// What to do with each column; empty where all go as they are.
    changes: Vec<Change>,
}

#[derive(Clone, Copy, Debug)]
enum Change {
    None,
    /// An integer of another width.
    Width {
        from: Column,
        to: Column,
    },
    /// The client was told that the column is NULL.
    Null,
}

impl ClientRow {
    pub(crate) fn new(shape: &Shape, client: &[Column]) -> Result<Self, MergeError> {
        let mut changes = Vec::new();
        for (column, (from, to)) in shape.columns.iter().zip(client).enumerate() {
            if !from.stands_for(to) {
                return Err(MergeError::Changed { column });
            }
            changes.push(match (from.class(), to.class()) {
                (Class::Integer | Class::Year, Class::Integer | Class::Year)
                    if !from.agrees(to) =>
                {
                    Change::Width {
                        from: *from,
                        to: *to,
                    }
                }
                (from, Class::Null) if from != Class::Null => Change::Null,
                _ => Change::None,
            });
        }
        // Text does not show an integer's width.
        if shape.format == Format::Text || changes.iter().all(|c| matches!(c, Change::None)) {
            changes.clear();
        }
        Ok(Self {
            format: shape.format,
            visible: client.len(),
            changes,
        })
    }

    /// Appends the client's row.
    pub(crate) fn write(&self, row: &Row, out: &mut BytesMut) -> Result<(), MergeError> {
        match (self.format, self.changes.is_empty()) {
            (Format::Text, _) => out.put_slice(row.leading(self.visible)),
            (Format::Binary, true) => {
                // The bits of the columns that remain are where they were.
                let header = values_at(self.visible);
                let start = out.len();
                out.put_slice(&row.bytes[..header]);
                let used = (self.visible + 2) % 8;
                if used != 0 {
                    out[start + header - 1] &= (1 << used) - 1;
                }
                out.put_slice(row.leading(self.visible));
            }
            (Format::Binary, false) => {
                let mut writer = RowWriter::new(self.format, self.visible, out);
                for (column, change) in self.changes.iter().enumerate() {
                    match (row.encoded(column), change) {
                        (None, _) => writer.null(),
                        (Some(value), Change::None) => writer.encoded(value),
                        (Some(value), Change::Width { from, to }) => {
                            let integer = number::integer(value, from, self.format)?;
                            let (bytes, width) = number::fitted(integer, to)
                                .ok_or(MergeError::Changed { column })?;
                            writer.encoded(&bytes[..width]);
                        }
                        (Some(_), Change::Null) => return Err(MergeError::Changed { column }),
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use remora_protocol::ColumnType;

    use super::*;
    use crate::column::tests::{column, text};

    fn given(
        columns: Vec<Column>,
        client: &[Column],
        packet: &[u8],
    ) -> Result<BytesMut, MergeError> {
        let shape = Shape::new(Format::Binary, columns);
        let writer = ClientRow::new(&shape, client)?;
        let mut row = Row::default();
        row.load(packet, &shape)?;
        let mut out = BytesMut::new();
        writer.write(&row, &mut out).map(|()| out)
    }

    #[test]
    fn the_bitmap_shrinks_with_the_columns() {
        // Seven columns need two bytes of bitmap, five need one, and six need one and no rest.
        let tiny = column(ColumnType::MYSQL_TYPE_TINY);
        let packet = b"\x00\x08\x01\x01\x03\x04\x05\x06";
        let all = [tiny; 7];
        assert_eq!(
            given(all.to_vec(), &all[..5], packet).unwrap(),
            &b"\x00\x08\x01\x03\x04\x05"[..]
        );
        assert_eq!(
            given(all.to_vec(), &all[..6], packet).unwrap(),
            &b"\x00\x08\x01\x03\x04\x05\x06"[..]
        );
        assert_eq!(given(all.to_vec(), &all, packet).unwrap(), &packet[..]);
        assert_eq!(
            given(all.to_vec(), &all[..1], packet).unwrap(),
            &b"\x00\x00\x01"[..]
        );
    }

    #[test]
    fn bits_of_hidden_columns_do_not_leak() {
        let tiny = column(ColumnType::MYSQL_TYPE_TINY);
        assert_eq!(
            given(vec![tiny; 2], &[tiny], b"\x00\x08\x07").unwrap(),
            &b"\x00\x00\x07"[..]
        );
        assert_eq!(
            given(vec![tiny; 2], &[tiny], b"\x00\x0C").unwrap(),
            &b"\x00\x04"[..]
        );
    }

    #[test]
    fn integers_get_the_announced_width_if_they_fit() {
        let (int, big) = (
            column(ColumnType::MYSQL_TYPE_LONG),
            column(ColumnType::MYSQL_TYPE_LONGLONG),
        );
        let minus = b"\x00\x00\xFE\xFF\xFF\xFF";
        assert_eq!(
            given(vec![int], &[big], minus).unwrap(),
            &b"\x00\x00\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF"[..]
        );
        let large = b"\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00";
        assert_eq!(
            given(vec![big], &[int], large),
            Err(MergeError::Changed { column: 0 })
        );
    }

    #[test]
    fn another_type_is_never_given_for_the_announced_one() {
        let int = column(ColumnType::MYSQL_TYPE_LONG);
        assert!(given(vec![text()], &[int], b"\x00\x00\x011").is_err());
        let null = column(ColumnType::MYSQL_TYPE_NULL);
        assert!(given(vec![text()], &[null], b"\x00\x00\x011").is_err());
        assert_eq!(
            given(vec![text()], &[null], b"\x00\x04").unwrap(),
            &b"\x00\x04"[..]
        );
    }
}
