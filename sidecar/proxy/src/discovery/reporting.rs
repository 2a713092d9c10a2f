//! How the sidecar fares, gathered for the operator.

use std::sync::Arc;
use std::time::Duration;

use remora_discovery::{AgentHealth, Health, Identity};
use tokio::sync::watch;

use crate::admin::Readiness;
use crate::telemetry::Metrics;

/// How often shards and listener are looked at, which do not wake anyone when they change.
const LOOK: Duration = Duration::from_secs(2);

/// Where the parts of a report come from.
#[derive(Debug)]
pub struct Reporting {
    /// Whether clients are accepted.
    pub readiness: Arc<Readiness>,
    /// Which shards could not be reached.
    pub metrics: Arc<Metrics>,
    /// The snapshot in force.
    pub in_force: watch::Receiver<Option<Identity>>,
    /// The agent's part; `None` from a sidecar that is none.
    pub agent: watch::Receiver<Option<AgentHealth>>,
}

impl Reporting {
    /// Keeps `health` as it is, until nobody reports it.
    pub async fn gather(mut self, health: watch::Sender<Health>) {
        loop {
            let now = self.look();
            health.send_if_modified(|told| {
                let differs = *told != now;
                *told = now;
                differs
            });
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                Ok(()) = self.in_force.changed() => {}
                Ok(()) = self.agent.changed() => {}
                () = health.closed() => return,
            }
        }
    }

    fn look(&mut self) -> Health {
        Health {
            ready: self.readiness.serves(),
            in_force: self.in_force.borrow_and_update().clone(),
            unreachable: self.metrics.shards.unreachable(),
            agent: self.agent.borrow_and_update().clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_change_of_any_part_is_told() {
        let (_in_force, in_force) = watch::channel(None);
        let (agent, agent_receiver) = watch::channel(None);
        let readiness = Arc::new(Readiness::when_serving());
        let metrics = Arc::new(Metrics::default());
        metrics.backend_failed(1, "refused".to_owned());
        readiness.listens();
        let reporting = Reporting {
            readiness,
            metrics,
            in_force,
            agent: agent_receiver,
        };
        let (sender, mut health) = watch::channel(Health::default());
        tokio::spawn(reporting.gather(sender));
        let seen = health
            .wait_for(|health| health.ready)
            .await
            .unwrap()
            .clone();
        assert_eq!(seen.unreachable, [(1, "refused".to_owned())]);
        agent.send_replace(Some(AgentHealth {
            mysqld: true,
            ..AgentHealth::default()
        }));
        let told = |health: &Health| health.agent.as_ref().is_some_and(|agent| agent.mysqld);
        health.wait_for(told).await.unwrap();
    }
}
