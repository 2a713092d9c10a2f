//! All servers that snapshots named, and the retries that their reads may have.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use remora_crds::{Resilience, RetryBudget, Role};

use super::budget::{Budget, Limits};
use super::fleet::{Fleet, Member};
use super::server::{Address, Server, limits};
use crate::locked::locked;
use crate::pool::{Bounds, Pool, Pressure};
use crate::snapshot::Snapshot;
use crate::telemetry::Metrics;

/// What is known of servers, for as long as the process lives.
#[derive(Debug)]
pub(crate) struct Servers {
    known: Mutex<HashMap<Address, Arc<Server>>>,
    budget: Mutex<Budget>,
    reads: AtomicU64,
    pressure: Arc<Pressure>,
}

impl Default for Servers {
    fn default() -> Self {
        let budget = Budget::new(budget_limits(&RetryBudget::default()), Instant::now());
        Self {
            known: Mutex::default(),
            budget: Mutex::new(budget),
            reads: AtomicU64::new(0),
            pressure: Arc::default(),
        }
    }
}

impl Servers {
    /// The servers of each shard of a snapshot.
    pub(crate) fn fleets(&self, snapshot: &Snapshot, metrics: &Metrics) -> Vec<Fleet> {
        let standard = Resilience::default();
        let resilience = snapshot.spec.resilience.as_ref().unwrap_or(&standard);
        let limits = limits(resilience);
        let bounds = Bounds::of(&snapshot.spec.sidecar, &snapshot.connections);
        locked(&self.budget).limit(budget_limits(&resilience.retry_budget));
        let mut known = locked(&self.known);
        let fleets = snapshot
            .shards
            .iter()
            .enumerate()
            .map(|(shard, endpoints)| {
                let members = endpoints.instances.iter().enumerate();
                let members = members.map(|(position, instance)| {
                    let address = Address {
                        shard,
                        host: instance.host.clone(),
                        port: instance.port,
                    };
                    let server = known.entry(address.clone()).or_insert_with(|| {
                        let gauges = metrics.servers.gauges(shard, &instance.host, instance.port);
                        let pool = Pool::new(bounds, Arc::clone(&self.pressure));
                        Arc::new(Server::new(address, limits, pool, gauges))
                    });
                    server.limit(limits);
                    server.pool().bound(bounds);
                    let reads = snapshot.spec.reads.as_ref();
                    Member {
                        instance: instance.clone(),
                        weight: reads.map_or(0, |reads| reads.weight(position, instance)),
                        server: Arc::clone(server),
                        reads: metrics.servers.reads(
                            shard,
                            &instance.host,
                            instance.port,
                            instance.role == Role::Primary,
                        ),
                    }
                });
                Fleet::new(members.collect())
            });
        fleets.collect()
    }

    /// Forgets servers that no snapshot in force names any more.
    pub(crate) fn retain(&self, fleets: &[Fleet], metrics: &Metrics) {
        locked(&self.known).retain(|address, server| {
            let mut members = fleets.iter().flat_map(|fleet| &fleet.members);
            let named = members.any(|member| Arc::ptr_eq(&member.server, server));
            if !named {
                metrics
                    .servers
                    .forget(address.shard, &address.host, address.port);
                server.pool().clear();
            }
            named
        });
    }

    /// Whether anybody waits for a connection.
    pub(crate) fn pressure(&self) -> &Pressure {
        &self.pressure
    }

    /// Counts a read that may be asked again if its server fails.
    pub(crate) fn count_read(&self) {
        self.reads.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether a read that failed may be asked of another server.
    pub(crate) fn may_retry(&self) -> bool {
        let reads = self.reads.load(Ordering::Relaxed);
        locked(&self.budget).withdraw(Instant::now(), reads)
    }
}

fn budget_limits(budget: &RetryBudget) -> Limits {
    Limits {
        percent: budget.percent,
        min_per_second: budget.min_per_second,
    }
}
