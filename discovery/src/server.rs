//! The operator's side: a gRPC server over TLS in front of a [`Directory`].

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{BoxStream, StreamExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

use crate::proto::{self, discovery_server};
use crate::{Health, Role, Snapshot};

/// A client that does not finish its TLS handshake holds a task no longer than this.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// Handshakes that are done and wait to be served.
const HANDSHAKES_WAITING: usize = 64;
/// A stream ends after this, so that the token, and what it may, is checked again.
const STREAM_LIFE: Duration = Duration::from_secs(1800);

/// What a sidecar wants to follow.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WatchedCluster {
    /// The cluster's namespace.
    pub namespace: String,
    /// The cluster's name.
    pub cluster: String,
    /// What the sidecar is for.
    pub role: Role,
    /// The sidecar's version.
    pub version: String,
}

/// What a sidecar reports.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Report {
    /// The cluster's namespace.
    pub namespace: String,
    /// The cluster's name.
    pub cluster: String,
    /// The sidecar's version.
    pub version: String,
    /// How it fares.
    pub health: Health,
}

/// A cluster's snapshots: the present one first, then each that differs. It ends when the
/// sidecar should ask again.
pub type Snapshots = BoxStream<'static, Snapshot>;

/// Knows the clusters. The operator implements it.
pub trait Directory: Send + Sync + 'static {
    /// The snapshots that whoever presents `token` may follow.
    fn watch(
        &self,
        token: String,
        wanted: WatchedCluster,
    ) -> BoxFuture<'_, Result<Snapshots, Refusal>>;

    /// Takes a report from whoever presents `token`.
    fn report(&self, token: String, report: Report) -> BoxFuture<'_, Result<(), Refusal>>;
}

/// Why a sidecar's request is refused. The text reaches its log.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Refusal {
    /// The token is none of ours.
    Unauthenticated(String),
    /// The pod may not.
    Denied(String),
    /// There is no such cluster, yet.
    NotFound(String),
    /// Another replica may answer, or this one later.
    Unavailable(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unauthenticated(text)
            | Self::Denied(text)
            | Self::NotFound(text)
            | Self::Unavailable(text) => f.write_str(text),
        }
    }
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Unauthenticated(text) => Self::unauthenticated(text),
            Refusal::Denied(text) => Self::permission_denied(text),
            Refusal::NotFound(text) => Self::not_found(text),
            Refusal::Unavailable(text) => Self::unavailable(text),
        }
    }
}

/// Serves `directory` on `listener` until `shutdown` is done. `tls` may resolve to another
/// certificate for each connection, so that it can be renewed.
///
/// # Errors
/// Those of the HTTP/2 server.
pub async fn serve(
    listener: TcpListener,
    tls: Arc<rustls::ServerConfig>,
    directory: Arc<dyn Directory>,
    shutdown: impl Future<Output = ()>,
) -> Result<(), tonic::transport::Error> {
    let (sender, connections) = mpsc::channel(HANDSHAKES_WAITING);
    // A set ends its tasks when it is dropped, and with them the listener.
    let mut accepting = JoinSet::new();
    accepting.spawn(accept(listener, with_http2(&tls), sender));
    tonic::transport::Server::builder()
        .http2_keepalive_interval(Some(Duration::from_secs(10)))
        .http2_keepalive_timeout(Some(Duration::from_secs(5)))
        .add_service(discovery_server::DiscoveryServer::new(Service {
            directory,
        }))
        .serve_with_incoming_shutdown(ReceiverStream::new(connections), shutdown)
        .await
}

fn with_http2(tls: &rustls::ServerConfig) -> TlsAcceptor {
    let mut tls = tls.clone();
    tls.alpn_protocols = vec![b"h2".to_vec()];
    TlsAcceptor::from(Arc::new(tls))
}

type Connections = mpsc::Sender<std::io::Result<TlsStream<TcpStream>>>;

async fn accept(listener: TcpListener, tls: TlsAcceptor, connections: Connections) {
    loop {
        let socket = match listener.accept().await {
            Ok((socket, _)) => socket,
            Err(error) => {
                // Out of descriptors, most likely: others will be closed.
                tracing::warn!(%error, "cannot accept");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let (tls, connections) = (tls.clone(), connections.clone());
        tokio::spawn(async move {
            match tokio::time::timeout(HANDSHAKE_TIMEOUT, tls.accept(socket)).await {
                Ok(Ok(stream)) => drop(connections.send(Ok(stream)).await),
                Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
                Err(_) => tracing::debug!("TLS handshake took too long"),
            }
        });
    }
}

struct Service {
    directory: Arc<dyn Directory>,
}

#[tonic::async_trait]
impl discovery_server::Discovery for Service {
    type WatchStream = BoxStream<'static, Result<proto::Snapshot, Status>>;

    async fn watch(
        &self,
        request: Request<proto::WatchRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let token = bearer(&request)?;
        let request = request.into_inner();
        let wanted = WatchedCluster {
            role: request.role(),
            namespace: request.namespace,
            cluster: request.cluster,
            version: request.version,
        };
        let snapshots = self.directory.watch(token, wanted).await?;
        let stream = snapshots
            .map(|snapshot| Ok(proto::Snapshot::from(&snapshot)))
            .take_until(tokio::time::sleep(STREAM_LIFE));
        Ok(Response::new(stream.boxed()))
    }

    async fn report(
        &self,
        request: Request<proto::ReportRequest>,
    ) -> Result<Response<proto::ReportResponse>, Status> {
        let token = bearer(&request)?;
        let request = request.into_inner();
        let report = Report {
            namespace: request.namespace.clone(),
            cluster: request.cluster.clone(),
            version: request.version.clone(),
            health: request.into(),
        };
        self.directory.report(token, report).await?;
        Ok(Response::new(proto::ReportResponse {}))
    }
}

fn bearer<T>(request: &Request<T>) -> Result<String, Refusal> {
    request
        .metadata()
        .get("authorization")
        .and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "))
        .map(str::to_owned)
        .ok_or_else(|| Refusal::Unauthenticated("no token in the authorization metadata".into()))
}
