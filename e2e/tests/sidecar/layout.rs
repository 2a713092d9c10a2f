//! A manifest whose tables are laid out otherwise than what the shards have.

use anyhow::{Result, ensure};
use mysql_async::prelude::Queryable as _;
use remora_e2e::mysql::MysqlServer;
use remora_e2e::sidecar::Sidecar;

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
