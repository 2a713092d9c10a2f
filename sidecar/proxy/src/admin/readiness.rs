//! Whether the process may get clients. Never a question of whether shards are up: pods of the
//! application must start and stay ready with a shard down.

use std::sync::atomic::{AtomicBool, Ordering};

/// What is known so far.
#[derive(Debug)]
pub struct Readiness {
    /// Whether a snapshot is waited for.
    waits: bool,
    has_snapshot: AtomicBool,
    listens: AtomicBool,
    drains: AtomicBool,
}

impl Readiness {
    /// For a process that is ready once it has a snapshot and listens.
    #[must_use]
    pub fn when_serving() -> Self {
        Self {
            waits: true,
            has_snapshot: AtomicBool::new(false),
            listens: AtomicBool::new(false),
            drains: AtomicBool::new(false),
        }
    }

    /// For the sidecar of a MySQL pod. mysqld starts after it, and the operator may wait for
    /// the pod: to wait for either would wait for ever.
    #[must_use]
    pub fn at_once() -> Self {
        Self {
            waits: false,
            ..Self::when_serving()
        }
    }

    /// A snapshot is loaded.
    pub fn has_snapshot(&self) {
        self.has_snapshot.store(true, Ordering::Relaxed);
    }

    /// The listener for clients accepts.
    pub fn listens(&self) {
        self.listens.store(true, Ordering::Relaxed);
    }

    /// No client is accepted any more.
    pub fn drain(&self) {
        self.drains.store(true, Ordering::Relaxed);
    }

    /// Whether clients are accepted at this moment.
    #[must_use]
    pub fn serves(&self) -> bool {
        self.listens.load(Ordering::Relaxed) && !self.drains.load(Ordering::Relaxed)
    }

    /// Why the process is not ready, if it is not.
    #[must_use]
    pub fn reason(&self) -> Option<&'static str> {
        if self.drains.load(Ordering::Relaxed) {
            Some("draining")
        } else if !self.waits {
            None
        } else if !self.has_snapshot.load(Ordering::Relaxed) {
            Some("no snapshot of the cluster yet: the operator has not answered")
        } else if !self.listens.load(Ordering::Relaxed) {
            Some("not listening yet")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_and_a_listener_make_it_ready() {
        let readiness = Readiness::when_serving();
        assert!(readiness.reason().is_some());
        readiness.has_snapshot();
        assert_eq!(readiness.reason(), Some("not listening yet"));
        readiness.listens();
        assert_eq!(readiness.reason(), None);
        readiness.drain();
        assert_eq!(readiness.reason(), Some("draining"));
    }

    #[test]
    fn in_a_mysql_pod_nothing_is_waited_for() {
        let readiness = Readiness::at_once();
        assert_eq!(readiness.reason(), None);
        assert!(!readiness.serves());
    }
}
