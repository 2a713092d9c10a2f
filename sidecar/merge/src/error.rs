//! Why a merge cannot give MySQL's answer, so that it gives none.

use remora_protocol::ProtocolError;

/// A merge failed. The client gets an error, never a wrong row.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum MergeError {
    /// The parts do not agree in a column, or do not have the columns that were planned for:
    /// a DDL statement is under way.
    #[error(
        "Table definition has changed, please retry transaction: \
         column {column} of the result differs between shards"
    )]
    Changed {
        /// The column, from 0.
        column: usize,
    },
    /// Values of this kind cannot be compared outside MySQL.
    #[error("Remora does not support {0} across shards; sort or group in the application")]
    Unsupported(&'static str),
    /// The collation's weights cannot be padded outside MySQL.
    #[error("Remora does not support keys of collation '{0}' across shards; use another collation")]
    Collation(String),
    /// More bytes would have to be held than the configuration allows.
    #[error(
        "Out of sort memory: the merge of the shards' rows needs more than {limit} bytes; \
         narrow the statement with WHERE or LIMIT"
    )]
    TooLarge {
        /// The limit in force.
        limit: usize,
    },
    /// An aggregate does not fit its type.
    #[error("{0} value is out of range")]
    OutOfRange(&'static str),
    /// A part's rows are not in the order that the merge relies on. MySQL itself sorts strings
    /// by no more than their first `max_sort_length` bytes, in some of its ways to sort.
    #[error(
        "the rows of part {part} are not in the expected order; \
         are there keys longer than max_sort_length?"
    )]
    OutOfOrder {
        /// The part, from 0.
        part: usize,
    },
    /// A part was given a row though none was asked of it.
    #[error("part {part} was given a row before its last one was taken")]
    Unasked {
        /// The part, from 0.
        part: usize,
    },
    /// A part's packet is not a row of the announced columns.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
}

impl MergeError {
    /// MySQL's number for it.
    #[must_use]
    pub fn code(&self) -> u16 {
        match self {
            Self::Changed { .. } => 1412,
            Self::Unsupported(_) | Self::Collation(_) => 1235,
            Self::TooLarge { .. } => 1038,
            Self::OutOfRange(_) => 1690,
            Self::OutOfOrder { .. } | Self::Unasked { .. } => 1105,
            Self::Protocol(_) => 1835,
        }
    }

    /// The SQLSTATE that goes with [`code`](Self::code).
    #[must_use]
    pub fn sql_state(&self) -> [u8; 5] {
        match self {
            Self::Unsupported(_) | Self::Collation(_) => *b"42000",
            Self::TooLarge { .. } => *b"HY001",
            Self::OutOfRange(_) => *b"22003",
            Self::Changed { .. }
            | Self::OutOfOrder { .. }
            | Self::Unasked { .. }
            | Self::Protocol(_) => *b"HY000",
        }
    }
}

/// A value that its column's type does not allow.
pub(crate) fn malformed(what: &'static str) -> MergeError {
    MergeError::Protocol(ProtocolError::Malformed(what))
}
