//! Builds one row in either encoding.

use bytes::BytesMut;
use remora_protocol::{BinaryRowWriter, TextRowWriter};

use crate::column::Format;

/// Writes the columns of a row one after the other.
pub(crate) enum RowWriter<'a> {
    Text(TextRowWriter<'a>),
    Binary(BinaryRowWriter<'a>),
}

impl<'a> RowWriter<'a> {
    /// Begins a row of `columns` at the end of `out`.
    pub(crate) fn new(format: Format, columns: usize, out: &'a mut BytesMut) -> Self {
        match format {
            Format::Text => Self::Text(TextRowWriter::new(out)),
            Format::Binary => Self::Binary(BinaryRowWriter::new(out, columns)),
        }
    }

    pub(crate) fn null(&mut self) {
        match self {
            Self::Text(row) => row.null(),
            Self::Binary(row) => row.null(),
        }
    }

    /// A value as it is encoded, with its prefix.
    pub(crate) fn encoded(&mut self, value: &[u8]) {
        match self {
            Self::Text(row) => row.encoded(value),
            Self::Binary(row) => row.encoded(value),
        }
    }

    /// A value that gets its length as prefix.
    pub(crate) fn prefixed(&mut self, value: &[u8]) {
        match self {
            Self::Text(row) => row.value(value),
            Self::Binary(row) => row.bytes(value),
        }
    }
}
