//! A manifest that names a table whose rows are not laid out so.

use anyhow::{Context as _, Result, bail, ensure};
use mysql_async::prelude::Queryable as _;
use mysql_async::{Conn, OptsBuilder};
use remora_crds::LayoutDocument;
use remora_discovery::Snapshot;
use remora_e2e::mysql::{MysqlRoot, MysqlServer, ServerOptions};
use serde_json::{Value, json};

use crate::orders::{pressure_test, snapshot_of};
use crate::{Pod, by_tcp, kill, until};

const CREATE: &str = "CREATE TABLE note (id BIGINT NOT NULL PRIMARY KEY, v INT)";

/// The usual table, and `note`, sharded.
fn with_note() -> Value {
    with_note_in(2)
}

/// The same, with `note` in so many physical tables.
fn with_note_in(tables_per_shard: u16) -> Value {
    json!([
        pressure_test(4),
        {"name": "note", "sharding": {
            "key": ["id"], "algorithm": {"hash": {}}, "tablesPerShard": tables_per_shard,
        }},
    ])
}

async fn client(pod: &Pod, password: &str) -> Result<Conn> {
    until("the gateway", async || {
        let mut client = by_tcp(pod.gateway, "app", password).await?;
        client.query_drop("USE shop").await?;
        Ok(client)
    })
    .await
}

async fn notes(client: &mut Conn) -> Result<u64> {
    let count = client.query_first("SELECT COUNT(*) FROM note").await?;
    count.context("a count")
}

/// The text of the error that `sql` gets.
async fn refusal(client: &mut Conn, sql: &str) -> Result<String> {
    match client.query_drop(sql).await {
        Err(mysql_async::Error::Server(error)) => Ok(error.message),
        Err(other) => Err(other.into()),
        Ok(()) => bail!("no error: {sql}"),
    }
}

/// Until the sidecar has followed, and waits for others before it lets `note` be made.
async fn has_followed(client: &mut Conn) -> Result<()> {
    until("the sidecar follows", async || {
        let text = refusal(client, "SELECT * FROM note").await?;
        ensure!(text.contains("sidecars follow within"), "{text}");
        Ok(())
    })
    .await
}

/// The schemas in which mysqld has a table `note`.
async fn schemas(pod: &Pod) -> Result<Vec<String>> {
    let mut agent = pod.by_socket("remora_agent", "ag'ent").await?;
    let sql = "SELECT table_schema FROM information_schema.tables \
         WHERE table_name = 'note' ORDER BY table_schema";
    Ok(agent.query(sql).await?)
}

#[tokio::test]
async fn a_table_with_rows_is_neither_made_sharded_nor_taken_out() -> Result<()> {
    let pod = Pod::new(&[("app", "first")]).await?;
    let port = pod.server.port();
    let sidecar = pod.sidecar("agent")?;
    pod.operator
        .told_by_agent(|agent| agent.bootstrapped)
        .await?;
    let mut app = client(&pod, "first").await?;
    let create = "CREATE TABLE pressure_test (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY)";
    app.query_drop(create).await?;
    app.query_drop(CREATE).await?;
    app.query_drop("INSERT INTO note VALUES (1, 1), (2, 2), (3, 3)")
        .await?;

    // A running sidecar goes on with the old layout, and takes the rest of the manifest.
    pod.operator
        .send(snapshot_of(port, &with_note(), 2, &[("app", "second")])?);
    let health = pod
        .operator
        .told_by_agent(|agent| !agent.refused_layout.is_empty())
        .await?;
    ensure!(
        health.bootstrapped && health.refused_layout.starts_with("spec.tables[note]: "),
        "{health:?}"
    );
    let mut app = client(&pod, "second").await?;
    ensure!(notes(&mut app).await? == 3);
    app.query_drop("INSERT INTO note VALUES (4, 4)").await?;
    ensure!(schemas(&pod).await? == ["shop"]);

    // One that starts has no old layout: it serves the other tables.
    kill(&sidecar)?;
    drop(sidecar);
    let _sidecar = pod.sidecar("agent")?;
    let mut app = client(&pod, "second").await?;
    until("the other table", async || {
        Ok(app.query_drop("SELECT * FROM pressure_test").await?)
    })
    .await?;
    for sql in [
        "SELECT * FROM note",
        "INSERT INTO shop.note VALUES (5, 5)",
        CREATE,
        "DROP TABLE note",
    ] {
        let text = refusal(&mut app, sql).await?;
        ensure!(
            text.contains("note is not served") && text.contains("not sharded"),
            "{sql}: {text}"
        );
    }

    // Once it is out of the way, the manifest is followed.
    by_tcp(port, "app", "second")
        .await?
        .query_drop("DROP TABLE shop.note")
        .await?;
    pod.operator
        .told_by_agent(|agent| agent.bootstrapped && agent.refused_layout.is_empty())
        .await?;
    has_followed(&mut app).await?;
    until("the table", async || Ok(app.query_drop(CREATE).await?)).await?;
    ensure!(schemas(&pod).await? == ["shop__0000", "shop__0001"]);
    let rows: Vec<_> = (1..=20).map(|id| format!("({id}, 0)")).collect();
    app.query_drop(format!("INSERT INTO note VALUES {}", rows.join(", ")))
        .await?;

    // A sharded table is not taken for one that is not.
    let without = json!([pressure_test(4)]);
    pod.operator
        .send(snapshot_of(port, &without, 3, &[("app", "second")])?);
    let health = pod
        .operator
        .told_by_agent(|agent| !agent.refused_layout.is_empty())
        .await?;
    ensure!(health.refused_layout.contains("put it back"), "{health:?}");
    ensure!(notes(&mut app).await? == 20);
    app.query_drop("DROP TABLE note").await?;
    pod.operator
        .told_by_agent(|agent| agent.bootstrapped && agent.refused_layout.is_empty())
        .await?;
    has_followed(&mut app).await?;
    until("a table that is not sharded", async || {
        Ok(app.query_drop(CREATE).await?)
    })
    .await?;
    ensure!(schemas(&pod).await? == ["shop"]);
    Ok(())
}

