//! How many applications' sidecars each cluster has. Every replica counts the pods that it watches,
//! so that all of them tell sidecars the same.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::runtime::reflector::{self, Store};
use kube::runtime::{WatchStreamExt, watcher};
use tokio::sync::watch;

use crate::certificates::{Member, Place};
use crate::names::{INJECT, Names};
use crate::shares::step;
use crate::watched::{Scope, keep};

/// Changes come in crowds: they are counted at most this often.
const COUNT: Duration = Duration::from_secs(1);
/// For so long fewer sidecars are no reason to tell everybody: a rollout takes some away and
/// brings others.
const CALM: Duration = Duration::from_secs(60);

/// The sidecars of all clusters.
#[derive(Debug)]
pub struct Crowds {
    /// `None`: nobody counted yet.
    known: Mutex<Option<HashMap<Names, Crowd>>>,
    changed: watch::Sender<()>,
}

/// What is told of one cluster's sidecars.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Crowd {
    told: u32,
    /// Since when there are fewer.
    fewer_since: Option<Instant>,
}

impl Crowd {
    /// Takes note of a count; answers whether another number is told from now on. More of them
    /// are told at once, since connections that are counted twice would be too many.
    fn count(&mut self, count: u32, now: Instant) -> bool {
        let step = step(count);
        if step < self.told {
            let since = *self.fewer_since.get_or_insert(now);
            if now.saturating_duration_since(since) < CALM {
                return false;
            }
        }
        self.fewer_since = None;
        std::mem::replace(&mut self.told, step) != step
    }
}

impl Crowds {
    /// Begins to watch and count the pods whose sidecars follow the operator at `discovery`, in
    /// tasks of their own.
    #[must_use]
    pub fn start(client: &Client, scope: &Scope, discovery: String) -> Arc<Self> {
        let (seen, changes) = watch::channel(());
        let pods: Vec<Store<Pod>> = scope
            .apis::<Pod>(client)
            .into_iter()
            .map(|api| {
                let (store, writer) = reflector::store();
                let config = watcher::Config::default().labels(INJECT);
                let stream = watcher(api, config).modify(shorten);
                tokio::spawn(keep(stream, writer, seen.clone()));
                store
            })
            .collect();
        let crowds = Arc::new(Self {
            known: Mutex::new(None),
            changed: watch::Sender::new(()),
        });
        tokio::spawn(Arc::clone(&crowds).follow(pods, discovery, changes));
        crowds
    }

    /// Those of one cluster, which somebody else counted.
    #[cfg(test)]
    pub(crate) fn counted(names: Names, applications: u32) -> Arc<Self> {
        let mut crowd = Crowd::default();
        crowd.count(applications, Instant::now());
        Arc::new(Self {
            known: Mutex::new(Some([(names, crowd)].into())),
            changed: watch::Sender::new(()),
        })
    }

    /// With how many sidecars of applications to reckon: somewhat more than there are. `None`:
    /// nobody counted yet.
    #[must_use]
    pub fn applications(&self, cluster: &Names) -> Option<u32> {
        let known = self.locked();
        let crowd = known.as_ref()?.get(cluster);
        Some(crowd.map_or_else(|| step(0), |crowd| crowd.told))
    }

    /// Wakes when another number is told.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    async fn follow(
        self: Arc<Self>,
        pods: Vec<Store<Pod>>,
        discovery: String,
        mut changes: watch::Receiver<()>,
    ) {
        for store in &pods {
            // It fails only when the watching task is gone, which ends with the process.
            let _ = store.wait_until_ready().await;
        }
        loop {
            changes.borrow_and_update();
            let state = pods.iter().flat_map(Store::state);
            self.count(&count(state, &discovery), Instant::now());
            tokio::time::sleep(COUNT).await;
            // Also without a change: what was fewer for long is told then.
            if let Ok(Err(_)) = tokio::time::timeout(CALM, changes.changed()).await {
                return;
            }
        }
    }

    fn count(&self, counts: &HashMap<Names, u32>, now: Instant) {
        let mut known = self.locked();
        let crowds = known.get_or_insert_default();
        for cluster in counts.keys() {
            crowds.entry(cluster.clone()).or_default();
        }
        let mut changed = false;
        for (cluster, crowd) in crowds.iter_mut() {
            let count = counts.get(cluster).copied().unwrap_or_default();
            if crowd.count(count, now) {
                tracing::info!(
                    namespace = %cluster.namespace, cluster = %cluster.cluster, sidecars = count,
                    reckoned = crowd.told, "connections are shared among another number of sidecars"
                );
                changed = true;
            }
        }
        crowds.retain(|cluster, crowd| counts.contains_key(cluster) || crowd.told > step(0));
        drop(known);
        if changed {
            self.changed.send_replace(());
        }
    }

    fn locked(&self) -> MutexGuard<'_, Option<HashMap<Names, Crowd>>> {
        // What a lock guards stays whole whoever panicked with it.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The applications' sidecars of each cluster: all that run or will. A pod that ends keeps its
