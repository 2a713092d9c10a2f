//! Certificates that change while mysqld and its sidecar serve.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use mysql_async::prelude::Queryable as _;
use mysql_async::{Conn, OptsBuilder, SslOpts};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use remora_discovery::{GatewayCertificate, Snapshot, fingerprints};
use tempfile::TempDir;

use crate::Pod;
use crate::orders::snapshot;

const USERS: &[(&str, &str)] = &[("app", "app-secret")];

/// A CA.
struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new(name: &str) -> Result<Self> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate()?;
        let pem = params.self_signed(&key)?.pem();
        Ok(Self {
            pem,
            issuer: Issuer::new(params, key),
        })
    }

    /// A certificate for this machine's loopback, and its key. `days` tells it from others.
    fn issue(&self, days: u32) -> Result<(String, String)> {
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let mut params = CertificateParams::new(names)?;
        params.not_after = rcgen::date_time_ymd(2040, 1, u8::try_from(days)?);
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok((certificate.pem(), key.serialize_pem()))
    }
}

/// A pod whose mysqld has certificates from a folder, as the kubelet mounts them.
struct Secured {
    pod: Pod,
    mounted: TempDir,
}

impl Secured {
    async fn new(authority: &Authority) -> Result<Self> {
        let mounted = TempDir::with_prefix("remora-tls-")?;
        let path = |name: &str| mounted.path().join(name).display().to_string();
        let flags = vec![
            "--partial-revokes=ON".to_owned(),
            format!("--ssl-ca={}", path("ca.crt")),
            format!("--ssl-cert={}", path("tls.crt")),
            format!("--ssl-key={}", path("tls.key")),
        ];
        let (certificate, key) = authority.issue(1)?;
        put(&mounted, &certificate, &key, &authority.pem)?;
        let pod = Pod::with_flags(USERS, flags).await?;
        Ok(Self { pod, mounted })
    }

    fn orders(&self, gateway: (String, String), backend_ca: String) -> Result<Snapshot> {
        let mut orders = snapshot(self.pod.server.port(), 4, 1, USERS)?;
        orders.backend_ca = Some(backend_ca);
        if let Some(agent) = &mut orders.agent {
            agent.gateway = Some(GatewayCertificate {
                certificate: gateway.0,
                key: gateway.1,
            });
        }
        Ok(orders.hashed())
    }

    async fn serves(&self, certificate: &str) -> Result<()> {
        let wanted = fingerprints(certificate.as_bytes()).into_iter().next();
        let told = self.pod.operator.told(|health| {
            let server = health.trust.server.as_ref();
            server.is_some_and(|server| server.shown == wanted)
        });
        told.await.context("mysqld's certificate").map(drop)
    }
}

fn put(folder: &TempDir, certificate: &str, key: &str, ca: &str) -> Result<()> {
    for (name, content) in [("tls.key", key), ("tls.crt", certificate), ("ca.crt", ca)] {
        let (path, fresh): (PathBuf, _) = (folder.path().join(name), folder.path().join("fresh"));
        fs::write(&fresh, content)?;
        fs::rename(fresh, path)?;
    }
    Ok(())
}

/// Logs in by TLS, and takes a server whose certificate is of `ca` alone.
async fn verified(port: u16, ca: &str) -> Result<Conn> {
    let tls = SslOpts::default()
        .with_root_certs(vec![ca.as_bytes().to_vec().into()])
        .with_disable_built_in_roots(true);
    let options = OptsBuilder::default()
        .ip_or_hostname("127.0.0.1")
        .tcp_port(port)
        .prefer_socket(false)
        .user(Some(USERS[0].0))
        .pass(Some(USERS[0].1))
        .ssl_opts(tls);
    Ok(Conn::new(options).await?)
}

