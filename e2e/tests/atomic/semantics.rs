//! What a client sees of a transaction over two shards: what it sees on one server.

use super::*;

#[tokio::test]
async fn a_transaction_over_two_shards_commits_and_rolls_back_as_on_one_server() -> Result<()> {
    let (shards, mut connection) = started().await?;
    let [one, two] = accounts(&mut connection).await?;
    let mut other = connect(shards.sidecar.port()).await?;
    let transfer = [
        format!("UPDATE account SET amount = amount - 10 WHERE id = {one}"),
        format!("UPDATE account SET amount = amount + 10 WHERE id = {two}"),
    ];

    connection.query_drop("BEGIN").await?;
    for sql in &transfer {
        connection.query_drop(sql).await?;
    }
    ensure!(amount(&mut connection, two).await? == 110, "its own write");
    ensure!(amount(&mut other, two).await? == 100, "a dirty read");
    let sum: Option<i64> = connection
        .query_first("SELECT SUM(amount) FROM account")
        .await?;
    ensure!(sum == Some(2000), "{sum:?}");
    connection.query_drop("ROLLBACK").await?;
    ensure!(amount(&mut other, one).await? == 100);
    ensure!(amount(&mut other, two).await? == 100);

    connection.query_drop("START TRANSACTION").await?;
    for sql in &transfer {
        connection.query_drop(sql).await?;
    }
    connection.query_drop("COMMIT").await?;
    ensure!(amount(&mut other, one).await? == 90);
    ensure!(amount(&mut other, two).await? == 110);
    settled(&shards.servers).await?;
    until("the decisions are forgotten", async || {
        for server in &shards.servers {
            let mut connection = direct(server).await?;
            let count: Option<u64> = connection
                .query_first("SELECT COUNT(*) FROM remora.decision")
                .await
                .unwrap_or(Some(0));
            ensure!(count == Some(0), "{count:?} decisions");
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn savepoints_hold_on_all_shards_also_on_those_that_join_later() -> Result<()> {
    let (_shards, mut connection) = started().await?;
    let [one, two] = accounts(&mut connection).await?;
    let set = |id, to| format!("UPDATE account SET amount = {to} WHERE id = {id}");
    connection.query_drop("BEGIN").await?;
    connection.query_drop(set(one, 1)).await?;
    connection.query_drop("SAVEPOINT `a``b`").await?;
    connection.query_drop(set(two, 2)).await?;
    connection.query_drop("SAVEPOINT later").await?;
    connection.query_drop(set(one, 3)).await?;
    connection.query_drop("ROLLBACK TO SAVEPOINT later").await?;
    ensure!(amount(&mut connection, one).await? == 1);
    ensure!(amount(&mut connection, two).await? == 2);
    connection.query_drop("ROLLBACK TO `A``B`").await?;
    ensure!(
        amount(&mut connection, two).await? == 100,
        "it joined later"
    );
    let (code, text) = error_of(&mut connection, "RELEASE SAVEPOINT later").await?;
    ensure!(code == 1305, "{code} {text}");
    connection.query_drop("RELEASE SAVEPOINT `a``b`").await?;
    connection.query_drop("COMMIT").await?;
    ensure!(amount(&mut connection, one).await? == 1);
    ensure!(amount(&mut connection, two).await? == 100);
    Ok(())
}

#[tokio::test]
async fn without_autocommit_and_with_chains_transactions_span_shards_too() -> Result<()> {
    let (shards, mut connection) = started().await?;
    let [one, two] = accounts(&mut connection).await?;
    let mut other = connect(shards.sidecar.port()).await?;
    let add = |id| format!("UPDATE account SET amount = amount + 1 WHERE id = {id}");
    connection.query_drop("SET autocommit = 0").await?;
    connection
        .query_drop("UPDATE account SET amount = amount + 1")
        .await?;
    ensure!(amount(&mut other, one).await? == 100);
    connection.query_drop("SET autocommit = 1").await?;
    ensure!(amount(&mut other, one).await? == 101, "SET did not commit");
    ensure!(amount(&mut other, two).await? == 101, "SET did not commit");

    connection.query_drop("BEGIN").await?;
    connection.query_drop(add(one)).await?;
    connection.query_drop(add(two)).await?;
    connection.query_drop("COMMIT AND CHAIN").await?;
    connection.query_drop(add(two)).await?;
    connection.query_drop(add(one)).await?;
    connection.query_drop("ROLLBACK").await?;
    ensure!(amount(&mut other, one).await? == 102);
    ensure!(amount(&mut other, two).await? == 102);

    // A statement that commits does so on all shards.
    connection.query_drop("BEGIN").await?;
    connection.query_drop(add(one)).await?;
    connection.query_drop(add(two)).await?;
    connection
        .query_drop("ALTER TABLE rate COMMENT = 'new'")
        .await?;
    ensure!(amount(&mut other, two).await? == 103);
    Ok(())
}

#[tokio::test]
async fn read_only_and_isolation_reach_the_shards_that_join() -> Result<()> {
    let (shards, mut connection) = started().await?;
    let [one, two] = accounts(&mut connection).await?;
    let mut other = connect(shards.sidecar.port()).await?;
    let add = |id| format!("UPDATE account SET amount = amount + 1 WHERE id = {id}");
    connection.query_drop("START TRANSACTION READ ONLY").await?;
    amount(&mut connection, one).await?;
    amount(&mut connection, two).await?;
    for id in [one, two] {
        let (code, text) = error_of(&mut connection, &add(id)).await?;
        ensure!(code == 1792, "{code} {text}");
    }
    connection.query_drop("COMMIT").await?;

    connection
        .query_drop("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
        .await?;
    connection.query_drop("BEGIN").await?;
    amount(&mut connection, one).await?;
    amount(&mut connection, two).await?;
    other.query_drop(add(two)).await?;
    ensure!(
        amount(&mut connection, two).await? == 101,
        "the shard that joined reads repeatably"
    );
    connection.query_drop("COMMIT").await?;

    connection.query_drop("BEGIN").await?;
    amount(&mut connection, one).await?;
    amount(&mut connection, two).await?;
    other.query_drop(add(two)).await?;
    ensure!(amount(&mut connection, two).await? == 101);
    connection.query_drop("COMMIT").await?;
    Ok(())
}

#[tokio::test]
async fn a_statement_that_fails_on_one_shard_is_undone_on_all_and_no_more() -> Result<()> {
    let (_shards, mut connection) = started().await?;
    let [one, two] = accounts(&mut connection).await?;
    connection.query_drop("BEGIN").await?;
    connection
        .query_drop(format!("UPDATE account SET amount = 7 WHERE id = {one}"))
        .await?;
    let taken = format!("INSERT INTO account VALUES (1001, 1), (1002, 1), (1003, 1), ({two}, 1)");
    let (code, text) = error_of(&mut connection, &taken).await?;
    ensure!(code == 1062, "{code} {text}");
    let count: Option<u64> = connection
        .query_first("SELECT COUNT(*) FROM account")
        .await?;
    ensure!(count == Some(20), "{count:?} rows");
    ensure!(amount(&mut connection, one).await? == 7);
    connection.query_drop("COMMIT").await?;

    // Outside a transaction too.
    let (code, _) = error_of(&mut connection, &taken).await?;
    ensure!(code == 1062);
    let count: Option<u64> = connection
        .query_first("SELECT COUNT(*) FROM account")
        .await?;
    ensure!(count == Some(20), "{count:?} rows");
    ensure!(amount(&mut connection, one).await? == 7);
    Ok(())
}

#[tokio::test]
async fn a_deadlock_on_one_shard_rolls_back_all_and_lets_go_of_all_locks() -> Result<()> {
    let (shards, mut first) = started().await?;
    let [one, two] = accounts(&mut first).await?;
    let mut second = connect(shards.sidecar.port()).await?;
    let add = |id, by| format!("UPDATE account SET amount = amount + {by} WHERE id = {id}");
    // Both shards belong to both; the circle is on the second.
    let third = (1..=20).filter(|id| *id != two).collect::<Vec<u64>>();
    let mut neighbour = None;
    for id in third {
        let parts: Vec<(String, u64, String, String)> = first
            .query(format!(
                "EXPLAIN REMORA SELECT 1 FROM account WHERE id = {id}"
            ))
            .await?;
        if parts.first().is_some_and(|(shard, ..)| shard != "0") {
            neighbour = Some(id);
            break;
        }
    }
    let neighbour = neighbour.context("one account on the second shard")?;
    for connection in [&mut first, &mut second] {
        connection.query_drop("BEGIN").await?;
    }
    first.query_drop(add(one, 1)).await?;
    first.query_drop(add(two, 1)).await?;
    second.query_drop(add(neighbour, 1)).await?;
    let waiting = tokio::spawn(async move {
        let outcome = second.query_drop(add(two, 1)).await;
        (second, outcome)
    });
    tokio::time::sleep(Duration::from_millis(500)).await;
    let outcome = first.query_drop(add(neighbour, 1)).await;
    let (second, other) = waiting.await?;
    let (mut victim, mut winner, error) = match (outcome, other) {
        (Err(error), Ok(())) => (first, second, error),
        (Ok(()), Err(error)) => (second, first, error),
        other => bail!("no deadlock: {other:?}"),
    };
    let Error::Server(error) = error else {
        bail!("{error}");
    };
    ensure!(error.code == 1213, "{error}");
    winner.query_drop("COMMIT").await?;
    // Nothing is left of the victim, and it begins anew by itself.
    let mut fresh = connect(shards.sidecar.port()).await?;
    fresh.query_drop(add(one, 1)).await?;
    victim.query_drop(add(one, 1)).await?;
    victim.query_drop(add(two, 1)).await?;
    let sum: Option<i64> = victim
        .query_first("SELECT SUM(amount) FROM account")
        .await?;
    ensure!(
        sum.is_some_and(|sum| (2005..=2006).contains(&sum)),
        "{sum:?}"
    );
    Ok(())
}

#[tokio::test]
async fn a_manifest_may_refuse_a_second_shard() -> Result<()> {
    let mut manifest = manifest();
    manifest["spec"]["transactions"] = json!({"crossShard": "Refused"});
    let shards = LocalShards::start(&MysqlRoot::get()?, &manifest, &[]).await?;
    let mut connection = connect(shards.sidecar.port()).await?;
    connection
        .query_drop("CREATE TABLE account (id BIGINT NOT NULL PRIMARY KEY, amount BIGINT NOT NULL)")
        .await?;
    let rows: Vec<String> = (1..=20).map(|id| format!("({id}, 100)")).collect();
    connection
        .query_drop(format!("INSERT INTO account VALUES {}", rows.join(", ")))
        .await
        .context("a statement of its own is atomic all the same")?;
    let [one, two] = accounts(&mut connection).await?;
    connection.query_drop("BEGIN").await?;
    amount(&mut connection, one).await?;
    let sql = format!("UPDATE account SET amount = 1 WHERE id = {two}");
    let (code, text) = error_of(&mut connection, &sql).await?;
    ensure!(code == 1235 && text.contains("crossShard"), "{code} {text}");
    Ok(())
}

#[tokio::test]
async fn a_read_that_one_shard_refuses_leaves_no_answer_for_the_commit() -> Result<()> {
    let (shards, mut connection) = started().await?;
    let [one, two] = accounts(&mut connection).await?;
    connection
        .query_drop("ALTER TABLE account ADD COLUMN note INT NULL")
        .await?;
    let read = connection
        .prep("SELECT id, note FROM account ORDER BY id")
        .await?;
    // Half of a DDL, as someone who died left it.
    let mut second = direct(&shards.servers[1]).await?;
    for slot in 0..2 {
        second
            .query_drop(format!(
                "ALTER TABLE shop__{slot:04}.account DROP COLUMN note"
            ))
            .await?;
    }
    for first in [[one, two], [two, one]] {
        let before = amount(&mut connection, two).await?;
        connection.query_drop("BEGIN").await?;
        for id in first {
            connection
                .query_drop(format!(
                    "UPDATE account SET amount = amount + 1 WHERE id = {id}"
                ))
                .await?;
        }
        let refused = connection.exec_drop(&read, ()).await;
        ensure!(refused.is_err(), "a shard has no such column");
        connection.query_drop("SAVEPOINT s").await?;
        connection.query_drop("COMMIT").await?;
        let ones: Vec<u8> = connection.query("SELECT 1").await?;
        ensure!(ones == [1], "{ones:?}");
        ensure!(amount(&mut connection, two).await? == before + 1);
        ensure!(amount(&mut connection, one).await? == before + 1);
        settled(&shards.servers).await?;
    }
    Ok(())
}

#[tokio::test]
async fn completion_type_changes_nothing_for_statements_that_commit_by_themselves() -> Result<()> {
    let (shards, mut connection) = started().await?;
    let [one, two] = accounts(&mut connection).await?;
    let mut other = connect(shards.sidecar.port()).await?;
    connection
        .query_drop("SET completion_type = 'CHAIN'")
        .await?;
    connection
        .query_drop("UPDATE account SET amount = amount + 1")
        .await?;
    for id in [one, two] {
        connection
            .query_drop(format!(
                "UPDATE account SET amount = amount + 1 WHERE id = {id}"
            ))
            .await?;
        ensure!(
            amount(&mut other, id).await? == 102,
            "it is in a transaction"
        );
    }
    connection.query_drop("BEGIN").await?;
    for id in [one, two] {
        connection
            .query_drop(format!("UPDATE account SET amount = 7 WHERE id = {id}"))
            .await?;
    }
    connection.query_drop("COMMIT").await?;
    ensure!(amount(&mut other, two).await? == 7);
    connection
        .query_drop(format!("UPDATE account SET amount = 8 WHERE id = {one}"))
        .await?;
    ensure!(amount(&mut other, one).await? == 7, "COMMIT did not chain");
    connection.query_drop("ROLLBACK AND NO CHAIN").await?;
    Ok(())
}

#[tokio::test]
async fn a_transaction_that_a_read_of_all_shards_ended_is_ended() -> Result<()> {
    let (shards, mut reader) = started().await?;
    let [one, two] = accounts(&mut reader).await?;
    let mut heavy = Vec::new();
    for id in 1..=20 {
        let parts: Vec<(String, u64, String, String)> = reader
            .query(format!(
                "EXPLAIN REMORA SELECT 1 FROM account WHERE id = {id}"
            ))
            .await?;
        if id != one && parts.first().is_some_and(|(shard, ..)| shard == "0") {
            heavy.push(id);
        }
    }
    ensure!(heavy.len() > 1, "one account on the first shard");
    let mut writer = connect(shards.sidecar.port()).await?;
    reader
        .query_drop("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE")
        .await?;
    reader.query_drop("BEGIN").await?;
    for id in [two, one] {
        reader
            .query_drop(format!(
                "UPDATE account SET amount = amount + 1 WHERE id = {id}"
            ))
            .await?;
    }
    writer.query_drop("BEGIN").await?;
    for id in &heavy {
        // One by one: a scan would wait for the reader's row.
        writer
            .query_drop(format!(
                "UPDATE account SET amount = amount + 1 WHERE id = {id}"
            ))
            .await?;
    }
    let waiting = tokio::spawn(async move {
        let sql = format!("UPDATE account SET amount = amount + 1 WHERE id = {one}");
        let outcome = writer.query_drop(sql).await;
        (writer, outcome)
    });
    tokio::time::sleep(Duration::from_millis(500)).await;
    let (code, text) = error_of(&mut reader, "SELECT SUM(amount) FROM account").await?;
    ensure!(code == 1213, "{code} {text}");
    let (mut writer, outcome) = waiting.await?;
    outcome.context("the one who waited")?;
    writer.query_drop("COMMIT").await?;
    for id in [two, one] {
        reader
            .query_drop(format!("UPDATE account SET amount = 500 WHERE id = {id}"))
            .await
            .with_context(|| format!("after the deadlock, {id}"))?;
        let seen = amount(&mut writer, id).await?;
        ensure!(
            seen == 500,
            "{id} of [{one}, {two}] shows {seen}: the write is in a transaction that nobody began"
        );
    }
    Ok(())
}

#[tokio::test]
async fn what_mysql_does_not_commit_at_does_not_commit() -> Result<()> {
    let (shards, mut connection) = started().await?;
    let [one, two] = accounts(&mut connection).await?;
    let mut other = connect(shards.sidecar.port()).await?;
    connection.query_drop("BEGIN").await?;
    for id in [one, two] {
        connection
            .query_drop(format!("UPDATE account SET amount = 7 WHERE id = {id}"))
            .await?;
    }
    for sql in [
        "DROP TABEL nothing",
        "CREATE TABLE",
        "ALTER nothing ADD x INT",
    ] {
        let (code, text) = error_of(&mut connection, sql).await?;
        ensure!(code == 1064, "{sql}: {code} {text}");
    }
    ensure!(amount(&mut other, one).await? == 100, "it committed");
    connection.query_drop("ROLLBACK").await?;
    for id in [one, two] {
        ensure!(amount(&mut other, id).await? == 100, "it committed");
    }
    Ok(())
}

#[tokio::test]
async fn a_lock_by_name_is_one_for_all_however_it_is_taken() -> Result<()> {
    let (shards, mut first) = started().await?;
    let [one, two] = accounts(&mut first).await?;
    let mut second = connect(shards.sidecar.port()).await?;
    amount(&mut first, one).await?;
    amount(&mut second, two).await?;
    first.query_drop("SET @l = GET_LOCK('job', 0)").await?;
    second.query_drop("SET @l = GET_LOCK('job', 0)").await?;
    let got: (Option<u8>, Option<u8>) = (
        first.query_first("SELECT @l").await?,
        second.query_first("SELECT @l").await?,
    );
    ensure!(got == (Some(1), Some(0)), "{got:?}");
    Ok(())
}

#[tokio::test]
async fn read_write_reaches_the_shards_that_join_a_session_that_reads_by_default() -> Result<()> {
    let (_shards, mut connection) = started().await?;
    let [one, two] = accounts(&mut connection).await?;
    connection
        .query_drop("SET SESSION TRANSACTION READ ONLY")
        .await?;
    connection
        .query_drop("START TRANSACTION READ WRITE")
        .await?;
    for id in [one, two] {
        connection
            .query_drop(format!("UPDATE account SET amount = 7 WHERE id = {id}"))
            .await?;
    }
    connection.query_drop("COMMIT").await?;
    ensure!(amount(&mut connection, two).await? == 7);
    Ok(())
}
