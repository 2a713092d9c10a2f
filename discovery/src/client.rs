//! The sidecar's side: follows a cluster's snapshots and reports health, for ever.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tonic::metadata::{AsciiMetadataValue, errors::InvalidMetadataValue};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};

use crate::backoff::Backoff;
use crate::proto::{self, discovery_client::DiscoveryClient};
use crate::{EpochGuard, Health, MalformedSnapshot, Role, Snapshot, SnapshotFile, StaleEpoch};

/// A dead operator is noticed after this and [`KEEP_ALIVE_TIMEOUT`]: long enough to cost
/// nothing, short enough that the next one is found before a failover would be.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(5);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How often health is reported when nothing changes.
const REPORT_EVERY: Duration = Duration::from_secs(10);

/// Where the operator is, and who the sidecar is.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// `https://remora-operator.NAMESPACE.svc:8443`. The host is the name that the operator's
    /// certificate must bear.
    pub endpoint: String,
    /// The operator's CA, as PEM. Read again for each connection, since it is renewed.
    pub ca_file: PathBuf,
    /// The service account token. Read again for each connection, since the kubelet renews it.
    pub token_file: PathBuf,
    /// Where the last snapshot is kept, if anywhere.
    pub snapshot_file: Option<PathBuf>,
    /// The cluster's namespace.
    pub namespace: String,
    /// The cluster's name.
    pub cluster: String,
    /// What the sidecar is for.
    pub role: Role,
    /// The sidecar's version.
    pub version: String,
}

/// Follows one cluster.
#[derive(Clone, Debug)]
pub struct Client {
    config: ClientConfig,
}

