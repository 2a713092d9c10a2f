//! From a constant in SQL to the hash that says where its row lives.
//!
//! A sharding column's declared type says how MySQL converts a constant that the column is
//! compared with, or that is stored into it. [`KeyType::convert`] does the same and gives the
//! value's *canonical bytes*: two values have the same bytes if and only if MySQL calls them
//! equal in that column. The hash of those bytes is pinned for ever, as rows on disk are where
//! it once said.
//!
//! | type | canonical bytes |
//! | --- | --- |
//! | TINYINT … BIGINT, signed or not, YEAR | the value modulo 2^64, 8 bytes, little-endian |
//! | DECIMAL | the shortest decimal text: `-12.5`, no zeros in front or at the end, `0` |
//! | DATE | `YYYY-MM-DD` |
//! | DATETIME | `YYYY-MM-DD HH:MM:SS`, and `.` with the fraction's digits up to the last that is not 0 |
//! | BINARY, VARBINARY | the bytes as stored (BINARY filled up with zero bytes) |
//! | CHAR, VARCHAR in a `_bin` collation | the text in UTF-8, for PAD SPACE without spaces at the end |
//! | CHAR, VARCHAR in another collation | its weights, see [`Collation`] |
//!
//! Where it is not sure that the conversion is MySQL's, a comparison is
//! [`Conversion::Scatter`] (all shards are asked, which is never wrong) and a stored value is
//! [`Conversion::Refuse`].

mod charset;
mod collation;
mod constant;
mod convert;
mod declared;
mod hash;
mod number;
mod temporal;
mod text;

pub use charset::Charset;
pub use collation::Collation;
pub use constant::Constant;
pub use convert::{Conversion, Origin, Purpose};
pub use declared::{IntegerType, KeyType, KeyTypeError};
pub use hash::hash;
pub use temporal::Moment;
pub use text::{Unstorable, stored};

#[cfg(test)]
pub(crate) mod tests;
