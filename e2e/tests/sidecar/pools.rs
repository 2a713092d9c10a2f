//! Few connections to MySQL, shared by many clients: nobody meets anything of anybody else.

use super::*;
use futures::future::try_join_all;

/// The manifest with pools of so many connections.
fn pooled(connections: u32, pool: &Value) -> Value {
    let mut manifest = manifest();
    manifest["spec"]["sidecar"] = json!({"backendConnections": connections, "pool": pool});
    manifest
}

async fn started_with(connections: u32, pool: &Value) -> Result<LocalShards> {
    let manifest = pooled(connections, pool);
    let shards = LocalShards::start(&MysqlRoot::get()?, &manifest, &[]).await?;
    let mut connection = connect(shards.sidecar.port()).await?;
    for create in [
        "CREATE TABLE ticket (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, v INT NULL)",
        "CREATE TABLE plain (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, v INT NOT NULL)",
    ] {
        connection.query_drop(create).await?;
    }
    connection.disconnect().await?;
    Ok(shards)
}

/// The numbers of the clients' connections to a server.
async fn connections(observer: &mut Conn) -> Result<Vec<u64>> {
    Ok(observer
        .query(
            "SELECT ID FROM information_schema.PROCESSLIST \
             WHERE USER = 'app' AND ID <> CONNECTION_ID() ORDER BY ID",
        )
        .await?)
}

async fn one(connection: &mut Conn, sql: &str) -> Result<String> {
    let value: Option<Option<String>> = connection.query_first(sql).await?;
    let value = value.with_context(|| format!("no row: {sql}"))?;
    Ok(value.unwrap_or_else(|| "NULL".to_owned()))
}

/// What a session that did all of this must see again, however many did something else meanwhile.
async fn has_its_own(connection: &mut Conn, mark: u32) -> Result<()> {
    let variables = one(
        connection,
        "SELECT CONCAT_WS(' ', @mark, @@time_zone, @@group_concat_max_len, @@sql_mode)",
    )
    .await?;
    let expected = format!("{mark} +00:{:02} {} ANSI_QUOTES", mark, 1000 + mark);
    ensure!(variables == expected, "{variables} for {expected}");
    Ok(())
}

#[tokio::test]
async fn each_session_finds_what_it_left_on_connections_that_all_share() -> Result<()> {
    let shards = started_with(2, &json!({})).await?;
    let port = shards.sidecar.port();
    let mut sessions = Vec::new();
    for mark in 1..=8_u32 {
        let mut connection = connect(port).await?;
        for set in [
            format!("SET @mark = {mark}"),
            format!("SET time_zone = '+00:{mark:02}'"),
            format!(
                "SET group_concat_max_len = {}, sql_mode = 'ANSI_QUOTES'",
                1000 + mark
            ),
        ] {
            connection.query_drop(set).await?;
        }
        sessions.push((mark, connection));
    }
    let work = sessions.into_iter().map(async |(mark, mut connection)| {
        let statement = connection.prep("SELECT ? + 0, @mark + ?").await?;
        for round in 0..25_u64 {
            has_its_own(&mut connection, mark).await?;
            connection
                .query_drop(format!("INSERT INTO plain (v) VALUES ({mark}), ({mark})"))
                .await?;
            let id = connection.last_insert_id().context("no id")?;
            ensure!(
                one(&mut connection, "SELECT ROW_COUNT()").await? == "2",
                "ROW_COUNT()"
            );
            let last = one(&mut connection, "SELECT LAST_INSERT_ID()").await?;
            ensure!(
                last == id.to_string(),
                "LAST_INSERT_ID() is {last}, not {id}"
            );
            // A connection of another shard than the one that made the id.
            let inserted = format!("INSERT INTO ticket (v) VALUES ({round})");
            connection.query_drop(inserted).await?;
            let rows: Vec<u32> = connection
                .query(format!("SELECT v FROM plain WHERE v = {mark} ORDER BY id"))
                .await?;
            ensure!(rows.iter().all(|v| *v == mark), "{rows:?} for {mark}");
            let found = one(&mut connection, "SELECT FOUND_ROWS()").await?;
            ensure!(found == rows.len().to_string(), "FOUND_ROWS() is {found}");
            let limited: Vec<u32> = connection
                .query(format!(
                    "SELECT SQL_CALC_FOUND_ROWS id FROM plain WHERE v = {mark} LIMIT 1"
                ))
                .await?;
            tokio::time::sleep(Duration::from_millis(1)).await;
            let found = one(&mut connection, "SELECT FOUND_ROWS()").await?;
            ensure!(
                limited.len() == 1 && found == rows.len().to_string(),
                "SQL_CALC_FOUND_ROWS gave {found} of {}",
                rows.len()
            );
            let text = format!("'{mark}x{round}'");
            connection.query_drop(format!("SELECT 1 + {text}")).await?;
            tokio::time::sleep(Duration::from_millis(1)).await;
            let warning: Option<(String, u16, String)> =
                connection.query_first("SHOW WARNINGS").await?;
            let (_, code, message) = warning.context("no warning")?;
            ensure!(code == 1292 && message.ends_with(&text), "{code} {message}");
            let (number, sum): (u64, u32) = connection
                .exec_first(&statement, (round, 1))
                .await?
                .context("no row")?;
            ensure!(number == round && sum == mark + 1, "{number} {sum}");
        }
        connection.disconnect().await?;
        Ok(())
    });
    try_join_all(work).await?;
    for server in &shards.servers {
        let open = connections(&mut direct(server).await?).await?;
        ensure!(open.len() <= 2, "{open:?} are open");
    }
    Ok(())
}

