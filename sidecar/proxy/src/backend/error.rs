//! What can go wrong with a backend, and how the client hears of it.

use std::io;

use remora_protocol::{ErrPacket, LoginError, ProtocolError};

/// Why a backend could not be used.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// No connection came about. Nothing was executed.
    #[error("cannot connect to shard {shard}: {reason}")]
    Connect {
        /// The shard.
        shard: usize,
        /// Why, without an address.
        reason: String,
    },
    /// MySQL refused the login, or answered an internal statement with an error.
    #[error("shard {shard} answered {error}")]
    Server {
        /// The shard.
        shard: usize,
        /// MySQL's own error.
        error: ErrPacket<'static>,
    },
    /// What had to run before a statement failed; the statement's own answer is lost.
    #[error("shard {shard} answered {error} to what opens a transaction")]
    Queued {
        /// The shard.
        shard: usize,
        /// MySQL's own error.
        error: ErrPacket<'static>,
    },
    /// The connection broke while a command was under way; whether it ran is unknown.
    #[error("lost the connection to shard {shard}: {source}")]
    Lost {
        /// The shard.
        shard: usize,
        /// The socket's error.
        source: io::Error,
    },
    /// MySQL sent what the protocol does not allow here.
    #[error("shard {shard} broke the protocol: {source}")]
    Protocol {
        /// The shard.
        shard: usize,
        /// How.
        source: ProtocolError,
    },
}

impl BackendError {
    /// A shard that no server takes writes for.
    pub(crate) fn no_primary(shard: usize) -> Self {
        let reason = "the shard has no primary".to_owned();
        Self::Connect { shard, reason }
    }

    /// A connection that is not there any more.
    pub(crate) fn gone(shard: usize) -> Self {
        let source = io::ErrorKind::ConnectionReset.into();
        Self::Lost { shard, source }
    }

    /// A connection that did not come about, for the reason that the login gives.
    pub(super) fn login(shard: usize, error: LoginError) -> Self {
        match error {
            LoginError::Server(error) => Self::Server { shard, error },
            LoginError::Protocol(source) => Self::Protocol { shard, source },
            other => Self::Connect {
                shard,
                reason: other.to_string(),
            },
        }
    }

    /// The error for the client. The numbers are those that a client library would give for
    /// the same mishap on its own connection to MySQL; the text names the shard and never an
    /// address.
    #[must_use]
    pub fn as_err_packet(&self) -> ErrPacket<'static> {
        match self {
            Self::Connect { shard, reason } => ErrPacket::new(
                2003,
                *b"HY000",
                format!("Can't connect to MySQL server of shard {shard}: {reason}"),
            ),
            Self::Server { error, .. } | Self::Queued { error, .. } => error.clone(),
            Self::Lost { shard, .. } => ErrPacket::new(
                2013,
                *b"HY000",
                format!("Lost connection to MySQL server of shard {shard} during query"),
            ),
            Self::Protocol { shard, .. } => ErrPacket::new(
                2027,
                *b"HY000",
                format!("Malformed packet from MySQL server of shard {shard}"),
            ),
        }
    }
}
