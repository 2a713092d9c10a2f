//! Client and server over loopback, with certificates made for the test.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use remora_crds::{ShardEndpoints, ShardingCluster, Topology, TopologyMetadata};
use remora_discovery::{
    AgentHealth, Client, ClientConfig, Directory, Health, Identity, Refusal, ReplicationHealth,
    Report, Role, ServerData, Snapshot, SnapshotFile, Snapshots, Trust, WatchedCluster, serve,
};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio_stream::wrappers::WatchStream;

/// Answers whoever has the token, and remembers reports.
struct Fake {
    snapshots: watch::Receiver<Snapshot>,
    token: Mutex<String>,
    leads: Mutex<bool>,
    reports: Mutex<Vec<Report>>,
}

impl Fake {
    fn check(&self, token: &str) -> Result<(), Refusal> {
        (token == *self.token.lock().unwrap())
            .then_some(())
            .ok_or_else(|| Refusal::Unauthenticated("an unknown token".to_owned()))
    }
}

impl Directory for Fake {
    fn watch(
        &self,
        token: String,
        wanted: WatchedCluster,
    ) -> BoxFuture<'_, Result<Snapshots, Refusal>> {
        Box::pin(async move {
            self.check(&token)?;
            assert_eq!(wanted.cluster, "shop");
            Ok(WatchStream::new(self.snapshots.clone()).boxed())
        })
    }

    fn report(&self, token: String, report: Report) -> BoxFuture<'_, Result<(), Refusal>> {
        Box::pin(async move {
            self.check(&token)?;
            if !*self.leads.lock().unwrap() {
                return Err(Refusal::Unavailable("another replica leads".to_owned()));
            }
            self.reports.lock().unwrap().push(report);
            Ok(())
        })
    }
}

fn snapshot(epoch: u64) -> Snapshot {
    let cluster: ShardingCluster =
        serde_saphyr::from_str(include_str!("../../examples/shop.yaml")).unwrap();
    Snapshot {
        identity: Identity {
            uid: "uid".to_owned(),
            epoch,
            content_hash: String::new(),
        },
        namespace: "default".to_owned(),
        name: "shop".to_owned(),
        spec: cluster.spec,
        topology: Topology {
            api_version: "remora.dev/v1alpha1".to_owned(),
            kind: "Topology".to_owned(),
            metadata: TopologyMetadata {
                name: "shop".to_owned(),
            },
            epoch,
            shards: vec![ShardEndpoints {
                instances: Vec::new(),
            }],
            users: Vec::new(),
            system: None,
            keys: Vec::new(),
            client_ca: None,
            connection_share: None,
            gateway: None,
        },
        backend_ca: None,
        agent: None,
    }
    .hashed()
}

/// CAs to trust, and a server configuration with a certificate for `localhost` of the last of
/// them, as during a rotation.
fn authority() -> (String, Arc<rustls::ServerConfig>) {
    let ca_key = KeyPair::generate().unwrap();
    let mut ca_params = CertificateParams::default();
    ca_params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = ca_params.self_signed(&ca_key).unwrap();
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(vec!["localhost".to_owned()])
        .unwrap()
        .signed_by(&key, &Issuer::new(ca_params, ca_key))
        .unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![leaf.der().clone()],
            rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    let mut other = CertificateParams::default();
    other.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let other = other.self_signed(&KeyPair::generate().unwrap()).unwrap();
    (format!("{}{}", other.pem(), ca.pem()), Arc::new(tls))
}

struct Running {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Running {
    async fn start(address: &str, tls: Arc<rustls::ServerConfig>, fake: Arc<Fake>) -> Self {
        let listener = loop {
            match tokio::net::TcpListener::bind(address).await {
                Ok(listener) => break listener,
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        };
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(async move {
            serve(listener, tls, fake, async { drop(stopped.await) })
                .await
                .unwrap();
        });
        Self {
            address,
            stop,
            task,
        }
    }

    async fn end(self) {
        drop(self.stop);
        // Open streams would keep a graceful end waiting.
        self.task.abort();
        drop(self.task.await);
    }
}

struct Site {
    folder: tempfile::TempDir,
    fake: Arc<Fake>,
    sender: watch::Sender<Snapshot>,
    tls: Arc<rustls::ServerConfig>,
}

impl Site {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (ca, tls) = authority();
        std::fs::write(folder.path().join("ca.crt"), ca).unwrap();
        std::fs::write(folder.path().join("token"), "sesame\n").unwrap();
        let (sender, snapshots) = watch::channel(snapshot(1));
        let fake = Arc::new(Fake {
            snapshots,
            token: Mutex::new("sesame".to_owned()),
            leads: Mutex::new(true),
            reports: Mutex::default(),
        });
        Self {
            folder,
            fake,
            sender,
            tls,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        Path::join(self.folder.path(), name)
    }

    fn client(&self, address: SocketAddr) -> Client {
        Client::new(ClientConfig {
            endpoint: format!("https://localhost:{}", address.port()),
            ca_file: self.path("ca.crt"),
            token_file: self.path("token"),
            snapshot_file: Some(self.path("snapshot")),
            namespace: "default".to_owned(),
            cluster: "shop".to_owned(),
            role: Role::Application,
            version: "0.1.0".to_owned(),
        })
    }

