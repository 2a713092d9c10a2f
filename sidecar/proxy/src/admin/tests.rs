use std::net::IpAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;
use crate::snapshot::{BackendTls, Snapshot};

fn snapshot() -> Snapshot {
    let spec = serde_saphyr::from_str("{shards: 1, database: shop}").unwrap();
    let topology = serde_saphyr::from_str(
        "{apiVersion: remora.dev/v1alpha1, kind: Topology, metadata: {name: shop}, epoch: 3,
          shards: [{instances: [{host: a, port: 1, role: Primary}]}],
          users: [{name: app, password: hunter2}], system: {name: remora, password: hunter2}}",
    )
    .unwrap();
    Snapshot::new(None, spec, topology, BackendTls::default()).unwrap()
}

struct Running {
    address: SocketAddr,
    readiness: Arc<Readiness>,
    snapshots: watch::Sender<Option<Arc<Snapshots>>>,
    stopped: watch::Receiver<bool>,
}

async fn start(listen: &str) -> Running {
    let listener = TcpListener::bind(listen).await.unwrap();
    let address = listener.local_addr().unwrap();
    let readiness = Arc::new(Readiness::when_serving());
    let (snapshots, receiver) = watch::channel(None);
    let (stop, stopped) = watch::channel(false);
    let admin = Admin {
        readiness: readiness.clone(),
        metrics: Arc::new(Metrics::default()),
        snapshots: receiver,
        stop,
    };
    tokio::spawn(admin.serve(listener));
    Running {
        address,
        readiness,
        snapshots,
        stopped,
    }
}

async fn ask(address: SocketAddr, what: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("{what} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap()
}

#[tokio::test]
async fn the_process_is_ready_when_it_can_serve_and_alive_before() {
    let running = start("127.0.0.1:0").await;
    assert_eq!(status(&ask(running.address, "GET /startup").await), "503");
    assert_eq!(status(&ask(running.address, "GET /live").await), "200");
    assert_eq!(status(&ask(running.address, "GET /config").await), "503");
    running.readiness.has_snapshot();
    running.readiness.listens();
    assert_eq!(status(&ask(running.address, "GET /startup").await), "200");
    assert_eq!(status(&ask(running.address, "GET /ready").await), "200");
    let metrics = ask(running.address, "GET /metrics").await;
    assert!(
        metrics.contains("remora_client_connections_total 0"),
        "{metrics}"
    );
}

#[tokio::test]
async fn the_configuration_shows_no_password() {
    let running = start("127.0.0.1:0").await;
    running
        .snapshots
        .send_replace(Some(Arc::new(Snapshots::new(snapshot()))));
    let answer = ask(running.address, "GET /config").await;
    assert!(answer.contains(r#""users":["app"]"#), "{answer}");
    assert!(!answer.contains("hunter2"), "{answer}");
}

#[tokio::test]
async fn a_drain_stops_the_process_from_taking_clients() {
    let mut running = start("127.0.0.1:0").await;
    assert_eq!(status(&ask(running.address, "GET /drain").await), "405");
    assert_eq!(status(&ask(running.address, "POST /drain").await), "200");
    assert!(*running.stopped.wait_for(|stop| *stop).await.unwrap());
    assert_eq!(status(&ask(running.address, "GET /ready").await), "503");
}

#[tokio::test]
async fn from_elsewhere_only_probes_and_metrics_are_there() {
    let running = start("0.0.0.0:0").await;
    running.readiness.has_snapshot();
    running.readiness.listens();
    let port = running.address.port();
    assert_eq!(
        status(&ask(([127, 0, 0, 1], port).into(), "GET /config").await),
        "503"
    );
    let Some(own) = own_address() else { return };
    let outside = SocketAddr::new(own, port);
    assert_eq!(status(&ask(outside, "GET /ready").await), "200");
    assert_eq!(status(&ask(outside, "GET /metrics").await), "200");
    assert_eq!(status(&ask(outside, "GET /config").await), "404");
    assert_eq!(status(&ask(outside, "POST /drain").await), "404");
}

/// An address of this machine that is not loopback; one without a network has none.
fn own_address() -> Option<IpAddr> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").ok()?;
    // Sends nothing: it only lets the kernel choose the address it would send from.
    socket.connect("198.51.100.1:9").ok()?;
    let own = socket.local_addr().ok()?.ip();
    (!own.is_loopback()).then_some(own)
}
