//! Logging in to MySQL, over whatever road the connection takes.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use remora_protocol::{
    CapabilityFlags, ClientLogin, ClientOptions, ClientStep, PacketCodec, Password, TlsMode,
};

use super::connect::TlsTo;
use super::{Backend, BackendError};
use crate::net::Channel;
use crate::pool::Identity;

/// A server that does not answer within this time counts as down. Clients wait for it, and
/// their own connect time-outs are commonly ten seconds.
pub(super) const TIMEOUT: Duration = Duration::from_secs(5);
/// The largest packet that MySQL can be configured to send.
const MAX_PACKET: usize = 1 << 30;

/// As whom and how to log in.
#[derive(Clone, Debug)]
pub struct Login {
    /// The account.
    pub user: Vec<u8>,
    /// Its password.
    pub password: Password,
    /// The database to start in.
    pub database: Option<String>,
    /// What shapes the answers.
    pub capabilities: CapabilityFlags,
    /// The collation that character sets start with.
    pub collation: u8,
    /// What the client told about itself, for MySQL's `session_connect_attrs`.
    pub attributes: Vec<(Vec<u8>, Vec<u8>)>,
    /// A packet of so many bytes is more than the server takes (`max_allowed_packet`).
    pub packet_limit: usize,
}

/// What lies between the sidecar and the server.
pub(super) enum Road<'a> {
    /// TCP, with TLS where the server and the manifest want it.
    Tcp(TlsTo<'a>),
    /// A Unix socket: nobody is between.
    Socket,
}

impl Road<'_> {
    fn options(&self, login: &Login) -> ClientOptions {
        let mut options = ClientOptions::new(login.user.clone(), login.password.clone());
        options.database = login.database.clone().map(String::into_bytes);
        options.capabilities = login.capabilities;
        options.collation = login.collation;
        options.attributes.clone_from(&login.attributes);
        match self {
            Self::Tcp(tls) => {
                options.allow_public_key = true;
                options.tls = tls.mode();
            }
            Self::Socket => {
                options.local_socket = true;
                options.tls = TlsMode::Off;
            }
        }
        options
    }

    async fn secure(&self, channel: Channel) -> io::Result<Channel> {
        match self {
            Self::Tcp(tls) => tls.secure(channel).await,
            // TlsMode::Off never asks for it.
            Self::Socket => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

/// A connection that did not come about: nothing was executed on it.
pub(super) fn refused(shard: usize) -> impl Fn(io::Error) -> BackendError {
    move |error| BackendError::Connect {
        shard,
        reason: error.kind().to_string(),
    }
}

/// The same, because the server did not answer within [`TIMEOUT`].
pub(super) fn timed_out(shard: usize) -> BackendError {
    BackendError::Connect {
        shard,
        reason: "timed out".to_owned(),
    }
}

/// Logs in to the server of `shard` at the other end of `channel`.
///
/// # Errors
/// If the connection breaks, or the server refuses or does not speak MySQL's protocol.
pub(super) async fn log_in(
    shard: usize,
    mut channel: Channel,
    road: Road<'_>,
    login: Login,
) -> Result<Backend, BackendError> {
    let mut machine = ClientLogin::new(road.options(&login));
    let mut codec = PacketCodec::new(MAX_PACKET);
    let mut out = BytesMut::new();
    loop {
        let payload = loop {
            match codec.decode(channel.buffer()) {
                Ok(Some(payload)) => break payload,
                Ok(None) => channel.fill().await.map_err(refused(shard))?,
                Err(source) => return Err(BackendError::Protocol { shard, source }),
            }
        };
        let step = machine
            .feed(&payload, &mut codec, &mut out)
            .map_err(|error| BackendError::login(shard, error))?;
        channel.write(&out).await.map_err(refused(shard))?;
        out.clear();
        match step {
            ClientStep::Continue => {}
            ClientStep::StartTls => {
                channel = road.secure(channel).await.map_err(refused(shard))?;
                machine
                    .secured(&mut codec, &mut out)
                    .map_err(|error| BackendError::login(shard, error))?;
                channel.write(&out).await.map_err(refused(shard))?;
                out.clear();
            }
            ClientStep::Done(identity) => {
                let logged_in = Arc::new(Identity {
                    user: login.user,
                    password: login.password,
                    capabilities: login.capabilities,
                    collation: login.collation,
                });
                let mut backend =
                    Backend::new(shard, channel, codec, identity, logged_in, login.database);
                backend.packet_limit = login.packet_limit;
                return Ok(backend);
            }
        }
    }
}
