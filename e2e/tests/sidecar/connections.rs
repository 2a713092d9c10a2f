//! Connections to MySQL that break, are cut off, or are given back.

use super::*;

/// Rows of so many bytes, more of them than a merge reads to its end for a small answer.
async fn many_rows(connection: &mut Conn) -> Result<()> {
    connection
        .query_drop("ALTER TABLE ticket ADD COLUMN pad VARCHAR(400) NOT NULL")
        .await?;
    for from in [0, 1000, 2000, 3000] {
        let rows: Vec<String> = (1..=1000)
            .map(|row| format!("({}, 0, REPEAT('x', 400))", from + row))
            .collect();
        connection
            .query_drop(format!("INSERT INTO ticket VALUES {}", rows.join(", ")))
            .await?;
    }
    Ok(())
}

/// Each shard sends so many rows, and half of them are not wanted.
const CUT: &str = "SELECT id, pad FROM ticket ORDER BY id LIMIT 2000";

#[tokio::test]
async fn an_answer_that_is_cut_costs_no_state_and_no_reset() -> Result<()> {
    let (shards, mut connection) = started().await?;
    many_rows(&mut connection).await?;
    connection
        .query_drop("CREATE TEMPORARY TABLE scratch (id INT)")
        .await?;
    let cut: Vec<(u64, String)> = connection.query(CUT).await?;
    ensure!(cut.len() == 2000, "{} rows", cut.len());
    connection
        .query_drop("INSERT INTO scratch VALUES (1)")
        .await
        .context("the temporary table is gone")?;

    let mut connection = connect(shards.sidecar.port()).await?;
    let cut: Vec<(u64, String)> = connection.query(CUT).await?;
    ensure!(cut.len() == 2000, "{} rows", cut.len());
    ensure!(connection.reset().await?, "no COM_RESET_CONNECTION");
    let count: Option<u64> = connection
        .query_first("SELECT COUNT(*) FROM ticket")
        .await?;
    ensure!(count == Some(4000), "{count:?}");
    Ok(())
}

#[tokio::test]
async fn a_connection_that_died_with_state_on_it_ends_the_session() -> Result<()> {
    let (shards, mut connection) = started().await?;
    connection
        .query_drop("CREATE TEMPORARY TABLE scratch (id INT)")
        .await?;
    let mut direct = direct(&shards.servers[0]).await?;
    let ids: Vec<u64> = direct
        .query(
            "SELECT ID FROM information_schema.PROCESSLIST \
             WHERE USER = 'app' AND ID <> CONNECTION_ID()",
        )
        .await?;
    for id in ids {
        direct.query_drop(format!("KILL {id}")).await?;
    }
    // It is looked at once it rested.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let (code, text) = error_of(&mut connection, "SELECT * FROM scratch").await?;
    ensure!(code == 2013, "{code} {text}");
    ensure!(
        connection.query_drop("SELECT 1").await.is_err(),
        "the session goes on without its state"
    );
    Ok(())
}

#[tokio::test]
async fn prepared_statements_do_not_pile_up_on_the_servers() -> Result<()> {
    let (shards, mut connection) = started().await?;
    for _ in 0..300 {
        let select = connection.prep("SELECT v FROM ticket WHERE id = ?").await?;
        connection.exec_drop(&select, (1,)).await?;
        connection.close(select).await?;
    }
    for server in &shards.servers {
        let (_, count): (String, u64) = direct(server)
            .await?
            .query_first("SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'")
            .await?
            .context("no status")?;
        ensure!(count < 10, "{count} statements are prepared");
    }
    Ok(())
}

#[tokio::test]
async fn a_shard_waits_long_for_its_rows_to_be_wanted() -> Result<()> {
    let (_shards, mut connection) = started().await?;
    for _ in 0..2 {
        let seconds: Option<u64> = connection
            .query_first("SELECT @@SESSION.net_write_timeout")
            .await?;
        ensure!(seconds >= Some(3600), "{seconds:?}");
        ensure!(connection.reset().await?, "no COM_RESET_CONNECTION");
    }
    Ok(())
}
