//! What a session remembers, how it counts, and how much it may hold.

use super::*;

/// Two keys of `ticket` in different physical tables of one shard.
async fn neighbours(connection: &mut Conn) -> Result<(u64, u64)> {
    for other in 2..100 {
        type Explained = (String, u64, String, String);
        let parts: Vec<Explained> = connection
            .query(format!(
                "EXPLAIN REMORA SELECT id FROM ticket WHERE id IN (1, {other})"
            ))
            .await?;
        if matches!(&parts[..], [(_, 2, _, _)]) {
            return Ok((1, other));
        }
    }
    bail!("all keys are on the other shard")
}

#[tokio::test]
async fn without_autocommit_a_read_in_parts_is_in_the_transaction() -> Result<()> {
    let (shards, mut connection) = started().await?;
    let (one, two) = neighbours(&mut connection).await?;
    let read = format!("SELECT v FROM ticket WHERE id IN ({one}, {two}) ORDER BY v");
    let mut writer = connect(shards.sidecar.port()).await?;
    writer
        .query_drop(format!("INSERT INTO ticket VALUES ({one}, 1), ({two}, 2)"))
        .await?;
    connection.query_drop("SET autocommit = 0").await?;
    let first: Vec<u64> = connection.query(&*read).await?;
    writer.query_drop("UPDATE ticket SET v = v + 10").await?;
    let again: Vec<u64> = connection.query(&*read).await?;
    connection.query_drop("COMMIT").await?;
    let later: Vec<u64> = connection.query(&*read).await?;
    ensure!(first == [1, 2] && again == [1, 2], "{first:?} {again:?}");
    ensure!(
        later == [11, 12],
        "COMMIT did not end the snapshot: {later:?}"
    );
    Ok(())
}

#[tokio::test]
async fn prepared_statements_keep_to_the_sql_mode_of_the_session() -> Result<()> {
    let (_shards, mut connection) = started().await?;
    connection
        .query_drop("INSERT INTO ticket VALUES (1, 5)")
        .await?;
    let plain = connection.prep("SET sql_mode = ''").await?;
    connection
        .query_drop("SET sql_mode = 'ANSI_QUOTES'")
        .await?;
    let quoted = connection
        .prep("SELECT \"v\" FROM ticket WHERE id = ?")
        .await?;
    connection.exec_drop(&plain, ()).await?;
    let text: Option<String> = connection
        .query_first("SELECT \"v\" FROM ticket WHERE id = 1")
        .await?;
    ensure!(text.as_deref() == Some("v"), "{text:?} is not the string");
    match connection.exec_drop(&quoted, (1,)).await {
        Err(Error::Server(error)) if error.code == 1235 => {}
        other => bail!("prepared under another sql_mode: {other:?}"),
    }

    let set = connection.prep("SET @a = 1").await?;
    connection.query_drop("USE mysql").await?;
    connection.exec_drop(&set, ()).await?;
    let database: Option<String> = connection.query_first("SELECT DATABASE()").await?;
    ensure!(database.as_deref() == Some("mysql"), "{database:?}");
    Ok(())
}

#[tokio::test]
async fn a_write_in_parts_is_of_one_instant() -> Result<()> {
    let (shards, mut connection) = started().await?;
    for sql in [
        "CREATE TABLE country (code CHAR(2) PRIMARY KEY, at DATETIME(6) NULL, \
         since DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6))",
        "INSERT INTO country (code, at) VALUES ('de', NOW(6))",
        "ALTER TABLE ticket ADD COLUMN at DATETIME(6) NULL",
    ] {
        connection.query_drop(sql).await?;
    }
    let mut seen = Vec::new();
    for server in &shards.servers {
        let row: Option<(String, String)> = direct(server)
            .await?
            .query_first("SELECT CAST(at AS CHAR), CAST(since AS CHAR) FROM shop.country")
            .await?;
        seen.push(row.context("no row")?);
    }
    ensure!(seen[0] == seen[1], "shards differ: {seen:?}");

    let rows: Vec<String> = (1..=40).map(|id| format!("({id}, 0, NOW(6))")).collect();
    let writes = [
        format!("INSERT INTO ticket VALUES {}", rows.join(", ")),
        "UPDATE ticket SET at = NOW(6)".to_owned(),
    ];
    for sql in writes {
        connection.query_drop(sql).await?;
        let groups: Vec<u64> = connection
            .query("SELECT COUNT(*) FROM ticket GROUP BY at")
            .await?;
        ensure!(groups == [40], "{groups:?}");
    }
    let running: Option<u64> = connection
        .query_first("SELECT COUNT(*) FROM ticket WHERE at < NOW(6)")
        .await?;
    ensure!(running == Some(40), "the clock stands: {running:?}");
    Ok(())
}

#[tokio::test]
async fn a_session_holds_so_much_and_no_more() -> Result<()> {
    let (shards, mut connection) = started().await?;
    let before = shards.sidecar.process().resident_memory()?;
    let blanks = " ".repeat(20 << 20);
    let mut prepared = Vec::new();
    let refused = loop {
        match connection
            .prep(format!("SELECT {} /*{blanks}*/", prepared.len()))
            .await
        {
            Ok(statement) => prepared.push(statement),
            Err(Error::Server(error)) => break error,
            Err(other) => return Err(other.into()),
        }
    };
    ensure!(refused.code == 1461, "{refused}");
    ensure!(prepared.len() == 3, "{} were prepared", prepared.len());
    let (code, text) = error_of(&mut connection, &format!("SET @a = '{blanks}'")).await?;
    ensure!(code == 1041, "{code} {text}");
    for statement in prepared {
        connection.close(statement).await?;
    }

    // What is too large to be kept stays where it is.
    connection
        .query_drop("SET @big = REPEAT('x', 48 << 20)")
        .await?;
    let length: Option<u64> = connection.query_first("SELECT LENGTH(@big)").await?;
    ensure!(length == Some(48 << 20), "{length:?}");

    for _ in 0..20_000 {
        connection
            .query_drop("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
            .await?;
    }
    let grown = shards
        .sidecar
        .process()
        .resident_memory()?
        .saturating_sub(before);
    ensure!(grown < 300 << 20, "{grown} bytes");
    Ok(())
}
