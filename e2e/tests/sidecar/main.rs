//! The sidecar as its operators meet it: what it refuses, what it tells, how it starts and ends.

mod answers;
mod connections;
mod definitions;
mod doors;
mod encrypted;
mod keys;
mod layout;
mod memory;
mod pools;
mod processes;
mod replicas;
mod shares;
mod state;
mod wide;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use mysql_async::prelude::Queryable as _;
use mysql_async::{Conn, Error, Row};
use remora_e2e::mysql::{MysqlRoot, MysqlServer, login};
use remora_e2e::patience::until;
use remora_e2e::shards::LocalShards;
use remora_e2e::sidecar::{Sidecar, configure};
use serde_json::{Value, json};

/// Two shards, eight tables each, with either way to make keys.
fn manifest() -> Value {
    let sharded = |name: &str, kind: &str| {
        json!({
            "name": name,
            "sharding": {"key": ["id"], "algorithm": {"hash": {}}, "tablesPerShard": 8},
            "generatedKey": {"column": "id", "type": kind},
        })
    };
    json!({
        "apiVersion": "remora.dev/v1alpha1",
        "kind": "ShardingCluster",
        "metadata": {"name": "shop"},
        "spec": {
            "shards": 2,
            "database": "shop",
            "tables": [
                sharded("ticket", "Sequence"),
                sharded("event", "Snowflake"),
                {"name": "country", "broadcast": true},
            ],
        },
    })
}

async fn connect(port: u16) -> Result<Conn> {
    let options = login(port, &MysqlServer::APPLICATION).db_name(Some("shop"));
    Ok(Conn::new(options).await?)
}

/// A connection to the server of a shard, past the sidecar.
async fn direct(server: &MysqlServer) -> Result<Conn> {
    Ok(Conn::new(server.login(&MysqlServer::APPLICATION)).await?)
}

/// The number and text of the error that `sql` gets.
async fn error_of(connection: &mut Conn, sql: &str) -> Result<(u16, String)> {
    match connection.query_drop(sql).await {
        Err(Error::Server(error)) => Ok((error.code, error.message)),
        Err(other) => Err(other.into()),
        Ok(()) => bail!("no error: {sql}"),
    }
}

async fn started() -> Result<(LocalShards, Conn)> {
    let shards = LocalShards::start(&MysqlRoot::get()?, &manifest(), &[]).await?;
    let mut connection = connect(shards.sidecar.port()).await?;
    for table in ["ticket", "event"] {
        let create = format!(
            "CREATE TABLE {table} (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, v INT NULL)"
        );
        connection.query_drop(create).await?;
    }
    Ok((shards, connection))
}

#[tokio::test]
async fn two_sidecars_never_make_the_same_key() -> Result<()> {
    let (shards, mut connection) = started().await?;
    let folder = tempfile::tempdir()?;
    let ports: Vec<u16> = shards.servers.iter().map(MysqlServer::port).collect();
    let second = Sidecar::start(folder.path(), &manifest(), &ports).await?;
    for table in ["ticket", "event"] {
        let insert = async |port: u16| -> Result<BTreeSet<u64>> {
            let mut connection = connect(port).await?;
            let mut ids = BTreeSet::new();
            let mut last = 0;
            for _ in 0..200 {
                connection
                    .query_drop(format!("INSERT INTO {table} (v) VALUES (1)"))
                    .await?;
                let id = connection.last_insert_id().context("no insert id")?;
                ensure!(id > last, "{id} after {last}: keys of one session grow");
                ensure!(ids.insert(id), "{id} twice");
                last = id;
            }
            Ok(ids)
        };
        let (first, other) =
            futures::future::try_join(insert(shards.sidecar.port()), insert(second.port())).await?;
        ensure!(first.is_disjoint(&other), "both sidecars made a key");
        let count: Option<usize> = connection
            .query_first(format!("SELECT COUNT(DISTINCT id) FROM {table}"))
            .await?;
        ensure!(count == Some(400), "{count:?} rows in {table}");
    }
    Ok(())
}

