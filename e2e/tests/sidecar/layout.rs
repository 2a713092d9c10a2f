//! A manifest whose tables are laid out otherwise than what the shards have.

use anyhow::{Result, ensure};
use mysql_async::prelude::Queryable as _;
use remora_e2e::mysql::MysqlServer;
use remora_e2e::sidecar::{Sidecar, configure};
use serde_json::{Value, json};

use crate::{connect, direct, error_of, manifest, started, until};

#[tokio::test]
async fn a_table_that_one_shard_still_has_is_closed_and_no_other() -> Result<()> {
    let (shards, connection) = started().await?;
    connection.disconnect().await?;
    let drop_on = async |shard: usize| {
        let mut server = direct(&shards.servers[shard]).await?;
        for slot in 0..8 {
            let drop = format!("DROP TABLE shop__{slot:04}.ticket");
            server.query_drop(drop).await?;
        }
        Ok::<_, anyhow::Error>(())
    };
    // As a DROP TABLE leaves it that reached the first shard alone.
    drop_on(0).await?;
    let mut other = manifest();
    other["spec"]["tables"][0]["sharding"]["tablesPerShard"] = 4.into();
    other["metadata"]["generation"] = 2.into();
    let ports: Vec<u16> = shards.servers.iter().map(MysqlServer::port).collect();
    let folder = tempfile::tempdir()?;
    let sidecar = Sidecar::start(folder.path(), &other, &ports).await?;
    let mut connection = connect(sidecar.port()).await?;
    connection.query_drop("SELECT * FROM event").await?;
    let (code, text) = error_of(&mut connection, "SELECT * FROM ticket").await?;
    ensure!(
        code == 1235 && text.contains("shard 1 has the table"),
        "{code} {text}"
    );

    drop_on(1).await?;
    until("the table is laid out anew", async || {
        let create = "CREATE TABLE ticket (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY)";
        Ok(connection.query_drop(create).await?)
    })
    .await?;
    let mut second = direct(&shards.servers[1]).await?;
    let tables: Option<u64> = second
        .query_first("SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'ticket'")
        .await?;
    ensure!(tables == Some(4), "{tables:?}");
    Ok(())
}

/// The manifest with further tables, sharded over one table a shard.
fn with_tables(names: &[&str]) -> Value {
    let mut wanted = manifest();
    if let Some(tables) = wanted["spec"]["tables"].as_array_mut() {
        tables.extend(names.iter().map(
            |name| json!({"name": name, "sharding": {"key": ["id"], "algorithm": {"hash": {}}}}),
        ));
    }
    wanted
}

fn create(table: &str) -> String {
    format!("CREATE TABLE {table} (id BIGINT NOT NULL PRIMARY KEY)")
}

#[tokio::test]
async fn a_changed_layout_comes_into_force_as_a_whole() -> Result<()> {
    let (shards, mut running) = started().await?;
    running.query_drop(create("there")).await?;
    running.query_drop("INSERT INTO there VALUES (1)").await?;
    let wanted = with_tables(&["missing", "there"]);
    let ports: Vec<u16> = shards.servers.iter().map(MysqlServer::port).collect();
    configure(shards.folder.path(), &wanted, &ports)?;
    let folder = tempfile::tempdir()?;
    let fresh = Sidecar::start(folder.path(), &wanted, &ports).await?;
    let mut fresh = connect(fresh.port()).await?;
    until("the running sidecar closes what is not there", async || {
        // Not by a CREATE, which would make it as the layout before says.
        let (code, text) = error_of(&mut running, "SELECT * FROM missing").await?;
        ensure!(code == 1235, "{code} {text}");
        Ok(())
    })
    .await?;
    let (code, text) = error_of(&mut fresh, &create("missing")).await?;
    ensure!(code == 1235 && text.contains("together"), "{code} {text}");

    running.query_drop("RENAME TABLE there TO away").await?;
    for connection in [&mut running, &mut fresh] {
        until("both tables are in force", async || {
            let sql = "CREATE TABLE IF NOT EXISTS missing (id BIGINT NOT NULL PRIMARY KEY)";
            Ok(connection.query_drop(sql).await?)
        })
        .await?;
    }
    for server in &shards.servers {
        let tables: Option<u64> = direct(server)
            .await?
            .query_first(
                "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'missing'",
            )
            .await?;
        ensure!(tables == Some(1), "{tables:?}");
    }
    Ok(())
}

#[tokio::test]
async fn an_older_file_takes_nothing_away_and_serves_nothing_wrong() -> Result<()> {
    let (shards, mut running) = started().await?;
    let ports: Vec<u16> = shards.servers.iter().map(MysqlServer::port).collect();
    let folder = tempfile::tempdir()?;
    let newer = Sidecar::start(folder.path(), &with_tables(&["note"]), &ports).await?;
    let mut newer = connect(newer.port()).await?;
    newer.query_drop("SELECT 1 FROM event LIMIT 1").await?;
    // It runs, and nothing told it.
    until("the sidecar that is behind closes the table", async || {
        let (code, text) = error_of(&mut running, "SELECT * FROM note").await?;
        ensure!(
            code == 1235 && text.contains("raise the topology's epoch"),
            "{code} {text}"
        );
        Ok(())
    })
    .await?;
    let folder = tempfile::tempdir()?;
    let older = Sidecar::start(folder.path(), &manifest(), &ports).await?;
    let mut older = connect(older.port()).await?;
    let (code, text) = error_of(&mut older, &create("note")).await?;
    ensure!(code == 1235, "{code} {text}");
    newer.query_drop(create("note")).await?;
    newer
        .query_drop("INSERT INTO note VALUES (1), (2), (3), (4), (5), (6), (7), (8)")
        .await?;
    let found: Option<u64> = newer.query_first("SELECT COUNT(*) FROM note").await?;
    ensure!(found == Some(8), "{found:?}");
    Ok(())
}
