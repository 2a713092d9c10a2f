//! Putting the operator's snapshots into force.

use std::sync::Arc;

use remora_discovery::{Identity, Snapshot as Told};
use tokio::sync::watch;

use super::convert::{OwnServer, convert};
use crate::snapshot::Snapshots;
use crate::telemetry::Metrics;

/// Puts each snapshot of `told` into force, the first into `snapshots` too, from where the
/// start of the data plane waits for it. What is in force is noted in `in_force`. `own` is reached
/// by its socket.
pub async fn follow(
    mut told: watch::Receiver<Option<Arc<Told>>>,
    snapshots: watch::Sender<Option<Arc<Snapshots>>>,
    in_force: watch::Sender<Option<Identity>>,
    metrics: Arc<Metrics>,
    own: Option<OwnServer>,
) {
    loop {
        let next = told.borrow_and_update().clone();
        if let Some(next) = next {
            take(&next, &snapshots, &in_force, &metrics, own.as_ref());
        }
        if told.changed().await.is_err() {
            return;
        }
    }
}

fn take(
    told: &Told,
    snapshots: &watch::Sender<Option<Arc<Snapshots>>>,
    in_force: &watch::Sender<Option<Identity>>,
    metrics: &Metrics,
    own: Option<&OwnServer>,
) {
    let snapshot = match convert(told, own) {
        Ok(snapshot) => snapshot,
        Err(error) => {
            tracing::error!(%error, "The operator's snapshot is refused; the one before stays");
            metrics.refused_snapshot();
            return;
        }
    };
    let epoch = snapshot.epoch;
    let current = snapshots.borrow().clone();
    if let Some(current) = current {
        if !current.publish(snapshot) {
            tracing::error!(epoch, "A snapshot of an older epoch is refused");
            metrics.refused_snapshot();
            return;
        }
    } else {
        snapshots.send_replace(Some(Arc::new(Snapshots::new(snapshot))));
    }
    tracing::info!(cluster = %told.name, epoch, "The operator's snapshot is in force");
    metrics.in_force(epoch);
    in_force.send_replace(Some(told.identity.clone()));
}

#[cfg(test)]
mod tests {
    use remora_crds::Topology;

    use super::*;

    fn told(uid: &str, epoch: u64, shards: usize) -> Told {
        let instances = "{instances: [{host: a, port: 1, role: Primary}]}";
        let topology: Topology = serde_saphyr::from_str(&format!(
            "{{apiVersion: remora.dev/v1alpha1, kind: Topology, metadata: {{name: shop}},
              epoch: {epoch}, shards: [{}], users: [{{name: app, password: app}}]}}",
            vec![instances; shards].join(", ")
        ))
        .unwrap();
        Told {
            identity: Identity {
                uid: uid.to_owned(),
                epoch,
                content_hash: String::new(),
            },
            namespace: "default".to_owned(),
            name: "shop".to_owned(),
            spec: serde_saphyr::from_str("{shards: 2, database: shop}").unwrap(),
            topology,
            backend_ca: None,
            agent: None,
        }
    }

    #[test]
    fn older_and_contradictory_snapshots_leave_the_one_in_force() {
        let (snapshots, current) = watch::channel(None);
        let (in_force, identity) = watch::channel(None);
        let metrics = Metrics::default();
        let mut epochs = Vec::new();
        for next in [
            told("a", 5, 2),
            told("a", 4, 2),
            told("a", 6, 1),
            told("b", 1, 2),
        ] {
            take(&next, &snapshots, &in_force, &metrics, None);
            let snapshots = current.borrow().clone().unwrap();
            epochs.push((
                snapshots.load().epoch,
                identity.borrow().clone().unwrap().epoch,
            ));
        }
        assert_eq!(epochs, [(5, 5), (5, 5), (5, 5), (1, 1)]);
        assert!(metrics.text().contains("remora_snapshots_refused_total 2"));
    }
}
