//! Starting, serving and ending, in order.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use remora_discovery::{Client, ClientConfig, Fingerprint, Health};
use remora_sidecar::admin::{Admin, Readiness};
use remora_sidecar::agent::{Agent, ServerCertificates};
use remora_sidecar::atomic::Tended;
use remora_sidecar::config::ConfigFile;
use remora_sidecar::discovery::{Certificates, OwnServer, Reporting, follow, show};
use remora_sidecar::snapshot::Snapshots;
use remora_sidecar::telemetry::Metrics;
use remora_sidecar::{Proxy, ShownCertificate, serve};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::arguments::{Discovery, Role, Run};

/// What the parts of the process share.
#[derive(Clone)]
struct Shared {
    metrics: Arc<Metrics>,
    readiness: Arc<Readiness>,
    snapshots: watch::Sender<Option<Arc<Snapshots>>>,
    stop: watch::Sender<bool>,
}

/// Serves until a signal says to end, and then until open transactions finished.
pub(crate) async fn run(arguments: Run) -> anyhow::Result<()> {
    let Run {
        source,
        discovery,
        listen,
        admin,
        ..
    } = arguments;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let ended = async {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    tokio::pin!(ended);
    let is_agent = source.operator.is_some() && discovery.role == Role::Agent;
    let shared = Shared {
        metrics: Arc::default(),
        readiness: Arc::new(match is_agent {
            true => Readiness::at_once(),
            false => Readiness::when_serving(),
        }),
        snapshots: watch::Sender::new(None),
        stop: watch::Sender::new(false),
    };
    if let Some(path) = &source.config {
        from_file(path, &shared)?;
    }
    let probes = TcpListener::bind(admin)
        .await
        .with_context(|| format!("listen on {admin}"))?;
    tokio::spawn(shared.admin().serve(probes));
    let (tended, gateway) = match source.operator {
        Some(endpoint) => {
            let (tended, gateway) = from_operator(endpoint, discovery, &shared);
            (tended, Some(gateway))
        }
        None => (Tended::All, None),
    };
    let mut first = shared.snapshots.subscribe();
    let snapshots = tokio::select! {
        first = first.wait_for(Option::is_some) => first?.clone().context("a snapshot")?,
        () = &mut ended => return Ok(()),
    };
    shared.readiness.has_snapshot();
    shared.metrics.in_force(snapshots.load().epoch);
    let proxy = Arc::new(Proxy::new(snapshots, shared.metrics.clone())?);
    if let Some(gateway) = gateway {
        gateway.show(proxy.shown.clone());
    }
    let listener = TcpListener::bind(listen)
        .await
        .with_context(|| format!("listen on {listen}"))?;
    let server = tokio::spawn(serve(proxy.clone(), listener, shared.stop.subscribe()));
    shared.readiness.listens();
    tracing::info!(%listen, %admin, "Serving");
    let (follower, recovering) = (proxy.clone(), proxy.clone());
    tokio::spawn(async move { recovering.recover_transactions(tended).await });
    tokio::spawn(async move { follower.follow_snapshots().await });
    let tending = proxy.clone();
    tokio::spawn(async move { tending.tend_pools().await });
    tokio::spawn(proxy.clone().watch_servers());
    tokio::spawn(proxy.clone().watch_clients());
    tokio::task::spawn_blocking(move || proxy.make_rsa_key());
    ended.await;
    tracing::info!("Stopping: open transactions may finish");
    shared.readiness.drain();
    shared.stop.send_replace(true);
    server.await.context("the listener panicked")
}

impl Shared {
    fn admin(&self) -> Admin {
        Admin {
            readiness: self.readiness.clone(),
            metrics: self.metrics.clone(),
            snapshots: self.snapshots.subscribe(),
            stop: self.stop.clone(),
        }
    }
}

/// Takes the file's first snapshot and follows its changes.
fn from_file(path: &Path, shared: &Shared) -> anyhow::Result<()> {
    let (file, first) = ConfigFile::open(path)?;
    let snapshots = Arc::new(Snapshots::new(first));
    shared.snapshots.send_replace(Some(snapshots.clone()));
    let metrics = shared.metrics.clone();
    tokio::spawn(async move {
        if let Err(error) = file.follow(snapshots, metrics).await {
            tracing::error!(%error, "Changes of the configuration are not seen any more");
        }
    });
    Ok(())
}

/// What the gateway's certificate comes from, and goes to.
struct Gateway {
    told: watch::Receiver<Option<Arc<remora_discovery::Snapshot>>>,
    shown: watch::Sender<Option<Fingerprint>>,
}

impl Gateway {
    /// Shows clients what the operator says.
    fn show(self, certificate: Arc<ShownCertificate>) {
        tokio::spawn(show(self.told, certificate, self.shown));
    }
}

/// Follows the operator, reports to it, and in a MySQL pod is mysqld's agent. Gives whose
/// prepared branches this sidecar looks after, and where its certificate comes from.
fn from_operator(endpoint: String, discovery: Discovery, shared: &Shared) -> (Tended, Gateway) {
    let (namespace, cluster) = discovery.cluster();
    let client = Client::new(ClientConfig {
        endpoint,
        ca_file: discovery.discovery_ca.clone(),
        token_file: discovery.token_file,
        snapshot_file: Some(discovery.snapshot_file),
        namespace,
        cluster,
        role: discovery.role.into(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    });
    let (told_sender, told) = watch::channel(None);
    let (in_force_sender, in_force) = watch::channel(None);
    let (agent_sender, agent) = watch::channel(None);
    let (health_sender, health) = watch::channel(Health::default());
    let (shown_sender, shown) = watch::channel(None);
    let (server_sender, server) = watch::channel(None);
    let (readiness, metrics) = (shared.readiness.clone(), shared.metrics.clone());
    tokio::spawn(client.clone().watch(told_sender));
    let snapshots = shared.snapshots.clone();
    let own = (discovery.role == Role::Agent).then(|| OwnServer {
        pod: own_name(),
        socket: discovery.mysql_socket.clone(),
    });
    tokio::spawn(follow(
        told.clone(),
        snapshots,
        in_force_sender,
        metrics.clone(),
        own,
    ));
    let tended = match discovery.role {
        Role::Agent => Tended::Own(told.clone()),
        Role::Application => Tended::None,
    };
    if discovery.role == Role::Agent {
        let tls = ServerCertificates::new(discovery.mysql_tls, server_sender);
        let agent = Agent::new(discovery.mysql_socket, told.clone(), agent_sender);
        tokio::spawn(agent.with_certificates(tls).run());
    }
    let reporting = Reporting {
        readiness,
        metrics,
        in_force,
        agent,
        certificates: Certificates {
            operator: discovery.discovery_ca,
            snapshots: shared.snapshots.subscribe(),
            shown,
            server,
        },
    };
    tokio::spawn(reporting.gather(health_sender));
    tokio::spawn(client.report(health));
    let gateway = Gateway {
        told,
        shown: shown_sender,
    };
    (tended, gateway)
}

/// The pod's name, which Kubernetes gives its containers as their host's. Without it the pod's own
/// server is reached as all others are.
fn own_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}
