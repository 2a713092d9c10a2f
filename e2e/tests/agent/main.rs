//! A sidecar as a MySQL pod has it: gateway, and agent of a mysqld that was just initialised.

mod certificates;
mod layout;
mod ledger;
mod operator;
mod orders;
mod replicas;
mod shard;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use mysql_async::prelude::Queryable as _;
use mysql_async::{Conn, OptsBuilder};
use operator::Operator;
use orders::snapshot;
use remora_e2e::mysql::{MysqlRoot, MysqlServer, ServerOptions};
use remora_e2e::patience::until_within;
use remora_e2e::process::{OwnedProcess, free_port};
use remora_e2e::sidecar::program;
use tempfile::TempDir;

/// A mysqld without accounts, an operator, and how to start sidecars between them.
struct Pod {
    folder: TempDir,
    server: MysqlServer,
    operator: Operator,
    gateway: u16,
    admin: u16,
}

impl Pod {
    async fn new(users: &[(&str, &str)]) -> Result<Self> {
        Self::with_flags(users, vec!["--partial-revokes=ON".to_owned()]).await
    }

    /// One whose mysqld has these flags.
    async fn with_flags(users: &[(&str, &str)], flags: Vec<String>) -> Result<Self> {
        let mut options = ServerOptions::named("agent");
        options.accounts = Vec::new();
        options.flags = flags;
        let server = MysqlServer::start(&MysqlRoot::get()?, &options).await?;
        let folder = TempDir::with_prefix("remora-agent-")?;
        let orders = snapshot(server.port(), 4, 1, users)?;
        let operator = Operator::start(folder.path(), orders).await?;
        let (gateway, admin) = (free_port()?, free_port()?);
        Ok(Self {
            folder,
            server,
            operator,
            gateway,
            admin,
        })
    }

    fn socket(&self) -> Result<PathBuf> {
        let folder = self.server.folder().context("the server has a folder")?;
        Ok(folder.join("mysql.sock"))
    }

    fn sidecar(&self, role: &str) -> Result<OwnedProcess> {
        self.sidecar_with(role, &[])
    }

    /// One with further arguments.
    fn sidecar_with(&self, role: &str, arguments: &[&str]) -> Result<OwnedProcess> {
        let mut command = Command::new(program("remora-sidecar", "REMORA_SIDECAR")?);
        command
            .args(self.operator.arguments())
            .args(["--role", role, "--mysql-socket"])
            .arg(self.socket()?)
            .args(["--listen", &format!("127.0.0.1:{}", self.gateway)])
            .args(["--admin", &format!("127.0.0.1:{}", self.admin)])
            .args(arguments);
        let log = self.folder.path().join("sidecar.log");
        OwnedProcess::start("remora-sidecar", command, &log)
    }

    async fn by_socket(&self, user: &str, password: &str) -> Result<Conn> {
        let options = OptsBuilder::default()
            .socket(Some(self.socket()?.display().to_string()))
            .user(Some(user))
            .pass(Some(password));
        Ok(Conn::new(options).await?)
    }

    async fn probe(&self, path: &str) -> Result<u16> {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", self.admin)).await?;
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer.split(' ').nth(1).context("a status")?.parse()?)
    }
}

async fn by_tcp(port: u16, user: &str, password: &str) -> Result<Conn> {
    let options = OptsBuilder::default()
        .ip_or_hostname("127.0.0.1")
        .tcp_port(port)
        .prefer_socket(false)
        .user(Some(user))
        .pass(Some(password));
    Ok(Conn::new(options).await?)
}

/// The number of the error that `sql` gets.
async fn error_of(connection: &mut Conn, sql: &str) -> Result<u16> {
    match connection.query_drop(sql).await {
        Err(mysql_async::Error::Server(error)) => Ok(error.code),
        Err(other) => Err(other.into()),
        Ok(()) => bail!("no error: {sql}"),
    }
}

async fn until<T>(what: &str, attempt: impl AsyncFnMut() -> Result<T>) -> Result<T> {
    until_within(Duration::from_secs(30), what, attempt).await
}

