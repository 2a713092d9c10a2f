//! Looking after the servers: a task for each of them asks how it is, at least once a second.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use remora_crds::{Reads, Role};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout};

use super::breaker::State;
use super::fleet::Member;
use super::freshness::{Freshness, Notes};
use super::gtid::GtidSet;
use super::server::{Health, Server};
use crate::backend::{Backend, BackendError, Table};
use crate::locked::locked;
use crate::pool::is_full;
use crate::proxy::Proxy;
use crate::system::login;
use crate::world::World;

/// How long a server may take to answer, or to let the monitor in. Longer, and it counts as silent.
const PATIENCE: Duration = Duration::from_secs(1);
/// The longest pause between two looks.
const PAUSE: Duration = Duration::from_millis(500);
/// MySQL's number for a right that an account lacks.
const MAY_NOT: u16 = 1227;

const STATE: &[u8] =
    b"SELECT @@GLOBAL.read_only, @@GLOBAL.super_read_only, @@GLOBAL.gtid_executed LIMIT 1";
const REPLICATION: &[u8] = b"SHOW REPLICA STATUS";

/// What the primary of each shard had executed, for those who look at its replicas.
#[derive(Debug, Default)]
struct Histories(Mutex<HashMap<usize, History>>);

#[derive(Debug, Default)]
struct History {
    /// Whose notes they are.
    primary: Option<Arc<Server>>,
    notes: Notes,
}

impl Histories {
    fn with<T>(&self, shard: usize, run: impl FnOnce(&mut History) -> T) -> T {
        let mut histories = locked(&self.0);
        run(histories.entry(shard).or_default())
    }

    fn note(&self, member: &Member, at: Instant, executed: &Arc<GtidSet>) {
        self.with(member.server.address().shard, |history| {
            let same = history
                .primary
                .as_ref()
                .is_some_and(|known| Arc::ptr_eq(known, &member.server));
            if !same {
                history.notes.clear();
                history.primary = Some(Arc::clone(&member.server));
            }
            history.notes.put(at.into_std(), Arc::clone(executed));
        });
    }

    fn freshness(&self, shard: usize, executed: &GtidSet) -> Freshness {
        self.with(shard, |history| history.notes.freshness(executed))
    }
}

impl Proxy {
    /// Looks after the servers for as long as the process lives.
    pub async fn watch_servers(self: Arc<Self>) {
        let histories = Arc::new(Histories::default());
        let mut tasks: HashMap<usize, (Arc<Server>, AbortHandle)> = HashMap::new();
        let mut changed = self.worlds();
        loop {
            changed.borrow_and_update();
            let world = self.world();
            let watched = watched(&world);
            tasks.retain(|_, (server, task)| {
                let kept = watched.iter().any(|other| Arc::ptr_eq(other, server));
                if !kept {
                    task.abort();
                }
                kept
            });
            for server in watched {
                let key = Arc::as_ptr(&server) as usize;
                tasks.entry(key).or_insert_with(|| {
                    let task = watch(
                        Arc::clone(&self),
                        Arc::clone(&server),
                        Arc::clone(&histories),
                    );
                    (server, tokio::spawn(task).abort_handle())
                });
            }
            drop(world);
            if changed.changed().await.is_err() {
                return;
            }
        }
    }
}

/// The servers to look after.
fn watched(world: &World) -> Vec<Arc<Server>> {
    let members = world.fleets.iter().flat_map(|fleet| &fleet.members);
    members
        .filter(|_| world.is_watched() && world.snapshot.connections.through().is_none())
        .map(|member| Arc::clone(&member.server))
        .collect()
}

/// Looks at one server again and again.
async fn watch(proxy: Arc<Proxy>, server: Arc<Server>, histories: Arc<Histories>) {
    let mut connection = None;
    loop {
        let world = proxy.world();
        let shard = server.address().shard;
        let member = world.fleets.get(shard).and_then(|fleet| {
            let mut members = fleet.members.iter();
            members.find(|member| Arc::ptr_eq(&member.server, &server))
        });
        // Gone from the topology: whoever started this task ends it.
        if let Some(member) = member {
            look(&world, member, &histories, &mut connection).await;
        }
        let pause = pause(world.snapshot.spec.reads.as_ref());
        drop(world);
        sleep(pause).await;
    }
}

/// The pause before the next look, a little different each time: sidecars that start together
/// must not ask together for ever.
fn pause(reads: Option<&Reads>) -> Duration {
    let lag: Option<Duration> = reads.map(|reads| reads.max_replica_lag.into());
    let pause = lag.map_or(PAUSE, |lag| (lag / 8).min(PAUSE));
    pause.mul_f64(rand::random_range(0.8..1.2))
}

async fn look(
    world: &World,
    member: &Member,
    histories: &Histories,
    connection: &mut Option<Backend>,
) {
    let server = &member.server;
    match ask(world, member, connection).await {
        Ok(seen) => {
            server.succeeded();
            judge(member, histories, seen);
        }
        Err(Trouble::Refused(reason)) => {
            server.succeeded();
            server.learn(Health::Refused, None, &reason);
        }
        // It is there; how it is stays as it was known.
        Err(Trouble::Full) => server.succeeded(),
        Err(Trouble::Silent(reason)) => {
            server.failed(&reason);
            server.learn(Health::Down, None, &reason);
            // Those who wait for a primary may be in a transaction: they wait until it is given up.
            if member.instance.role == Role::Replica || server.breaker() == State::Open {
                server.cut();
            }
        }
    }
}

/// Why a server did not say how it is.
enum Trouble {
    /// It is there, but not for the system account.
    Refused(String),
    /// It has no room for the monitor's connection.
    Full,
    /// It is not there, or does not answer in time.
    Silent(String),
}

