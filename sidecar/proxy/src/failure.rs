//! How a command can fail.

use remora_merge::MergeError;
use remora_planner::Refusal;
use remora_protocol::{ErrPacket, ProtocolError};

use crate::backend::BackendError;
use crate::frontend::ClientError;

/// Why a command did not do what it should.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The client hears of it and goes on.
    #[error("{0}")]
    Answer(ErrPacket<'static>),
    /// The client hears of it, and its connection ends, as when a MySQL server dies: state
    /// that it had there (a transaction, variables) is gone.
    #[error("{0}")]
    Last(ErrPacket<'static>),
    /// The client's connection ends without a word: part of an answer was sent already, or
    /// the client is gone.
    #[error("cut off")]
    CutOff,
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Io(_) => Self::CutOff,
            ClientError::Protocol(e) => Self::Last(e.as_err_packet()),
        }
    }
}

impl From<ProtocolError> for Failure {
    /// For what a client sent. Backends' protocol errors are [`BackendError`]s.
    fn from(error: ProtocolError) -> Self {
        Self::Last(error.as_err_packet())
    }
}

impl From<BackendError> for Failure {
    fn from(error: BackendError) -> Self {
        match error {
            BackendError::Connect { .. } | BackendError::Server { .. } => {
                Self::Answer(error.as_err_packet())
            }
            BackendError::Lost { .. }
            | BackendError::Queued { .. }
            | BackendError::Protocol { .. } => Self::Last(error.as_err_packet()),
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Answer(ErrPacket::new(refusal.code, refusal.state, refusal.message))
    }
}

impl From<MergeError> for Failure {
    fn from(error: MergeError) -> Self {
        Self::Answer(ErrPacket::new(
            error.code(),
            error.sql_state(),
            error.to_string(),
        ))
    }
}

impl From<ErrPacket<'static>> for Failure {
    fn from(error: ErrPacket<'static>) -> Self {
        Self::Answer(error)
    }
}
