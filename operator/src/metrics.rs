//! What the operator counts.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// What the operator counts.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    /// Rounds for any cluster.
    pub rounds: Counter,
    /// Rounds that failed.
    pub failures: Counter,
    /// Whether this replica leads.
    pub leading: Gauge,
    /// Sidecars that follow a cluster at this replica.
    pub followers: Gauge,
    /// Reports taken.
    pub reports: Counter,
}

impl Metrics {
    /// Makes all of them known to `registry`.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "remora_operator_rounds",
            "Reconcile rounds",
            self.rounds.clone(),
        );
        registry.register(
            "remora_operator_failures",
            "Reconcile rounds that failed",
            self.failures.clone(),
        );
        registry.register(
            "remora_operator_leading",
            "1 where the replica leads",
            self.leading.clone(),
        );
        registry.register(
            "remora_operator_followers",
            "Sidecars that follow a cluster at this replica",
            self.followers.clone(),
        );
        registry.register(
            "remora_operator_reports",
            "Reports taken",
            self.reports.clone(),
        );
    }
}
