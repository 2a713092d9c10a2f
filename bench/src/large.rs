//! A result of 1 GB: what it costs a sidecar whose client is slow, and how fast it is otherwise.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use remora_e2e::client::{Client, Login};
use remora_e2e::mysql::{MysqlRoot, MysqlServer};
use remora_e2e::process::resident_memory;
use remora_e2e::shards::LocalShards;
use remora_protocol::Command;
use serde_json::json;
use tempfile::TempDir;

use crate::{Haproxy, Pace, Protocol, Spread, say};

/// What a result is at least, in bytes.
const SIZE: u64 = 1 << 30;
/// How much RSS may grow while a slow client reads.
const GOAL: u64 = 16 << 20;
/// How long a slow client does nothing at first: whatever buffers there are fill up.
const STANDSTILL: Duration = Duration::from_secs(3);
/// What a slow client reads each second, in bytes.
const SLOW: u64 = 64 << 20;

/// One of the results.
#[derive(Clone, Copy, Debug)]
struct Case {
    name: &'static str,
    sql: &'static str,
}

/// A million rows of a kilobyte, and a thousand of a megabyte, from one server; and the former
/// from both shards, merged.
const CASES: [Case; 3] = [
    Case {
        name: "rows of 1 KB, one shard",
        sql: "SELECT REPEAT('x', 1100) FROM digit a, digit b, digit c, digit d, digit e, digit f",
    },
    Case {
        name: "rows of 1 MB, one shard",
        sql: "SELECT REPEAT('x', 1100000) FROM digit a, digit b, digit c",
    },
    Case {
        name: "rows of 1 KB, two shards merged",
        sql: "SELECT i.id, REPEAT('x', 1100) FROM item i, country a, country b, country c, country d \
              WHERE i.id >= 0",
    },
];

/// How far RSS grew for a slow client.
#[derive(Clone, Debug)]
struct Grown {
    case: &'static str,
    protocol: Protocol,
    bytes: u64,
}

/// Megabytes a second of each round: through Remora, through HAProxy, directly.
#[derive(Clone, Debug)]
struct Speed {
    case: &'static str,
    protocol: Protocol,
    rounds: Vec<[f64; 3]>,
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct Large {
    grown: Vec<Grown>,
    speed: Vec<Speed>,
}

/// Measures slow clients, and fast ones beside HAProxy.
///
/// # Errors
/// If something does not come up.
pub async fn measure(pace: Pace) -> Result<Large> {
    let manifest = json!({
        "apiVersion": "remora.dev/v1alpha1",
        "kind": "ShardingCluster",
        "metadata": {"name": "large"},
        "spec": {
            "shards": 2,
            "database": "shop",
            "tables": [
                {"name": "item", "sharding": {"key": ["id"], "algorithm": {"hash": {}}}},
                {"name": "country", "broadcast": true},
            ],
        },
    });
    let shards = LocalShards::start(&MysqlRoot::get()?, &manifest, &[]).await?;
    let ours = Login::new(shards.sidecar.port(), MysqlServer::APPLICATION);
    let direct = Login::new(shards.servers[0].port(), MysqlServer::APPLICATION);
    fill(&ours).await?;
    let pid = shards.sidecar.process().pid();
    let mut grown = Vec::new();
    for case in CASES {
        for protocol in [Protocol::Text, Protocol::Prepared] {
            let bytes = slowly(&ours, case, protocol, pid).await?;
            say(&format!(
                "slow, {}, {}: RSS grew by {:.1} MB",
                case.name,
                protocol.name(),
                bytes as f64 / 1e6
            ));
            grown.push(Grown {
                case: case.name,
                protocol,
                bytes,
            });
        }
    }
    let folder = TempDir::with_prefix("remora-haproxy-")?;
    let haproxy = Haproxy::start(folder.path(), shards.servers[0].port()).await?;
    let beside = Login::new(haproxy.contender().port, MysqlServer::APPLICATION);
    let mut speed = Vec::new();
    // One server has them all, so that HAProxy has them too.
    for case in &CASES[..2] {
        for protocol in [Protocol::Text, Protocol::Prepared] {
            let mut rounds = Vec::new();
            for _ in 0..pace.rounds {
                let mut round = [0.0; 3];
                for (login, megabytes) in [&ours, &beside, &direct].into_iter().zip(&mut round) {
                    *megabytes = fast(login, *case, protocol).await?;
                }
                say(&format!(
                    "fast, {}, {}: {round:.0?} MB/s",
                    case.name,
                    protocol.name()
                ));
                rounds.push(round);
            }
            speed.push(Speed {
                case: case.name,
                protocol,
                rounds,
            });
        }
    }
    Ok(Large { grown, speed })
}

/// Ten digits on one server; a hundred items on both shards and ten countries on each.
async fn fill(login: &Login) -> Result<()> {
    let mut client = login.connect().await?;
    let digits = "(0), (1), (2), (3), (4), (5), (6), (7), (8), (9)";
    let items: Vec<String> = (0..100).map(|id| format!("({id})")).collect();
    for sql in [
        "CREATE TABLE digit (n INT NOT NULL PRIMARY KEY)".to_owned(),
        "CREATE TABLE country (n INT NOT NULL PRIMARY KEY)".to_owned(),
        "CREATE TABLE item (id BIGINT NOT NULL PRIMARY KEY)".to_owned(),
        format!("INSERT INTO digit VALUES {digits}"),
        format!("INSERT INTO country VALUES {digits}"),
        format!("INSERT INTO item VALUES {}", items.join(", ")),
    ] {
        client.query(&sql).await?.one().context(sql)?;
    }
    Ok(())
}

/// Asks for a result and reads nothing of it.
async fn ask(login: &Login, case: Case, protocol: Protocol) -> Result<Client> {
    let mut client = login.connect().await?;
    match protocol {
        Protocol::Text => client.send(&Command::Query(case.sql.as_bytes())).await?,
        Protocol::Prepared => {
            let statement = client
                .prepare(case.sql)
                .await?
                .map_err(|error| anyhow::anyhow!("{error}"))?;
            client.send_execute(statement, &[]).await?;
        }
    }
    Ok(client)
}

/// How much more memory the process `pid` takes while a client is slow.
async fn slowly(login: &Login, case: Case, protocol: Protocol, pid: u32) -> Result<u64> {
    // What is made once, such as plans and a connection, belongs to no result.
    drop(
        login
            .connect()
            .await?
            .query("SELECT COUNT(*) FROM item")
            .await?,
    );
    let before = resident_memory(pid)?;
    let mut client = ask(login, case, protocol).await?;
    let mut most = before;
    let until = Instant::now() + STANDSTILL;
    while Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(50)).await;
        most = most.max(resident_memory(pid)?);
    }
    let begin = Instant::now();
    let size = client
        .count_bytes(async |count| {
            let due = Duration::from_secs_f64(count as f64 / SLOW as f64);
            let early = due.saturating_sub(begin.elapsed());
            if early > Duration::from_millis(20) {
                tokio::time::sleep(early).await;
                most = most.max(resident_memory(pid).unwrap_or_default());
            }
        })
        .await?;
    ensure!(size >= SIZE, "{size} bytes");
    Ok(most - before)
}

