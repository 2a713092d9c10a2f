//! Rows of the binary protocol: a bitmap of the NULLs, then the other values,
//! each as wide as its column's type says.

use bytes::{BufMut, BytesMut};

use super::Field;
use crate::capability::ColumnType;
use crate::error::{ProtocolError, Result};
use crate::wire::{get_lenenc, put_lenenc_bytes};

/// The first two bits of a row's bitmap are reserved.
const BITMAP_OFFSET: usize = 2;

/// How the binary protocol holds a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    /// So many bytes.
    Fixed(usize),
    /// A byte of length, then so many bytes: dates and times.
    Counted,
    /// A length-encoded string.
    Text,
}

/// How a value of type `kind` is held, in rows and in parameters.
pub(crate) fn width(kind: ColumnType) -> Result<Width> {
    use ColumnType as T;
    Ok(match kind {
        T::MYSQL_TYPE_NULL => Width::Fixed(0),
        T::MYSQL_TYPE_TINY => Width::Fixed(1),
        T::MYSQL_TYPE_SHORT | T::MYSQL_TYPE_YEAR => Width::Fixed(2),
        T::MYSQL_TYPE_LONG | T::MYSQL_TYPE_INT24 | T::MYSQL_TYPE_FLOAT => Width::Fixed(4),
        T::MYSQL_TYPE_LONGLONG | T::MYSQL_TYPE_DOUBLE => Width::Fixed(8),
        T::MYSQL_TYPE_DATE
        | T::MYSQL_TYPE_DATETIME
        | T::MYSQL_TYPE_TIMESTAMP
        | T::MYSQL_TYPE_TIME => Width::Counted,
        T::MYSQL_TYPE_DECIMAL
        | T::MYSQL_TYPE_NEWDECIMAL
        | T::MYSQL_TYPE_VARCHAR
        | T::MYSQL_TYPE_VAR_STRING
        | T::MYSQL_TYPE_STRING
        | T::MYSQL_TYPE_BIT
        | T::MYSQL_TYPE_ENUM
        | T::MYSQL_TYPE_SET
        | T::MYSQL_TYPE_JSON
        | T::MYSQL_TYPE_VECTOR
        | T::MYSQL_TYPE_TINY_BLOB
        | T::MYSQL_TYPE_MEDIUM_BLOB
        | T::MYSQL_TYPE_LONG_BLOB
        | T::MYSQL_TYPE_BLOB
        | T::MYSQL_TYPE_GEOMETRY => Width::Text,
        T::MYSQL_TYPE_NEWDATE
        | T::MYSQL_TYPE_TIMESTAMP2
        | T::MYSQL_TYPE_DATETIME2
        | T::MYSQL_TYPE_TIME2
        | T::MYSQL_TYPE_TYPED_ARRAY
        | T::MYSQL_TYPE_UNKNOWN => {
            return Err(ProtocolError::Malformed("a type that never travels"));
        }
    })
}

/// Splits the value at the front of `rest`: how long its prefix is, and where it ends.
#[inline]
pub(crate) fn extent(width: Width, rest: &[u8]) -> Result<(usize, usize)> {
    let short = ProtocolError::Malformed("a binary value is longer than its packet");
    let (prefix, length) = match width {
        Width::Fixed(length) => (0, length),
        Width::Counted => (1, usize::from(*rest.first().ok_or(short.clone())?)),
        Width::Text => {
            let (length, prefix) = get_lenenc(rest)?;
            (prefix, usize::try_from(length).map_err(|_| short.clone())?)
        }
    };
    match prefix.checked_add(length) {
        Some(end) if end <= rest.len() => Ok((prefix, end)),
        _ => Err(short),
    }
}

/// Iterates over the fields of a binary row; ends after the first malformed one.
#[derive(Debug, Clone)]
pub struct BinaryFields<'a> {
    payload: &'a [u8],
    kinds: &'a [ColumnType],
    column: usize,
    offset: usize,
}

/// The fields of a binary row whose columns have the types `kinds`.
pub fn binary_fields<'a>(payload: &'a [u8], kinds: &'a [ColumnType]) -> Result<BinaryFields<'a>> {
    let offset = 1 + bitmap_length(kinds.len());
    if payload.first() != Some(&0) || payload.len() < offset {
        return Err(ProtocolError::Malformed("not a binary row"));
    }
    Ok(BinaryFields {
        payload,
        kinds,
        column: 0,
        offset,
    })
}

