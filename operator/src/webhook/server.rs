//! HTTPS for the webhook.

use std::{sync::Arc, time::Duration};

use axum::Router;
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
    service::TowerToHyperService,
};
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// A peer that does not finish its TLS handshake holds a task no longer than this.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// Serves `routes` on `listener` until `shutdown` is done. The API server keeps connections
/// open and tries again when one closes, so those in flight are not waited for.
pub async fn serve(
    listener: TcpListener,
    tls: ServerConfig,
    routes: Router,
    shutdown: impl Future<Output = ()>,
) {
    let tls = TlsAcceptor::from(Arc::new(tls));
    let accepting = async {
        loop {
            match listener.accept().await {
                Ok((socket, _)) => {
                    tokio::spawn(connection(socket, tls.clone(), routes.clone()));
                }
                Err(error) => {
                    // Out of descriptors, most likely: others will be closed.
                    tracing::warn!(%error, "Cannot accept");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    };
    tokio::select! {
        () = accepting => {}
        () = shutdown => {}
    }
}

async fn connection(socket: TcpStream, tls: TlsAcceptor, routes: Router) {
    let stream = match tokio::time::timeout(HANDSHAKE_TIMEOUT, tls.accept(socket)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return tracing::debug!(%error, "TLS handshake failed"),
        Err(_) => return tracing::debug!("TLS handshake took too long"),
    };
    let service = TowerToHyperService::new(routes);
    if let Err(error) = auto::Builder::new(TokioExecutor::new())
        .serve_connection(TokioIo::new(stream), service)
        .await
    {
        tracing::debug!(%error, "Connection failed");
    }
}