/// Megabytes a second for a client that reads as fast as it can.
async fn fast(login: &Login, case: Case, protocol: Protocol) -> Result<f64> {
    let begin = Instant::now();
    let mut client = ask(login, case, protocol).await?;
    let size = client.count_bytes(async |_| {}).await?;
    ensure!(size >= SIZE, "{size} bytes");
    Ok(size as f64 / 1e6 / begin.elapsed().as_secs_f64())
}

impl Large {
    /// As a part of the page.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut page = format!(
            "## A result of 1 GB\n\nA slow client reads nothing for {} s, then {} MB a second. How \
             much the sidecar's RSS grew (goal: at most {} MB):\n\n| | text | prepared |\n\
             | --- | --- | --- |\n",
            STANDSTILL.as_secs(),
            SLOW >> 20,
            GOAL >> 20,
        );
        for case in CASES {
            let of = |protocol| {
                let mut all = self.grown.iter();
                let found = all.find(|grown| grown.case == case.name && grown.protocol == protocol);
                found.map_or(0.0, |grown| grown.bytes as f64 / f64::from(1 << 20))
            };
            page += &format!(
                "| {} | {:.1} MB | {:.1} MB |\n",
                case.name,
                of(Protocol::Text),
                of(Protocol::Prepared)
            );
        }
        page += "\nA client that reads as fast as it can, in MB a second; the ratio is that of each \
                 round.\n\n| | Remora | HAProxy | direct | to HAProxy (goal: at least 0.9) |\n\
                 | --- | --- | --- | --- | --- |\n";
        for Speed {
            case,
            protocol,
            rounds,
        } in &self.speed
        {
            let of = |value: fn(&[f64; 3]) -> f64| Spread::of(rounds.iter().map(value));
            page += &format!(
                "| {case}, {} | {} | {} | {} | {:.2} × |\n",
                protocol.name(),
                of(|round| round[0]),
                of(|round| round[1]),
                of(|round| round[2]),
                of(|round| round[0] / round[1]),
            );
        }
        page
    }
}