/// connections until it is gone.
fn count(pods: impl Iterator<Item = Arc<Pod>>, discovery: &str) -> HashMap<Names, u32> {
    let mut counts = HashMap::new();
    for member in pods.filter_map(|pod| Member::of(&pod, discovery)) {
        if member.place == Place::Application {
            *counts.entry(member.cluster).or_default() += 1;
        }
    }
    counts
}

/// Takes out of a pod what nobody counts by: there may be thousands.
fn shorten(pod: &mut Pod) {
    pod.metadata.managed_fields = None;
    pod.metadata.annotations = None;
    if let Some(spec) = &mut pod.spec {
        spec.containers.clear();
        spec.volumes = None;
        spec.affinity = None;
        spec.tolerations = None;
    }
    if let Some(status) = &mut pod.status {
        status.conditions = None;
        status.container_statuses = None;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(uid: &str, cluster: &str, role: &str, phase: &str) -> Arc<Pod> {
        let mut pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": uid, "namespace": "web", "uid": uid,
                "labels": {"remora.dev/shard": "0"}, "annotations": {"a": "b"}},
            "spec": {"containers": [], "initContainers": [{
                "name": "remora-sidecar",
                "env": [
                    {"name": "REMORA_DISCOVERY", "value": "d"},
                    {"name": "REMORA_CLUSTER", "value": cluster},
                    {"name": "REMORA_ROLE", "value": role},
                ]}]},
            "status": {"phase": phase},
        }))
        .unwrap();
        shorten(&mut pod);
        Arc::new(pod)
    }

    #[test]
    fn sidecars_of_applications_count_from_when_their_pod_is_made() {
        let pods = [
            pod("a", "data/shop", "application", "Running"),
            pod("b", "data/shop", "application", "Pending"),
            pod("c", "data/shop", "application", "Succeeded"),
            pod("d", "data/shop", "agent", "Running"),
            pod("e", "data/bank", "application", "Running"),
        ];
        let counts = count(pods.into_iter(), "d");
        let of = |cluster| counts.get(&Names::new("data", cluster)).copied();
        assert_eq!((of("shop"), of("bank")), (Some(2), Some(1)));
    }

    #[test]
    fn more_are_told_at_once_and_fewer_once_they_stay_so() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let mut crowd = Crowd::default();
        assert!(crowd.count(10, at(0)));
        assert!(!crowd.count(9, at(1)), "of the same step");
        assert!(crowd.count(30, at(2)));
        assert!(!crowd.count(10, at(3)) && !crowd.count(12, at(62)));
        // It was crowded again meanwhile.
        assert!(!crowd.count(30, at(62)) && !crowd.count(10, at(63)) && !crowd.count(10, at(122)));
        assert!(crowd.count(10, at(123)));
        assert_eq!(crowd.told, 10);
    }

    #[test]
    fn before_anybody_counted_nothing_is_known() {
        let crowds = Crowds {
            known: Mutex::new(None),
            changed: watch::Sender::new(()),
        };
        let names = Names::new("data", "shop");
        assert_eq!(crowds.applications(&names), None);
        let changes = crowds.changes();
        crowds.count(&HashMap::new(), Instant::now());
        assert_eq!(crowds.applications(&names), Some(step(0)));
        assert!(!changes.has_changed().unwrap());
        crowds.count(&[(names.clone(), 100)].into(), Instant::now());
        assert_eq!(crowds.applications(&names), Some(121));
        assert!(changes.has_changed().unwrap());
    }
}
