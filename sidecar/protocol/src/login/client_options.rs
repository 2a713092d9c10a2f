//! What a login into MySQL is made with, and how it can fail.

use crate::ErrPacket;
use crate::auth::Password;
use crate::capability::{CapabilityFlags, backend_wish, server_offer};
use crate::error::ProtocolError;

/// How a login into MySQL is to go.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// The user.
    pub user: Vec<u8>,
    /// The password.
    pub password: Password,
    /// The database to start in.
    pub database: Option<Vec<u8>>,
    /// What is wanted; see [`backend_wish`]. What MySQL does not have is left out.
    pub capabilities: CapabilityFlags,
    /// The collation's lower byte; 255 is `utf8mb4_0900_ai_ci`.
    pub collation: u8,
    /// The largest packet that is accepted from the server.
    pub max_packet: u32,
    /// Whether to use TLS.
    pub tls: TlsMode,
    /// Whether the transport is a Unix socket, over which MySQL takes passwords as they are.
    pub local_socket: bool,
    /// Whether the password may be encrypted with a key that the server just
    /// sent, and that nothing vouches for.
    pub allow_public_key: bool,
    /// What to say about ourselves.
    pub attributes: Vec<(Vec<u8>, Vec<u8>)>,
}

/// When a connection to MySQL uses TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsMode {
    /// Never.
    Off,
    /// Where the server offers it.
    Preferred,
    /// Always, or the login fails.
    Required,
}

impl ClientOptions {
    /// A login without TLS and database that wants everything a modern client has.
    #[must_use]
    pub fn new(user: impl Into<Vec<u8>>, password: Password) -> Self {
        Self {
            user: user.into(),
            password,
            database: None,
            capabilities: backend_wish(server_offer()),
            collation: 255,
            max_packet: 1 << 30,
            tls: TlsMode::Off,
            local_socket: false,
            allow_public_key: true,
            attributes: Vec::new(),
        }
    }
}

/// Why a login into MySQL failed. The connection is of no more use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    /// MySQL broke the protocol.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// MySQL said no.
    #[error("refused by MySQL: {0}")]
    Server(ErrPacket<'static>),
    /// TLS is required and not offered.
    #[error("the server offers no TLS")]
    TlsUnavailable,
    /// The account wants a plugin that would give the password away, or that MySQL 9 does not have.
    #[error(
        "the server asks for the authentication plugin '{0}'; only caching_sha2_password is supported"
    )]
    Plugin(String),
    /// Only a key of unknown origin could protect the password.
    #[error(
        "the password would have to be sent without TLS, and fetching the server's public key is not allowed"
    )]
    PublicKeyForbidden,
    /// The plugin's exchange failed.
    #[error("authentication failed: {0}")]
    Exchange(String),
}
