//! A shard of several instances, each as its pod has it: mysqld under its supervisor, and an
//! agent. What each agent is ordered is the test's own.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use mysql_async::{Conn, OptsBuilder};
use remora_crds::Credentials;
use remora_discovery::{AgentHealth, Part, ReplicationHealth, ReplicationOrder, Snapshot};
use remora_e2e::mysql::MysqlRoot;
use remora_e2e::process::{OwnedProcess, free_port};
use remora_e2e::sidecar::program;
use serde_json::json;
use tempfile::TempDir;

use crate::operator::{Operator, certificate};
use crate::orders::{account, pressure_test, snapshot_of};
use crate::until;

/// The certificate by which all servers of the shard are verified.
pub(crate) struct Tls {
    folder: TempDir,
}

impl Tls {
    pub(crate) fn new() -> Result<Self> {
        let folder = TempDir::with_prefix("remora-tls-")?;
        let (ca, leaf, key) = certificate("127.0.0.1")?;
        for (name, pem) in [
            ("ca.crt", ca.pem()),
            ("tls.crt", leaf.pem()),
            ("tls.key", key.serialize_pem()),
        ] {
            std::fs::write(folder.path().join(name), pem)?;
        }
        Ok(Self { folder })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// One instance.
pub(crate) struct Instance {
    ordinal: u8,
    pub(crate) port: u16,
    pub(crate) operator: Operator,
    root: MysqlRoot,
    flags: Vec<String>,
    ca: String,
    gateway: u16,
    admin: u16,
    supervisor: Option<OwnedProcess>,
    sidecar: Option<OwnedProcess>,
    folder: TempDir,
}

impl Instance {
    /// An instance with an empty server, and an agent that is ordered to be `part`.
    pub(crate) async fn start(tls: &Tls, ordinal: u8, part: Part) -> Result<Self> {
        let mut instance = Self::without_agent(tls, ordinal, part).await?;
        instance.start_agent()?;
        Ok(instance)
    }

    pub(crate) async fn without_agent(tls: &Tls, ordinal: u8, part: Part) -> Result<Self> {
        let root = MysqlRoot::get()?;
        let folder = TempDir::with_prefix("remora-instance-")?;
        std::fs::create_dir_all(folder.path().join("run"))?;
        std::fs::create_dir_all(folder.path().join("volume"))?;
        root.copy_data(&folder.path().join("volume/data"))?;
        let port = free_port()?;
        let ca = std::fs::read_to_string(tls.file("ca.crt"))?;
        let flags = flags(&root, tls, port);
        let operator = Operator::start(folder.path(), orders(port, &ca, ordinal, part, 1)?).await?;
        let mut instance = Self {
            ordinal,
            port,
            operator,
            root,
            flags,
            ca,
            gateway: free_port()?,
            admin: free_port()?,
            supervisor: None,
            sidecar: None,
            folder,
        };
        instance.start_server()?;
        Ok(instance)
    }

    /// Sends other orders.
    pub(crate) fn order(&self, part: Part, epoch: u64) -> Result<()> {
        let orders = orders(self.port, &self.ca, self.ordinal, part, epoch)?;
        self.operator.send(orders);
        Ok(())
    }

    /// What a replica of this one is ordered.
    pub(crate) fn followed(&self) -> Part {
        Part::Replica {
            host: "127.0.0.1".to_owned(),
            port: self.port,
        }
    }

    pub(crate) fn start_agent(&mut self) -> Result<()> {
        let mut command = Command::new(program("remora-sidecar", "REMORA_SIDECAR")?);
        command
            .args(self.operator.arguments())
            .args(["--role", "agent", "--mysql-socket"])
            .arg(self.run_file("mysql.sock"))
            .args(["--listen", &format!("127.0.0.1:{}", self.gateway)])
            .args(["--admin", &format!("127.0.0.1:{}", self.admin)]);
        let sidecar = OwnedProcess::start("remora-sidecar", command, &self.log())?;
        self.sidecar = Some(sidecar);
        Ok(())
    }

    /// Kills the agent.
    pub(crate) fn kill_agent(&mut self) -> Result<()> {
        if let Some(sidecar) = self.sidecar.take() {
            crate::kill(&sidecar)?;
        }
        Ok(())
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.folder.path().join("sidecar.log")
    }

    pub(crate) fn start_server(&mut self) -> Result<()> {
        let mut command = Command::new(program("remora-supervisor", "REMORA_SUPERVISOR")?);
        command
            .arg("run")
            .arg("--data-dir")
            .arg(self.folder.path().join("volume/data"))
            .arg("--run-dir")
            .arg(self.folder.path().join("run"))
            .args(["--first-server-id", "1"])
            .args(["--pod-name", &format!("shop-0-{}", self.ordinal)])
            .arg("--");
        let server = self.root.command("usr/sbin/mysqld");
        command
            .arg(server.get_program())
            .args(server.get_args())
            .args(&self.flags);
        let log = self.folder.path().join("mysqld.log");
        self.supervisor = Some(OwnedProcess::start("remora-supervisor", command, &log)?);
        Ok(())
    }

    /// Kills mysqld, and keeps it down.
    pub(crate) fn stop_server(&mut self) {
        // mysqld would wait for its replicas' threads; the fence kills it.
        drop(std::fs::write(self.run_file("fenced"), "test"));
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(5);
        while self.mysqld().is_some() && std::time::Instant::now() < deadline {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        self.supervisor = None;
        drop(std::fs::remove_file(self.run_file("fenced")));
    }

    /// Takes the volume's data away, as somebody does who deletes the pod's claim.
    pub(crate) fn lose_data(&mut self) -> Result<()> {
        self.stop_server();
        std::fs::remove_dir_all(self.folder.path().join("volume/data"))?;
        self.start_server()
    }

    /// The process id of mysqld, if it runs.
    fn mysqld(&self) -> Option<u32> {
        let pid = std::fs::read_to_string(self.run_file("mysqld.pid")).ok()?;
        let pid = pid.trim().parse().ok()?;
        Path::new(&format!("/proc/{pid}")).exists().then_some(pid)
    }

    /// Sends mysqld a signal.
    pub(crate) fn signal(&self, signal: &str) -> Result<()> {
        let pid = self.mysqld().context("mysqld does not run")?.to_string();
        ensure!(
            Command::new("kill")
                .args([signal, &pid])
                .status()?
                .success()
        );
        Ok(())
    }

    /// Why the pod is held back, if it is.
    pub(crate) fn held_back(&self) -> Option<String> {
        std::fs::read_to_string(self.run_file("unready")).ok()
    }

    fn run_file(&self, name: &str) -> PathBuf {
        self.folder.path().join("run").join(name)
    }

    pub(crate) async fn by_socket(&self, user: &str, password: &str) -> Result<Conn> {
        let options = OptsBuilder::default()
            .socket(Some(self.run_file("mysql.sock").display().to_string()))
            .user(Some(user))
            .pass(Some(password));
        Ok(Conn::new(options).await?)
    }

    /// A connection of the agent's account, once mysqld answers.
    pub(crate) async fn agent(&self) -> Result<Conn> {
        until("mysqld", async || {
            self.by_socket("remora_agent", "ag'ent").await
        })
        .await
    }

    /// Waits for a report of which `holds`.
    pub(crate) async fn told(&self, holds: impl Fn(&AgentHealth) -> bool) -> Result<AgentHealth> {
        let told = self.operator.told_by_agent(holds).await;
        told.with_context(|| {
            let log = std::fs::read_to_string(self.log()).unwrap_or_default();
            let lines: Vec<_> = log.lines().collect();
            lines[lines.len().saturating_sub(20)..].join("\n")
        })
    }

    /// Waits until it follows its primary.
    pub(crate) async fn follows(&self) -> Result<AgentHealth> {
        self.told(|agent| replication(agent).following).await
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.sidecar = None;
        self.stop_server();
    }
}

/// Its part in replication.
pub(crate) fn replication(agent: &AgentHealth) -> ReplicationHealth {
    agent.replication.clone().unwrap_or_default()
}

/// The order to a primary.
pub(crate) fn primary(may_begin: bool, acknowledgements: u8) -> Part {
    Part::Primary {
        may_begin,
        acknowledgements,
    }
}

/// What the operator's my.cnf has of a server beside others of its shard, for a test's machine.
fn flags(root: &MysqlRoot, tls: &Tls, port: u16) -> Vec<String> {
    let in_root = |path: &str| root.root().join(path).display().to_string();
    let forced = include_str!(
        "../../../operator/src/build/snapshots/\
         remora_operator__build__tests__forced_options_stand_last_and_a_default_gives_way.snap"
    );
    // The options after the port are those of replication.
    let replicated = forced
        .split_once("port = 3307\n")
        .map_or("", |(_, rest)| rest);
    let replicated = replicated.lines().filter_map(|line| line.split_once(" = "));
    let mut flags: Vec<String> = [
        "--no-defaults",
        "--user=root",
        "--bind-address=127.0.0.1",
        "--mysqlx=0",
        "--secure-file-priv=",
        "--innodb-buffer-pool-size=64M",
        "--performance-schema=OFF",
        "--partial-revokes=ON",
        "--log-bin=binlog",
        "--gtid-mode=ON",
        "--enforce-gtid-consistency=ON",
    ]
    .map(str::to_owned)
    .into();
    flags.extend(replicated.map(|(name, value)| format!("--{}={value}", name.replace('_', "-"))));
    flags.extend([
        format!("--port={port}"),
        format!("--basedir={}", in_root("usr")),
        format!("--lc-messages-dir={}", in_root("usr/share/mysql")),
        format!("--plugin-dir={}", in_root("usr/lib/mysql/plugin")),
        format!("--ssl-ca={}", tls.file("ca.crt").display()),
        format!("--ssl-cert={}", tls.file("tls.crt").display()),
        format!("--ssl-key={}", tls.file("tls.key").display()),
    ]);
    flags
}

fn orders(port: u16, ca: &str, ordinal: u8, part: Part, epoch: u64) -> Result<Snapshot> {
    let tables = json!([pressure_test(1)]);
    let gateway_to = match &part {
        Part::Primary { .. } => port,
        Part::Replica { port, .. } => *port,
    };
    let mut snapshot = snapshot_of(gateway_to, &tables, epoch, &[("app", "app-secret")])?;
    snapshot.backend_ca = Some(ca.to_owned());
    if let Some(orders) = &mut snapshot.agent {
        let replication = account("remora_repl", "remora_repl", "%", "repl'ica")?;
        orders.replication = Some(ReplicationOrder {
            ordinal,
            part,
            account: Credentials {
                name: replication.name.clone(),
                password: replication.password.clone(),
            },
        });
        orders.accounts.push(replication);
    }
    Ok(snapshot.hashed())
}
