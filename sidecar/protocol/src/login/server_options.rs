//! What a client's login is made with, what its caller does, and what comes of it.

use std::sync::Arc;

#[cfg(doc)]
use super::ServerLogin;
use crate::auth::{Password, RsaKey};
use crate::capability::{CapabilityFlags, StatusFlags};
use crate::compress::Compression;
use crate::greeting::NONCE;

/// What a client is told, and how it may authenticate.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The version to show: MySQL's own, so that drivers choose right.
    pub version: String,
    /// The connection's id.
    pub connection_id: u32,
    /// What is offered; see [`server_offer`](crate::server_offer). TLS comes by `tls`.
    pub capabilities: CapabilityFlags,
    /// The default collation, its lower byte.
    pub collation: u8,
    /// The session's status at its start.
    pub status: StatusFlags,
    /// Whether TLS is offered.
    pub tls: bool,
    /// Whether the transport is secure without TLS, as a Unix socket is.
    pub secure_transport: bool,
    /// The key pair for passwords without TLS. Without one, clients that need it are denied.
    pub rsa: Option<Arc<RsaKey>>,
    /// Where the client comes from, for error 1045.
    pub host: String,
}

/// What a caller does next.
#[derive(Debug)]
pub enum ServerStep {
    /// Write the output, read the next packet.
    Continue,
    /// Accept TLS, then read the next packet from it. Bytes that came behind the
    /// last packet are TLS's own.
    StartTls,
    /// Look [`ServerLogin::user`] up and call [`ServerLogin::account`].
    Account,
    /// Find out whether this password is right and call [`ServerLogin::verdict`].
    Verify(Password),
    /// The client is who it says. Send OK, or an error of the session's own
    /// (1049 for an unknown database, say), and take [`ServerLogin::into_client`].
    Authenticated,
    /// The output ends in an error. Write it and close the connection; after
    /// CHANGE_USER, too.
    Denied,
}

/// What is known about the user.
#[derive(Debug, Clone)]
pub enum Credential {
    /// The password. It is compared with the scramble; it need not travel.
    Password(Password),
    /// The same, and the client may leave it out.
    Optional(Password),
    /// Somebody else knows: the client is asked for the password by the full
    /// exchange, and the step [`ServerStep::Verify`] hands it over.
    Elsewhere,
    /// No such user, which the client sees as a wrong password.
    Unknown,
}

/// Who logged in.
#[derive(Debug, Clone)]
pub struct ClientIdentity {
    /// The user.
    pub user: Vec<u8>,
    /// The password, for the backends.
    pub password: Password,
    /// The database to start in.
    pub database: Option<Vec<u8>>,
    /// What both sides can do.
    pub capabilities: CapabilityFlags,
    /// The client's collation. In a login it has a byte only; 0 is none.
    pub collation: u16,
    /// The largest packet that the client takes.
    pub max_packet: u32,
    /// What the client says about itself.
    pub attributes: Vec<(Vec<u8>, Vec<u8>)>,
    /// The greeting's nonce, by which clients from before plugins prove themselves again.
    pub(super) nonce: [u8; NONCE],
    /// How the connection is compressed once the client is in.
    pub compression: Option<Compression>,
}
