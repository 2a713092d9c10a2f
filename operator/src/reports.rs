//! What agents reported lately, in the memory of the leading replica.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::stream::{Stream, StreamExt};
use remora_discovery::AgentHealth;
use tokio::sync::watch;
use tokio_stream::wrappers::WatchStream;

use crate::names::{InstanceId, Names};

/// Agents report every ten seconds; three in a row may be lost.
const FRESH: Duration = Duration::from_secs(35);
/// Agents find a new leader by trying replicas, at growing intervals.
const FOUND: Duration = Duration::from_secs(90);

/// Each instance's last report.
type Instances = BTreeMap<InstanceId, Heard>;

/// A report, when it came, and the UID of the cluster that it speaks of.
#[derive(Clone, Debug)]
struct Heard {
    at: Instant,
    uid: String,
    health: AgentHealth,
}

/// What agents reported lately.
#[derive(Debug)]
pub struct Reports {
    heard: Mutex<HashMap<Names, Instances>>,
    /// Since when this replica leads.
    since: Mutex<Option<Instant>>,
    changed: watch::Sender<()>,
}

impl Default for Reports {
    fn default() -> Self {
        Self {
            heard: Mutex::default(),
            since: Mutex::default(),
            changed: watch::Sender::new(()),
        }
    }
}

impl Reports {
    /// This replica leads from now on.
    pub fn begin(&self) {
        *self.since.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Whether an agent that is not heard is silent, rather than still looking for the leader.
    #[must_use]
    pub fn heeds_silence(&self) -> bool {
        let since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        since.is_some_and(|since| since.elapsed() >= FOUND)
    }

    /// Takes the report of an instance's agent, which follows the cluster with this UID.
    pub fn take(&self, names: Names, instance: InstanceId, uid: String, health: AgentHealth) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Heard {
            at: Instant::now(),
            uid,
            health,
        };
        let before = heard
            .entry(names)
            .or_default()
            .insert(instance, now.clone());
        if before.is_none_or(|before| before.uid != now.uid || before.health != now.health) {
            self.changed.send_replace(());
        }
    }

    /// The reports of a cluster that are not too old. An agent that still follows a cluster
    /// which was deleted, and has the same name, says nothing about this one.
    #[must_use]
    pub fn of(&self, names: &Names, uid: &str) -> BTreeMap<InstanceId, AgentHealth> {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(instances) = heard.get_mut(names) else {
            return BTreeMap::new();
        };
        instances.retain(|_, heard| heard.at.elapsed() < FRESH);
        let current = instances.iter().filter(|(_, heard)| heard.uid == uid);
        current
            .map(|(instance, heard)| (*instance, heard.health.clone()))
            .collect()
    }

    /// Yields when an agent reports something new.
    pub fn changes(&self) -> impl Stream<Item = ()> + Send + use<> {
        WatchStream::from_changes(self.changed.subscribe()).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_news_wakes() {
        let reports = Reports::default();
        let names = Names::new("default", "shop");
        let mut changes = reports.changes();
        let one = InstanceId::primary(1);
        let up = AgentHealth {
            mysqld: true,
            ..AgentHealth::default()
        };
        reports.take(names.clone(), one, "u1".to_owned(), up.clone());
        assert_eq!(changes.next().await, Some(()));
        reports.take(names.clone(), one, "u1".to_owned(), up.clone());
        let quiet = tokio::time::timeout(Duration::from_millis(50), changes.next()).await;
        assert!(quiet.is_err());
        assert_eq!(reports.of(&names, "u1"), BTreeMap::from([(one, up)]));
        assert_eq!(
            reports.of(&Names::new("other", "shop"), "u1"),
            BTreeMap::new()
        );
        // Deleted and applied again.
        assert_eq!(reports.of(&names, "u2"), BTreeMap::new());
    }
}