/// Why a connection to the operator ended. The next one is tried in any case.
#[derive(Debug, thiserror::Error)]
enum Interruption {
    #[error("cannot read {path}: {error}")]
    File {
        path: PathBuf,
        error: std::io::Error,
    },
    #[error("the token in the file is none: {0}")]
    Token(#[from] InvalidMetadataValue),
    #[error("cannot connect: {0}")]
    Transport(#[from] tonic::transport::Error),
    #[error("{}: {}", .0.code(), .0.message())]
    Status(Box<tonic::Status>),
    #[error("the operator ended the stream")]
    End,
}

impl From<tonic::Status> for Interruption {
    fn from(status: tonic::Status) -> Self {
        Self::Status(Box::new(status))
    }
}

/// Why one snapshot was not taken. The stream goes on.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error(transparent)]
    Malformed(#[from] MalformedSnapshot),
    #[error(transparent)]
    Stale(#[from] StaleEpoch),
}

impl Client {
    /// A client that has not connected yet.
    #[must_use]
    pub fn new(config: ClientConfig) -> Self {
        Self { config }
    }

    /// Sends each snapshot into `sender`, the one from the file first. Reconnects with back-off
    /// until all receivers are gone. The last snapshot stays in force without the operator.
    pub async fn watch(self, sender: watch::Sender<Option<Arc<Snapshot>>>) {
        let file = self.config.snapshot_file.clone().map(SnapshotFile::new);
        let mut following = Following {
            file,
            guard: EpochGuard::default(),
            sender: sender.clone(),
        };
        following.start();
        let mut backoff = Backoff::new();
        loop {
            let interruption = tokio::select! {
                interruption = self.follow(&mut following, &mut backoff) => interruption,
                () = sender.closed() => return,
            };
            let wait = backoff.next();
            tracing::info!(%interruption, ?wait, "following the cluster was interrupted");
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = sender.closed() => return,
            }
        }
    }

    /// Follows over one connection until it ends.
    async fn follow(&self, following: &mut Following, backoff: &mut Backoff) -> Interruption {
        let stream = async {
            let mut client = DiscoveryClient::new(self.connect().await?);
            let request = self.authorized(proto::WatchRequest {
                namespace: self.config.namespace.clone(),
                cluster: self.config.cluster.clone(),
                role: self.config.role.into(),
                version: self.config.version.clone(),
            })?;
            Ok::<_, Interruption>(client.watch(request).await?.into_inner())
        };
        let mut stream = match stream.await {
            Ok(stream) => stream,
            Err(interruption) => return interruption,
        };
        loop {
            match stream.message().await {
                Ok(Some(wire)) => {
                    backoff.reset();
                    if let Err(error) = following.take(wire) {
                        tracing::error!(%error, "refused a snapshot; the one before stays in force");
                    }
                }
                Ok(None) => return Interruption::End,
                Err(status) => return status.into(),
            }
        }
    }

    /// Reports `health` at each change and every ten seconds, until its sender is gone. Each
    /// failure takes a new connection, since only the leading replica listens.
    pub async fn report(self, mut health: watch::Receiver<Health>) {
        let mut backoff = Backoff::new();
        let mut channel = None;
        loop {
            let current = health.borrow_and_update().clone();
            let wait = match self.send(&mut channel, &current).await {
                Ok(()) => {
                    backoff.reset();
                    REPORT_EVERY
                }
                Err(interruption) => {
                    channel = None;
                    tracing::debug!(%interruption, "the report was not taken");
                    backoff.next()
                }
            };
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                changed = health.changed(), if channel.is_some() => {
                    if changed.is_err() {
                        return;
                    }
                }
            }
            if health.has_changed().is_err() {
                return;
            }
        }
    }

    async fn send(
        &self,
        channel: &mut Option<Channel>,
        health: &Health,
    ) -> Result<(), Interruption> {
        let connected = match channel.clone() {
            Some(connected) => connected,
            None => self.connect().await?,
        };
        let config = &self.config;
        let report = health.to_request(&config.namespace, &config.cluster, &config.version);
        DiscoveryClient::new(connected.clone())
            .report(self.authorized(report)?)
            .await?;
        *channel = Some(connected);
        Ok(())
    }

    async fn connect(&self) -> Result<Channel, Interruption> {
        let tls = ClientTlsConfig::new()
            .ca_certificate(Certificate::from_pem(read(&self.config.ca_file)?));
        let endpoint = Endpoint::from_shared(self.config.endpoint.clone())?
            .tls_config(tls)?
            .connect_timeout(CONNECT_TIMEOUT)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
            .keep_alive_while_idle(true);
        Ok(endpoint.connect().await?)
    }

    fn authorized<T>(&self, message: T) -> Result<tonic::Request<T>, Interruption> {
        let token = read(&self.config.token_file)?;
        let mut value = AsciiMetadataValue::try_from(format!("Bearer {}", token.trim()))?;
        value.set_sensitive(true);
        let mut request = tonic::Request::new(message);
        request.metadata_mut().insert("authorization", value);
        Ok(request)
    }
}

/// What outlives one connection.
struct Following {
    file: Option<SnapshotFile>,
    guard: EpochGuard,
    sender: watch::Sender<Option<Arc<Snapshot>>>,
}

impl Following {
    /// The snapshot that an earlier start of the container left.
    fn start(&mut self) {
        if let Some(snapshot) = self.file.as_ref().and_then(SnapshotFile::load)
            && self.guard.admit(&snapshot.identity).is_ok()
        {
            self.sender.send_replace(Some(Arc::new(snapshot)));
        }
    }

    fn take(&mut self, wire: proto::Snapshot) -> Result<(), Refused> {
        let snapshot = Snapshot::try_from(wire)?;
        self.guard.admit(&snapshot.identity)?;
        if let Some(file) = &self.file
            && let Err(error) = file.save(&snapshot)
        {
            tracing::warn!(%error, "cannot keep the snapshot for the next start");
        }
        self.sender.send_replace(Some(Arc::new(snapshot)));
        Ok(())
    }
}

fn read(path: &PathBuf) -> Result<String, Interruption> {
    std::fs::read_to_string(path).map_err(|error| Interruption::File {
        path: path.clone(),
        error,
    })
}
