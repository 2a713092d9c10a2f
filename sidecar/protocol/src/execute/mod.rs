//! Parameters of a prepared statement, as EXECUTE carries them.

mod decode;
mod encode;
mod value;

pub use decode::decode_execute;
pub(crate) use decode::take_named;
pub(crate) use encode::put_values;
pub use encode::{encode_execute, encode_long_data};
pub use value::{DateTime, ParamValue, Time};

use crate::capability::ColumnType;

/// The type that a client binds a parameter with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParamType {
    /// The type.
    pub kind: ColumnType,
    /// Whether a number is unsigned.
    pub unsigned: bool,
}

/// A parameter with its value's bytes as they travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Param<'a> {
    /// How the bytes are to be read.
    pub ty: ParamType,
    /// The bytes.
    pub raw: RawParam<'a>,
}

/// The bytes of a parameter's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RawParam<'a> {
    /// NULL: a bit, no bytes.
    Null,
    /// As a client sent it, with the prefix that its type has.
    Encoded(&'a [u8]),
    /// A number that was generated here.
    Integer([u8; 8]),
    /// A string that was generated here; it gets its prefix when it is written.
    Bytes(&'a [u8]),
    /// Sent before, by SEND_LONG_DATA.
    Long,
}

impl<'a> Param<'a> {
    /// NULL.
    #[must_use]
    pub fn null() -> Self {
        let ty = ParamType {
            kind: ColumnType::MYSQL_TYPE_NULL,
            unsigned: false,
        };
        Self {
            ty,
            raw: RawParam::Null,
        }
    }

    /// A signed number.
    #[must_use]
    pub fn int(value: i64) -> Self {
        let ty = ParamType {
            kind: ColumnType::MYSQL_TYPE_LONGLONG,
            unsigned: false,
        };
        Self {
            ty,
            raw: RawParam::Integer(value.to_le_bytes()),
        }
    }

    /// An unsigned number.
    #[must_use]
    pub fn uint(value: u64) -> Self {
        let ty = ParamType {
            kind: ColumnType::MYSQL_TYPE_LONGLONG,
            unsigned: true,
        };
        Self {
            ty,
            raw: RawParam::Integer(value.to_le_bytes()),
        }
    }

    /// A string in the connection's character set.
    #[must_use]
    pub fn bytes(value: &'a [u8]) -> Self {
        let ty = ParamType {
            kind: ColumnType::MYSQL_TYPE_VAR_STRING,
            unsigned: false,
        };
        Self {
            ty,
            raw: RawParam::Bytes(value),
        }
    }
}
