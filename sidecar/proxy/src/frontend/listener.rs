//! Accepting clients, and letting go of them at the end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::Instrument;

use crate::net::Stream;
use crate::proxy::Proxy;
use crate::session;

/// How long transactions may go on once the process was told to end. Kubernetes kills after
/// thirty seconds by default; this leaves time to close.
const GRACE: Duration = Duration::from_secs(20);
/// How long to wait when the process is out of descriptors before accepting again.
const OUT_OF_DESCRIPTORS: Duration = Duration::from_millis(50);

/// Serves clients until `stop` says otherwise; then lets open transactions finish.
pub async fn serve(proxy: Arc<Proxy>, listener: TcpListener, mut stop: watch::Receiver<bool>) {
    let mut sessions = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.wait_for(|stop| *stop) => break,
        };
        match accepted {
            Ok((tcp, peer)) => {
                let Ok(stream) = Stream::tcp(tcp) else {
                    continue;
                };
                // Sessions that ended are forgotten here, so that the set does not grow.
                while sessions.try_join_next().is_some() {}
                spawn(&mut sessions, proxy.clone(), stream, peer, stop.clone());
            }
            Err(error) => {
                tracing::warn!(%error, "Accepting a client failed");
                tokio::time::sleep(OUT_OF_DESCRIPTORS).await;
            }
        }
    }
    drop(listener);
    let ended = async { while sessions.join_next().await.is_some() {} };
    if tokio::time::timeout(GRACE, ended).await.is_err() {
        tracing::warn!(
            left = sessions.len(),
            "Clients are cut off in their transactions"
        );
    }
}

fn spawn(
    sessions: &mut JoinSet<()>,
    proxy: Arc<Proxy>,
    stream: Stream,
    peer: SocketAddr,
    stop: watch::Receiver<bool>,
) {
    let id = proxy.next_connection_id();
    let span = tracing::debug_span!("client", id, %peer);
    // A panic ends this task alone; the set sees it end like any other.
    sessions.spawn(session::run(proxy, stream, id, peer, stop).instrument(span));
}
