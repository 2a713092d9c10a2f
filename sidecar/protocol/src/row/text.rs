//! Rows of the text protocol: a length-encoded string for each column, or NULL.

use bytes::{BufMut, BytesMut};

use super::Field;
use crate::error::Result;
use crate::wire::{get_lenenc, put_lenenc_bytes};

const NULL: u8 = 0xFB;

/// Iterates over the fields of a text row; ends after the first malformed one.
#[derive(Debug, Clone)]
pub struct TextFields<'a> {
    payload: &'a [u8],
    offset: usize,
}

/// The fields of a text row. How many there are is the row's own matter: a
/// caller that expects a number of columns counts them.
#[must_use]
pub fn text_fields(payload: &[u8]) -> TextFields<'_> {
    TextFields { payload, offset: 0 }
}

impl<'a> TextFields<'a> {
    #[inline]
    fn read(&self, rest: &'a [u8]) -> Result<Field<'a>> {
        let offset = self.offset;
        if rest[0] == NULL {
            return Ok(Field {
                value: None,
                encoded: &rest[..1],
                offset,
            });
        }
        let (length, prefix) = get_lenenc(rest)?;
        let end = usize::try_from(length)
            .ok()
            .and_then(|length| length.checked_add(prefix));
        let encoded =
            end.and_then(|end| rest.get(..end))
                .ok_or(crate::ProtocolError::Malformed(
                    "a text value is longer than its row",
                ))?;
        Ok(Field {
            value: Some(&encoded[prefix..]),
            encoded,
            offset,
        })
    }
}

impl<'a> Iterator for TextFields<'a> {
    type Item = Result<Field<'a>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let rest = &self.payload[self.offset..];
        if rest.is_empty() {
            return None;
        }
        let field = self.read(rest);
        self.offset = match &field {
            Ok(field) => self.offset + field.encoded.len(),
            Err(_) => self.payload.len(),
        };
        Some(field)
    }
}

/// Writes the payload of a text row, column by column.
#[derive(Debug)]
pub struct TextRowWriter<'a> {
    out: &'a mut BytesMut,
}

impl<'a> TextRowWriter<'a> {
    /// A row at the end of `out`.
    pub fn new(out: &'a mut BytesMut) -> Self {
        Self { out }
    }

    /// The next column is NULL.
    pub fn null(&mut self) {
        self.out.put_u8(NULL);
    }

    /// The next column has this value.
    pub fn value(&mut self, value: &[u8]) {
        put_lenenc_bytes(value, self.out);
    }

    /// The next column is as in another text row, see [`Field::encoded`].
    pub fn encoded(&mut self, encoded: &[u8]) {
        self.out.put_slice(encoded);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_row_comes_back(values: Vec<Option<Vec<u8>>>) {
            let mut out = BytesMut::new();
            let mut row = TextRowWriter::new(&mut out);
            for value in &values {
                match value {
                    Some(value) => row.value(value),
                    None => row.null(),
                }
            }
            let fields: Vec<_> = text_fields(&out).map(Result::unwrap).collect();
            let got: Vec<_> = fields.iter().map(|field| field.value.map(<[u8]>::to_vec)).collect();
            prop_assert_eq!(got, values);

            let mut copy = BytesMut::new();
            let mut row = TextRowWriter::new(&mut copy);
            for field in &fields {
                prop_assert_eq!(&out[field.offset..][..field.encoded.len()], field.encoded);
                row.encoded(field.encoded);
            }
            prop_assert_eq!(copy, out);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            text_fields(&bytes).for_each(drop);
        }
    }

    #[test]
    fn a_malformed_field_is_the_last() {
        let mut fields = text_fields(b"\x01a\x09b\x01c");
        assert_eq!(fields.next().unwrap().unwrap().value, Some(&b"a"[..]));
        assert!(fields.next().unwrap().is_err());
        assert!(fields.next().is_none());
    }

    #[test]
    fn null_and_empty_differ() {
        let values: Vec<_> = text_fields(b"\xfb\x00")
            .map(|field| field.unwrap().value)
            .collect();
        assert_eq!(values, [None, Some(&b""[..])]);
    }
}
