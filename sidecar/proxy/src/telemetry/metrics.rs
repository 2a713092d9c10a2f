//! The metrics, by Prometheus' conventions, under the prefix `remora_`.
//!
//! Every series that sessions count in is looked up once, here: counting is one atomic addition.

use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::{CommandKind, ErrorClass, Latencies, PoolMetrics, ServerMetrics, Shards};

/// One label.
type Label = Vec<(&'static str, String)>;

/// The way a statement took.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Way {
    /// One shard, relayed.
    Single,
    /// Read from several places and merged.
    Scatter,
    /// Written in several places.
    Write,
    /// DDL on all shards.
    Ddl,
    /// Answered here.
    Local,
    /// A gateway's, whichever it took there.
    Gateway,
}

const WAYS: [(Way, &str); 6] = [
    (Way::Single, "single"),
    (Way::Scatter, "scatter"),
    (Way::Write, "write"),
    (Way::Ddl, "ddl"),
    (Way::Local, "local"),
    (Way::Gateway, "gateway"),
];

/// How a transaction over several shards ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Ending {
    /// Committed by its session.
    Committed,
    /// Rolled back by its session, or because a shard refused to commit.
    RolledBack,
    /// A branch that was left behind was committed.
    RecoveredCommit,
    /// A branch that was left behind was rolled back.
    RecoveredRollback,
}

const TRANSACTIONS: [(Ending, &str); 4] = [
    (Ending::Committed, "committed"),
    (Ending::RolledBack, "rolled_back"),
    (Ending::RecoveredCommit, "recovered_commit"),
    (Ending::RecoveredRollback, "recovered_rollback"),
];

/// All metrics of a process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    clients: Gauge,
    connections: Counter,
    denied: Counter,
    commands: [Counter; CommandKind::ALL.len()],
    latencies: [Latencies; WAYS.len()],
    errors: [Counter; ErrorClass::ALL.len()],
    plan_hits: Counter,
    plan_misses: Counter,
    backends: Gauge,
    backend_connects: Family<Label, Counter>,
    backend_failures: Family<Label, Counter>,
    received: Counter,
    sent: Counter,
    epoch: Gauge,
    refused_snapshots: Counter,
    transactions: [Counter; TRANSACTIONS.len()],
    /// How connecting to the shards went lately.
    pub shards: Shards,
    /// Of each server.
    pub servers: ServerMetrics,
    /// Of the pools.
    pub pools: PoolMetrics,
}

/// A connection that is open. Dropped when it ends, however that comes about.
#[derive(Debug)]
pub struct OpenGuard(Gauge);

impl OpenGuard {
    pub(super) fn new(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for OpenGuard {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("remora");
        let mut counter = |name: &str, help: &str| {
            let counter = Counter::default();
            registry.register(name, help, counter.clone());
            counter
        };
        let connections = counter("client_connections", "Clients that connected");
        let denied = counter("client_logins_denied", "Clients that were denied");
        let received = counter("client_received_bytes", "Bytes of clients' commands");
        let sent = counter("client_sent_bytes", "Bytes of answers to clients");
        let refused_snapshots = counter(
            "snapshots_refused",
            "Configurations and snapshots that were refused",
        );
        let mut gauge = |name: &str, help: &str| {
            let gauge = Gauge::default();
            registry.register(name, help, gauge.clone());
            gauge
        };
        let clients = gauge("clients", "Clients that are connected");
        let backends = gauge(
            "backend_connections_open",
            "Connections to MySQL that are open",
        );
        let epoch = gauge("snapshot_epoch", "The epoch of the snapshot in force");
        let mut counters = |name: &str, help: &str| {
            let family = Family::<Label, Counter>::default();
            registry.register(name, help, family.clone());
            family
        };
        let plans = counters(
            "plan_cache_lookups",
            "Statements whose plan was cached, or not",
        );
        let commands = counters("commands", "Commands of clients");
        let errors = counters("errors", "Errors that clients got");
        let backend_connects = counters("backend_connects", "Connections made to each shard");
        let backend_failures = counters(
            "backend_connect_failures",
            "Connections to each shard that failed",
        );
        let transactions = counters(
            "transactions_over_shards",
            "Transactions over several shards that ended, and branches that recovery ended",
        );
        let latencies = Family::<Label, Latencies>::default();
        registry.register(
            "statement_duration_seconds",
            "From a statement's arrival to the end of its answer",
            latencies.clone(),
        );
        let servers = ServerMetrics::register(&mut registry);
        let pools = PoolMetrics::register(&mut registry);
        Self {
            clients,
            connections,
            denied,
            commands: CommandKind::ALL.map(|kind| series(&commands, "command", kind.label())),
            latencies: WAYS.map(|(_, label)| series(&latencies, "route", label)),
            errors: ErrorClass::ALL.map(|class| series(&errors, "class", class.label())),
            plan_hits: series(&plans, "result", "hit"),
            plan_misses: series(&plans, "result", "miss"),
            backends,
            backend_connects,
            backend_failures,
            received,
            sent,
            epoch,
            refused_snapshots,
            transactions: TRANSACTIONS.map(|(_, label)| series(&transactions, "outcome", label)),
            shards: Shards::default(),
            servers,
            pools,
            registry,
        }
    }
}

fn series<M: Clone + Default>(family: &Family<Label, M>, label: &'static str, value: &str) -> M {
    family
        .get_or_create(&vec![(label, value.to_owned())])
        .clone()
}

impl Metrics {
    /// A client connected.
    #[must_use]
    pub fn connected(&self) -> OpenGuard {
        self.connections.inc();
        self.clients.inc();
        OpenGuard(self.clients.clone())
    }