/// The same, as soon as the gateway's breaker lets anyone on to its server: while certificates
/// changed, it may have met both.
async fn reached(port: u16, ca: &str) -> Result<Conn> {
    let deadline = Instant::now() + Duration::from_secs(15);
    loop {
        match verified(port, ca).await {
            Err(_) if Instant::now() < deadline => {
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            outcome => return outcome,
        }
    }
}

#[tokio::test]
async fn mysqld_and_gateway_change_their_certificates_under_their_clients() -> Result<()> {
    let (old, new) = (Authority::new("old")?, Authority::new("new")?);
    let both = format!("{}{}", old.pem, new.pem);
    let it = Secured::new(&old).await?;
    let first = fs::read_to_string(it.mounted.path().join("tls.crt"))?;
    let shown = old.issue(2)?;
    it.pod
        .operator
        .send(it.orders(shown.clone(), old.pem.clone())?);
    let _sidecar = it.pod.sidecar_with(
        "agent",
        &["--mysql-tls", &it.mounted.path().display().to_string()],
    )?;

    // Everything is the old CA's, and told so.
    it.serves(&first).await?;
    let told = it.pod.operator.told(|health| health.trust.shown.is_some());
    let trust = told.await?.trust;
    ensure!(
        trust.servers == fingerprints(old.pem.as_bytes()),
        "{trust:?}"
    );
    ensure!(trust.shown == fingerprints(shown.0.as_bytes()).into_iter().next());
    let (server, gateway) = (it.pod.server.port(), it.pod.gateway);
    let mut connections = Vec::new();
    for port in [server, gateway] {
        connections.push(reached(port, &old.pem).await?);
        ensure!(
            verified(port, &new.pem).await.is_err(),
            "{port} shows the new CA's"
        );
    }

    // Both CAs are trusted, for servers and by the server itself.
    let (certificate, key) = (
        first.clone(),
        fs::read_to_string(it.mounted.path().join("tls.key"))?,
    );
    put(&it.mounted, &certificate, &key, &both)?;
    it.pod.operator.send(it.orders(shown, both.clone())?);
    let all = fingerprints(both.as_bytes());
    let told = it.pod.operator.told(|health| {
        let server = health.trust.server.as_ref();
        health.trust.servers == all && server.is_some_and(|server| server.trusted == all)
    });
    told.await?;

    // The new CA issues.
    let (certificate, key) = new.issue(3)?;
    put(&it.mounted, &certificate, &key, &both)?;
    let shown = new.issue(4)?;
    it.pod.operator.send(it.orders(shown.clone(), both)?);
    it.serves(&certificate).await?;
    let wanted = fingerprints(shown.0.as_bytes()).into_iter().next();
    it.pod
        .operator
        .told(|health| health.trust.shown == wanted)
        .await?;
    for (port, mut connection) in [server, gateway].into_iter().zip(connections) {
        let one: Option<u8> = connection.query_first("SELECT 1").await?;
        ensure!(
            one == Some(1),
            "a connection to {port} did not outlive its certificate"
        );
        reached(port, &new.pem).await?;
        ensure!(
            verified(port, &old.pem).await.is_err(),
            "{port} shows the old CA's"
        );
    }

    // The old CA is forgotten.
    put(&it.mounted, &certificate, &key, &new.pem)?;
    it.pod.operator.send(it.orders(shown, new.pem.clone())?);
    let only = fingerprints(new.pem.as_bytes());
    let told = it.pod.operator.told(|health| {
        let server = health.trust.server.as_ref();
        health.trust.servers == only && server.is_some_and(|server| server.trusted == only)
    });
    told.await?;
    let mut client = reached(gateway, &new.pem).await?;
    let one: Option<u8> = client.query_first("SELECT 1 FROM DUAL").await?;
    ensure!(one == Some(1));

    // A server that shows a certificate of the old CA is an impostor now.
    // It must trust that CA itself, or mysqld would not take its own certificate.
    let (certificate, key) = old.issue(5)?;
    put(&it.mounted, &certificate, &key, &old.pem)?;
    it.serves(&certificate).await?;
    // The client's driver asks for variables as soon as it is logged in. Connections from before
    // rest in the pool, and are as good as they were; whoever needs another one gets none.
    let mut served = Vec::new();
    let error = loop {
        match verified(gateway, &new.pem).await {
            Ok(client) if served.len() < 10 => served.push(client),
            Ok(_) => bail!("the sidecar took a server of the old CA"),
            Err(error) => break error,
        }
    };
    match error.downcast::<mysql_async::Error>()? {
        mysql_async::Error::Server(error) => ensure!(error.code == 2003, "{error}"),
        other => bail!("the gateway itself is not known any more: {other}"),
    }
    Ok(())
}

#[tokio::test]
async fn files_that_do_not_fit_leave_the_certificate_in_force() -> Result<()> {
    let authority = Authority::new("ca")?;
    let it = Secured::new(&authority).await?;
    let first = fs::read_to_string(it.mounted.path().join("tls.crt"))?;
    let folder = it.mounted.path().display().to_string();
    let _sidecar = it.pod.sidecar_with("agent", &["--mysql-tls", &folder])?;
    it.serves(&first).await?;

    let (certificate, key) = authority.issue(2)?;
    let other = authority.issue(3)?.1;
    put(&it.mounted, &certificate, &other, &authority.pem)?;
    let told = it.pod.operator.told(|health| {
        let server = health.trust.server.as_ref();
        server.is_some_and(|server| server.shown.is_none())
    });
    told.await?;
    verified(it.pod.server.port(), &authority.pem).await?;

    put(&it.mounted, &certificate, &key, &authority.pem)?;
    it.serves(&certificate).await
}
