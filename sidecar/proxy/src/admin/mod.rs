//! What the kubelet, Prometheus and people ask over HTTP.
//!
//! Probes and metrics are for everybody who reaches the address. The configuration, and the
//! order to drain, are only for those who come over loopback, whatever address is listened on:
//! the kubelet cannot probe loopback, so in a pod the address is the pod's own.

mod configuration;
mod readiness;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::connect_info::Connected;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::serve::IncomingStream;
use tokio::net::TcpListener;
use tokio::sync::watch;

pub use self::readiness::Readiness;
use crate::snapshot::Snapshots;
use crate::telemetry::Metrics;

/// OpenMetrics' own type, which Prometheus asks for.
const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What the endpoints show.
#[derive(Clone, Debug)]
pub struct Admin {
    /// Whether the process may get clients.
    pub readiness: Arc<Readiness>,
    /// The metrics.
    pub metrics: Arc<Metrics>,
    /// The configuration; `None` until there is one.
    pub snapshots: watch::Receiver<Option<Arc<Snapshots>>>,
    /// Becomes true when the process shall take no more clients.
    pub stop: watch::Sender<bool>,
}

impl Admin {
    /// Serves for as long as the process lives.
    ///
    /// # Errors
    /// If the listener fails.
    pub async fn serve(self, listener: TcpListener) -> std::io::Result<()> {
        let service = self.router().into_make_service_with_connect_info::<Ends>();
        axum::serve(listener, service).await
    }

    fn router(self) -> Router {
        let private = Router::new()
            .route("/config", get(configuration))
            .route("/drain", post(drain))
            .route_layer(middleware::from_fn(only_loopback));
        Router::new()
            .route("/startup", get(ready))
            .route("/ready", get(ready))
            .route("/live", get(|| async { "alive\n" }))
            .route("/metrics", get(metrics))
            .merge(private)
            .with_state(self)
    }
}

async fn ready(State(admin): State<Admin>) -> Response {
    match admin.readiness.reason() {
        None => "ready\n".into_response(),
        Some(reason) => (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")).into_response(),
    }
}

async fn metrics(State(admin): State<Admin>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, METRICS_TYPE)], admin.metrics.text())
}

async fn configuration(State(admin): State<Admin>) -> Response {
    let snapshots = admin.snapshots.borrow().clone();
    match snapshots {
        Some(snapshots) => axum::Json(configuration::shown(&snapshots.load())).into_response(),
        None => (StatusCode::SERVICE_UNAVAILABLE, "no snapshot yet\n").into_response(),
    }
}

async fn drain(State(admin): State<Admin>) -> &'static str {
    tracing::info!("Told to drain: no new clients, and open transactions may finish");
    admin.readiness.drain();
    admin.stop.send_replace(true);
    "draining\n"
}

/// Both ends of a connection.
#[derive(Clone, Copy, Debug)]
struct Ends {
    here: Option<SocketAddr>,
    there: SocketAddr,
}

impl Connected<IncomingStream<'_, TcpListener>> for Ends {
    fn connect_info(stream: IncomingStream<'_, TcpListener>) -> Self {
        Self {
            here: stream.io().local_addr().ok(),
            there: *stream.remote_addr(),
        }
    }
}

impl Ends {
    /// Whether the connection never left the machine's, or the pod's, loopback.
    fn is_loopback(&self) -> bool {
        let is_loopback = |end: SocketAddr| end.ip().to_canonical().is_loopback();
        is_loopback(self.there) && self.here.is_some_and(is_loopback)
    }
}

/// To everybody else these paths do not exist.
async fn only_loopback(
    ConnectInfo(ends): ConnectInfo<Ends>,
    request: Request,
    next: Next,
) -> Response {
    if ends.is_loopback() {
        next.run(request).await
    } else {
        StatusCode::NOT_FOUND.into_response()
    }
}

#[cfg(test)]
mod tests;
