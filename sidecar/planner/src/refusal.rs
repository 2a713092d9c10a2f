//! What a client is told when a statement cannot be served.

use std::fmt;

/// An error for the client, in MySQL's terms.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub struct Refusal {
    /// MySQL's error number.
    pub code: u16,
    /// SQLSTATE.
    pub state: [u8; 5],
    /// The sentence; it names logical tables only, never a value.
    pub message: String,
}

impl Refusal {
    /// MySQL's 1235 (`ER_NOT_SUPPORTED_YET`): the statement is fine, Remora cannot serve it.
    /// The sentence says what to do instead.
    #[must_use]
    pub fn unsupported(sentence: impl Into<String>) -> Self {
        Self {
            code: 1235,
            state: *b"42000",
            message: sentence.into(),
        }
    }

    /// MySQL's 1048: a key column was given NULL.
    #[must_use]
    pub fn null_column(column: &str) -> Self {
        Self {
            code: 1048,
            state: *b"23000",
            message: format!("Column '{column}' cannot be null"),
        }
    }

    /// MySQL's 1146: the table does not exist.
    #[must_use]
    pub fn no_such_table(database: &str, table: &str) -> Self {
        Self {
            code: 1146,
            state: *b"42S02",
            message: format!("Table '{database}.{table}' doesn't exist"),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = String::from_utf8_lossy(&self.state);
        write!(f, "ERROR {} ({state}): {}", self.code, self.message)
    }
}
