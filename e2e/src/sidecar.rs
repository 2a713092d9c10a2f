//! The sidecar as a process, by its command line and configuration file alone.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use mysql_async::Conn;
use serde_json::{Value, json};

use crate::mysql::{Account, MysqlServer, login};
use crate::process::{OwnedProcess, free_port};

/// How long a sidecar may take to answer a client; it goes on while backends are slow.
const START_LIMIT: Duration = Duration::from_secs(20);

/// A running sidecar; it ends when this value is dropped.
#[derive(Debug)]
pub struct Sidecar {
    process: OwnedProcess,
    port: u16,
    admin: u16,
    ready_after: Duration,
}

impl Sidecar {
    /// Starts the sidecar on `manifest` (a `ShardingCluster`) and the primaries `shards`, with
    /// its files in `folder`, and waits until it is ready.
    ///
    /// # Errors
    /// If its program is not built, or it does not become ready.
    pub async fn start(folder: &Path, manifest: &Value, shards: &[u16]) -> Result<Self> {
        let (port, admin) = (free_port()?, free_port()?);
        Self::start_on(folder, manifest, shards, port, admin).await
    }

    /// [`Sidecar::start`] with ports that the caller chose.
    ///
    /// # Errors
    /// As [`Sidecar::start`].
    pub async fn start_on(
        folder: &Path,
        manifest: &Value,
        shards: &[u16],
        port: u16,
        admin: u16,
    ) -> Result<Self> {
        let config = configure(folder, manifest, shards)?;
        Self::start_configured(folder, &config, (port, admin), None).await
    }

    /// [`Sidecar::start`] with logs of this level.
    ///
    /// # Errors
    /// As [`Sidecar::start`].
    pub async fn start_logging(
        folder: &Path,
        manifest: &Value,
        shards: &[u16],
        level: &str,
    ) -> Result<Self> {
        let config = configure(folder, manifest, shards)?;
        let ports = (free_port()?, free_port()?);
        Self::start_configured(folder, &config, ports, Some(level)).await
    }

    /// Starts the sidecar on shards with replicas: for each shard its instances.
    ///
    /// # Errors
    /// As [`Sidecar::start`].
    pub async fn start_replicated(
        folder: &Path,
        manifest: &Value,
        shards: &[Vec<Endpoint>],
    ) -> Result<Self> {
        let config = configure_instances(folder, manifest, shards)?;
        Self::start_configured(folder, &config, (free_port()?, free_port()?), None).await
    }

    async fn start_configured(
        folder: &Path,
        config: &Path,
        (port, admin): (u16, u16),
        logs: Option<&str>,
    ) -> Result<Self> {
        let mut command = Command::new(program("remora-sidecar", "REMORA_SIDECAR")?);
        command
            .args(["run", "--config"])
            .arg(config)
            .arg("--listen")
            .arg(format!("127.0.0.1:{port}"))
            .arg("--admin")
            .arg(format!("127.0.0.1:{admin}"));
        command.envs(logs.map(|level| ("RUST_LOG", level)));
        let started = Instant::now();
        let process = OwnedProcess::start("remora-sidecar", command, &folder.join("sidecar.log"))?;
        let mut sidecar = Self {
            process,
            port,
            admin,
            ready_after: Duration::ZERO,
        };
        sidecar.wait_until_ready(started).await?;
        Ok(sidecar)
    }