    /// A client was denied.
    pub fn denied(&self) {
        self.denied.inc();
    }

    /// A command of so many bytes arrived.
    pub fn command(&self, kind: CommandKind, bytes: usize) {
        self.commands[kind as usize].inc();
        self.received.inc_by(bytes as u64);
    }

    /// So many bytes went to a client.
    pub fn sent(&self, bytes: usize) {
        self.sent.inc_by(bytes as u64);
    }

    /// A statement was answered.
    pub fn statement(&self, route: Way, took: Duration) {
        self.latencies[route as usize].observe(took);
    }

    /// A client got an error.
    pub fn error(&self, code: u16) {
        self.errors[ErrorClass::of(code) as usize].inc();
    }

    /// A statement was planned, with or without the cache.
    pub fn planned(&self, cached: bool) {
        let counter = if cached {
            &self.plan_hits
        } else {
            &self.plan_misses
        };
        counter.inc();
    }

    /// A connection to a shard was made, and is open while the guard lives.
    #[must_use]
    pub fn backend_connected(&self, shard: usize) -> OpenGuard {
        series(&self.backend_connects, "shard", &shard.to_string()).inc();
        self.shards.note(shard, Ok(()));
        self.backends.inc();
        OpenGuard(self.backends.clone())
    }

    /// A connection to a replica was made, or one that looks after a server; it is open while the
    /// guard lives.
    #[must_use]
    pub fn replica_connected(&self) -> OpenGuard {
        self.backends.inc();
        OpenGuard(self.backends.clone())
    }

    /// No connection to a shard came about.
    pub fn backend_failed(&self, shard: usize, reason: String) {
        series(&self.backend_failures, "shard", &shard.to_string()).inc();
        self.shards.note(shard, Err(reason));
    }

    /// A snapshot came into force.
    pub fn in_force(&self, epoch: u64) {
        self.epoch.set(i64::try_from(epoch).unwrap_or(i64::MAX));
    }

    /// A transaction over several shards ended, or a branch of one.
    pub fn transaction(&self, ending: Ending) {
        self.transactions[ending as usize].inc();
    }

    /// A snapshot was refused.
    pub fn refused_snapshot(&self) {
        self.refused_snapshots.inc();
    }

    /// All metrics in OpenMetrics' text form.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing into a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Granted, Retry};
    use super::*;
    use crate::instances::{BreakerState, Health};

    #[test]
    fn names_and_labels_never_change_by_accident() {
        let metrics = Metrics::default();
        let client = metrics.connected();
        metrics.command(CommandKind::Query, 12);
        metrics.sent(100);
        metrics.statement(Way::Scatter, Duration::from_millis(1));
        metrics.error(1062);
        metrics.planned(true);
        let backend = metrics.backend_connected(1);
        metrics.backend_failed(0, "refused".to_owned());
        metrics.in_force(7);
        metrics.transaction(Ending::Committed);
        let servers = &metrics.servers;
        let gauges = servers.gauges(1, "db-1", 3306);
        gauges.learned(Health::Up, Some(Duration::from_millis(1500)));
        gauges.breaker(BreakerState::Open);
        servers.reads(1, "db-1", 3306, false).inc();
        servers.retried(Retry::Lost);
        servers.gauges(1, "db-2", 3306);
        servers.forget(1, "db-2", 3306);
        metrics.pools.got(Granted::Reset, Duration::from_millis(3));
        let waits = metrics.pools.waits();
        let text = metrics.text();
        drop((client, backend, waits));
        let mut shown: Vec<_> = text
            .lines()
            .filter(|line| !line.contains("_bucket"))
            .collect();
        // Series of a family come in no order.
        shown.sort_unstable();
        insta::assert_snapshot!(shown.join("\n"));
        assert!(metrics.text().contains("remora_clients 0"));
    }

    #[test]
    fn series_stand_in_the_order_of_their_numbers() {
        for (number, kind) in CommandKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
        }
        for (number, class) in ErrorClass::ALL.into_iter().enumerate() {
            assert_eq!(class as usize, number);
        }
        for (number, (ending, _)) in TRANSACTIONS.into_iter().enumerate() {
            assert_eq!(ending as usize, number);
        }
        for (number, (way, _)) in WAYS.into_iter().enumerate() {
            assert_eq!(way as usize, number);
        }
    }
}
