//! Tables that someone else changed: other sidecars, and clients of MySQL itself.

use super::*;

#[tokio::test]
async fn a_key_that_someone_else_used_is_made_anew() -> Result<()> {
    let (shards, mut first) = started().await?;
    let folder = tempfile::tempdir()?;
    let ports: Vec<u16> = shards.servers.iter().map(MysqlServer::port).collect();
    let second = Sidecar::start(folder.path(), &manifest(), &ports).await?;
    let mut other = connect(second.port()).await?;

    // Keys up to 1,000 are the first sidecar's to give.
    first
        .query_drop("INSERT INTO ticket (v) VALUES (0)")
        .await?;
    ensure!(first.last_insert_id() == Some(1));
    other
        .query_drop("INSERT INTO ticket VALUES (2, 0), (3, 0), (5, 0)")
        .await?;
    first
        .query_drop("INSERT INTO ticket (v) VALUES (1)")
        .await?;
    ensure!(
        first.last_insert_id() == Some(6),
        "{:?}",
        first.last_insert_id()
    );

    let insert = first.prep("INSERT INTO ticket (v) VALUES (?)").await?;
    other
        .query_drop("INSERT INTO ticket VALUES (7, 0), (8, 0)")
        .await?;
    first.exec_drop(&insert, (1,)).await?;
    ensure!(
        first.last_insert_id() == Some(9),
        "{:?}",
        first.last_insert_id()
    );

    other
        .query_drop("INSERT INTO ticket VALUES (11, 0)")
        .await?;
    first
        .query_drop("INSERT INTO ticket (v) VALUES (1), (1), (1)")
        .await?;
    ensure!(
        first.last_insert_id() == Some(13),
        "{:?}",
        first.last_insert_id()
    );

    other
        .query_drop("INSERT INTO ticket VALUES (16, 0)")
        .await?;
    // In a transaction the client hears of it, and its own next attempt has another key.
    first.query_drop("BEGIN").await?;
    let insert = "INSERT INTO ticket (v) VALUES (1)";
    let (code, _) = error_of(&mut first, insert).await?;
    ensure!(code == 1062, "{code}");
    first.query_drop("ROLLBACK").await?;
    first.query_drop(insert).await?;
    let last: Option<u64> = first.query_first("SELECT LAST_INSERT_ID()").await?;
    ensure!(last == Some(17), "{last:?}");

    let made: Vec<u64> = first
        .query("SELECT id FROM ticket WHERE v = 1 ORDER BY id")
        .await?;
    ensure!(made == [6, 9, 13, 14, 15, 17], "{made:?}");
    let (code, _) = error_of(&mut first, "INSERT INTO ticket (id) VALUES (2)").await?;
    ensure!(code == 1062, "{code} for a key that the client gave");
    Ok(())
}

#[tokio::test]
async fn a_sequence_begins_above_the_rows_that_are_there() -> Result<()> {
    let (shards, mut connection) = started().await?;
    connection
        .query_drop("INSERT INTO ticket VALUES (1, 0), (2, 0), (40, 0)")
        .await?;
    direct(&shards.servers[0])
        .await?
        .query_drop("DELETE FROM remora.sequence")
        .await?;
    let folder = tempfile::tempdir()?;
    let ports: Vec<u16> = shards.servers.iter().map(MysqlServer::port).collect();
    let sidecar = Sidecar::start(folder.path(), &manifest(), &ports).await?;
    let mut connection = connect(sidecar.port()).await?;
    // The first that the sequence hears of is a key below others.
    connection
        .query_drop("INSERT INTO ticket VALUES (5, 0)")
        .await?;
    // A made key would replace one of them.
    connection
        .query_drop("REPLACE INTO ticket (v) VALUES (1)")
        .await?;
    let ids: Vec<u64> = connection
        .query("SELECT id FROM ticket ORDER BY id")
        .await?;
    ensure!(ids == [1, 2, 5, 40, 41], "{ids:?}");
    Ok(())
}

#[tokio::test]
async fn columns_that_someone_moved_get_their_own_values() -> Result<()> {
    let (shards, mut connection) = started().await?;
    let insert = connection.prep("INSERT INTO ticket VALUES (?, ?)").await?;
    connection.exec_drop(&insert, (1, 10)).await?;
    for server in &shards.servers {
        let mut direct = direct(server).await?;
        for slot in 0..8 {
            direct
                .query_drop(format!(
                    "ALTER TABLE shop__{slot:04}.ticket MODIFY v INT NULL FIRST"
                ))
                .await?;
        }
    }
    connection
        .query_drop("INSERT INTO ticket VALUES (20, 2)")
        .await?;
    connection.exec_drop(&insert, (30, 3)).await?;
    connection
        .query_drop("INSERT INTO ticket VALUES (40, 4), (50, 5), (60, 6)")
        .await?;
    for id in 1..=6 {
        let v: Option<u64> = connection
            .query_first(format!("SELECT v FROM ticket WHERE id = {id}"))
            .await?;
        ensure!(v == Some(10 * id), "row {id} has {v:?}");
    }
    Ok(())
}