#[tokio::test]
async fn a_fresh_server_becomes_what_was_ordered() -> Result<()> {
    let mut pod = Pod::new(&[("app", "app-secret")]).await?;
    pod.operator.end().await;
    let _sidecar = pod.sidecar("agent")?;
    // mysqld's container starts after this probe, and the operator may wait for the pod.
    until("/startup", async || {
        ensure!(pod.probe("/startup").await? == 200);
        Ok(())
    })
    .await?;
    ensure!(
        pod.probe("/ready").await? == 200,
        "ready without anyone's help"
    );
    pod.operator.start_again().await?;
    let health = pod
        .operator
        .told_by_agent(|agent| agent.bootstrapped)
        .await?;
    ensure!(
        health.mysqld && health.reason.is_empty() && health.least_epoch == 1,
        "{health:?}"
    );

    ensure!(
        pod.by_socket("root", "").await.is_err(),
        "root is locked out"
    );
    pod.by_socket("remora_probe", "")
        .await
        .context("the supervisor's probe")?;
    let mut agent = pod.by_socket("remora_agent", "ag'ent").await?;
    let row: Option<(String, u16, u64)> = agent
        .query_first("SELECT cluster_uid, shard, epoch FROM remora.layout")
        .await?;
    ensure!(row == Some(("uid".to_owned(), 0, 1)), "{row:?}");
    let schemas: u64 = agent
        .query_first(
            "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name LIKE 'shop%'",
        )
        .await?
        .context("a count")?;
    ensure!(schemas == 5, "the database and four slots, not {schemas}");

    let mut app = by_tcp(pod.server.port(), "app", "app-secret").await?;
    app.query_drop("CREATE DATABASE other").await?;
    app.query_drop("CREATE TABLE other.t (a INT)").await?;
    for sql in [
        "SELECT * FROM remora.layout",
        "UPDATE remora.sequence SET next = 1",
        "CREATE TABLE remora.t (a INT)",
        "DROP DATABASE remora",
        "DROP DATABASE sys",
        "DROP VIEW sys.version",
        "UPDATE sys.sys_config SET value = 0",
        "CREATE TABLE sys.t (a INT)",
        "DROP DATABASE mysql",
        "DROP DATABASE performance_schema",
        "CREATE TABLE mysql.t (a INT)",
        "SELECT authentication_string FROM mysql.user",
        "SET GLOBAL max_connections = 1",
        "CREATE USER eve",
    ] {
        let code = error_of(&mut app, sql).await?;
        ensure!([1044, 1142, 1227].contains(&code), "{sql}: {code}");
    }
    app.query_drop("SELECT * FROM sys.version").await?;

    let mut sidecar = by_tcp(pod.server.port(), "remora_sidecar", "side'\\car").await?;
    for sql in [
        "CREATE DATABASE shop__9999",
        "CREATE DATABASE mysql_too",
        "CREATE TABLE shop.t (a INT)",
        "CREATE TABLE mysql.t (a INT)",
        "SELECT * FROM other.t",
        "UPDATE remora.layout SET epoch = 9",
        "DELETE FROM remora.layout",
        "DROP TABLE remora.sequence",
    ] {
        let code = error_of(&mut sidecar, sql).await?;
        ensure!([1044, 1142].contains(&code), "{sql}: {code}");
    }
    let held: Option<String> = sidecar
        .query_first("SELECT document FROM remora.layout")
        .await?;
    ensure!(held.is_some(), "it reads the layout");

    let mut client = until("the gateway", async || {
        by_tcp(pod.gateway, "app", "app-secret").await
    })
    .await?;
    client.query_drop("USE shop").await?;
    let create =
        "CREATE TABLE pressure_test (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, v INT)";
    client.query_drop(create).await?;
    client
        .query_drop("INSERT INTO pressure_test (v) VALUES (1), (2), (3)")
        .await?;
    let rows: Vec<u64> = client
        .query("SELECT id FROM pressure_test ORDER BY id")
        .await?;
    ensure!(rows == [1, 2, 3], "{rows:?}");
    let code = error_of(&mut sidecar, "SELECT * FROM shop__0000.pressure_test").await?;
    ensure!(code == 1142, "{code}");
    Ok(())
}

#[tokio::test]
async fn an_agent_killed_at_any_moment_goes_on() -> Result<()> {
    let pod = Pod::new(&[("app", "app-secret")]).await?;
    until("mysqld", async || pod.by_socket("root", "").await)
        .await?
        .disconnect()
        .await?;
    for attempt in 0..20 {
        let sidecar = pod.sidecar("agent")?;
        tokio::time::sleep(Duration::from_millis(60 + attempt * 10)).await;
        kill(&sidecar)?;
    }
    let _sidecar = pod.sidecar("agent")?;
    pod.operator
        .told_by_agent(|agent| agent.bootstrapped)
        .await?;
    by_tcp(pod.server.port(), "app", "app-secret").await?;
    ensure!(
        pod.by_socket("root", "").await.is_err(),
        "root is locked out"
    );
    Ok(())
}

fn kill(process: &OwnedProcess) -> Result<()> {
    let pid = process.pid().to_string();
    ensure!(
        Command::new("kill")
            .args(["-KILL", &pid])
            .status()?
            .success()
    );
    Ok(())
}

