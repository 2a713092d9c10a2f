//! What a server answers.

use std::fmt::{self, Display, Formatter};

use anyhow::{Result, bail};
use remora_protocol::{ErrPacket, OkPacket, StatusFlags};

/// The answers to one command: one for each statement of a text.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Those before an error.
    pub answers: Vec<Answer>,
    /// The error that ended them.
    pub error: Option<ServerError>,
}

/// The answer to a statement that succeeded.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Its rows, if it has a result set.
    pub rows: Option<Rows>,
    /// Rows that changed.
    pub affected: u64,
    /// The first id that was generated.
    pub insert_id: u64,
    /// The session's state.
    pub status: StatusFlags,
    /// How many warnings SHOW WARNINGS has.
    pub warnings: u16,
}

/// A result set, all values as text.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Rows {
    /// The columns' names.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<Option<String>>>,
}

/// An error of the server's.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ServerError {
    /// Its number.
    pub code: u16,
    /// Its text.
    pub message: String,
}

impl Outcome {
    /// The only answer.
    ///
    /// # Errors
    /// If there is an error, or another number of answers.
    pub fn one(self) -> Result<Answer> {
        if let Some(error) = self.error {
            bail!("{error}");
        }
        match <[Answer; 1]>::try_from(self.answers) {
            Ok([only]) => Ok(only),
            Err(answers) => bail!("{} answers", answers.len()),
        }
    }

    /// The rows of the only answer.
    ///
    /// # Errors
    /// As [`Outcome::one`], and if it has none.
    pub fn rows(self) -> Result<Vec<Vec<Option<String>>>> {
        match self.one()?.rows {
            Some(rows) => Ok(rows.rows),
            None => bail!("no rows"),
        }
    }

    /// The only value of the only row.
    ///
    /// # Errors
    /// As [`Outcome::rows`], and if there is another number of values.
    pub fn value(self) -> Result<Option<String>> {
        let rows = self.rows()?;
        match <[_; 1]>::try_from(rows).map(|[row]| <[_; 1]>::try_from(row)) {
            Ok(Ok([value])) => Ok(value),
            other => bail!("not one value: {other:?}"),
        }
    }
}

impl Answer {
    pub(super) fn of(ok: &OkPacket<'_>) -> Self {
        Self {
            rows: None,
            affected: ok.affected_rows,
            insert_id: ok.last_insert_id,
            status: ok.status,
            warnings: ok.warnings,
        }
    }
}

impl From<ErrPacket<'_>> for ServerError {
    fn from(error: ErrPacket<'_>) -> Self {
        Self {
            code: error.code,
            message: String::from_utf8_lossy(&error.message).into_owned(),
        }
    }
}

impl Display for ServerError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.code, self.message)
    }
}
