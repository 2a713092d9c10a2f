//! An operator of the tests' own: it serves the snapshot that it is given, and keeps reports.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use futures::StreamExt as _;
use futures::future::BoxFuture;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use remora_discovery::{
    AgentHealth, Directory, Health, Refusal, Report, Snapshot, Snapshots, WatchedCluster, serve,
};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::WatchStream;

/// How long a report may take to say what it should.
const PATIENCE: Duration = Duration::from_secs(60);

/// What outlives one start of the operator.
pub(crate) struct Operator {
    folder: PathBuf,
    tls: Arc<rustls::ServerConfig>,
    snapshot: watch::Sender<Snapshot>,
    health: watch::Sender<Health>,
    address: SocketAddr,
    task: Option<JoinHandle<()>>,
}

impl Operator {
    /// Starts with `snapshot`, and puts into `folder` what a pod would be given.
    pub(crate) async fn start(folder: &Path, snapshot: Snapshot) -> Result<Self> {
        let (ca, tls) = authority()?;
        std::fs::write(folder.join("ca.crt"), ca)?;
        std::fs::write(folder.join("token"), "sesame\n")?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let mut operator = Self {
            folder: folder.to_owned(),
            tls,
            snapshot: watch::Sender::new(snapshot),
            health: watch::Sender::new(Health::default()),
            address: listener.local_addr()?,
            task: None,
        };
        operator.serve(listener);
        Ok(operator)
    }

    fn serve(&mut self, listener: TcpListener) {
        let desk = Arc::new(Desk {
            snapshot: self.snapshot.subscribe(),
            health: self.health.clone(),
        });
        let serving = serve(listener, self.tls.clone(), desk, std::future::pending());
        self.task = Some(tokio::spawn(async move { drop(serving.await) }));
    }

    /// Ends the operator; sidecars lose their streams.
    pub(crate) async fn end(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
            // It was aborted: there is no outcome to look at.
            drop(task.await);
        }
    }

    /// Starts it again, at the same address, without the reports of before.
    pub(crate) async fn start_again(&mut self) -> Result<()> {
        self.health.send_replace(Health::default());
        let listener = loop {
            match TcpListener::bind(self.address).await {
                Ok(listener) => break listener,
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        };
        self.serve(listener);
        Ok(())
    }

    /// Sends another snapshot.
    pub(crate) fn send(&self, snapshot: Snapshot) {
        self.snapshot.send_replace(snapshot);
    }

    /// The arguments by which a sidecar finds it.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let path = |name: &str| self.folder.join(name).display().to_string();
        [
            "run",
            "--discovery",
            &format!("https://localhost:{}", self.address.port()),
            "--cluster",
            "default/shop",
            "--discovery-ca",
            &path("ca.crt"),
            "--token-file",
            &path("token"),
            "--snapshot-file",
            &path("snapshot"),
        ]
        .map(str::to_owned)
        .into()
    }

    /// Waits for a report of which `holds`.
    pub(crate) async fn told(&self, holds: impl Fn(&Health) -> bool) -> Result<Health> {
        let mut health = self.health.subscribe();
        let waited = tokio::time::timeout(PATIENCE, health.wait_for(|health| holds(health))).await;
        match waited {
            Ok(health) => Ok(health.context("the operator is gone")?.clone()),
            Err(_) => bail!("the last report is {:?}", self.health.borrow()),
        }
    }

    /// Waits for a report of an agent of which `holds`.
    pub(crate) async fn told_by_agent(
        &self,
        holds: impl Fn(&AgentHealth) -> bool,
    ) -> Result<AgentHealth> {
        let health = self
            .told(|health| health.agent.as_ref().is_some_and(&holds))
            .await?;
        health.agent.context("there is no agent")
    }
}

/// What the server asks.
struct Desk {
    snapshot: watch::Receiver<Snapshot>,
    health: watch::Sender<Health>,
}

impl Directory for Desk {
    fn watch(&self, token: String, _: WatchedCluster) -> BoxFuture<'_, Result<Snapshots, Refusal>> {
        Box::pin(async move {
            if token != "sesame" {
                return Err(Refusal::Unauthenticated("an unknown token".to_owned()));
            }
            Ok(WatchStream::new(self.snapshot.clone()).boxed())
        })
    }

    fn report(&self, _: String, report: Report) -> BoxFuture<'_, Result<(), Refusal>> {
        self.health.send_replace(report.health);
        Box::pin(async { Ok(()) })
    }
}

/// A CA's certificate, and a server's of it for a name, with its key.
pub(crate) fn certificate(name: &str) -> Result<(rcgen::Certificate, rcgen::Certificate, KeyPair)> {
    let ca_key = KeyPair::generate()?;
    let mut ca_params = CertificateParams::default();
    ca_params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = ca_params.self_signed(&ca_key)?;
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(vec![name.to_owned()])?;
    // OpenSSL takes a certificate that bears its issuer's name for one that signed itself.
    params
        .distinguished_name
        .push(rcgen::DnType::CommonName, name);
    let leaf = params.signed_by(&key, &Issuer::new(ca_params, ca_key))?;
    Ok((ca, leaf, key))
}

fn authority() -> Result<(String, Arc<rustls::ServerConfig>)> {
    let (ca, leaf, key) = certificate("localhost")?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(key.serialize_der());
    let tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], key.into())?;
    Ok((ca.pem(), Arc::new(tls)))
}
