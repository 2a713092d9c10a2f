//! Rows of a part whose integers are narrower than those of other parts.

use bytes::BytesMut;

use crate::client_row::ClientRow;
use crate::column::{Column, Format};
use crate::error::MergeError;
use crate::row::{Row, Shape};

/// Makes a part's rows those of the columns that all parts agreed on.
#[derive(Debug)]
pub(crate) struct Widening {
    shape: Shape,
    row: Row,
    change: ClientRow,
    out: BytesMut,
}

impl Widening {
    /// What to do with a part's rows; nothing where its columns are the agreed ones, or where
    /// rows are text, which does not show an integer's width.
    pub(crate) fn new(
        format: Format,
        part: &[Column],
        agreed: &[Column],
    ) -> Result<Option<Self>, MergeError> {
        let narrower = |(own, agreed): (&Column, &Column)| own.whole() && own.kind != agreed.kind;
        if format == Format::Text || !part.iter().zip(agreed).any(narrower) {
            return Ok(None);
        }
        let shape = Shape::new(format, part.to_vec());
        let change = ClientRow::new(&shape, agreed)?;
        Ok(Some(Self {
            shape,
            row: Row::default(),
            change,
            out: BytesMut::new(),
        }))
    }

    /// The row with the agreed widths.
    pub(crate) fn row(&mut self, packet: &[u8]) -> Result<&[u8], MergeError> {
        self.row.load(packet, &self.shape)?;
        self.out.clear();
        self.change.write(&self.row, &mut self.out)?;
        Ok(&self.out)
    }
}

#[cfg(test)]
mod tests {
    use remora_protocol::ColumnType;

    use super::*;
    use crate::column::tests::column;

    #[test]
    fn a_year_becomes_the_integer_of_another_part() {
        let year = column(ColumnType::MYSQL_TYPE_YEAR);
        let long = column(ColumnType::MYSQL_TYPE_LONG);
        let mut widening = Widening::new(Format::Binary, &[year], &[long])
            .unwrap()
            .unwrap();
        let row = widening.row(b"\x00\x00\xe8\x07").unwrap();
        assert_eq!(row, b"\x00\x00\xe8\x07\x00\x00");
    }

    #[test]
    fn text_and_equal_columns_need_nothing() {
        let long = column(ColumnType::MYSQL_TYPE_LONG);
        let big = column(ColumnType::MYSQL_TYPE_LONGLONG);
        assert!(
            Widening::new(Format::Text, &[long], &[big])
                .unwrap()
                .is_none()
        );
        assert!(
            Widening::new(Format::Binary, &[big], &[big])
                .unwrap()
                .is_none()
        );
    }
}