#[tokio::test]
async fn it_tells_where_rows_are() -> Result<()> {
    let (shards, mut connection) = started().await?;
    let rows: Vec<Row> = connection.query("SHOW REMORA SHARDS").await?;
    ensure!(rows.len() == 2, "{} shards", rows.len());
    let instances: Vec<Row> = connection.query("SHOW REMORA INSTANCES").await?;
    ensure!(instances.len() == 2, "{} instances", instances.len());
    let first: String = instances[0].get("instance").context("no instance")?;
    let port = shards.servers[0].port().to_string();
    ensure!(first.ends_with(&port), "{first} is not at port {port}");

    let explained: Vec<Row> = connection
        .query("EXPLAIN REMORA SELECT * FROM ticket WHERE id = 7")
        .await?;
    ensure!(explained.len() == 1, "one shard for one key: {explained:?}");
    let explained: Vec<Row> = connection
        .query("EXPLAIN REMORA SELECT * FROM ticket ORDER BY id LIMIT 3")
        .await?;
    ensure!(
        explained.len() == 2,
        "both shards without a key: {explained:?}"
    );
    Ok(())
}

#[tokio::test]
async fn physical_schemas_are_out_of_sight() -> Result<()> {
    let (_shards, mut connection) = started().await?;
    let databases: Vec<String> = connection.query("SHOW DATABASES").await?;
    ensure!(databases.contains(&"shop".to_owned()), "{databases:?}");
    let shown = databases
        .iter()
        .find(|name| name.contains("__") || *name == "remora");
    ensure!(shown.is_none(), "{shown:?} shows");
    let tables: Vec<String> = connection.query("SHOW TABLES").await?;
    ensure!(tables == ["event", "ticket"], "{tables:?}");
    let (code, text) = error_of(&mut connection, "SELECT * FROM shop__0001.ticket").await?;
    ensure!(code != 0 && !text.contains("slot"), "{code} {text}");
    let (code, _) = error_of(&mut connection, "SELECT * FROM remora.layout").await?;
    ensure!(matches!(code, 1142 | 1044 | 1049 | 1146 | 1235), "{code}");
    Ok(())
}

#[tokio::test]
async fn a_shard_that_is_down_does_not_stop_the_start() -> Result<()> {
    let (mut shards, mut connection) = started().await?;
    let rows: Vec<String> = (1..=40).map(|id| format!("({id}, 0)")).collect();
    connection
        .query_drop(format!("INSERT INTO ticket VALUES {}", rows.join(", ")))
        .await?;
    connection.disconnect().await?;
    let ports: Vec<u16> = shards.servers.iter().map(MysqlServer::port).collect();
    shards.servers.pop();

    let folder = tempfile::tempdir()?;
    let sidecar = Sidecar::start(folder.path(), &manifest(), &ports).await?;
    let mut connection = connect(sidecar.port()).await?;
    let (mut served, mut failed) = (0, 0);
    for id in 1..=40 {
        match connection
            .query_drop(format!("SELECT * FROM ticket WHERE id = {id}"))
            .await
        {
            Ok(()) => served += 1,
            Err(_) => {
                failed += 1;
                connection = connect(sidecar.port()).await?;
            }
        }
    }
    ensure!(served > 0 && failed > 0, "{served} served, {failed} failed");
    Ok(())
}

