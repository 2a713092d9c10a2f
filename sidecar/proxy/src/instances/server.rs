//! What the process knows of one MySQL server, whoever learned it.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use remora_crds::Resilience;
use rustix::net::{Shutdown, shutdown};
use tokio::sync::Notify;

use super::breaker::{Breaker, Limits, State};
use super::freshness::Freshness;
use super::gtid::GtidSet;
use crate::locked::locked;
use crate::pool::Pool;
use crate::telemetry::ServerGauges;

/// Moments are kept as numbers that sessions read without a lock.
static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

/// A MySQL server of a shard, by its address.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) struct Address {
    /// The shard.
    pub(crate) shard: usize,
    /// Host name or address.
    pub(crate) host: String,
    /// TCP port.
    pub(crate) port: u16,
}

/// One MySQL server, for all sessions of the process.
#[derive(Debug)]
pub(crate) struct Server {
    address: Address,
    /// Whether the breaker keeps somebody away, so that most need not lock it.
    kept_away: AtomicBool,
    breaker: Mutex<Breaker>,
    /// Up to which moment it has what the primary had; 0 where it may not be read from.
    as_of: AtomicU64,
    executed: ArcSwap<GtidSet>,
    known: Mutex<Known>,
    /// The sockets of open connections, to end them all when it is silent.
    sockets: Mutex<Sockets>,
    /// Wakes those who wait for a connection to it when that happens.
    silent: Notify,
    /// The connections of sessions.
    pool: Arc<Pool>,
    gauges: ServerGauges,
}

/// What was learned last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// Whether it answers, and may be used.
    pub(crate) health: Health,
    /// How far it is behind.
    pub(crate) freshness: Option<Freshness>,
    /// What went wrong last.
    pub(crate) last_error: String,
}

/// Whether a server may be used.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Health {
    /// Nobody looked yet.
    #[default]
    Unknown,
    /// It answers.
    Up,
    /// It answers, but does not follow its primary, or nobody may see whether it does.
    NotFollowing,
    /// It takes writes though it is a replica, or takes none though it is the primary.
    WrongRole,
    /// It does not let the system account in, or not see what it must.
    Refused,
    /// It does not answer.
    Down,
}

impl Health {
    /// As the console and logs show it.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Up => "up",
            Self::NotFollowing => "not following",
            Self::WrongRole => "wrong role",
            Self::Refused => "refused",
            Self::Down => "down",
        }
    }
}

#[derive(Debug, Default)]
struct Sockets {
    open: HashMap<u64, OwnedFd>,
    last: u64,
}

/// Holds a connection's socket among those that end with a silent server.
#[derive(Debug)]
pub(crate) struct SocketGuard {
    server: Arc<Server>,
    number: u64,
}

impl Drop for SocketGuard {
    fn drop(&mut self) {
        locked(&self.server.sockets).open.remove(&self.number);
    }
}

/// When the breaker of a server opens, by the manifest.
pub(super) fn limits(resilience: &Resilience) -> Limits {
    let breaker = &resilience.circuit_breaker;
    Limits {
        consecutive_errors: breaker.consecutive_errors,
        open_for: breaker.open_for.into(),
    }
}

impl Server {
    pub(super) fn new(
        address: Address,
        limits: Limits,
        pool: Arc<Pool>,
        gauges: ServerGauges,
    ) -> Self {
        LazyLock::force(&EPOCH);
        Self {
            address,
            kept_away: AtomicBool::new(false),
            breaker: Mutex::new(Breaker::new(limits)),
            as_of: AtomicU64::new(0),
            executed: ArcSwap::default(),
            known: Mutex::default(),
            sockets: Mutex::default(),
            silent: Notify::new(),
            pool,
            gauges,
        }
    }

    /// Where it is.
    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// The connections of sessions.
    pub(crate) fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    pub(super) fn limit(&self, limits: Limits) {
        locked(&self.breaker).limit(limits);
    }

    /// Whether a connection to it may be tried now.
    pub(crate) fn admits(&self) -> bool {
        if !self.kept_away.load(Ordering::Relaxed) {
            return true;
        }
        self.change(|breaker| breaker.admit(Instant::now()))
    }

    /// Whether its breaker is closed.
    pub(crate) fn is_trusted(&self) -> bool {
        !self.kept_away.load(Ordering::Relaxed)
    }

    /// It answered.
    pub(crate) fn succeeded(&self) {
        self.change(Breaker::succeeded);
    }

    /// It could not be reached, or a connection to it broke.
    pub(crate) fn failed(&self, reason: &str) {
        reason.clone_into(&mut locked(&self.known).last_error);
        self.change(|breaker| breaker.failed(Instant::now()));
    }

    fn change<T>(&self, step: impl FnOnce(&mut Breaker) -> T) -> T {
        let (before, after, outcome) = {
            let mut breaker = locked(&self.breaker);
            let before = breaker.state();
            let outcome = step(&mut breaker);
            let after = breaker.state();
            self.kept_away
                .store(after != State::Closed, Ordering::Relaxed);
            (before, after, outcome)
        };
        if before != after {
            let Address { shard, host, port } = &self.address;
            let (from, to) = (before.label(), after.label());
            let error = self.known().last_error;
            match after {
                State::Open => {
                    tracing::warn!(shard, %host, port, from, to, error, "The circuit breaker changed");
                }
                _ => tracing::info!(shard, %host, port, from, to, "The circuit breaker changed"),
            }
            self.gauges.breaker(after);
        }
        outcome
    }

