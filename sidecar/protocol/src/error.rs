//! What can be wrong with bytes that a peer sent.

use crate::ErrPacket;

/// The result of everything that reads a peer's bytes.
pub type Result<T> = std::result::Result<T, ProtocolError>;

/// A peer broke the protocol. The connection it came from cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// A packet does not have the form that its place in the protocol demands.
    #[error("malformed packet: {0}")]
    Malformed(&'static str),
    /// A packet carries another sequence number than the next one.
    #[error("packets out of order: expected number {expected}, got {got}")]
    OutOfOrder {
        /// The number that was due.
        expected: u8,
        /// The number in the packet's header.
        got: u8,
    },
    /// A compressed packet does not hold what it says.
    #[error("a packet cannot be uncompressed")]
    Uncompressible,
    /// A packet announces more bytes than `max_allowed_packet`.
    #[error("packet bigger than {limit} bytes")]
    TooLarge {
        /// The limit in force.
        limit: usize,
    },
}

impl ProtocolError {
    /// The error that MySQL sends before it closes such a connection.
    #[must_use]
    pub fn as_err_packet(&self) -> ErrPacket<'static> {
        match self {
            Self::Malformed(_) => {
                ErrPacket::new(1835, *b"HY000", "Malformed communication packet.")
            }
            Self::OutOfOrder { .. } => ErrPacket::new(1156, *b"08S01", "Got packets out of order"),
            Self::Uncompressible => {
                ErrPacket::new(1157, *b"08S01", "Couldn't uncompress communication packet")
            }
            Self::TooLarge { .. } => ErrPacket::new(
                1153,
                *b"08S01",
                "Got a packet bigger than 'max_allowed_packet' bytes",
            ),
        }
    }
}
