//! Where the warnings of the last statement are.

use remora_protocol::ErrPacket;

use crate::backend::{Backend, BackendError};
use crate::names::Names;

/// What SHOW WARNINGS and SHOW ERRORS will show.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) enum Diagnostics {
    /// Nothing.
    #[default]
    Clean,
    /// The server of this shard knows.
    On(usize),
    /// Made here, or gathered from several servers.
    Local(Vec<Note>),
}

/// One warning or error.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Note {
    /// `Error`, `Warning` or `Note`.
    pub(crate) level: Vec<u8>,
    /// MySQL's number.
    pub(crate) code: u16,
    /// Its SQLSTATE, which SHOW WARNINGS does not tell.
    pub(crate) state: Option<[u8; 5]>,
    /// The text.
    pub(crate) message: Vec<u8>,
}

/// MySQL keeps this many by default (`max_error_count`).
const MOST: usize = 1024;

impl Diagnostics {
    /// One error that was made here.
    pub(crate) fn of_error(error: &ErrPacket<'_>) -> Self {
        Self::Local(vec![Note {
            level: b"Error".to_vec(),
            code: error.code,
            state: Some(error.state),
            message: error.message.to_vec(),
        }])
    }

    /// Warnings of several servers.
    pub(crate) fn of_notes(mut notes: Vec<Note>) -> Self {
        notes.truncate(MOST);
        if notes.is_empty() {
            Self::Clean
        } else {
            Self::Local(notes)
        }
    }
}

impl Note {
    /// Asks a server for the warnings of its last statement.
    ///
    /// # Errors
    /// If the connection breaks. If the server refuses there are none.
    pub(crate) async fn fetch(backend: &mut Backend) -> Result<Vec<Self>, BackendError> {
        let rows = backend.rows(b"SHOW WARNINGS").await?.unwrap_or_default();
        Ok(rows.into_iter().filter_map(Self::from_row).collect())
    }

    fn from_row(row: Vec<Option<Vec<u8>>>) -> Option<Self> {
        let [level, code, message] = <[_; 3]>::try_from(row).ok()?;
        let code = String::from_utf8(code?).ok()?.parse().ok()?;
        Some(Self {
            level: level?,
            code,
            state: None,
            message: message?,
        })
    }

    /// The same with logical names.
    pub(crate) fn logical(self, names: &Names) -> Self {
        Self {
            message: names.in_text(&self.message).into_owned(),
            ..self
        }
    }
}
