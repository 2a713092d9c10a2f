//! Metrics of each MySQL server.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::instances::{BreakerState, Health};

type Label = Vec<(&'static str, String)>;
type Seconds = Gauge<f64, AtomicU64>;

/// Families of series, one series for each server.
#[derive(Debug)]
pub struct ServerMetrics {
    reads: Family<Label, Counter>,
    up: Family<Label, Gauge>,
    lag: Family<Label, Seconds>,
    breaker: Family<Label, Gauge>,
    retries: Family<Label, Counter>,
    exhausted: Counter,
}

/// The gauges of one server.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerGauges {
    up: Gauge,
    lag: Seconds,
    breaker: Gauge,
}

/// Why a read was asked again of another server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Retry {
    /// No connection came about.
    Connect,
    /// The connection broke before a byte went to the client.
    Lost,
    /// The replica answered with an error; the primary may know better.
    Refused,
}

impl ServerMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let reads = Family::default();
        registry.register("reads", "Reads that each server answered", reads.clone());
        let up = Family::default();
        registry.register(
            "instance_up",
            "Whether each server answers and does what its role asks",
            up.clone(),
        );
        let lag = Family::default();
        registry.register(
            "instance_lag_seconds",
            "How far each replica may be behind its primary; NaN where nobody knows",
            lag.clone(),
        );
        let breaker = Family::default();
        registry.register(
            "instance_breaker_state",
            "The circuit breaker of each server: 0 closed, 1 half-open, 2 open",
            breaker.clone(),
        );
        let retries = Family::default();
        registry.register(
            "read_retries",
            "Reads that were asked again of another server",
            retries.clone(),
        );
        let exhausted = Counter::default();
        registry.register(
            "retry_budget_exhausted",
            "Reads that failed because the retry budget was used up",
            exhausted.clone(),
        );
        Self {
            reads,
            up,
            lag,
            breaker,
            retries,
            exhausted,
        }
    }

    /// The gauges of a server.
    pub(crate) fn gauges(&self, shard: usize, host: &str, port: u16) -> ServerGauges {
        let label = label(shard, host, port);
        let gauges = ServerGauges {
            up: self.up.get_or_create(&label).clone(),
            lag: self.lag.get_or_create(&label).clone(),
            breaker: self.breaker.get_or_create(&label).clone(),
        };
        gauges.lag.set(f64::NAN);
        gauges
    }

    /// Counts the reads of a server in a role.
    pub(crate) fn reads(&self, shard: usize, host: &str, port: u16, primary: bool) -> Counter {
        self.reads
            .get_or_create(&of_role(shard, host, port, primary))
            .clone()
    }

    /// Shows a server no more.
    pub(crate) fn forget(&self, shard: usize, host: &str, port: u16) {
        let label = label(shard, host, port);
        self.up.remove(&label);
        self.lag.remove(&label);
        self.breaker.remove(&label);
        for primary in [true, false] {
            self.reads.remove(&of_role(shard, host, port, primary));
        }
    }

    /// A read was asked again.
    pub(crate) fn retried(&self, why: Retry) {
        let reason = match why {
            Retry::Connect => "connect",
            Retry::Lost => "lost",
            Retry::Refused => "refused",
        };
        let label = vec![("reason", reason.to_owned())];
        self.retries.get_or_create(&label).inc();
    }

    /// A read was not asked again, though it might have been.
    pub(crate) fn exhausted(&self) {
        self.exhausted.inc();
    }
}

fn label(shard: usize, host: &str, port: u16) -> Label {
    vec![
        ("shard", shard.to_string()),
        ("instance", format!("{host}:{port}")),
    ]
}

fn of_role(shard: usize, host: &str, port: u16, primary: bool) -> Label {
    let role = match primary {
        true => "primary",
        false => "replica",
    };
    let mut label = label(shard, host, port);
    label.push(("role", role.to_owned()));
    label
}

impl ServerGauges {
    /// The breaker changed.
    pub(crate) fn breaker(&self, state: BreakerState) {
        self.breaker.set(match state {
            BreakerState::Closed => 0,
            BreakerState::HalfOpen => 1,
            BreakerState::Open => 2,
        });
    }

    /// A look showed this.
    pub(crate) fn learned(&self, health: Health, lag: Option<Duration>) {
        self.up.set(i64::from(health == Health::Up));
        self.lag.set(lag.map_or(f64::NAN, |lag| lag.as_secs_f64()));
    }
}