#[tokio::test]
async fn it_ends_soon_when_asked_and_lets_a_transaction_end() -> Result<()> {
    let (mut shards, mut connection) = started().await?;
    connection.query_drop("BEGIN").await?;
    connection
        .query_drop("INSERT INTO ticket VALUES (7, 7)")
        .await?;
    let port = shards.sidecar.port();
    let started = Instant::now();
    let stop = tokio::task::spawn_blocking(move || {
        shards.sidecar.stop();
        shards
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    ensure!(connect(port).await.is_err(), "it accepts after SIGTERM");
    connection
        .query_drop("COMMIT")
        .await
        .context("the transaction in progress may end")?;
    let shards = stop.await?;
    ensure!(
        started.elapsed() < Duration::from_secs(10),
        "it took {:?}",
        started.elapsed()
    );

    let folder = tempfile::tempdir()?;
    let ports: Vec<u16> = shards.servers.iter().map(MysqlServer::port).collect();
    let sidecar = Sidecar::start(folder.path(), &manifest(), &ports).await?;
    let mut connection = connect(sidecar.port()).await?;
    let row: Option<(u64, u64)> = connection.query_first("SELECT * FROM ticket").await?;
    ensure!(row == Some((7, 7)), "{row:?}");
    Ok(())
}

#[tokio::test]
async fn another_layout_on_the_same_rows_is_refused() -> Result<()> {
    let (shards, connection) = started().await?;
    connection.disconnect().await?;
    let mut other = manifest();
    other["spec"]["tables"][0]["sharding"]["tablesPerShard"] = 4.into();
    let folder = tempfile::tempdir()?;
    let ports: Vec<u16> = shards.servers.iter().map(MysqlServer::port).collect();
    match Sidecar::start(folder.path(), &other, &ports).await {
        Err(_) => Ok(()),
        Ok(sidecar) => {
            let served = match connect(sidecar.port()).await {
                Ok(mut connection) => connection.query_drop("SELECT * FROM ticket").await.is_ok(),
                Err(_) => false,
            };
            ensure!(
                !served,
                "rows are served by a layout that they were not written with"
            );
            Ok(())
        }
    }
}

#[tokio::test]
async fn a_table_with_rows_becomes_a_sharded_one_only_once_it_is_out_of_the_way() -> Result<()> {
    const CREATE: &str = "CREATE TABLE note (id BIGINT NOT NULL PRIMARY KEY, v INT)";
    let (shards, mut running) = started().await?;
    running.query_drop(CREATE).await?;
    running
        .query_drop("INSERT INTO note VALUES (1, 1), (2, 2), (3, 3)")
        .await?;
    let mut wanted = manifest();
    let note = json!({
        "name": "note",
        "sharding": {"key": ["id"], "algorithm": {"hash": {}}},
    });
    if let Some(tables) = wanted["spec"]["tables"].as_array_mut() {
        tables.push(note);
    }
    let ports: Vec<u16> = shards.servers.iter().map(MysqlServer::port).collect();
    configure(shards.folder.path(), &wanted, &ports)?;
    let log = shards.folder.path().join("sidecar.log");
    until("the sidecar refuses", async || {
        let log = std::fs::read_to_string(&log)?;
        ensure!(log.contains("spec.tables[note]"), "{log}");
        Ok(())
    })
    .await?;
    let count = "SELECT COUNT(*) FROM note";
    ensure!(running.query_first(count).await? == Some(3_u64));

    let folder = tempfile::tempdir()?;
    let fresh = Sidecar::start(folder.path(), &wanted, &ports).await?;
    let mut other = connect(fresh.port()).await?;
    other.query_drop("SELECT * FROM ticket").await?;
    let (code, text) = error_of(&mut other, count).await?;
    ensure!(
        code == 1235 && text.contains("not sharded"),
        "{code} {text}"
    );

    running.query_drop("DROP TABLE note").await?;
    until("the table is made", async || {
        Ok(other.query_drop(CREATE).await?)
    })
    .await?;
    let rows: Vec<String> = (1..=20).map(|id| format!("({id}, 0)")).collect();
    other
        .query_drop(format!("INSERT INTO note VALUES {}", rows.join(", ")))
        .await?;
    until("all rows by the first sidecar", async || {
        let found: Option<u64> = running.query_first(count).await?;
        ensure!(found == Some(20), "{found:?}");
        Ok(())
    })
    .await
}