fn bitmap_length(columns: usize) -> usize {
    (columns + BITMAP_OFFSET).div_ceil(8)
}

impl<'a> Iterator for BinaryFields<'a> {
    type Item = Result<Field<'a>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let kind = *self.kinds.get(self.column)?;
        let bit = self.column + BITMAP_OFFSET;
        let offset = self.offset;
        self.column += 1;
        if self.payload[1 + bit / 8] & (1 << (bit % 8)) != 0 {
            return Some(Ok(Field {
                value: None,
                encoded: &[],
                offset,
            }));
        }
        let rest = &self.payload[offset..];
        match width(kind).and_then(|width| extent(width, rest)) {
            Ok((prefix, end)) => {
                self.offset += end;
                Some(Ok(Field {
                    value: Some(&rest[prefix..end]),
                    encoded: &rest[..end],
                    offset,
                }))
            }
            Err(error) => {
                self.column = self.kinds.len();
                Some(Err(error))
            }
        }
    }
}

/// Writes the payload of a binary row, column by column.
#[derive(Debug)]
pub struct BinaryRowWriter<'a> {
    out: &'a mut BytesMut,
    bitmap: usize,
    bit: usize,
}

impl<'a> BinaryRowWriter<'a> {
    /// A row of `columns` columns at the end of `out`. Exactly that many must follow.
    pub fn new(out: &'a mut BytesMut, columns: usize) -> Self {
        out.put_u8(0);
        let bitmap = out.len();
        out.put_bytes(0, bitmap_length(columns));
        Self {
            out,
            bitmap,
            bit: BITMAP_OFFSET,
        }
    }

    /// The next column is NULL.
    pub fn null(&mut self) {
        self.out[self.bitmap + self.bit / 8] |= 1 << (self.bit % 8);
        self.bit += 1;
    }

    /// The next column is as in another binary row, see [`Field::encoded`], or a
    /// number's little-endian bytes.
    pub fn encoded(&mut self, encoded: &[u8]) {
        self.out.put_slice(encoded);
        self.bit += 1;
    }

    /// The next column is of a type that is held as a length-encoded string.
    pub fn bytes(&mut self, value: &[u8]) {
        put_lenenc_bytes(value, self.out);
        self.bit += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn widths_follow_the_types() {
        use ColumnType as T;
        let kinds = [
            T::MYSQL_TYPE_LONGLONG,
            T::MYSQL_TYPE_VAR_STRING,
            T::MYSQL_TYPE_TINY,
            T::MYSQL_TYPE_DATETIME,
            T::MYSQL_TYPE_NEWDECIMAL,
        ];
        let mut out = BytesMut::new();
        let mut row = BinaryRowWriter::new(&mut out, kinds.len());
        row.encoded(&7u64.to_le_bytes());
        row.bytes(b"ab");
        row.null();
        row.encoded(b"\x04\xea\x07\x0b\x1e");
        row.bytes(b"1.50");
        assert_eq!(
            &out[..],
            b"\0\x10\x07\0\0\0\0\0\0\0\x02ab\x04\xea\x07\x0b\x1e\x041.50"
        );
        let values: Vec<_> = binary_fields(&out, &kinds)
            .unwrap()
            .map(|field| field.unwrap().value.map(<[u8]>::to_vec))
            .collect();
        let expected = [
            Some(7u64.to_le_bytes().to_vec()),
            Some(b"ab".to_vec()),
            None,
            Some(b"\xea\x07\x0b\x1e".to_vec()),
            Some(b"1.50".to_vec()),
        ];
        assert_eq!(values, expected);
    }

    proptest! {
        #[test]
        fn a_row_comes_back(values: Vec<Option<Vec<u8>>>) {
            let kinds = vec![ColumnType::MYSQL_TYPE_BLOB; values.len()];
            let mut out = BytesMut::new();
            let mut row = BinaryRowWriter::new(&mut out, values.len());
            for value in &values {
                match value {
                    Some(value) => row.bytes(value),
                    None => row.null(),
                }
            }
            let got: Vec<_> = binary_fields(&out, &kinds)
                .unwrap()
                .map(|field| field.unwrap().value.map(<[u8]>::to_vec))
                .collect();
            prop_assert_eq!(got, values);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>, kinds: Vec<u8>) {
            let kinds: Vec<_> = kinds.into_iter().filter_map(|kind| ColumnType::try_from(kind).ok()).collect();
            if let Ok(fields) = binary_fields(&bytes, &kinds) {
                fields.for_each(drop);
            }
        }
    }
}