#[tokio::test]
async fn a_table_comes_back_laid_out_anew_once_it_is_dropped() -> Result<()> {
    let pod = Pod::new(&[("app", "first")]).await?;
    let port = pod.server.port();
    let _sidecar = pod.sidecar("agent")?;
    pod.operator
        .told_by_agent(|agent| agent.bootstrapped)
        .await?;
    let users = [("app", "first")];
    let mut app = client(&pod, "first").await?;
    pod.operator
        .send(snapshot_of(port, &with_note(), 2, &users)?);
    has_followed(&mut app).await?;
    until("the table", async || Ok(app.query_drop(CREATE).await?)).await?;
    ensure!(schemas(&pod).await? == ["shop__0000", "shop__0001"]);
    let create = "CREATE TABLE pressure_test (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY)";
    app.query_drop(create).await?;

    // Its rows are in the way of this table alone.
    pod.operator
        .send(snapshot_of(port, &with_note_in(4), 3, &users)?);
    let health = pod
        .operator
        .told_by_agent(|agent| !agent.refused_layout.is_empty())
        .await?;
    ensure!(
        health.bootstrapped && health.refused_layout.contains("set it back"),
        "{health:?}"
    );
    app.query_drop("INSERT INTO note VALUES (1, 1)").await?;
    app.query_drop("SELECT * FROM pressure_test").await?;
    app.query_drop("DROP TABLE note").await?;
    pod.operator
        .told_by_agent(|agent| agent.bootstrapped && agent.refused_layout.is_empty())
        .await?;
    has_followed(&mut app).await?;
    until("the table", async || Ok(app.query_drop(CREATE).await?)).await?;
    ensure!(schemas(&pod).await?.len() == 4);
    Ok(())
}

/// `snapshot` with a second shard on `port`.
fn on_two_shards(mut snapshot: Snapshot, port: u16) -> Snapshot {
    snapshot.spec.shards = 2;
    let mut second = snapshot.topology.shards[0].clone();
    second.instances[0].port = port;
    snapshot.topology.shards.push(second);
    let layout = LayoutDocument::of(&snapshot.spec);
    if let Some(orders) = &mut snapshot.agent {
        orders.layout.fingerprint = layout.fingerprint();
        orders.layout.document = layout.to_json();
    }
    snapshot.hashed()
}

/// Makes a server the second shard of `snapshot`, as its agent would.
async fn prepare(server: &MysqlServer, snapshot: &Snapshot) -> Result<Conn> {
    let folder = server.folder().context("the server has a folder")?;
    let options = OptsBuilder::default()
        .socket(Some(folder.join("mysql.sock").display().to_string()))
        .user(Some("root"));
    let mut root = until("the second server", async || {
        Ok(Conn::new(options.clone()).await?)
    })
    .await?;
    for sql in [
        "CREATE USER app@'%' IDENTIFIED BY 'first'",
        "GRANT ALL ON *.* TO app@'%'",
        "CREATE USER remora_sidecar@'%' IDENTIFIED BY 'side''\\\\car'",
        "GRANT ALL ON *.* TO remora_sidecar@'%'",
        "CREATE DATABASE remora",
        "CREATE TABLE remora.layout (id TINYINT UNSIGNED PRIMARY KEY, cluster_uid VARCHAR(64), \
         shard SMALLINT UNSIGNED, fingerprint CHAR(64), document LONGTEXT, epoch BIGINT UNSIGNED)",
        "CREATE DATABASE shop",
    ] {
        root.query_drop(sql).await?;
    }
    for slot in 0..4 {
        let create = format!("CREATE DATABASE shop__{slot:04}");
        root.query_drop(create).await?;
    }
    follow(&mut root, snapshot).await?;
    Ok(root)
}

