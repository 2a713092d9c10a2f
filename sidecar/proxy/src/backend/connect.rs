//! Connecting to MySQL and logging in.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use remora_crds::Instance;
use remora_protocol::{
    CapabilityFlags, ClientLogin, ClientOptions, ClientStep, PacketCodec, Password, TlsMode,
};
use rustls_pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::{Backend, BackendError};
use crate::net::{Channel, Stream};
use crate::snapshot::BackendTls;

/// A server that does not answer within this time counts as down. Clients wait for it, and
/// their own connect time-outs are commonly ten seconds.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The largest packet that MySQL can be configured to send.
pub(super) const MAX_PACKET: usize = 1 << 30;

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
}

/// TLS for backends, built once for each snapshot.
#[derive(Clone)]
pub(crate) struct BackendConnector {
    mode: BackendTls,
    tls: Arc<rustls::ClientConfig>,
}

impl BackendConnector {
    /// Prepares TLS as the snapshot wants it.
    ///
    /// # Errors
    /// If the certificate authorities are not valid.
    pub(crate) fn new(mode: BackendTls) -> Result<Self, crate::net::TlsError> {
        let tls = match &mode {
            BackendTls::Preferred => crate::net::accept_any_server()?,
            BackendTls::Verified(pem) => crate::net::verify_server(pem)?,
        };
        Ok(Self { mode, tls })
    }

    /// Opens a connection to `instance`, the server of `shard`, and logs in.
    ///
    /// # Errors
    /// If the server cannot be reached in time or refuses the login.
    pub(crate) async fn connect(
        &self,
        shard: usize,
        instance: &Instance,
        login: Login,
    ) -> Result<Backend, BackendError> {
        let attempt = self.attempt(shard, instance, login);
        match tokio::time::timeout(TIMEOUT, attempt).await {
            Ok(done) => done,
            Err(_) => Err(BackendError::Connect {
                shard,
                reason: "timed out".to_owned(),
            }),
        }
    }

    async fn attempt(
        &self,
        shard: usize,
        instance: &Instance,
        login: Login,
    ) -> Result<Backend, BackendError> {
        let refused = |e: io::Error| BackendError::Connect {
            shard,
            reason: e.kind().to_string(),
        };
        let tcp = TcpStream::connect((instance.host.as_str(), instance.port))
            .await
            .map_err(refused)?;
        let loopback = tcp.peer_addr().is_ok_and(|peer| peer.ip().is_loopback());
        let mut channel = Channel::new(Stream::tcp(tcp).map_err(refused)?);

        let mut options = ClientOptions::new(login.user, login.password);
        options.database = login.database.clone().map(String::into_bytes);
        options.capabilities = login.capabilities;
        options.collation = login.collation;
        options.attributes = login.attributes;
        options.allow_public_key = true;
        options.tls = match self.mode {
            BackendTls::Verified(_) => TlsMode::Required,
            // Nobody listens on loopback, and TLS would double the cost of a query.
            BackendTls::Preferred if loopback => TlsMode::Off,
            BackendTls::Preferred => TlsMode::Preferred,
        };
        let mut machine = ClientLogin::new(options);
        let mut codec = PacketCodec::new(MAX_PACKET);
        let mut out = BytesMut::new();
        loop {
            let payload = loop {
                match codec.decode(channel.buffer()) {
                    Ok(Some(payload)) => break payload,
                    Ok(None) => channel.fill().await.map_err(refused)?,
                    Err(source) => return Err(BackendError::Protocol { shard, source }),
                }
            };
            let step = machine
                .feed(&payload, &mut codec, &mut out)
                .map_err(|e| BackendError::login(shard, e))?;
            channel.write(&out).await.map_err(refused)?;
            out.clear();
            match step {
                ClientStep::Continue => {}
                ClientStep::StartTls => {
                    channel = self
                        .secure(channel, &instance.host)
                        .await
                        .map_err(refused)?;
                    machine
                        .secured(&mut codec, &mut out)
                        .map_err(|e| BackendError::login(shard, e))?;
                    channel.write(&out).await.map_err(refused)?;
                    out.clear();
                }
                ClientStep::Done(identity) => {
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
    }

    async fn secure(&self, channel: Channel, host: &str) -> io::Result<Channel> {
        let (Stream::Tcp(tcp), ahead) = channel.into_parts() else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        // Bytes before the handshake came in clear text; someone on the way may have sent them.
        if !ahead.is_empty() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        let tls = TlsConnector::from(self.tls.clone())
            .connect(name, tcp)
            .await?;
        Ok(Channel::new(Stream::Tls(Box::new(tls.into()))))
    }
}