    /// The breaker's state.
    pub(crate) fn breaker(&self) -> State {
        locked(&self.breaker).state()
    }

    /// What was learned last.
    pub(crate) fn known(&self) -> Known {
        locked(&self.known).clone()
    }

    /// Whether it has what its primary had not longer than `most` before `now`.
    pub(super) fn is_fresh(&self, now: Instant, most: Duration) -> bool {
        let as_of = self.as_of.load(Ordering::Relaxed);
        as_of != 0 && nanos(now).saturating_sub(as_of) <= most.as_nanos() as u64
    }

    /// Whether it has all that its primary had at a moment.
    pub(crate) fn had_all(&self, at: Instant) -> bool {
        self.as_of.load(Ordering::Relaxed) >= nanos(at)
    }

    /// Whether it is known to have executed these.
    pub(crate) fn has(&self, gtids: &GtidSet) -> bool {
        self.executed.load().contains(gtids)
    }

    /// Notes what a look at it showed.
    pub(super) fn learn(&self, health: Health, freshness: Option<Freshness>, error: &str) {
        let readable = match (health, freshness) {
            (Health::Up, Some(Freshness::AsOf(at))) => nanos(at),
            _ => 0,
        };
        self.as_of.store(readable, Ordering::Relaxed);
        let before = {
            let mut known = locked(&self.known);
            known.freshness = freshness;
            if !error.is_empty() {
                error.clone_into(&mut known.last_error);
            }
            std::mem::replace(&mut known.health, health)
        };
        let now = Instant::now();
        let lag = freshness.and_then(|freshness| freshness.lag(now));
        self.gauges.learned(health, lag.map(|(lag, _)| lag));
        if before != health {
            let Address { shard, host, port } = &self.address;
            let (from, to) = (before.label(), health.label());
            match health {
                Health::Up => {
                    tracing::info!(shard, %host, port, from, to, "A server's health changed");
                }
                _ => {
                    tracing::warn!(shard, %host, port, from, to, error, "A server's health changed");
                }
            }
        }
    }

    /// Notes what it has executed.
    pub(super) fn has_executed(&self, executed: Arc<GtidSet>) {
        self.executed.store(executed);
    }

    /// Keeps a connection's socket among those that [`cut`](Self::cut) ends.
    pub(crate) fn hold(self: &Arc<Self>, socket: OwnedFd) -> SocketGuard {
        let mut sockets = locked(&self.sockets);
        sockets.last += 1;
        let number = sockets.last;
        sockets.open.insert(number, socket);
        SocketGuard {
            server: Arc::clone(self),
            number,
        }
    }

    /// Ends all connections to it: whoever waits for an answer gets an error at once, and a read
    /// may be asked of another server.
    pub(super) fn cut(&self) {
        self.silent.notify_waiters();
        for (_, socket) in locked(&self.sockets).open.drain() {
            // It may be closed already.
            let _ = shutdown(&socket, Shutdown::Both);
        }
    }

    /// Waits until it is found to be silent.
    pub(crate) async fn cut_off(&self) {
        self.silent.notified().await;
    }
}

fn nanos(moment: Instant) -> u64 {
    let since = moment.saturating_duration_since(*EPOCH);
    // 584 years fit. Never 0, which says that nothing is known.
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> Server {
        let address = Address {
            shard: 0,
            host: "a".to_owned(),
            port: 1,
        };
        Server::new(
            address,
            limits(&Resilience::default()),
            Pool::of_test(),
            ServerGauges::default(),
        )
    }

    #[test]
    fn one_that_does_not_follow_is_never_fresh() {
        let server = server();
        let now = Instant::now();
        assert!(!server.is_fresh(now, Duration::MAX));
        server.learn(Health::Up, Some(Freshness::AsOf(now)), "");
        assert!(server.is_fresh(now + Duration::from_secs(5), Duration::from_secs(5)));
        assert!(!server.is_fresh(now + Duration::from_secs(6), Duration::from_secs(5)));
        for health in [Health::Down, Health::NotFollowing, Health::WrongRole] {
            server.learn(health, Some(Freshness::AsOf(now)), "why");
            assert!(
                !server.is_fresh(now, Duration::from_secs(3600)),
                "{health:?}"
            );
        }
        server.learn(Health::Up, Some(Freshness::Before(now)), "");
        assert!(!server.is_fresh(now, Duration::from_secs(3600)));
    }

    #[test]
    fn one_that_failed_often_is_left_alone_until_it_answers() {
        let server = server();
        for _ in 0..5 {
            assert!(server.admits());
            server.failed("refused");
        }
        assert!(!server.admits() && !server.is_trusted());
        assert_eq!(server.breaker(), State::Open);
        server.succeeded();
        assert!(server.admits() && server.is_trusted());
    }
}