/// Writes what the second shard's agent writes once it has followed `snapshot`.
async fn follow(root: &mut Conn, snapshot: &Snapshot) -> Result<()> {
    let layout = LayoutDocument::of(&snapshot.spec);
    let write = "REPLACE INTO remora.layout VALUES (1, 'uid', 1, ?, ?, 1)";
    root.exec_drop(write, (layout.fingerprint(), layout.to_json()))
        .await?;
    Ok(())
}

#[tokio::test]
async fn a_table_is_not_made_before_all_agents_have_followed() -> Result<()> {
    let pod = Pod::new(&[("app", "first")]).await?;
    let mut options = ServerOptions::named("second");
    options.accounts = Vec::new();
    let second = MysqlServer::start(&MysqlRoot::get()?, &options).await?;
    let tables = json!([pressure_test(4)]);
    let with = |tables: &Value, epoch| {
        let snapshot = snapshot_of(pod.server.port(), tables, epoch, &[("app", "first")])?;
        Ok::<_, anyhow::Error>(on_two_shards(snapshot, second.port()))
    };
    let (before, wanted) = (with(&tables, 2)?, with(&with_note(), 3)?);
    let mut root = prepare(&second, &before).await?;
    pod.operator.send(before);
    let _sidecar = pod.sidecar("agent")?;
    pod.operator
        .told_by_agent(|agent| agent.bootstrapped)
        .await?;
    let mut app = client(&pod, "first").await?;
    let create = "CREATE TABLE pressure_test (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY)";
    app.query_drop(create).await?;

    pod.operator.send(wanted.clone());
    until("the table is closed", async || {
        let text = refusal(&mut app, "SELECT * FROM note").await?;
        ensure!(text.contains("the agent of shard 1 has yet to"), "{text}");
        Ok(())
    })
    .await?;
    let text = refusal(&mut app, CREATE).await?;
    ensure!(text.contains("the agent of shard 1 has yet to"), "{text}");
    app.query_drop("SELECT * FROM pressure_test").await?;
    ensure!(schemas(&pod).await?.is_empty());

    follow(&mut root, &wanted).await?;
    until("the table", async || Ok(app.query_drop(CREATE).await?)).await?;
    ensure!(schemas(&pod).await? == ["shop__0000", "shop__0001"]);
    ensure!(notes(&mut app).await? == 0);
    Ok(())
}

#[tokio::test]
async fn a_sidecar_that_cannot_read_the_layout_serves_nothing() -> Result<()> {
    let pod = Pod::new(&[("app", "first")]).await?;
    let sidecar = pod.sidecar("agent")?;
    pod.operator
        .told_by_agent(|agent| agent.bootstrapped)
        .await?;
    let mut app = client(&pod, "first").await?;
    app.query_drop("SELECT 1").await?;
    kill(&sidecar)?;
    drop(sidecar);

    let tables = json!([pressure_test(4)]);
    let mut wrong = snapshot_of(pod.server.port(), &tables, 2, &[("app", "first")])?;
    if let Some(system) = &mut wrong.topology.system {
        "wrong".clone_into(&mut system.password);
    }
    pod.operator.send(wrong.hashed());
    // What the sidecar before was told holds the right password.
    std::fs::remove_file(pod.folder.path().join("snapshot"))?;
    let _sidecar = pod.sidecar("application")?;
    pod.operator
        .told(|health| {
            health
                .in_force
                .as_ref()
                .is_some_and(|identity| identity.epoch == 2)
        })
        .await?;
    until("the listener", async || {
        tokio::net::TcpStream::connect(("127.0.0.1", pod.gateway)).await?;
        Ok(())
    })
    .await?;
    // Not that of somebody who may not: that would be served without a guard.
    let Err(error) = by_tcp(pod.gateway, "app", "first").await else {
        bail!("a shard is served whose layout nobody looked at");
    };
    let text = format!("{error:#}");
    ensure!(text.contains("own account was denied"), "{text}");
    ensure!(!text.contains("remora_sidecar"), "{text}");
    Ok(())
}
