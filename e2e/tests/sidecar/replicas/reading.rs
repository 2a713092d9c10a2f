//! Where reads go, and what they see.

use remora_e2e::replication::executed;

use super::*;

#[tokio::test]
async fn reads_go_to_replicas_by_weight_and_writes_to_the_primary() -> Result<()> {
    let mut bed = Bed::start(1, &declared(r#"{"primaryWeight": 1}"#)?, 2, &[3, 6]).await?;
    with_where_am_i(&mut bed).await?;
    let mut connection = connect(bed.port()).await?;
    let mut counts: BTreeMap<u16, u64> = BTreeMap::new();
    let prepared = connection
        .prep("SELECT where_am_i() FROM ticket WHERE id = ?")
        .await?;
    const READS: u64 = 3000;
    for turn in 0..READS {
        let port: Option<u16> = match turn % 2 {
            0 => Some(answers(&mut connection, 1 + turn % 40).await?),
            _ => connection.exec_first(&prepared, (1 + turn % 40,)).await?,
        };
        *counts.entry(port.context("no row")?).or_default() += 1;
    }
    let shard = &bed.cluster.shards[0];
    let servers = [&shard.primary, &shard.replicas[0], &shard.replicas[1]];
    for (server, share) in servers.into_iter().zip([0.1, 0.3, 0.6]) {
        let count = counts.get(&server.port()).copied().unwrap_or_default() as f64;
        let expected = READS as f64 * share;
        // Four standard deviations and a tenth.
        let most = expected * 0.1 + 4.0 * (expected * (1.0 - share)).sqrt();
        ensure!((count - expected).abs() < most, "{counts:?}: {share}");
    }
    let told = bed.reads().await?;
    ensure!(told.values().sum::<u64>() >= READS, "{told:?}");

    // What is no plain read is the primary's.
    let primary = bed.cluster.shards[0].primary.port();
    let hinted = "/* remora: replica */ SELECT where_am_i() FROM ticket WHERE id = 7";
    for _ in 0..60 {
        let port: Option<u16> = connection.query_first(hinted).await?;
        ensure!(
            port.is_some_and(|port| port != primary),
            "{port:?}: {hinted}"
        );
    }
    for sql in [
        "SELECT where_am_i() FROM ticket WHERE id = 7 FOR UPDATE",
        "SELECT where_am_i() FROM ticket WHERE id = 7 LOCK IN SHARE MODE",
        "SELECT where_am_i(), LAST_INSERT_ID() FROM ticket WHERE id = 7",
        "SELECT where_am_i(), @x FROM ticket WHERE id = 7",
        "/* remora: primary */ SELECT where_am_i() FROM ticket WHERE id = 7",
        "SELECT @@GLOBAL.port",
    ] {
        for _ in 0..10 {
            let row: Option<Row> = connection.query_first(sql).await?;
            let port: Option<u16> = row.and_then(|row| row.get(0));
            ensure!(port == Some(primary), "{port:?}: {sql}");
        }
    }
    connection.query_drop("BEGIN").await?;
    for _ in 0..10 {
        ensure!(
            answers(&mut connection, 7).await? == primary,
            "in a transaction"
        );
    }
    connection.query_drop("COMMIT").await?;
    connection.query_drop("SET autocommit = 0").await?;
    ensure!(
        answers(&mut connection, 7).await? == primary,
        "without autocommit"
    );
    connection.query_drop("COMMIT").await?;
    connection.query_drop("SET autocommit = 1").await?;

    // A lock pins the session: what it guards must not be read from the past.
    let got: Option<u64> = connection.query_first("SELECT GET_LOCK('a', 1)").await?;
    ensure!(got == Some(1));
    for _ in 0..10 {
        ensure!(answers(&mut connection, 7).await? == primary, "with a lock");
    }
    connection.reset().await?;
    connection.query_drop("USE shop").await?;
    let mut away = 0;
    for _ in 0..50 {
        away += u32::from(answers(&mut connection, 7).await? != primary);
    }
    ensure!(away > 20, "{away} of 50 after a reset");
    connection
        .query_drop("CREATE TEMPORARY TABLE scratch (a INT)")
        .await?;
    for _ in 0..10 {
        connection.query_drop("SELECT * FROM scratch").await?;
        ensure!(
            answers(&mut connection, 7).await? == primary,
            "with a temporary table"
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_session_reads_what_it_wrote_while_replicas_are_behind() -> Result<()> {
    let mut bed = Bed::start(2, &declared(r#"{"maxReplicaLag": "1h"}"#)?, 1, &[]).await?;
    with_where_am_i(&mut bed).await?;
    // They answer, follow, and are behind: within the lag that the manifest allows.
    for shard in &bed.cluster.shards {
        let mut replica = direct(&shard.replicas[0]).await?;
        for sql in [
            "STOP REPLICA",
            "CHANGE REPLICATION SOURCE TO SOURCE_DELAY = 8",
            "START REPLICA",
        ] {
            replica.query_drop(sql).await?;
        }
    }
    bed.settled().await?;
    let primaries: Vec<u16> = bed
        .cluster
        .shards
        .iter()
        .map(|s| s.primary.port())
        .collect();
    let mut writer = connect(bed.port()).await?;
    let mut other = connect(bed.port()).await?;
    let update = writer.prep("UPDATE ticket SET v = ? WHERE id = ?").await?;
    let read = writer.prep("SELECT v FROM ticket WHERE id = ?").await?;
    for id in 1..=40_u64 {
        writer.exec_drop(&update, (id, id)).await?;
        let v: Option<u64> = match id % 2 {
            0 => writer.exec_first(&read, (id,)).await?,
            _ => {
                let sql = format!("SELECT v FROM ticket WHERE id = {id}");
                writer.query_first(sql).await?
            }
        };
        ensure!(v == Some(id), "{v:?} of {id}");
        let port = answers(&mut writer, id).await?;
        ensure!(primaries.contains(&port), "{port} is behind");
    }
    let sum: Option<u64> = writer.query_first("SELECT SUM(v) FROM ticket").await?;
    ensure!(sum == Some(820), "over both shards: {sum:?}");
    let old: Option<u64> = other.query_first("SELECT SUM(v) FROM ticket").await?;
    ensure!(old == Some(0), "another session reads replicas: {old:?}");
    let old: Option<u64> = writer
        .query_first("/* remora: replica */ SELECT SUM(v) FROM ticket")
        .await?;
    ensure!(old == Some(0), "the hint asks for a replica: {old:?}");

    // In a transaction, and by a statement that fails.
    writer.query_drop("BEGIN").await?;
    writer
        .query_drop("UPDATE ticket SET v = 100 WHERE id = 1")
        .await?;
    writer.query_drop("COMMIT").await?;
    let v: Option<u64> = writer
        .query_first("SELECT v FROM ticket WHERE id = 1")
        .await?;
    ensure!(v == Some(100), "{v:?}");
    let (code, _) = error_of(&mut other, "INSERT INTO ticket VALUES (1, 7)").await?;
    ensure!(code == 1062, "{code}");
    let v: Option<u64> = other
        .query_first("SELECT v FROM ticket WHERE id = 1")
        .await?;
    ensure!(
        v == Some(100),
        "after an error nobody knows what was written: {v:?}"
    );

    // Once they have it, they are read again.
    until("replicas have it", async || {
        let mut away = 0;
        for id in 1..=40 {
            away += u32::from(!primaries.contains(&answers(&mut writer, id).await?));
        }
        ensure!(away == 40, "{away} of 40");
        Ok(())
    })
    .await?;
    let v: Option<u64> = writer
        .query_first("SELECT v FROM ticket WHERE id = 1")
        .await?;
    ensure!(v == Some(100), "{v:?}");
    Ok(())
}

#[tokio::test]
async fn a_replica_that_is_behind_or_stopped_answers_nothing() -> Result<()> {
    let reads = declared(r#"{"maxReplicaLag": "2s", "consistency": "Eventual"}"#)?;
    let mut bed = Bed::start(1, &reads, 2, &[]).await?;
    with_where_am_i(&mut bed).await?;
    let ports: Vec<u16> = bed.cluster.shards[0]
        .replicas
        .iter()
        .map(MysqlServer::port)
        .collect();
    let health = async |port: u16| -> Result<String> {
        let rows = instances(bed.cluster.sidecar.port()).await?;
        let row = rows
            .into_iter()
            .find(|row| row["instance"].ends_with(&format!(":{port}")));
        Ok(format!("{:?}", row.context("no such instance")?))
    };
    bed.stop_applier(0, 0).await?;
    until("the sidecar sees it", async || {
        let row = health(ports[0]).await?;
        ensure!(
            row.contains("not following") && row.contains("applier"),
            "{row}"
        );
        Ok(())
    })
    .await?;
    let mut connection = connect(bed.port()).await?;
    for _ in 0..50 {
        ensure!(answers(&mut connection, 7).await? == ports[1]);
    }
    // The other one applies a minute late: it follows, and is too far behind once there is more.
    let mut second = direct(&bed.cluster.shards[0].replicas[1]).await?;
    for sql in [
        "STOP REPLICA",
        "CHANGE REPLICATION SOURCE TO SOURCE_DELAY = 60",
        "START REPLICA",
    ] {
        second.query_drop(sql).await?;
    }
    let mut writer = connect(bed.port()).await?;
    let written = Instant::now();
    writer
        .query_drop("UPDATE ticket SET v = 1 WHERE id = 7")
        .await?;
    let primary = bed.cluster.shards[0].primary.port();
    while written.elapsed() < Duration::from_secs(8) {
        let sql = "SELECT v, where_am_i() FROM ticket WHERE id = 7";
        let begun = written.elapsed();
        let row: Option<(u64, u16)> = connection.query_first(sql).await?;
        let (v, port) = row.context("no row")?;
        // Half a second for the read itself, on a busy machine.
        ensure!(
            v == 1 || begun < Duration::from_millis(2500),
            "{port} is {begun:?} behind"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    ensure!(answers(&mut connection, 7).await? == primary);
    // It has the row, and is read again.
    direct(&bed.cluster.shards[0].replicas[0])
        .await?
        .query_drop("START REPLICA SQL_THREAD")
        .await?;
    until("it is read again", async || {
        let port = answers(&mut connection, 7).await?;
        ensure!(port == ports[0], "{port}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn warnings_found_rows_and_errors_are_those_of_the_last_read() -> Result<()> {
    let mut bed = Bed::start(1, &json!({}), 1, &[]).await?;
    let mut connection = connect(bed.port()).await?;
    let before = bed.reads().await?;
    let count: Option<u64> = connection
        .query_first("SELECT COUNT(*) FROM ticket WHERE id = 7 AND 'abc' = 0")
        .await?;
    ensure!(count == Some(1), "{count:?}");
    type Warning = (String, u16, String);
    let warnings: Vec<Warning> = connection.query("SHOW WARNINGS").await?;
    ensure!(
        matches!(&warnings[..], [(level, 1292, text)] if level == "Warning" && text.contains("abc")),
        "{warnings:?}"
    );
    connection
        .query_drop("SELECT id FROM ticket WHERE id < 6")
        .await?;
    let found: Option<u64> = connection.query_first("SELECT FOUND_ROWS()").await?;
    ensure!(found == Some(5), "{found:?}");
    let warnings: Vec<Warning> = connection.query("SHOW WARNINGS").await?;
    // FOUND_ROWS() itself is deprecated, and says so.
    ensure!(
        warnings.iter().all(|(_, code, _)| *code == 1287),
        "{warnings:?}"
    );

    // The settings of the session hold on a replica too.
    connection.query_drop("SET time_zone = '+05:00'").await?;
    let zone: Option<String> = connection
        .query_first("SELECT CAST(FROM_UNIXTIME(v) AS CHAR) FROM ticket WHERE id = 7")
        .await?;
    ensure!(zone.as_deref() == Some("1970-01-01 05:00:00"), "{zone:?}");

    // What a replica does not have yet, the primary has.
    bed.stop_applier(0, 0).await?;
    bed.connection
        .query_drop("CREATE TABLE newer (a INT)")
        .await?;
    bed.connection
        .query_drop("INSERT INTO newer VALUES (3)")
        .await?;
    let a: Option<u64> = connection.query_first("SELECT a FROM newer").await?;
    ensure!(a == Some(3), "{a:?}");
    let (code, text) = error_of(&mut connection, "SELECT a FROM nowhere").await?;
    ensure!(
        code == 1146 && text.contains("shop.nowhere"),
        "{code} {text}"
    );
    let errors: Vec<Warning> = connection.query("SHOW ERRORS").await?;
    ensure!(matches!(&errors[..], [(_, 1146, _)]), "{errors:?}");
    let after = bed.reads().await?;
    ensure!(after != before, "{after:?}");
    Ok(())
}

#[tokio::test]
async fn nothing_is_read_from_replicas_without_a_word_in_the_manifest() -> Result<()> {
    let root = MysqlRoot::get()?;
    let mut manifest = replicated(1, &Value::Null);
    if let Some(spec) = manifest["spec"].as_object_mut() {
        spec.remove("reads");
    }
    let cluster = ReplicatedShards::start(&root, &manifest, 1, &[]).await?;
    let mut connection = connect(cluster.sidecar.port()).await?;
    connection
        .query_drop("CREATE TABLE ticket (id BIGINT NOT NULL PRIMARY KEY, v INT NULL)")
        .await?;
    connection
        .query_drop("INSERT INTO ticket VALUES (1, 1)")
        .await?;
    let shard = &cluster.shards[0];
    shard.caught_up().await?;
    ensure!(executed(&shard.primary).await? == executed(&shard.replicas[0]).await?);
    direct(&shard.replicas[0])
        .await?
        .query_drop("STOP REPLICA SQL_THREAD")
        .await?;
    for v in 2..50_u64 {
        let update = format!("UPDATE ticket SET v = {v} WHERE id = 1");
        connect(cluster.sidecar.port())
            .await?
            .query_drop(update)
            .await?;
        let sql = "/* remora: replica */ SELECT v FROM ticket WHERE id = 1";
        let read: Option<u64> = connection.query_first(sql).await?;
        ensure!(read == Some(v), "{read:?} is not {v}");
    }
    let rows = instances(cluster.sidecar.port()).await?;
    ensure!(rows.iter().all(|row| row["reads"] == "0"), "{rows:?}");
    Ok(())
}