impl From<BackendError> for Trouble {
    fn from(error: BackendError) -> Self {
        match error {
            full if is_full(&full) => Self::Full,
            BackendError::Server { .. } => Self::Refused(error.to_string()),
            other => Self::Silent(other.to_string()),
        }
    }
}

/// What a server said of itself.
struct Seen {
    at: Instant,
    read_only: bool,
    executed: Arc<GtidSet>,
    /// Why a replica does not follow.
    stopped: Option<String>,
}

fn judge(member: &Member, histories: &Histories, seen: Seen) {
    let server = &member.server;
    let Seen {
        at,
        read_only,
        executed,
        stopped,
    } = seen;
    server.has_executed(Arc::clone(&executed));
    match member.instance.role {
        Role::Primary => {
            if read_only {
                let error = "the primary is read only";
                return server.learn(Health::WrongRole, None, error);
            }
            histories.note(member, at, &executed);
            server.learn(Health::Up, None, "");
        }
        Role::Replica => {
            let freshness = Some(histories.freshness(server.address().shard, &executed));
            match stopped {
                _ if !read_only => {
                    let error = "the replica takes writes: it is not read_only";
                    server.learn(Health::WrongRole, freshness, error);
                }
                Some(error) => server.learn(Health::NotFollowing, freshness, &error),
                None => server.learn(Health::Up, freshness, ""),
            }
        }
    }
}

/// Asks a server how it is.
async fn ask(
    world: &World,
    member: &Member,
    connection: &mut Option<Backend>,
) -> Result<Seen, Trouble> {
    let mut backend = match connection.take() {
        Some(backend) if !backend.is_broken() => backend,
        _ => {
            let opened = world.connect_monitor(member, login(world));
            match timeout(PATIENCE, opened).await {
                Ok(Ok(backend)) => backend,
                Ok(Err(error)) => return Err(error.into()),
                Err(_) => return Err(silent()),
            }
        }
    };
    let at = Instant::now();
    let state = match timeout(PATIENCE, backend.table(STATE)).await {
        Ok(Ok(Ok(state))) => state,
        Ok(Ok(Err(error))) => return Err(Trouble::Refused(error.to_string())),
        Ok(Err(error)) => return Err(error.into()),
        Err(_) => return Err(silent()),
    };
    let executed =
        GtidSet::parse(&state.text(2)).map_err(|error| Trouble::Refused(error.to_string()))?;
    let mut seen = Seen {
        at,
        read_only: state.text(0) == "1",
        executed: Arc::new(executed),
        stopped: None,
    };
    if member.instance.role == Role::Replica {
        // STOP REPLICA holds this up, which is no silence of the server.
        match timeout(PATIENCE, backend.table(REPLICATION)).await {
            Ok(Ok(Ok(status))) => seen.stopped = stopped(&status),
            Ok(Ok(Err(error))) if error.code == MAY_NOT => {
                seen.stopped = Some(
                    "nobody may see whether it follows: GRANT REPLICATION CLIENT ON *.* to the \
                     topology's system account"
                        .to_owned(),
                );
            }
            Ok(Ok(Err(error))) => seen.stopped = Some(error.to_string()),
            Ok(Err(BackendError::Lost { .. })) | Err(_) => {
                seen.stopped = Some("SHOW REPLICA STATUS is not answered".to_owned());
                return Ok(seen);
            }
            Ok(Err(error)) => return Err(error.into()),
        }
    }
    *connection = Some(backend);
    Ok(seen)
}

fn silent() -> Trouble {
    Trouble::Silent(format!("no answer within {} s", PATIENCE.as_secs()))
}

/// Why a replica does not follow, by its SHOW REPLICA STATUS: a row for each channel. Texts of
/// errors may hold rows' values, so that only their numbers are told.
fn stopped(status: &Table) -> Option<String> {
    if status.rows.is_empty() {
        return Some("it replicates from nowhere".to_owned());
    }
    (0..status.rows.len()).find_map(|row| {
        let text = |name: &str| status.named(row, name).unwrap_or_default();
        // `Connecting` is no stop: what it has is as old as the primary was last seen to have it.
        if text("Replica_IO_Running") == "No" {
            let number = text("Last_IO_Errno");
            return Some(format!("its receiver is stopped (error {number})"));
        }
        if text("Replica_SQL_Running") != "Yes" {
            let number = text("Last_SQL_Errno");
            return Some(format!("its applier is stopped (error {number})"));
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(rows: &[[&str; 2]]) -> Table {
        let row = |row: &[&str; 2]| row.iter().map(|v| Some(v.as_bytes().to_vec())).collect();
        Table {
            names: ["Replica_IO_Running", "Replica_SQL_Running"]
                .map(str::to_owned)
                .to_vec(),
            kinds: Vec::new(),
            rows: rows.iter().map(row).collect(),
        }
    }

    #[test]
    fn a_replica_follows_if_neither_of_its_threads_is_stopped() {
        for (row, follows) in [
            (["Yes", "Yes"], true),
            (["Connecting", "Yes"], true),
            (["No", "Yes"], false),
            (["Yes", "No"], false),
        ] {
            assert_eq!(stopped(&status(&[row])).is_none(), follows, "{row:?}");
        }
        assert!(stopped(&status(&[])).is_some());
        assert!(stopped(&status(&[["Yes", "Yes"], ["Yes", "No"]])).is_some());
    }

    #[test]
    fn replicas_are_asked_several_times_in_the_lag_that_they_may_have() {
        let reads: Reads = serde_saphyr::from_str("{maxReplicaLag: 1s}").unwrap();
        for _ in 0..100 {
            assert!(pause(Some(&reads)) <= Duration::from_millis(150));
            assert!(pause(None) <= Duration::from_millis(600));
        }
    }
}
