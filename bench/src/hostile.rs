//! What hostile clients cost the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use futures::future::try_join_all;
use remora_e2e::client::Login;
use remora_e2e::mysql::{MysqlRoot, MysqlServer};
use remora_e2e::process::raise_socket_limit;
use remora_e2e::shards::LocalShards;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::{Pace, Spread, say};

/// Clients that do as they should. A pause between statements leaves the machine's two cores to
/// what is measured: how long one of them waits.
const GOOD: usize = 8;
const PAUSE: Duration = Duration::from_millis(2);
/// Connects a second of those that come and go.
const FLOOD: u32 = 5_000;
/// Clients that began to log in and never end, or send half of something.
const SLOW: usize = 600;

/// The 99th percentile of one round, in microseconds: alone, and beside hostile clients.
#[derive(Clone, Copy, Debug)]
struct Round {
    alone: f64,
    beside: f64,
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct Hostile {
    rounds: Vec<Round>,
    connects: u64,
    memory: u64,
}

/// Measures both in turn.
///
/// # Errors
/// If something does not come up, or one of the good clients meets an error.
pub async fn measure(pace: Pace) -> Result<Hostile> {
    raise_socket_limit()?;
    let time = Duration::from_secs(if pace.quick { 3 } else { 15 });
    let manifest = json!({
        "apiVersion": "remora.dev/v1alpha1",
        "kind": "ShardingCluster",
        "metadata": {"name": "hostile"},
        "spec": {
            "shards": 1,
            "database": "shop",
            "tables": [{"name": "item", "sharding": {"key": ["id"], "algorithm": {"hash": {}}}}],
        },
    });
    let shards = LocalShards::start(&MysqlRoot::get()?, &manifest, &[]).await?;
    let port = shards.sidecar.port();
    let mut first = Login::new(port, MysqlServer::APPLICATION).connect().await?;
    for sql in [
        "CREATE TABLE item (id BIGINT NOT NULL PRIMARY KEY, v INT NOT NULL)",
        "INSERT INTO item VALUES (1, 1), (2, 2), (3, 3), (4, 4)",
    ] {
        first.query(sql).await?.one()?;
    }
    let before = shards.sidecar.process().resident_memory()?;
    let mut hostile = Hostile {
        rounds: Vec::new(),
        connects: 0,
        memory: 0,
    };
    for number in 1..=pace.rounds {
        let alone = apart(move || good(port, time))?;
        let (stop, connects) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let (until, counted) = (Arc::clone(&stop), Arc::clone(&connects));
        let evil = std::thread::spawn(move || in_runtime(attack(port, until, counted)));
        let beside = apart(move || good(port, time));
        let after = shards.sidecar.process().resident_memory()?;
        stop.store(true, Ordering::Relaxed);
        evil.join().map_err(|_| anyhow!("the attack panicked"))??;
        let round = Round {
            alone,
            beside: beside?,
        };
        say(&format!(
            "p99, round {number}: {:.0} µs alone, {:.0} µs beside hostile clients",
            round.alone, round.beside
        ));
        hostile.rounds.push(round);
        hostile.connects = connects.load(Ordering::Relaxed) / time.as_secs();
        hostile.memory = hostile.memory.max(after.saturating_sub(before));
    }
    Ok(hostile)
}

/// Runs clients on a thread of their own: others must not hold up their clocks.
fn apart<F: Future<Output = Result<f64>>>(
    work: impl FnOnce() -> F + Send + 'static,
) -> Result<f64> {
    let thread = std::thread::spawn(move || in_runtime(work()));
    thread.join().map_err(|_| anyhow!("a client panicked"))?
}

fn in_runtime<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(work)
}

/// The 99th percentile of a point select, in microseconds.
async fn good(port: u16, time: Duration) -> Result<f64> {
    let login = Login::new(port, MysqlServer::APPLICATION);
    let end = Instant::now() + time;
    let clients = (0..GOOD).map(async |_| {
        let mut client = login.connect().await?;
        let mut waits = Vec::new();
        while Instant::now() < end {
            let began = Instant::now();
            client
                .query("SELECT v FROM item WHERE id = 3")
                .await?
                .rows()?;
            waits.push(began.elapsed());
            tokio::time::sleep(PAUSE).await;
        }
        anyhow::Ok(waits)
    });
    let mut waits = try_join_all(clients).await?.concat();
    waits.sort_unstable();
    let at = waits.len() * 99 / 100;
    let wait = waits.get(at).context("no statement ran")?;
    Ok(wait.as_secs_f64() * 1e6)
}

/// Everything at once, until it is told to stop.
async fn attack(port: u16, stop: Arc<AtomicBool>, connects: Arc<AtomicU64>) -> Result<()> {
    let mut slow = Vec::new();
    for number in 0..SLOW {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
        if number % 2 == 0 {
            // A packet's head, and less than it announces.
            stream.write_all(&[200, 0, 0, 1, 0]).await?;
        }
        slow.push(stream);
    }
    let began = Instant::now();
    let mut number = 0_u32;
    while !stop.load(Ordering::Relaxed) {
        let due = began + Duration::from_secs(1) * number / FLOOD;
        tokio::time::sleep_until(due.into()).await;
        number += 1;
        let connects = Arc::clone(&connects);
        tokio::spawn(async move {
            let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)).await else {
                return;
            };
            connects.fetch_add(1, Ordering::Relaxed);
            // Whatever becomes of it: the next one comes.
            match number % 16 {
                // A wrong sequence, and a length that no login has.
                0 => drop(stream.write_all(&[1, 0, 0, 9, 0]).await),
                8 => drop(stream.write_all(&[255, 255, 255, 1]).await),
                4 => drop(stream.read_u8().await),
                _ => {}
            }
        });
    }
    drop(slow);
    Ok(())
}

impl Hostile {
    /// As a part of the page.
    #[must_use]
    pub fn markdown(&self) -> String {
        let of = |value: fn(&Round) -> f64| Spread::of(self.rounds.iter().map(value));
        format!(
            "## Hostile clients\n\n{GOOD} clients with a point select every {} ms, alone and beside \
             {SLOW} that never end their login and {FLOOD} connects a second ({} came about) that \
             end at once, send a wrong sequence or a huge length; all on the same machine, in \
             turn.\n\n\
             | | alone | beside them | ratio (goal: at most 2) |\n| --- | --- | --- | --- |\n\
             | p99, µs | {:.0} | {:.0} | {:.2} × |\n| RSS | | + {:.1} MB | |\n",
            PAUSE.as_millis(),
            self.connects,
            of(|round| round.alone),
            of(|round| round.beside),
            of(|round| round.beside / round.alone),
            self.memory as f64 / 1e6,
        )
    }
}
