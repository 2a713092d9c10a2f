//! How the sidecar fares, gathered for the operator.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use remora_discovery::{
    AgentHealth, Fingerprint, Health, Identity, ServerTls, Trust, fingerprints,
};
use tokio::sync::watch;

use crate::admin::Readiness;
use crate::snapshot::Snapshots;
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
    /// What is trusted and shown.
    pub certificates: Certificates,
}

/// Where it is seen which certificates are trusted and shown.
#[derive(Debug)]
pub struct Certificates {
    /// The file with the CAs by which the operator is verified.
    pub operator: PathBuf,
    /// What knows those by which MySQL is.
    pub snapshots: watch::Receiver<Option<Arc<Snapshots>>>,
    /// What clients are shown.
    pub shown: watch::Receiver<Option<Fingerprint>>,
    /// What the agent's mysqld has; `None` from a sidecar that is none.
    pub server: watch::Receiver<Option<ServerTls>>,
}

impl Certificates {
    fn look(&mut self) -> Trust {
        // Without the file no connection is made: nobody is trusted.
        let operator = std::fs::read(&self.operator).unwrap_or_default();
        let snapshots = self.snapshots.borrow_and_update().clone();
        let servers = snapshots.map(|snapshots| snapshots.trusted());
        Trust {
            operator: fingerprints(&operator),
            servers: servers.map(|set| (*set).clone()).unwrap_or_default(),
            shown: self.shown.borrow_and_update().clone(),
            server: self.server.borrow_and_update().clone(),
        }
    }
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
                Ok(()) = self.certificates.shown.changed() => {}
                Ok(()) = self.certificates.server.changed() => {}
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
            trust: self.certificates.look(),
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
        let (_snapshots, snapshots) = watch::channel(None);
        let (_shown, shown) = watch::channel(None);
        let (_server, server) = watch::channel(None);
        let folder = tempfile::tempdir().unwrap();
        let readiness = Arc::new(Readiness::when_serving());
        let metrics = Arc::new(Metrics::default());
        metrics.backend_failed(1, "refused".to_owned());
        readiness.listens();
        let reporting = Reporting {
            readiness,
            metrics,
            in_force,
            agent: agent_receiver,
            certificates: Certificates {
                operator: folder.path().join("ca.crt"),
                snapshots,
                shown,
                server,
            },
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
        // The kubelet brings another CA into the pod.
        let ca = rcgen::generate_simple_self_signed(vec!["ca".to_owned()]).unwrap();
        std::fs::write(folder.path().join("ca.crt"), ca.cert.pem()).unwrap();
        let told = |health: &Health| !health.trust.operator.is_empty();
        health.wait_for(told).await.unwrap();
    }
}
