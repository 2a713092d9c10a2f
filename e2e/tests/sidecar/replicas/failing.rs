//! Servers that die or freeze under load.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use mysql_async::Params;
use remora_e2e::replication::replicated_options;
use rustix::process::Signal;

use super::*;

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
    let mut bed = Bed::start(2, &json!({}), 2, &[]).await?;
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
    let mut bed = Bed::start(1, &json!({"maxReplicaLag": "1m"}), 1, &[]).await?;
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
