//! Reads on replicas: by weight, never too old, what the session wrote included, and unharmed by
//! replicas that die or freeze.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use mysql_async::Params;
use remora_e2e::replication::{ReplicatedShards, executed, replicated_options};
use rustix::process::Signal;

use super::*;

/// One shard or two, without physical tables.
fn replicated(shards: u16, reads: Value) -> Value {
    json!({
        "apiVersion": "remora.dev/v1alpha1",
        "kind": "ShardingCluster",
        "metadata": {"name": "shop"},
        "spec": {
            "shards": shards,
            "database": "shop",
            "tables": [{
                "name": "ticket",
                "sharding": {"key": ["id"], "algorithm": {"hash": {}}},
            }],
            "reads": reads,
        },
    })
}

struct Bed {
    cluster: ReplicatedShards,
    connection: Conn,
}

impl Bed {
    /// Shards with a table of 40 rows and so many replicas of these weights.
    async fn start(shards: u16, reads: Value, replicas: usize, weights: &[u32]) -> Result<Self> {
        let root = MysqlRoot::get()?;
        let manifest = replicated(shards, reads);
        let cluster = ReplicatedShards::start(&root, &manifest, replicas, weights).await?;
        let mut connection = connect(cluster.sidecar.port()).await?;
        connection
            .query_drop("CREATE TABLE ticket (id BIGINT NOT NULL PRIMARY KEY, v INT NULL)")
            .await?;
        let rows: Vec<String> = (1..=40).map(|id| format!("({id}, 0)")).collect();
        connection
            .query_drop(format!("INSERT INTO ticket VALUES {}", rows.join(", ")))
            .await?;
        let bed = Self {
            cluster,
            connection,
        };
        bed.settled().await?;
        Ok(bed)
    }

    fn port(&self) -> u16 {
        self.cluster.sidecar.port()
    }

    /// Waits until replicas have all, and the sidecar knows it.
    async fn settled(&self) -> Result<()> {
        for shard in &self.cluster.shards {
            shard.caught_up().await?;
        }
        until("all servers are up", async || {
            for row in instances(self.port()).await? {
                ensure!(row["health"] == "up", "{row:?}");
            }
            Ok(())
        })
        .await?;
        // The next look of the sidecar's sees what they have now.
        tokio::time::sleep(Duration::from_millis(1500)).await;
        Ok(())
    }

    /// Stops the applier of a replica.
    async fn stop_applier(&self, shard: usize, replica: usize) -> Result<()> {
        let server = &self.cluster.shards[shard].replicas[replica];
        direct(server)
            .await?
            .query_drop("STOP REPLICA SQL_THREAD")
            .await?;
        Ok(())
    }

    /// What the sidecar said of its servers, for an error's text.
    fn said(&self) -> String {
        let log = std::fs::read_to_string(self.cluster.folder.path().join("sidecar.log"));
        let log = log.unwrap_or_default();
        let changes = log.lines().filter(|line| line.contains("changed"));
        changes.collect::<Vec<_>>().join("\n")
    }

    /// How many reads each instance answered.
    async fn reads(&self) -> Result<BTreeMap<u16, u64>> {
        let rows = instances(self.port()).await?;
        let read = |row: &BTreeMap<String, String>| -> Result<(u16, u64)> {
            let (_, port) = row["instance"].rsplit_once(':').context("no port")?;
            Ok((port.parse()?, row["reads"].parse()?))
        };
        rows.iter().map(read).collect()
    }
}

/// SHOW REMORA INSTANCES, each row by column.
async fn instances(port: u16) -> Result<Vec<BTreeMap<String, String>>> {
    let mut connection = connect(port).await?;
    let rows: Vec<Row> = connection.query("SHOW REMORA INSTANCES").await?;
    connection.disconnect().await?;
    let row = |row: Row| {
        let names: Vec<String> = row
            .columns_ref()
            .iter()
            .map(|column| column.name_str().into_owned())
            .collect();
        let values = row
            .unwrap()
            .into_iter()
            .map(|value| mysql_async::from_value_opt::<String>(value).unwrap_or_default());
        names.into_iter().zip(values).collect()
    };
    Ok(rows.into_iter().map(row).collect())
}

/// A function that tells which server runs it. It is declared to only read.
async fn with_where_am_i(bed: &mut Bed) -> Result<()> {
    for shard in &bed.cluster.shards {
        direct(&shard.primary)
            .await?
            .query_drop(
                "CREATE FUNCTION shop.where_am_i() RETURNS INT NOT DETERMINISTIC READS SQL DATA \
                 RETURN @@GLOBAL.port",
            )
            .await?;
    }
    bed.settled().await
}