#[tokio::test]
async fn who_comes_after_takes_over_the_connection_of_who_left_and_finds_nothing_on_it()
-> Result<()> {
    let shards = started_with(5, &json!({})).await?;
    let mut observer = direct(&shards.servers[0]).await?;
    let mut first = connect(shards.sidecar.port()).await?;
    for leave in [
        "SET @secret = 1, SESSION sql_mode = ''",
        "SELECT @other := 2",
        "INSERT INTO plain (v) VALUES (7)",
        "SET last_insert_id = 77",
        "SELECT 1 + 'x'",
    ] {
        first.query_drop(leave).await?;
    }
    first.disconnect().await?;
    let before = connections(&mut observer).await?;
    let mut second = connect(shards.sidecar.port()).await?;
    let left = one(
        &mut second,
        "SELECT CONCAT_WS(' ', IFNULL(@secret, '-'), IFNULL(@other, '-'), LAST_INSERT_ID(), \
         @@sql_mode LIKE '%STRICT%')",
    )
    .await?;
    ensure!(left == "- - 0 1", "{left} is there");
    let warnings: Vec<Row> = second.query("SHOW WARNINGS").await?;
    ensure!(warnings.is_empty(), "{warnings:?}");
    second.query_drop("SELECT v FROM plain").await?;
    let after = connections(&mut observer).await?;
    ensure!(before == after, "{before:?} were open, and now {after:?}");
    Ok(())
}

#[tokio::test]
async fn what_keeps_a_connection_keeps_others_waiting_until_it_ends() -> Result<()> {
    let shards = started_with(1, &json!({"queueTimeout": "500ms"})).await?;
    let port = shards.sidecar.port();
    let (mut holder, mut other) = (connect(port).await?, connect(port).await?);
    for (hold, let_go) in [
        ("BEGIN; INSERT INTO plain (v) VALUES (1)", "ROLLBACK"),
        (
            "CREATE TEMPORARY TABLE mine (id INT)",
            "DROP TEMPORARY TABLE mine",
        ),
        ("LOCK TABLES plain WRITE", "UNLOCK TABLES"),
        ("SELECT GET_LOCK('it', 1)", "SELECT RELEASE_ALL_LOCKS()"),
        (
            "SELECT GET_LOCK('a', 1), GET_LOCK('b', 1)",
            "SELECT RELEASE_LOCK('a'), RELEASE_LOCK('b')",
        ),
        (
            "SET autocommit = 0; SELECT * FROM plain",
            "SET autocommit = 1",
        ),
    ] {
        other.query_drop("SELECT COUNT(*) FROM plain").await?;
        holder.query_drop(hold).await?;
        let (code, text) = error_of(&mut other, "SELECT COUNT(*) FROM plain").await?;
        ensure!(
            code == 1040 && text.contains("backendConnections"),
            "{hold}: {code} {text}"
        );
        let waits = tokio::spawn(async move {
            other.query_drop("SELECT COUNT(*) FROM plain").await?;
            anyhow::Ok(other)
        });
        tokio::time::sleep(Duration::from_millis(100)).await;
        holder.query_drop(let_go).await?;
        other = waits.await?.with_context(|| format!("after {let_go}"))?;
    }
    Ok(())
}

