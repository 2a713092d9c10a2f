//! Seeded bank transfers while sidecars and servers are killed: the sum stays, and what was
//! acknowledged is there.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use remora_e2e::mysql::ServerOptions;
use remora_e2e::process::free_port;
use remora_e2e::sidecar::Sidecar;

use super::*;

/// Runs, each with a seed of its own.
const RUNS: u64 = 30;
/// Clients that transfer at once.
const CLIENTS: u64 = 4;
/// How long a run lasts.
const LASTS: Duration = Duration::from_secs(2);
/// Every so many runs a server is killed as well.
const SERVER_EVERY: u64 = 5;
/// After so many runs it is waited until what they left behind is ended, and counted.
const COUNT_EVERY: u64 = 5;

/// Transfers one after the other until told to stop; gives the marks of those that were
/// acknowledged.
async fn transfer(
    port: u16,
    seed: u64,
    marks: std::ops::Range<u64>,
    stop: Arc<AtomicBool>,
) -> Vec<u64> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut acknowledged = Vec::new();
    let mut connection = None;
    for mark in marks {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let (from, to) = (random.random_range(1..=20), random.random_range(1..=20));
        let by = random.random_range(1..=5);
        let mut own = match connection.take() {
            Some(own) => own,
            None => match connect(port).await {
                Ok(own) => own,
                Err(_) => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                }
            },
        };
        let steps = [
            "BEGIN".to_owned(),
            format!("UPDATE account SET amount = amount - {by} WHERE id = {from}"),
            format!("UPDATE account SET amount = amount + {by} WHERE id = {to}"),
            format!("INSERT INTO account VALUES ({mark}, 0)"),
            "COMMIT".to_owned(),
        ];
        let mut outcome = Ok(());
        for sql in steps {
            outcome = own.query_drop(sql).await;
            if outcome.is_err() {
                break;
            }
        }
        match outcome {
            Ok(()) => {
                acknowledged.push(mark);
                connection = Some(own);
            }
            Err(Error::Server(_)) if own.query_drop("ROLLBACK").await.is_ok() => {
                connection = Some(own);
            }
            Err(_) => {}
        }
    }
    acknowledged
}

#[tokio::test]
async fn thirty_runs_of_transfers_with_kills_keep_the_sum_and_all_that_was_acknowledged()
-> Result<()> {
    let root = MysqlRoot::get()?;
    let (mut shards, connection) = started().await?;
    connection.disconnect().await?;
    let ports: Vec<u16> = shards.servers.iter().map(MysqlServer::port).collect();
    let folder = tempfile::tempdir()?;
    let (port, admin) = (free_port()?, free_port()?);
    let mut all: BTreeSet<u64> = BTreeSet::new();
    for seed in 0..RUNS {
        let mut sidecar =
            Sidecar::start_on(folder.path(), &manifest(), &ports, port, admin).await?;
        let stop = Arc::new(AtomicBool::new(false));
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let first = 1000 + (seed * CLIENTS + client) * 100_000;
                let marks = first..first + 100_000;
                tokio::spawn(transfer(port, seed * CLIENTS + client, marks, stop.clone()))
            })
            .collect();
        let mut random = StdRng::seed_from_u64(seed);
        let begun = Instant::now();
        while begun.elapsed() < LASTS {
            let pause = random.random_range(100..700);
            tokio::time::sleep(Duration::from_millis(pause)).await;
            if seed % SERVER_EVERY == 0 && random.random_bool(0.3) {
                let server = random.random_range(0..shards.servers.len());
                let mut options = ServerOptions::named(&format!("shard-{server}"));
                options.flags = durable();
                let killed = &mut shards.servers[server];
                killed.process_mut().kill();
                killed.start_again(&root, &options).await?;
            } else {
                sidecar.kill();
                sidecar =
                    Sidecar::start_on(folder.path(), &manifest(), &ports, port, admin).await?;
            }
        }
        stop.store(true, Ordering::Relaxed);
        for client in clients {
            all.extend(client.await?);
        }
        drop(sidecar);
        if (seed + 1) % COUNT_EVERY != 0 {
            continue;
        }
        settled(&shards.servers)
            .await
            .with_context(|| format!("run {seed}"))?;
        let mut observer = connect(shards.sidecar.port()).await?;
        let sum: Option<i64> = observer
            .query_first("SELECT SUM(amount) FROM account")
            .await?;
        ensure!(sum == Some(2000), "run {seed}: the sum is {sum:?}");
        let there: Vec<u64> = observer
            .query("SELECT id FROM account WHERE amount = 0 AND id >= 1000")
            .await?;
        let there: BTreeSet<u64> = there.into_iter().collect();
        let lost: Vec<_> = all.difference(&there).collect();
        ensure!(
            lost.is_empty(),
            "run {seed}: acknowledged and lost: {lost:?}"
        );
    }
    ensure!(all.len() > 300, "only {} transfers", all.len());
    println!("{} transfers were acknowledged", all.len());
    Ok(())
}
