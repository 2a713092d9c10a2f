//! Kinds of commands, for a label.

use remora_protocol::Command;

/// The kind of a client's command.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CommandKind {
    /// COM_QUERY.
    Query,
    /// COM_STMT_PREPARE.
    Prepare,
    /// COM_STMT_EXECUTE.
    Execute,
    /// The other commands of prepared statements.
    Statement,
    /// COM_INIT_DB.
    InitDb,
    /// COM_PING.
    Ping,
    /// COM_CHANGE_USER and COM_RESET_CONNECTION.
    Reset,
    /// The rest.
    Other,
}

impl CommandKind {
    /// All kinds, in the order of their numbers.
    pub(super) const ALL: [Self; 8] = [
        Self::Query,
        Self::Prepare,
        Self::Execute,
        Self::Statement,
        Self::InitDb,
        Self::Ping,
        Self::Reset,
        Self::Other,
    ];

    /// The value of the label `command`.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Prepare => "prepare",
            Self::Execute => "execute",
            Self::Statement => "statement",
            Self::InitDb => "init_db",
            Self::Ping => "ping",
            Self::Reset => "reset",
            Self::Other => "other",
        }
    }
}

impl From<&Command<'_>> for CommandKind {
    fn from(command: &Command<'_>) -> Self {
        match command {
            Command::Query(_) | Command::QueryWith(_) => Self::Query,
            Command::StmtPrepare(_) => Self::Prepare,
            Command::StmtExecute(_) => Self::Execute,
            Command::StmtSendLongData { .. }
            | Command::StmtClose(_)
            | Command::StmtReset(_)
            | Command::StmtFetch { .. } => Self::Statement,
            Command::InitDb(_) => Self::InitDb,
            Command::Ping => Self::Ping,
            Command::ChangeUser(_) | Command::ResetConnection => Self::Reset,
            Command::Quit
            | Command::FieldList { .. }
            | Command::Statistics
            | Command::ProcessInfo
            | Command::ProcessKill(_)
            | Command::Debug
            | Command::SetOption(_)
            | Command::Unknown(_) => Self::Other,
        }
    }
}
