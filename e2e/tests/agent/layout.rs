//! A manifest that names a table whose rows are not laid out so.

use anyhow::{Context as _, Result, bail, ensure};
use mysql_async::Conn;
use mysql_async::prelude::Queryable as _;
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
    until("a table that waits for the other sidecars", async || {
        let text = refusal(&mut app, CREATE).await?;
        ensure!(text.contains("sidecars follow within"), "{text}");
        Ok(())
    })
    .await?;
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
    until("a table that is not sharded", async || {
        app.query_drop(CREATE).await?;
        let schemas = schemas(&pod).await?;
        if schemas != ["shop"] {
            app.query_drop("DROP TABLE note").await?;
            bail!("it is in {schemas:?}");
        }
        Ok(())
    })
    .await
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
    let create_in = async |wanted: &[&str]| {
        until("the table", async || {
            let mut app = client(&pod, "first").await?;
            app.query_drop(CREATE).await?;
            let schemas = schemas(&pod).await?;
            if schemas != wanted {
                app.query_drop("DROP TABLE note").await?;
                bail!("it is in {schemas:?}");
            }
            Ok(app)
        })
        .await
    };
    pod.operator
        .send(snapshot_of(port, &with_note(), 2, &users)?);
    let mut app = create_in(&["shop__0000", "shop__0001"]).await?;
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
    let mut app = client(&pod, "first").await?;
    app.query_drop("SELECT * FROM pressure_test").await?;
    app.query_drop("DROP TABLE note").await?;
    pod.operator
        .told_by_agent(|agent| agent.bootstrapped && agent.refused_layout.is_empty())
        .await?;
    create_in(&["shop__0000", "shop__0001", "shop__0002", "shop__0003"]).await?;
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
    // Not that of somebody who may not: that would be served without a guard.
    let Err(error) = by_tcp(pod.gateway, "app", "first").await else {
        bail!("a shard is served whose layout nobody looked at");
    };
    let text = format!("{error:#}");
    ensure!(text.contains("own account was denied"), "{text}");
    ensure!(!text.contains("remora_sidecar"), "{text}");
    Ok(())
}
