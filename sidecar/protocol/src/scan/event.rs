//! What the scanner is told and what it tells.

use crate::capability::StatusFlags;
use crate::result::PrepareOk;

/// What kind of answer a command has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// OK, ERR, or results: QUERY, EXECUTE, and all commands that answer OK.
    Command,
    /// The answer to PREPARE.
    Prepare,
    /// Column definitions: FIELD_LIST.
    FieldList,
    /// One line: STATISTICS.
    Statistics,
    /// Rows without definitions: FETCH.
    Fetch,
}

/// What the scanner came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Nothing; the input is used up. Read more.
    NeedMore,
    /// The head of a result with so many columns.
    ResultSet {
        /// The number of columns.
        columns: u64,
    },
    /// The head of PREPARE's answer.
    PrepareOk(PrepareOk),
    /// A parameter's definition, where columns are asked for.
    Param,
    /// A column's definition, where columns are asked for.
    Column,
    /// The EOF packet behind definitions, where columns are asked for.
    DefinitionsEnd,
    /// A row, where rows are asked for. See [`payload`](crate::payload).
    Row,
    /// The server asks for a file; its name follows the first byte.
    Infile,
    /// An OK packet: a statement that has no rows succeeded.
    Ok {
        /// The session's status.
        status: StatusFlags,
    },
    /// The end of rows, in either style; see [`decode_end`](crate::decode_end).
    End {
        /// The session's status. Whether more follows must be asked of this one,
        /// not of the packet: an EOF behind OUT parameters does not say it.
        status: StatusFlags,
    },
    /// An ERR packet, which ends the whole answer.
    Err,
    /// The line of STATISTICS.
    Text,
    /// The end of PREPARE's answer, which has no packet of its own.
    Complete,
}

/// A step through the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// So many bytes at the front can be passed on as they are.
    pub skip: usize,
    /// Then comes a packet of so many bytes, headers included, which `event` tells of.
    pub len: usize,
    /// What it is.
    pub event: Event,
}
