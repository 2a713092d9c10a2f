//! Connecting to MySQL servers: by TCP, with TLS as the snapshot wants it, or by the Unix socket of
//! one beside the sidecar.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use remora_crds::Instance;
use remora_protocol::TlsMode;
use rustls_pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::login::{Road, log_in, refused, timed_out};
use super::{Backend, BackendError, Login, connect_socket};
use crate::net::{Channel, Stream};
use crate::snapshot::BackendTls;

/// TLS for backends, built once for each snapshot.
#[derive(Clone)]
pub(crate) struct BackendConnector {
    mode: BackendTls,
    tls: Arc<rustls::ClientConfig>,
    patience: Duration,
}

impl BackendConnector {
    /// Prepares TLS as the snapshot wants it. A server that lets nobody in within `patience`
    /// counts as down.
    ///
    /// # Errors
    /// If the certificate authorities are not valid.
    pub(crate) fn new(mode: BackendTls, patience: Duration) -> Result<Self, crate::net::TlsError> {
        let tls = match &mode {
            BackendTls::Preferred => crate::net::accept_any_server()?,
            BackendTls::Verified(pem) => crate::net::verify_server(pem)?,
        };
        Ok(Self {
            mode,
            tls,
            patience,
        })
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
        if let Some(socket) = &instance.socket {
            let attempt = connect_socket(shard, socket, login);
            let outcome = tokio::time::timeout(self.patience, attempt).await;
            return outcome.map_err(|_| timed_out(shard))?;
        }
        let attempt = async {
            let tcp = TcpStream::connect((instance.host.as_str(), instance.port))
                .await
                .map_err(refused(shard))?;
            let road = Road::Tcp(TlsTo {
                connector: self,
                host: &instance.host,
                loopback: tcp.peer_addr().is_ok_and(|peer| peer.ip().is_loopback()),
            });
            let stream = Stream::tcp(tcp).map_err(refused(shard))?;
            log_in(shard, Channel::new(stream), road, login).await
        };
        tokio::time::timeout(self.patience, attempt)
            .await
            .map_err(|_| timed_out(shard))?
    }
}

/// TLS to one server.
pub(super) struct TlsTo<'a> {
    connector: &'a BackendConnector,
    host: &'a str,
    loopback: bool,
}

impl TlsTo<'_> {
    pub(super) fn mode(&self) -> TlsMode {
        match self.connector.mode {
            BackendTls::Verified(_) => TlsMode::Required,
            // Nobody listens on loopback, and TLS would double the cost of a query.
            BackendTls::Preferred if self.loopback => TlsMode::Off,
            BackendTls::Preferred => TlsMode::Preferred,
        }
    }

    pub(super) async fn secure(&self, channel: Channel) -> io::Result<Channel> {
        let (Stream::Tcp(tcp), ahead) = channel.into_parts() else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        // Bytes before the handshake came in clear text; someone on the way may have sent them.
        if !ahead.is_empty() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let name = ServerName::try_from(self.host.to_owned())
            .map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        let tls = TlsConnector::from(Arc::clone(&self.connector.tls))
            .connect(name, tcp)
            .await?;
        Ok(Channel::new(Stream::Tls(Box::new(tls.into()))))
    }
}