    async fn serve(&self, address: &str) -> Running {
        Running::start(address, self.tls.clone(), self.fake.clone()).await
    }
}

type Followed = watch::Receiver<Option<Arc<Snapshot>>>;

fn follow(client: Client) -> Followed {
    let (sender, receiver) = watch::channel(None);
    tokio::spawn(client.watch(sender));
    receiver
}

async fn until_epoch(followed: &mut Followed, epoch: u64) {
    let arrived = followed.wait_for(|snapshot| {
        snapshot
            .as_ref()
            .is_some_and(|snapshot| snapshot.identity.epoch == epoch)
    });
    tokio::time::timeout(Duration::from_secs(20), arrived)
        .await
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn snapshots_arrive_and_a_lower_epoch_does_not() {
    let site = Site::new();
    let server = site.serve("127.0.0.1:0").await;
    let mut followed = follow(site.client(server.address));
    until_epoch(&mut followed, 1).await;
    assert_eq!(**followed.borrow().as_ref().unwrap(), snapshot(1));

    site.sender.send_replace(snapshot(3));
    until_epoch(&mut followed, 3).await;
    site.sender.send_replace(snapshot(2));
    site.sender.send_replace(snapshot(4));
    until_epoch(&mut followed, 4).await;
    site.sender.send_replace(snapshot(2));
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(followed.borrow().as_ref().unwrap().identity.epoch, 4);
    server.end().await;
}

#[tokio::test]
async fn a_sidecar_lives_without_the_operator_and_finds_it_again() {
    let site = Site::new();
    let server = site.serve("127.0.0.1:0").await;
    let address = server.address;
    let mut followed = follow(site.client(address));
    until_epoch(&mut followed, 1).await;
    server.end().await;

    // A container that starts now has the last snapshot from the file.
    let mut restarted = follow(site.client(address));
    until_epoch(&mut restarted, 1).await;

    // The token was renewed on disk meanwhile.
    *site.fake.token.lock().unwrap() = "open".to_owned();
    std::fs::write(site.path("token"), "open").unwrap();
    site.sender.send_replace(snapshot(2));
    let server = site.serve(&address.to_string()).await;
    until_epoch(&mut followed, 2).await;
    until_epoch(&mut restarted, 2).await;
    assert_eq!(
        SnapshotFile::new(site.path("snapshot")).load(),
        Some(snapshot(2))
    );
    server.end().await;
}

#[tokio::test]
async fn neither_a_wrong_token_nor_another_ca_gets_through() {
    let site = Site::new();
    let server = site.serve("127.0.0.1:0").await;
    std::fs::write(site.path("token"), "wrong").unwrap();
    let strangers = follow(site.client(server.address));
    let (other_ca, _) = authority();
    let ca = std::fs::read(site.path("ca.crt")).unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    std::fs::write(site.path("ca.crt"), other_ca).unwrap();
    std::fs::write(site.path("token"), "sesame").unwrap();
    tokio::time::sleep(Duration::from_millis(1000)).await;
    assert_eq!(*strangers.borrow(), None);

    // Both are read again for each attempt.
    std::fs::write(site.path("ca.crt"), ca).unwrap();
    let mut strangers = strangers;
    until_epoch(&mut strangers, 1).await;
    server.end().await;
}

#[tokio::test]
async fn reports_reach_the_leader_when_there_is_one() {
    let site = Site::new();
    *site.fake.leads.lock().unwrap() = false;
    let server = site.serve("127.0.0.1:0").await;
    let health = Health {
        ready: true,
        in_force: Some(snapshot(1).identity),
        unreachable: vec![(1, "Connection refused".to_owned())],
        agent: Some(AgentHealth {
            mysqld: true,
            bootstrapped: false,
            reason: "the layout differs".to_owned(),
            least_epoch: 4,
            refused_layout: "spec.tables[a]: it is there".to_owned(),
            judged_layout: "f00d".to_owned(),
            data: ServerData::Held,
            replication: Some(ReplicationHealth {
                ordinal: 1,
                primary: false,
                server_uuid: "u".to_owned(),
                following: true,
                cloning: false,
                errant: "e:1".to_owned(),
                acknowledgements: 2,
            }),
        }),
        trust: Trust {
            operator: ["a".to_owned()].into(),
            shown: Some("b".to_owned()),
            ..Trust::default()
        },
    };
    let (sender, receiver) = watch::channel(health.clone());
    let reporting = tokio::spawn(site.client(server.address).report(receiver));
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(site.fake.reports.lock().unwrap().len(), 0);
    *site.fake.leads.lock().unwrap() = true;

    let reported = |n: usize| {
        let fake = site.fake.clone();
        async move {
            while fake.reports.lock().unwrap().len() < n {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            fake.reports.lock().unwrap()[n - 1].health.clone()
        }
    };
    let first = tokio::time::timeout(Duration::from_secs(20), reported(1))
        .await
        .unwrap();
    assert_eq!(first, health);
    sender.send_replace(Health::default());
    let second = tokio::time::timeout(Duration::from_secs(20), reported(2))
        .await
        .unwrap();
    assert_eq!(second, Health::default());
    drop(sender);
    tokio::time::timeout(Duration::from_secs(20), reporting)
        .await
        .unwrap()
        .unwrap();
    server.end().await;
}