/// Which server answers the rows of `id`.
async fn answers(connection: &mut Conn, id: u64) -> Result<u16> {
    let sql = format!("SELECT where_am_i() FROM ticket WHERE id = {id}");
    connection.query_first(sql).await?.context("no row")
}

fn declared(more: &str) -> Result<Value> {
    let mut reads: Value = serde_json::from_str(more)?;
    reads["readOnlyFunctions"] = json!(["where_am_i"]);
    Ok(reads)
}

#[tokio::test]
async fn reads_go_to_replicas_by_weight_and_writes_to_the_primary() -> Result<()> {
    let mut bed = Bed::start(1, declared(r#"{"primaryWeight": 1}"#)?, 2, &[3, 6]).await?;
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
    let mut bed = Bed::start(2, declared(r#"{"maxReplicaLag": "1h"}"#)?, 1, &[]).await?;
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
    let mut bed = Bed::start(1, reads, 2, &[]).await?;
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

/// Clients that read until they are told to stop, and count what they did.
struct Readers {
    stop: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
    tasks: Vec<tokio::task::JoinHandle<Result<Duration>>>,
}

impl Readers {
    fn start(port: u16, clients: u64) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let done = Arc::new(AtomicU64::new(0));
        let tasks = (0..clients)
            .map(|client| {
                let (stop, done) = (Arc::clone(&stop), Arc::clone(&done));
                tokio::spawn(async move {
                    let mut connection = connect(port).await?;
                    let read = connection
                        .prep("SELECT id, v FROM ticket WHERE id = ?")
                        .await?;
                    let mut slowest = Duration::ZERO;
                    let mut id = client;
                    while !stop.load(Ordering::Relaxed) {
                        id = 1 + (id + 7) % 40;
                        let begun = Instant::now();
                        match id % 3 {
                            0 => {
                                let sum: Option<u64> = connection
                                    .query_first("SELECT COUNT(*) FROM ticket")
                                    .await?;
                                ensure!(sum == Some(40), "{sum:?} rows");
                            }
                            1 => {
                                let sql = format!("SELECT id, v FROM ticket WHERE id = {id}");
                                let row: Option<(u64, u64)> = connection.query_first(sql).await?;
                                ensure!(row.is_some_and(|(found, _)| found == id), "{row:?}");
                            }
                            _ => {
                                let row: Option<(u64, u64)> =
                                    connection.exec_first(&read, Params::from((id,))).await?;
                                ensure!(row.is_some_and(|(found, _)| found == id), "{row:?}");
                            }
                        }
                        slowest = slowest.max(begun.elapsed());
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(slowest)
                })
            })
            .collect();
        Self { stop, done, tasks }
    }

    /// Waits for so many more reads.
    async fn more(&mut self, count: u64) -> Result<()> {
        let wanted = self.done.load(Ordering::Relaxed) + count;
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.done.load(Ordering::Relaxed) < wanted {
            ensure!(Instant::now() < deadline, "the readers hang");
            let ended = self
                .tasks
                .iter()
                .position(tokio::task::JoinHandle::is_finished);
            if let Some(ended) = ended {
                let outcome = self.tasks.swap_remove(ended).await?;
                bail!("a reader ended: {outcome:?}");
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }

    /// Stops them; the longest time that a read took.
    async fn finish(self) -> Result<Duration> {
        self.stop.store(true, Ordering::Relaxed);
        let mut slowest = Duration::ZERO;
        for task in self.tasks {
            slowest = slowest.max(task.await??);
        }
        Ok(slowest)
    }
}

#[tokio::test]
async fn no_reader_notices_a_replica_that_is_killed_or_frozen() -> Result<()> {
    let mut bed = Bed::start(2, json!({}), 2, &[]).await?;
    bed.connection.query_drop("DO 1").await?;
    let mut readers = Readers::start(bed.port(), 12);
    readers.more(500).await?;
    bed.cluster.shards[0].replicas[0].process_mut().kill();
    readers.more(1000).await?;
    bed.cluster.shards[1].replicas[1]
        .process()
        .signal(Signal::STOP);
    readers.more(500).await?;
    tokio::time::sleep(Duration::from_secs(4)).await;
    readers.more(500).await?;
    // It goes on with what it was asked before: nobody wants to hear it any more.
    bed.cluster.shards[1].replicas[1]
        .process()
        .signal(Signal::CONT);
    readers.more(500).await?;
    let root = MysqlRoot::get()?;
    bed.cluster.shards[0].replicas[0]
        .start_again(
            &root,
            &replicated_options("shard-0", 1, &["--super-read-only=ON".to_owned()]),
        )
        .await?;
    readers.more(500).await?;
    let slowest = readers.finish().await?;
    ensure!(slowest < Duration::from_secs(4), "a read took {slowest:?}");
    let before = bed.reads().await?;
    bed.settled().await?;
    let mut readers = Readers::start(bed.port(), 4);
    readers.more(500).await?;
    readers.finish().await?;
    let after = bed.reads().await?;
    for shard in &bed.cluster.shards {
        for replica in &shard.replicas {
            let port = replica.port();
            ensure!(
                after[&port] > before[&port],
                "{port} is read no more: {after:?}"
            );
        }
    }
    let log = std::fs::read_to_string(bed.cluster.folder.path().join("sidecar.log"))?;
    ensure!(log.contains("A server's health changed"), "{log}");
    Ok(())
}

#[tokio::test]
async fn a_killed_or_frozen_primary_gives_quick_errors_and_nothing_runs_twice() -> Result<()> {
    let mut bed = Bed::start(1, json!({"maxReplicaLag": "1m"}), 1, &[]).await?;
    bed.connection
        .query_drop("CREATE TABLE mark (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, m BIGINT)")
        .await?;
    let port = bed.port();
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..6_u64)
        .map(|writer| {
            let stop = Arc::clone(&stop);
            tokio::spawn(async move {
                let (mut acknowledged, mut slowest) = (Vec::new(), Duration::ZERO);
                let mut connection = None;
                let mut mark = writer << 32;
                while !stop.load(Ordering::Relaxed) {
                    mark += 1;
                    let begun = Instant::now();
                    let outcome = async {
                        if connection.is_none() {
                            connection = Some(connect(port).await?);
                        }
                        let own = connection.as_mut().context("no connection")?;
                        own.query_drop(format!("INSERT INTO mark (m) VALUES ({mark})"))
                            .await?;
                        Ok::<_, anyhow::Error>(())
                    };
                    match outcome.await {
                        Ok(()) => acknowledged.push(mark),
                        Err(error) => {
                            let text = format!("{error:#}");
                            let honest = ["2013", "2003", "1053"];
                            ensure!(honest.iter().any(|code| text.contains(code)), "{text}");
                            connection = None;
                            tokio::time::sleep(Duration::from_millis(10)).await;
                        }
                    }
                    slowest = slowest.max(begun.elapsed());
                }
                Ok((acknowledged, slowest))
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(1)).await;
    bed.cluster.shards[0].primary.process_mut().kill();
    // Reads go on meanwhile.
    let mut readers = Readers::start(port, 4);
    readers.more(300).await?;
    let root = MysqlRoot::get()?;
    let options = replicated_options("shard-0", 0, &[]);
    bed.cluster.shards[0]
        .primary
        .start_again(&root, &options)
        .await?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    bed.cluster.shards[0].primary.process().signal(Signal::STOP);
    readers.more(300).await.with_context(|| bed.said())?;
    tokio::time::sleep(Duration::from_secs(9)).await;
    bed.cluster.shards[0].primary.process().signal(Signal::CONT);
    tokio::time::sleep(Duration::from_secs(3)).await;
    stop.store(true, Ordering::Relaxed);
    readers.finish().await.with_context(|| bed.said())?;
    let mut all = Vec::new();
    for writer in writers {
        let (acknowledged, slowest) = writer.await??;
        ensure!(!acknowledged.is_empty());
        ensure!(
            slowest < Duration::from_secs(9),
            "an error after {slowest:?}"
        );
        all.extend(acknowledged);
    }
    let mut primary = direct(&bed.cluster.shards[0].primary).await?;
    let twice: Vec<u64> = primary
        .query("SELECT m FROM shop.mark GROUP BY m HAVING COUNT(*) > 1")
        .await?;
    ensure!(twice.is_empty(), "ran twice: {twice:?}");
    let there: BTreeSet<u64> = primary
        .query::<u64, _>("SELECT m FROM shop.mark")
        .await?
        .into_iter()
        .collect();
    let lost: Vec<&u64> = all.iter().filter(|mark| !there.contains(mark)).collect();
    ensure!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    Ok(())
}

#[tokio::test]
async fn warnings_found_rows_and_errors_are_those_of_the_last_read() -> Result<()> {
    let mut bed = Bed::start(1, json!({}), 1, &[]).await?;
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
    let mut manifest = replicated(1, Value::Null);
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
