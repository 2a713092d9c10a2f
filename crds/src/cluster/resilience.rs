//! `spec.resilience`: what sidecars do when servers fail.

use std::ops::RangeInclusive;
use std::time;

use kube::KubeSchema;
use kube::core::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What sidecars do when servers fail.
#[derive(Clone, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Resilience {
    /// How many reads a sidecar may ask of another server after one failed, so that a failure does
    /// not grow into an overload.
    #[serde(default)]
    pub retry_budget: RetryBudget,
    /// When a sidecar stops asking a server that fails.
    #[serde(default)]
    pub circuit_breaker: CircuitBreaker,
    /// A server that lets nobody log in within this time counts as failed. From 100ms to 1m; 5s by
    /// default.
    #[serde(default = "connect_timeout")]
    #[schemars(schema_with = "super::span::schema")]
    #[x_kube(validation = Rule::new("duration(self) >= duration('100ms') && duration(self) <= duration('1m')")
        .message("spec.resilience.connectTimeout must be from 100ms to 1m; clients wait for it"))]
    pub connect_timeout: Duration,
}

/// A bound on retries.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RetryBudget {
    /// Retries for each hundred reads. 20 by default; 0 leaves `minPerSecond`.
    #[serde(default = "percent")]
    #[schemars(range(min = 0, max = 100))]
    pub percent: u32,
    /// Retries that are allowed each second however few reads there are. 10 by default.
    #[serde(default = "min_per_second")]
    #[schemars(range(min = 0, max = 1000))]
    pub min_per_second: u32,
}

/// When a server that fails is left alone.
#[derive(Clone, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CircuitBreaker {
    /// So many failures in a row open the breaker. 5 by default.
    #[serde(default = "consecutive_errors")]
    #[schemars(range(min = 1, max = 100))]
    pub consecutive_errors: u32,
    /// How long an open breaker keeps everybody away before one may try again. From 100ms to 5m;
    /// 2s by default.
    #[serde(default = "open_for")]
    #[schemars(schema_with = "super::span::schema")]
    #[x_kube(validation = Rule::new("duration(self) >= duration('100ms') && duration(self) <= duration('5m')")
        .message("spec.resilience.circuitBreaker.openFor must be from 100ms to 5m; a server that is back waits for it"))]
    pub open_for: Duration,
}

fn percent() -> u32 {
    20
}

fn min_per_second() -> u32 {
    10
}

fn consecutive_errors() -> u32 {
    5
}

fn open_for() -> Duration {
    time::Duration::from_secs(2).into()
}

fn connect_timeout() -> Duration {
    time::Duration::from_secs(5).into()
}

impl Resilience {
    /// What `connectTimeout` may be.
    pub const CONNECT_TIMEOUTS: RangeInclusive<time::Duration> =
        time::Duration::from_millis(100)..=time::Duration::from_secs(60);
}

impl CircuitBreaker {
    /// What `openFor` may be.
    pub const OPEN_FOR: RangeInclusive<time::Duration> =
        time::Duration::from_millis(100)..=time::Duration::from_secs(300);
}

impl Default for Resilience {
    fn default() -> Self {
        Self {
            retry_budget: RetryBudget::default(),
            circuit_breaker: CircuitBreaker::default(),
            connect_timeout: connect_timeout(),
        }
    }
}

impl Default for RetryBudget {
    fn default() -> Self {
        Self {
            percent: percent(),
            min_per_second: min_per_second(),
        }
    }
}

impl Default for CircuitBreaker {
    fn default() -> Self {
        Self {
            consecutive_errors: consecutive_errors(),
            open_for: open_for(),
        }
    }
}
