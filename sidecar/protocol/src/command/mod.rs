//! What a client asks for: the first packet of each exchange.

mod attributes;
mod change_user;

use bytes::{BufMut, BytesMut};

pub(crate) use attributes::MOST;
pub use attributes::{Attribute, QueryAttributes, put_attributes};
pub use change_user::ChangeUser;

use crate::ErrPacket;
use crate::capability::CapabilityFlags;
use crate::error::{ProtocolError, Result};
use crate::wire::{Input, put_nul_bytes};

/// A command, borrowed from its packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command<'a> {
    /// End the session; there is no answer.
    Quit,
    /// Change the default database.
    InitDb(&'a [u8]),
    /// Run statements, as text.
    Query(&'a [u8]),
    /// The same with attributes.
    QueryWith(Query<'a>),
    /// Describe a table's columns.
    FieldList {
        /// The table.
        table: &'a [u8],
        /// A LIKE pattern for columns; empty means all.
        wildcard: &'a [u8],
    },
    /// Tell how the server is doing, in one line.
    Statistics,
    /// List the connections.
    ProcessInfo,
    /// Kill a connection.
    ProcessKill(u32),
    /// Write internals to the server's log.
    Debug,
    /// Answer OK.
    Ping,
    /// Log in again, as somebody else.
    ChangeUser(ChangeUser<'a>),
    /// Forget the session's state but not its user.
    ResetConnection,
    /// Switch several statements in one query on (0) or off (1).
    SetOption(u16),
    /// Prepare a statement.
    StmtPrepare(&'a [u8]),
    /// Execute a prepared statement.
    StmtExecute(Execute<'a>),
    /// Append to a parameter; there is no answer.
    StmtSendLongData {
        /// The statement.
        statement: u32,
        /// The parameter's index.
        param: u16,
        /// What to append.
        data: &'a [u8],
    },
    /// Forget a prepared statement; there is no answer.
    StmtClose(u32),
    /// Forget long data and close the cursor of a prepared statement.
    StmtReset(u32),
    /// Fetch rows of a cursor.
    StmtFetch {
        /// The statement.
        statement: u32,
        /// At most so many rows.
        rows: u32,
    },
    /// A command that the sidecar does not have; see [`Command::unknown_error`].
    Unknown(u8),
}

/// Statements as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Query<'a> {
    /// The text.
    pub text: &'a [u8],
    /// What the client says beside it.
    pub attributes: QueryAttributes<'a>,
}

/// The request to execute a prepared statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Execute<'a> {
    /// The statement's id on this connection.
    pub statement: u32,
    /// Whether a cursor is to be opened ([`CursorType`](crate::CursorType)'s bits), and whether
    /// attributes may follow the parameters ([`Execute::COUNTED`]).
    pub flags: u8,
    /// The parameters, for [`decode_execute`](crate::decode_execute).
    pub body: &'a [u8],
}

impl Execute<'_> {
    /// The flag of an EXECUTE that counts its parameters and attributes, though the statement
    /// may have no parameter.
    pub const COUNTED: u8 = 8;
}

mod code {
    pub(super) const QUIT: u8 = 0x01;
    pub(super) const INIT_DB: u8 = 0x02;
    pub(super) const QUERY: u8 = 0x03;
    pub(super) const FIELD_LIST: u8 = 0x04;
    pub(super) const STATISTICS: u8 = 0x09;
    pub(super) const PROCESS_INFO: u8 = 0x0A;
    pub(super) const PROCESS_KILL: u8 = 0x0C;
    pub(super) const DEBUG: u8 = 0x0D;
    pub(super) const PING: u8 = 0x0E;
    pub(super) const CHANGE_USER: u8 = 0x11;
    pub(super) const STMT_PREPARE: u8 = 0x16;
    pub(super) const STMT_EXECUTE: u8 = 0x17;
    pub(super) const STMT_SEND_LONG_DATA: u8 = 0x18;
    pub(super) const STMT_CLOSE: u8 = 0x19;
    pub(super) const STMT_RESET: u8 = 0x1A;
    pub(super) const SET_OPTION: u8 = 0x1B;
    pub(super) const STMT_FETCH: u8 = 0x1C;
    pub(super) const RESET_CONNECTION: u8 = 0x1F;
}

/// How often an EXECUTE is to run; no other number was ever defined.
pub(crate) const ITERATIONS: u32 = 1;

impl<'a> Command<'a> {
    /// Reads a command that a client with `capabilities` sent.
    pub fn decode(payload: &'a [u8], capabilities: CapabilityFlags) -> Result<Self> {
        let mut input = Input(payload);
        let code = input
            .u8()
            .map_err(|_| ProtocolError::Malformed("an empty command"))?;
        Ok(match code {
            code::QUIT => Self::Quit,
            code::INIT_DB => Self::InitDb(input.rest()),
            code::QUERY => {
                let attributes = QueryAttributes::take(&mut input, capabilities)?;
                let text = input.rest();
                match attributes.is_empty() {
                    true => Self::Query(text),
                    false => Self::QueryWith(Query { text, attributes }),
                }
            }
            code::FIELD_LIST => {
                let table = input.nul_or_rest();
                Self::FieldList {
                    table,
                    wildcard: input.rest(),
                }
            }
            code::STATISTICS => Self::Statistics,
            code::PROCESS_INFO => Self::ProcessInfo,
            code::PROCESS_KILL => Self::ProcessKill(input.u32()?),
            code::DEBUG => Self::Debug,
            code::PING => Self::Ping,
            code::CHANGE_USER => Self::ChangeUser(ChangeUser::take(&mut input, capabilities)?),
            code::RESET_CONNECTION => Self::ResetConnection,
            code::SET_OPTION => Self::SetOption(input.u16()?),
            code::STMT_PREPARE => Self::StmtPrepare(input.rest()),
            code::STMT_EXECUTE => {
                let (statement, flags) = (input.u32()?, input.u8()?);
                input.u32()?;
                Self::StmtExecute(Execute {
                    statement,
                    flags,
                    body: input.rest(),
                })
            }
            code::STMT_SEND_LONG_DATA => {
                let (statement, param) = (input.u32()?, input.u16()?);
                Self::StmtSendLongData {
                    statement,
                    param,
                    data: input.rest(),
                }
            }
            code::STMT_CLOSE => Self::StmtClose(input.u32()?),
            code::STMT_RESET => Self::StmtReset(input.u32()?),
            code::STMT_FETCH => Self::StmtFetch {
                statement: input.u32()?,
                rows: input.u32()?,
            },
            unknown => Self::Unknown(unknown),
        })
    }

    /// Appends the command, for a connection with `capabilities`.
    pub fn encode(&self, capabilities: CapabilityFlags, out: &mut BytesMut) -> Result<()> {
        let mut text = |code, text: &[u8]| {
            out.put_u8(code);
            out.put_slice(text);
        };
        match *self {
            Self::Quit => out.put_u8(code::QUIT),
            Self::InitDb(name) => text(code::INIT_DB, name),
            Self::Query(text) => {
                out.put_u8(code::QUERY);
                QueryAttributes::default().encode(capabilities, out);
                out.put_slice(text);
            }
            Self::QueryWith(Query { text, attributes }) => {
                out.put_u8(code::QUERY);
                attributes.encode(capabilities, out);
                out.put_slice(text);
            }
            Self::FieldList { table, wildcard } => {
                out.put_u8(code::FIELD_LIST);
                put_nul_bytes(table, out);
                out.put_slice(wildcard);
            }
            Self::Statistics => out.put_u8(code::STATISTICS),
            Self::ProcessInfo => out.put_u8(code::PROCESS_INFO),
            Self::ProcessKill(id) => text(code::PROCESS_KILL, &id.to_le_bytes()),
            Self::Debug => out.put_u8(code::DEBUG),
            Self::Ping => out.put_u8(code::PING),
            Self::ChangeUser(change) => {
                out.put_u8(code::CHANGE_USER);
                change.encode(capabilities, out)?;
            }
            Self::ResetConnection => out.put_u8(code::RESET_CONNECTION),
            Self::SetOption(option) => text(code::SET_OPTION, &option.to_le_bytes()),
            Self::StmtPrepare(query) => text(code::STMT_PREPARE, query),
            Self::StmtExecute(Execute {
                statement,
                flags,
                body,
            }) => {
                put_execute_head(statement, flags, out);
                out.put_slice(body);
            }
            Self::StmtSendLongData {
                statement,
                param,
                data,
            } => {
                out.put_u8(code::STMT_SEND_LONG_DATA);
                out.put_u32_le(statement);
                out.put_u16_le(param);
                out.put_slice(data);
            }
            Self::StmtClose(statement) => text(code::STMT_CLOSE, &statement.to_le_bytes()),
            Self::StmtReset(statement) => text(code::STMT_RESET, &statement.to_le_bytes()),
            Self::StmtFetch { statement, rows } => {
                out.put_u8(code::STMT_FETCH);
                out.put_u32_le(statement);
                out.put_u32_le(rows);
            }
            Self::Unknown(code) => out.put_u8(code),
        }
        Ok(())
    }

    /// MySQL's answer to a command that it does not know.
    #[must_use]
    pub fn unknown_error() -> ErrPacket<'static> {
        ErrPacket::new(1047, *b"08S01", "Unknown command")
    }
}

pub(crate) fn put_execute_head(statement: u32, flags: u8, out: &mut BytesMut) {
    out.put_u8(code::STMT_EXECUTE);
    out.put_u32_le(statement);
    out.put_u8(flags);
    out.put_u32_le(ITERATIONS);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::capability::server_offer;

    fn encoded(command: &Command<'_>) -> BytesMut {
        let mut out = BytesMut::new();
        command.encode(server_offer(), &mut out).unwrap();
        out
    }

    #[test]
    fn every_command_comes_back() {
        let execute = Execute {
            statement: 9,
            flags: 1,
            body: b"\0\x01\x08\0\x07",
        };
        for sent in [
            Command::Quit,
            Command::InitDb(b"shop"),
            Command::Query(b"SELECT 1"),
            Command::FieldList {
                table: b"t",
                wildcard: b"a%",
            },
            Command::Statistics,
            Command::ProcessInfo,
            Command::ProcessKill(8),
            Command::Debug,
            Command::Ping,
            Command::ResetConnection,
            Command::SetOption(1),
            Command::StmtPrepare(b"SELECT ?"),
            Command::StmtExecute(execute),
            Command::StmtSendLongData {
                statement: 9,
                param: 1,
                data: b"long",
            },
            Command::StmtClose(9),
            Command::StmtReset(9),
            Command::StmtFetch {
                statement: 9,
                rows: 100,
            },
            Command::Unknown(0x77),
        ] {
            assert_eq!(Command::decode(&encoded(&sent), server_offer()), Ok(sent));
        }
    }

    #[test]
    fn an_execute_has_mysqls_bytes() {
        let execute = Command::StmtExecute(Execute {
            statement: 1,
            flags: 0,
            body: b"",
        });
        assert_eq!(&encoded(&execute)[..], b"\x17\x01\0\0\0\0\x01\0\0\0");
    }

    #[test]
    fn an_unknown_command_is_error_1047() {
        assert_eq!(
            Command::unknown_error().to_string(),
            "1047 (08S01): Unknown command"
        );
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = Command::decode(&bytes, server_offer());
            let _ = Command::decode(&bytes, CapabilityFlags::empty());
        }
    }
}