#[tokio::test]
async fn two_transactions_that_want_each_others_connection_do_not_wait_for_ever() -> Result<()> {
    let shards = started_with(1, &json!({"queueTimeout": "300ms"})).await?;
    let mut first = connect(shards.sidecar.port()).await?;
    // One row on each shard, at least.
    let rows: Vec<String> = (1..=32).map(|id| format!("({id}, 0)")).collect();
    first
        .query_drop(format!(
            "INSERT INTO ticket (id, v) VALUES {}",
            rows.join(", ")
        ))
        .await?;
    let mut on = [None, None];
    for (shard, server) in shards.servers.iter().enumerate() {
        let mut direct = direct(server).await?;
        for slot in 0..8 {
            let sql = format!("SELECT MIN(id) FROM shop__{slot:04}.ticket");
            let id: Option<Option<u64>> = direct.query_first(sql).await?;
            on[shard] = on[shard].or(id.flatten());
        }
    }
    let update = |shard: usize| {
        format!(
            "UPDATE ticket SET v = 1 WHERE id = {}",
            on[shard].unwrap_or(0)
        )
    };
    let mut second = connect(shards.sidecar.port()).await?;
    first.query_drop("BEGIN").await?;
    second.query_drop("BEGIN").await?;
    first.query_drop(update(0)).await?;
    second.query_drop(update(1)).await?;
    let (crossed, back) = (update(1), update(0));
    let (a, b) = futures::join!(first.query_drop(crossed), second.query_drop(back));
    let codes: Vec<u16> = [a, b]
        .into_iter()
        .filter_map(|outcome| match outcome {
            Err(Error::Server(error)) => Some(error.code),
            _ => None,
        })
        .collect();
    ensure!(codes.contains(&1040), "{codes:?}");
    first.query_drop("ROLLBACK").await?;
    second.query_drop("ROLLBACK").await?;
    let sum = one(&mut first, "SELECT SUM(v) FROM ticket").await?;
    ensure!(sum == "0", "{sum} rows changed");
    Ok(())
}

#[tokio::test]
async fn connections_that_nobody_uses_are_closed_but_for_those_that_are_kept_warm() -> Result<()> {
    let pool = json!({"idleTimeout": "1s", "warmConnections": 2});
    let shards = started_with(9, &pool).await?;
    let mut observer = direct(&shards.servers[0]).await?;
    let mut clients = Vec::new();
    for _ in 0..5 {
        clients.push(connect(shards.sidecar.port()).await?);
    }
    for client in &mut clients {
        client
            .query_drop("INSERT INTO plain (v) VALUES (1)")
            .await?;
    }
    let busy = clients
        .iter_mut()
        .map(|client| client.query_drop("SELECT SLEEP(0.3) FROM plain LIMIT 1"));
    try_join_all(busy).await?;
    let open = connections(&mut observer).await?.len();
    ensure!(open == 5, "{open} are open while five are used");
    until("idle connections are closed", async || {
        let open = connections(&mut observer).await?.len();
        ensure!(open == 2, "{open} are open");
        Ok(())
    })
    .await?;
    // The clients are still there.
    for client in &mut clients {
        ensure!(
            one(client, "SELECT COUNT(*) FROM plain").await? == "5",
            "rows"
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_connection_that_died_while_it_rested_is_nobodys_problem() -> Result<()> {
    let shards = started_with(4, &json!({})).await?;
    let mut observer = direct(&shards.servers[0]).await?;
    connect(shards.sidecar.port()).await?.disconnect().await?;
    let mut client = connect(shards.sidecar.port()).await?;
    client.query_drop("SELECT * FROM plain").await?;
    client.disconnect().await?;
    for id in connections(&mut observer).await? {
        observer.query_drop(format!("KILL {id}")).await?;
    }
    tokio::time::sleep(Duration::from_millis(1200)).await;
    let mut client = connect(shards.sidecar.port()).await?;
    client.query_drop("SELECT * FROM plain").await?;
    Ok(())
}
