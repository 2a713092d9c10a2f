//! As many physical tables as a shard may have.

use super::*;

/// No read of 4,000 rows may take longer, on however slow a machine. One that starts threads for
/// each table takes 15 seconds.
const PATIENCE: Duration = Duration::from_secs(8);

#[tokio::test]
async fn a_shard_of_1024_tables_is_read_by_one_statement() -> Result<()> {
    let manifest = remora_e2e::shards::with_layout(manifest(), 1, 1024);
    let shards = LocalShards::start(&MysqlRoot::get()?, &manifest, &[]).await?;
    let mut connection = connect(shards.sidecar.port()).await?;
    connection
        .query_drop("CREATE TABLE event (id BIGINT NOT NULL PRIMARY KEY, v INT NULL)")
        .await?;
    let rows: Vec<String> = (1..=4000).map(|id| format!("({id}, {})", id % 4)).collect();
    connection
        .query_drop(format!("INSERT INTO event VALUES {}", rows.join(", ")))
        .await?;
    let begun = Instant::now();
    let ids: Vec<u64> = connection.query("SELECT id FROM event ORDER BY id").await?;
    ensure!(ids.iter().copied().eq(1..=4000), "{} rows", ids.len());
    let first: Vec<u64> = connection
        .query("SELECT id FROM event WHERE v = 3 ORDER BY id DESC LIMIT 2")
        .await?;
    ensure!(first == [3999, 3995], "{first:?}");
    let groups: Vec<(u64, u64)> = connection
        .query("SELECT v, COUNT(*) FROM event GROUP BY v ORDER BY v")
        .await?;
    ensure!(groups == [(0, 1000), (1, 1000), (2, 1000), (3, 1000)]);
    let count: Option<u64> = connection.query_first("SELECT COUNT(*) FROM event").await?;
    ensure!(count == Some(4000), "{count:?}");
    ensure!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
    connection.query_drop("UPDATE event SET v = 9").await?;
    ensure!(connection.affected_rows() == 4000);
    Ok(())
}
