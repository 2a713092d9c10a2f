//! How connecting to each shard went lately: for metrics, and for the report to the operator.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::locked::locked;

/// A failure older than this says nothing about a shard that nobody asked since.
const RECENT: Duration = Duration::from_secs(60);

/// The last failure to connect to each shard, if nothing succeeded since.
#[derive(Debug, Default)]
pub struct Shards {
    failed: Mutex<BTreeMap<usize, (Instant, String)>>,
}

impl Shards {
    /// Notes how an attempt to connect ended.
    pub fn note(&self, shard: usize, outcome: Result<(), String>) {
        let mut failed = locked(&self.failed);
        match outcome {
            Ok(()) => drop(failed.remove(&shard)),
            Err(reason) => drop(failed.insert(shard, (Instant::now(), reason))),
        }
    }

    /// Shards that could not be reached when that was last tried, a moment ago.
    #[must_use]
    pub fn unreachable(&self) -> Vec<(u16, String)> {
        let failed = locked(&self.failed);
        let recent = failed.iter().filter(|(_, (at, _))| at.elapsed() < RECENT);
        recent
            .filter_map(|(shard, (_, reason))| Some((u16::try_from(*shard).ok()?, reason.clone())))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_unreachable_until_a_connection_succeeds() {
        let shards = Shards::default();
        shards.note(1, Err("refused".to_owned()));
        shards.note(0, Ok(()));
        assert_eq!(shards.unreachable(), [(1, "refused".to_owned())]);
        shards.note(1, Ok(()));
        assert_eq!(shards.unreachable(), []);
    }
}