    async fn wait_until_ready(&mut self, started: Instant) -> Result<()> {
        loop {
            self.process.check()?;
            let answer = probe(self.admin, "/ready").await;
            if answer.as_ref().is_ok_and(|status| *status == 200) {
                self.ready_after = started.elapsed();
                break;
            }
            if started.elapsed() > START_LIMIT {
                bail!(
                    "the sidecar is not ready ({answer:?}):\n{}",
                    self.process.log_end()
                );
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Conn::new(login(self.port, &MysqlServer::APPLICATION))
            .await
            .with_context(|| format!("nobody can log in:\n{}", self.process.log_end()))?
            .disconnect()
            .await?;
        Ok(())
    }

    /// The port for MySQL clients.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The port for probes and metrics.
    #[must_use]
    pub fn admin(&self) -> u16 {
        self.admin
    }

    /// From the start of the process to the first `/ready` that said yes.
    #[must_use]
    pub fn ready_after(&self) -> Duration {
        self.ready_after
    }

    /// The sidecar's process.
    #[must_use]
    pub fn process(&self) -> &OwnedProcess {
        &self.process
    }

    /// Kills the sidecar (SIGKILL).
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Asks the sidecar to end (SIGTERM) and waits until it has.
    pub fn stop(&mut self) {
        self.process.stop();
    }

    /// Lets the sidecar live on without this value, and gives its process id.
    #[must_use]
    pub fn leave_running(self) -> u32 {
        self.process.leave_running()
    }
}

/// A server of a shard, as a topology lists it.
#[derive(Clone, Copy, Debug)]
pub struct Endpoint {
    /// Its port on 127.0.0.1.
    pub port: u16,
    /// Whether it takes writes.
    pub primary: bool,
    /// Its share of the reads beside other replicas.
    pub weight: u32,
}

/// Writes the configuration file into `folder`, from where a running sidecar takes it too.
///
/// # Errors
/// If it cannot be written.
pub fn configure(folder: &Path, manifest: &Value, shards: &[u16]) -> Result<PathBuf> {
    let primary = |port: &u16| {
        vec![Endpoint {
            port: *port,
            primary: true,
            weight: 1,
        }]
    };
    let shards: Vec<_> = shards.iter().map(primary).collect();
    configure_instances(folder, manifest, &shards)
}

/// [`configure`] for shards with replicas.
///
/// # Errors
/// As [`configure`].
pub fn configure_instances(
    folder: &Path,
    manifest: &Value,
    shards: &[Vec<Endpoint>],
) -> Result<PathBuf> {
    let config = folder.join("remora.yaml");
    fs::write(&config, configuration(manifest, shards)?)?;
    Ok(config)
}

/// The two documents of the sidecar's configuration file. The topology's epoch is the manifest's
/// `metadata.generation`, which the API server counts.
fn configuration(manifest: &Value, shards: &[Vec<Endpoint>]) -> Result<String> {
    let instance = |endpoint: &Endpoint| {
        let role = match endpoint.primary {
            true => "Primary",
            false => "Replica",
        };
        json!({
            "host": "127.0.0.1",
            "port": endpoint.port,
            "role": role,
            "weight": endpoint.weight,
        })
    };
    let account = |account: &Account| json!({"name": account.name, "password": account.password});
    let mut users = vec![MysqlServer::APPLICATION];
    if manifest["metadata"]["annotations"]["e2e/guest"] == "yes" {
        users.push(MysqlServer::GUEST);
    }
    let mut topology = json!({
        "apiVersion": "remora.dev/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": manifest["metadata"]["name"]},
        "epoch": manifest["metadata"]["generation"].as_u64().unwrap_or(1),
        "shards": shards.iter().map(|instances| json!({
            "instances": instances.iter().map(instance).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "users": users.iter().map(account).collect::<Vec<_>>(),
        "system": account(&MysqlServer::SYSTEM),
        "keys": column_keys(manifest),
    });
    let annotations = &manifest["metadata"]["annotations"];
    if let Some(share) = annotations["e2e/share"].as_u64() {
        topology["connectionShare"] = share.into();
    }
    if let Some(port) = annotations["e2e/gateway"].as_u64() {
        topology["gateway"] = json!({"host": "127.0.0.1", "port": port});
    }
    let manifest = serde_saphyr::to_string(manifest).context("the manifest is not YAML")?;
    let topology = serde_saphyr::to_string(&topology).context("the topology is not YAML")?;
    Ok(format!("{manifest}\n---\n{topology}"))
}

/// The 32 bytes of a version of a key of encrypted columns, in base64: those of every test.
#[must_use]
pub fn column_key(name: &str, version: u8) -> String {
    let mut bytes = [version; 32];
    for (byte, letter) in bytes.iter_mut().zip(name.bytes()) {
        *byte = letter;
    }
    BASE64_STANDARD.encode(bytes)
}

/// The keys of the topology: those that the manifest names, in the versions that its annotation
/// `e2e/versions` says, else in one. Those of the annotation `e2e/withheld` are left out.
fn column_keys(manifest: &Value) -> Vec<Value> {
    let annotations = &manifest["metadata"]["annotations"];
    let versions: u8 = annotations["e2e/versions"]
        .as_str()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1);
    let withheld = annotations["e2e/withheld"].as_str().unwrap_or_default();
    let keys = manifest["spec"]["encryption"]["keys"].as_array();
    let names = keys
        .into_iter()
        .flatten()
        .filter_map(|key| key["name"].as_str());
    names
        .filter(|name| *name != withheld)
        .flat_map(|name| {
            (1..=versions).map(move |version| {
                json!({"name": name, "version": version, "key": column_key(name, version)})
            })
        })
        .collect()
}

/// A program of this workspace: the one that the variable names, or the one that cargo built
/// beside the running test.
///
/// # Errors
/// If it is not there.
pub fn program(name: &str, variable: &str) -> Result<PathBuf> {
    if let Some(path) = env::var_os(variable) {
        return Ok(path.into());
    }
    let own = env::current_exe()?;
    for folder in own.ancestors().skip(1).take(2) {
        let candidate = folder.join(name);
        if candidate.is_file() {
            return Ok(candidate);
        }
    }
    bail!(
        "{name} is not built beside {}: cargo build -p {name}, or set {variable}",
        own.display()
    )
}

/// The status that `GET path` gets on the admin port.
async fn probe(port: u16, path: &str) -> Result<u16> {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let status = answer.split_whitespace().nth(1).context("no HTTP status")?;
    Ok(status.parse()?)
}
