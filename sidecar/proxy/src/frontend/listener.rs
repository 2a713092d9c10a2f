//! Accepting clients, and letting go of them at the end.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use remora_protocol::{ErrPacket, MAX_LOGIN_PACKET, PacketCodec};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::Instrument;

use super::login::Peer;
use crate::net::Stream;
use crate::proxy::Proxy;
use crate::session;

/// How long transactions may go on once the process was told to end. Kubernetes kills after
/// thirty seconds by default; this leaves time to close.
const GRACE: Duration = Duration::from_secs(20);
/// How many clients there may be that are logged in. Each costs some kilobytes here while it rests
/// (`make bench PARTS=idle` measures 10,000), and there is room for those who look beside them.
const MOST_CLIENTS: usize = 16_384;
/// MySQL's number for too many connections.
const TOO_MANY: u16 = 1040;
/// How long to wait when the process is out of descriptors before accepting again.
const OUT_OF_DESCRIPTORS: Duration = Duration::from_millis(50);

/// Serves clients until `stop` says otherwise; then lets open transactions finish.
pub async fn serve(proxy: Arc<Proxy>, listener: TcpListener, mut stop: watch::Receiver<bool>) {
    let mut sessions = JoinSet::new();
    let on_loopback = listener
        .local_addr()
        .is_ok_and(|own| own.ip().is_loopback());
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.wait_for(|stop| *stop) => break,
        };
        match accepted {
            Ok((tcp, address)) => {
                // Sessions that ended are forgotten here, so that the set does not grow.
                while sessions.try_join_next().is_some() {}
                // Those that are logging in have a room of their own, and fill no places.
                if sessions.len() >= MOST_CLIENTS + proxy.waiting_room.len() {
                    proxy.metrics.error(TOO_MANY);
                    turn_away(&tcp);
                    continue;
                }
                let Ok(stream) = Stream::tcp(tcp) else {
                    continue;
                };
                let peer = Peer {
                    address,
                    on_loopback,
                };
                spawn(&mut sessions, proxy.clone(), stream, peer, stop.clone());
            }
            // It was gone before it was accepted, which is its own affair.
            Err(error) if !is_shortage(&error) => {
                tracing::debug!(%error, "A client was not accepted");
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

/// Tells a client that there are too many, in place of a greeting.
fn turn_away(tcp: &TcpStream) {
    // A fresh socket has room for it. The client may be gone; either way its connection ends.
    let _ = tcp.try_write(&too_many());
}

/// Whether there is nothing left of what a socket needs, so that the next attempt would fail too.
fn is_shortage(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let code = error.raw_os_error();
    [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM]
        .iter()
        .any(|shortage| code == Some(shortage.raw_os_error()))
}

/// The packet of MySQL's error 1040.
fn too_many() -> BytesMut {
    let error = ErrPacket::new(TOO_MANY, *b"08004", "Too many connections");
    let mut out = BytesMut::new();
    PacketCodec::new(MAX_LOGIN_PACKET).encode_with(&mut out, |payload| error.encode(payload));
    out
}

fn spawn(
    sessions: &mut JoinSet<()>,
    proxy: Arc<Proxy>,
    stream: Stream,
    peer: Peer,
    stop: watch::Receiver<bool>,
) {
    let id = proxy.next_connection_id();
    let span = tracing::debug_span!("client", id, peer = %peer.address);
    // A panic ends this task alone; the set sees it end like any other.
    sessions.spawn(session::run(proxy, stream, id, peer, stop).instrument(span));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_too_many_gets_an_error_as_the_first_packet() {
        let packet = too_many();
        assert_eq!(packet[3], 0);
        assert_eq!(packet[4..7], [0xff, 0x10, 0x04]);
        assert!(packet.ends_with(b"Too many connections"));
    }
}
