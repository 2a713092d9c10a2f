//! A soak: many sessions over few connections do at random what sessions can do, and all that
//! comes back carries its session's mark and is what the session's own client knows.

mod answers;
mod history;
mod leaks;
mod leaving;
mod memory;
mod model;
mod rows;
mod session;
mod settings;
mod state;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use session::Session;
use settings::{Defaults, defaults};

use crate::client::{Client, Login};
use crate::mysql::{Account, MysqlRoot, MysqlServer};
use crate::process::{raise_socket_limit, resident_memory};
use crate::shards::{LocalShards, with_few_connections};

pub use memory::Memory;

/// What ends a statement comes on a connection of its own, beside those that are shared, and goes
/// at once.
const KILLERS: u64 = 10;

/// How long, and how many.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Where chance begins. The order in which sessions come to their turns is not in it.
    pub seed: u64,
    /// How long sessions work.
    pub duration: Duration,
    /// How many sessions there are.
    pub sessions: usize,
    /// How many connections to each server they share.
    pub connections: u32,
    /// How much memory may grow over the second half, in bytes.
    pub growth: f64,
}

/// What was done.
#[derive(Clone, Debug)]
pub struct Report {
    /// How often each step was done.
    pub steps: BTreeMap<Step, u64>,
    /// The sidecar's memory.
    pub memory: Memory,
    /// The most connections that one server had for the sessions.
    pub connections: u64,
}

/// What a session does.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[expect(
    missing_docs,
    reason = "the names say it, and the methods of the session more"
)]
pub enum Step {
    Look,
    LookPrepared,
    Set,
    Variable,
    Assign,
    Into,
    Insert,
    Update,
    Delete,
    ReadOwn,
    FoundRows,
    Note,
    InsertId,
    Warning,
    Failure,
    Several,
    Prepare,
    Close,
    LongData,
    Use,
    Temporary,
    Lock,
    Transaction,
    Kill,
    Pause,
    Reset,
    ChangeUser,
    Quit,
    LeaveAsleep,
    LeaveHalfRead,
}

/// What all sessions know.
#[derive(Debug)]
struct Shared {
    port: u16,
    begun: Instant,
    until: Instant,
    defaults: Defaults,
    /// Sessions that hold what keeps them on their connections: fewer than there are
    /// connections, or nobody else could go on.
    pins: Arc<Semaphore>,
}

impl Shared {
    fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    fn login(&self, account: Account) -> Login {
        Login::new(self.port, account)
    }
}

/// The servers and what was there before the sessions.
#[derive(Debug)]
struct Soak {
    options: Options,
    shards: LocalShards,
    /// Files and sockets of the sidecar.
    descriptors: usize,
}

/// Two shards, and a table on both of them that makes its keys.
fn manifest() -> Value {
    json!({
        "apiVersion": "remora.dev/v1alpha1",
        "kind": "ShardingCluster",
        "metadata": {"name": "soak", "annotations": {"e2e/guest": "yes"}},
        "spec": {
            "shards": 2,
            "database": "shop",
            "tables": [{
                "name": "item",
                "sharding": {"key": ["id"], "algorithm": {"hash": {}}, "tablesPerShard": 2},
                "generatedKey": {"column": "id", "type": "Sequence"},
            }],
        },
    })
}

/// Runs a soak.
///
/// # Errors
/// At the first thing that is another session's, or lost, or left behind, with what the session
/// said last.
pub async fn run(options: Options) -> Result<Report> {
    raise_socket_limit()?;
    let manifest = with_few_connections(manifest(), options.connections);
    let flags = [
        "--max-connections=2000",
        // Who holds which lock.
        "--performance-schema=ON",
    ]
    .map(str::to_owned);
    let shards = LocalShards::start(&MysqlRoot::get()?, &manifest, &flags).await?;
    let descriptors = leaks::descriptors(shards.sidecar.process().pid())?;
    let soak = Soak {
        options,
        shards,
        descriptors,
    };
    let shared = soak.prepare().await?;
    let work = soak.work(&shared);
    let (sessions, (memory, connections)) = tokio::try_join!(work, soak.watch(&shared))?;
    soak.nothing_is_left().await?;
    soak.rows_are_there(&shared, &sessions).await?;
    memory.is_flat(options.growth)?;
    let mut steps = BTreeMap::new();
    for session in &sessions {
        for (step, count) in &session.done {
            *steps.entry(*step).or_default() += count;
        }
    }
    Ok(Report {
        steps,
        memory,
        connections,
    })
}

