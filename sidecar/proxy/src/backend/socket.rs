//! Connecting to a MySQL server on the same machine by its Unix socket.

use std::io;
use std::path::Path;
use std::time::Duration;

use bytes::BytesMut;
use remora_protocol::{ClientLogin, ClientOptions, ClientStep, PacketCodec, TlsMode};
use tokio::net::UnixStream;

use super::connect::MAX_PACKET;
use super::{Backend, BackendError, Login};
use crate::net::{Channel, Stream};

/// A server on the same machine answers within this time or is stuck.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Opens a connection to the server behind `path` and logs in, without TLS: nobody is between.
///
/// # Errors
/// If the server does not answer in time or refuses the login.
pub(crate) async fn connect_socket(
    shard: usize,
    path: &Path,
    login: Login,
) -> Result<Backend, BackendError> {
    let timed_out = |_| BackendError::Connect {
        shard,
        reason: "timed out".to_owned(),
    };
    tokio::time::timeout(TIMEOUT, attempt(shard, path, login))
        .await
        .map_err(timed_out)?
}

async fn attempt(shard: usize, path: &Path, login: Login) -> Result<Backend, BackendError> {
    let refused = |e: io::Error| BackendError::Connect {
        shard,
        reason: e.kind().to_string(),
    };
    let lost = |source: io::Error| BackendError::Lost { shard, source };
    let stream = UnixStream::connect(path).await.map_err(refused)?;
    let mut channel = Channel::new(Stream::Unix(stream));
    let mut options = ClientOptions::new(login.user, login.password);
    options.database = login.database.clone().map(String::into_bytes);
    options.capabilities = login.capabilities;
    options.collation = login.collation;
    options.attributes = login.attributes;
    options.local_socket = true;
    options.tls = TlsMode::Off;
    let mut machine = ClientLogin::new(options);
    let mut codec = PacketCodec::new(MAX_PACKET);
    let mut out = BytesMut::new();
    loop {
        let payload = loop {
            match codec.decode(channel.buffer()) {
                Ok(Some(payload)) => break payload,
                Ok(None) => channel.fill().await.map_err(lost)?,
                Err(source) => return Err(BackendError::Protocol { shard, source }),
            }
        };
        let step = machine
            .feed(&payload, &mut codec, &mut out)
            .map_err(|error| BackendError::login(shard, error))?;
        channel.write(&out).await.map_err(lost)?;
        out.clear();
        if let ClientStep::Done(identity) = step {
            return Ok(Backend::new(
                shard,
                channel,
                codec,
                identity,
                login.database,
            ));
        }
    }
}
