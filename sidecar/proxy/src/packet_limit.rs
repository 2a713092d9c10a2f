//! How large a packet may be: what the servers of all shards take (`max_allowed_packet`).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use crate::locked::locked;

/// MySQL's default, until a server was asked.
const DEFAULT: usize = 64 << 20;

/// The limit of all sessions. MySQL gives a session what the server has when it begins; here it
/// is what the servers had when they were last admitted.
#[derive(Debug)]
pub(crate) struct PacketLimit {
    of_shards: Mutex<BTreeMap<usize, usize>>,
    least: AtomicUsize,
    asked: AtomicBool,
}

impl Default for PacketLimit {
    fn default() -> Self {
        Self {
            of_shards: Mutex::default(),
            least: AtomicUsize::new(DEFAULT),
            asked: AtomicBool::new(false),
        }
    }
}

impl PacketLimit {
    /// Notes what the server of a shard takes, in bytes.
    pub(crate) fn learn(&self, shard: usize, bytes: usize) {
        let mut of_shards = self.of_shards();
        of_shards.insert(shard, bytes);
        let least = of_shards.values().min().copied().unwrap_or(DEFAULT);
        self.least.store(least, Ordering::Relaxed);
        self.asked.store(true, Ordering::Relaxed);
    }

    /// Whether nobody has asked a server yet: the first who hears it is to ask.
    pub(crate) fn must_be_asked(&self) -> bool {
        !self.asked.swap(true, Ordering::Relaxed)
    }

    /// A packet of so many bytes is one too large.
    pub(crate) fn bytes(&self) -> usize {
        self.least.load(Ordering::Relaxed)
    }

    fn of_shards(&self) -> MutexGuard<'_, BTreeMap<usize, usize>> {
        locked(&self.of_shards)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_shard_does_not_take_is_too_large() {
        let limit = PacketLimit::default();
        assert_eq!(limit.bytes(), DEFAULT);
        assert!(limit.must_be_asked() && !limit.must_be_asked());
        limit.learn(0, 128 << 20);
        assert_eq!(limit.bytes(), 128 << 20);
        limit.learn(1, 1 << 20);
        assert_eq!(limit.bytes(), 1 << 20);
        limit.learn(1, 256 << 20);
        assert_eq!(limit.bytes(), 128 << 20);
    }
}