impl Soak {
    /// How many connections to one server there may be, also when all sessions are over.
    fn most_connections(&self) -> u64 {
        self.options.connections.into()
    }

    /// Makes tables and the second user.
    async fn prepare(&self) -> Result<Arc<Shared>> {
        let guest = MysqlServer::GUEST;
        for server in &self.shards.servers {
            let mut client = leaks::past(server).await?;
            for sql in [
                format!(
                    "CREATE USER {} IDENTIFIED BY '{}'",
                    guest.name, guest.password
                ),
                format!("GRANT {} TO {}", guest.grants, guest.name),
            ] {
                client.query(&sql).await?.one()?;
            }
        }
        let port = self.shards.sidecar.port();
        let mut client = Login::new(port, MysqlServer::APPLICATION).connect().await?;
        let defaults = defaults(&mut client).await?;
        let mut statements = vec![
            "CREATE TABLE item (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, \
             owner VARCHAR(16) NOT NULL, n BIGINT NOT NULL, KEY (owner))"
                .to_owned(),
            "CREATE TABLE digit (n INT NOT NULL PRIMARY KEY)".to_owned(),
            "INSERT INTO digit VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)".to_owned(),
            "CREATE DATABASE side".to_owned(),
        ];
        for place in model::DATABASES {
            statements.push(format!(
                "CREATE TABLE {place}.note (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, \
                 owner VARCHAR(16) NOT NULL, text VARCHAR(64) NOT NULL, \
                 place VARCHAR(16) NOT NULL DEFAULT '{place}')"
            ));
        }
        for sql in statements {
            client.query(&sql).await?.one().context(sql)?;
        }
        client.quit().await?;
        let begun = Instant::now();
        Ok(Arc::new(Shared {
            port,
            begun,
            until: begun + self.options.duration,
            defaults,
            pins: Arc::new(Semaphore::new(self.options.connections as usize / 2)),
        }))
    }

    /// Lets the sessions live.
    async fn work(&self, shared: &Arc<Shared>) -> Result<Vec<Session>> {
        let mut lives = JoinSet::new();
        for number in 0..self.options.sessions {
            let (shared, seed) = (Arc::clone(shared), self.options.seed);
            lives.spawn(async move {
                let session = Session::begin(shared, number, seed).await?;
                session.live().await
            });
        }
        let mut sessions = Vec::new();
        while let Some(session) = lives.join_next().await {
            sessions.push(session??);
        }
        Ok(sessions)
    }

    /// Looks at the sidecar's memory and at its connections until the time is over.
    async fn watch(&self, shared: &Shared) -> Result<(Memory, u64)> {
        let mut memory = Memory::default();
        let mut connections = 0;
        let mut servers: Vec<Client> = Vec::new();
        for server in &self.shards.servers {
            servers.push(leaks::past(server).await?);
        }
        let pid = self.shards.sidecar.process().pid();
        while !shared.is_over() {
            memory.note(resident_memory(pid).context("the sidecar is gone")?);
            for server in &mut servers {
                connections = connections.max(leaks::connections(server).await?);
            }
            let most = self.most_connections() + KILLERS;
            ensure!(
                connections <= most,
                "{connections} connections to one server, and {most} are allowed"
            );
            tokio::time::sleep(Memory::EVERY).await;
        }
        Ok((memory, connections))
    }

    /// Whether all rows that were committed are there, and no others.
    async fn rows_are_there(&self, shared: &Shared, sessions: &[Session]) -> Result<()> {
        let mut client = shared.login(MysqlServer::APPLICATION).connect().await?;
        let rows = client
            .query("SELECT id, owner, n FROM item ORDER BY id")
            .await?
            .rows()?;
        let mut expected: Vec<_> = sessions
            .iter()
            .flat_map(|session| {
                let own = |(id, n): (&u64, &i64)| (*id, session.mark.clone(), *n);
                session.rows.iter().map(own)
            })
            .collect();
        expected.sort_unstable();
        let expected: Vec<_> = expected
            .into_iter()
            .map(|(id, owner, n)| [id.to_string(), owner, n.to_string()].map(Some).to_vec())
            .collect();
        ensure!(
            rows == expected,
            "{} rows are there, and {} were committed",
            rows.len(),
            expected.len()
        );
        Ok(())
    }
}
