//! Rows of both protocols, read in place and written.

mod binary;
mod text;

pub use binary::{BinaryFields, BinaryRowWriter, binary_fields};
pub(crate) use binary::{Width, extent, width};
pub use text::{TextFields, TextRowWriter, text_fields};

/// One column's value in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field<'a> {
    /// The value without its length prefix; `None` is NULL.
    pub value: Option<&'a [u8]>,
    /// All of the field's bytes, prefix included: what another row of the same
    /// protocol can take over. A binary NULL has none.
    pub encoded: &'a [u8],
    /// Where `encoded` begins in the row's payload.
    pub offset: usize,
}