#[tokio::test]
async fn orders_that_change_are_carried_out_unless_rows_forbid_it() -> Result<()> {
    let pod = Pod::new(&[("app", "app-secret"), ("old", "old-secret")]).await?;
    let port = pod.server.port();
    let _sidecar = pod.sidecar("agent")?;
    pod.operator
        .told_by_agent(|agent| agent.bootstrapped)
        .await?;
    by_tcp(port, "old", "old-secret").await?;

    pod.operator
        .send(snapshot(port, 4, 2, &[("app", "changed")])?);
    pod.operator
        .told_by_agent(|agent| agent.bootstrapped && agent.least_epoch == 2)
        .await?;
    let mut app = by_tcp(port, "app", "changed").await?;
    ensure!(error_of(&mut app, "SELECT * FROM remora.layout").await? == 1142);
    ensure!(
        by_tcp(port, "app", "app-secret").await.is_err(),
        "the old password is void"
    );
    ensure!(
        by_tcp(port, "old", "old-secret").await.is_err(),
        "its user is locked"
    );

    let mut other = snapshot(port, 4, 3, &[("app", "never")])?;
    if let Some(orders) = &mut other.agent {
        let document = orders.layout.document.replace("\"shop\"", "\"mall\"");
        orders.layout.document = document;
    }
    pod.operator.send(other.hashed());
    let health = pod
        .operator
        .told_by_agent(|agent| !agent.bootstrapped)
        .await?;
    ensure!(
        health.mysqld && health.reason.contains("spec.database"),
        "{health:?}"
    );
    by_tcp(port, "app", "changed")
        .await
        .context("nothing was touched")?;

    let mut again = snapshot(port, 4, 2, &[("app", "again")])?;
    "new".clone_into(&mut again.identity.uid);
    if let Some(orders) = &mut again.agent {
        "new".clone_into(&mut orders.layout.cluster_uid);
    }
    pod.operator.send(again.clone().hashed());
    let health = pod
        .operator
        .told_by_agent(|agent| agent.least_epoch == 3)
        .await?;
    ensure!(
        !health.bootstrapped,
        "a cluster that is made again starts above the old one"
    );
    (again.identity.epoch, again.topology.epoch) = (3, 3);
    pod.operator.send(again.hashed());
    pod.operator
        .told_by_agent(|agent| agent.bootstrapped && agent.least_epoch == 3)
        .await?;
    by_tcp(port, "app", "again").await?;
    Ok(())
}

#[tokio::test]
async fn a_sidecar_serves_without_the_operator_and_refuses_an_older_epoch() -> Result<()> {
    let mut pod = Pod::new(&[("app", "app-secret")]).await?;
    pod.operator
        .send(snapshot(pod.server.port(), 4, 7, &[("app", "app-secret")])?);
    let agent = pod.sidecar("agent")?;
    pod.operator
        .told_by_agent(|agent| agent.bootstrapped)
        .await?;
    drop(agent);
    let sidecar = pod.sidecar("application")?;
    pod.operator
        .told(|health| health.ready && health.agent.is_none())
        .await?;
    let mode = std::fs::metadata(pod.folder.path().join("snapshot"))?
        .permissions()
        .mode();
    ensure!(mode & 0o777 == 0o600, "{mode:o}");

    pod.operator.end().await;
    kill(&sidecar)?;
    drop(sidecar);
    let _sidecar = pod.sidecar("application")?;
    until("/ready", async || {
        ensure!(pod.probe("/ready").await? == 200);
        Ok(())
    })
    .await?;
    let mut client = by_tcp(pod.gateway, "app", "app-secret").await?;
    client.query_drop("SELECT 1").await?;

    pod.operator
        .send(snapshot(pod.server.port(), 4, 6, &[("app", "stale")])?);
    pod.operator.start_again().await?;
    let health = pod
        .operator
        .told(|health| health.in_force.is_some())
        .await?;
    ensure!(health.in_force.is_some_and(|identity| identity.epoch == 7));
    tokio::time::sleep(Duration::from_secs(2)).await;
    by_tcp(pod.gateway, "app", "app-secret")
        .await
        .context("the newer snapshot stays")?;
    no_secret(&pod.folder.path().join("sidecar.log"))
}

fn no_secret(log: &Path) -> Result<()> {
    let text = std::fs::read_to_string(log)?;
    for secret in ["app-secret", "ag'ent", "side'", "repl'ica", "sesame"] {
        ensure!(!text.contains(secret), "{secret} in the log:\n{text}");
    }
    Ok(())
}
