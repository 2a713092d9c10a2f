//! Metrics of the pools.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::Latencies;
use super::metrics::OpenGuard;

/// What somebody who needed a connection got.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Granted {
    /// One that rested or was given back, as it was.
    AsItWas,
    /// The same, which was reset.
    Reset,
    /// A new one.
    Opened,
    /// None in time.
    TimedOut,
}

/// In the order of their numbers.
const GRANTS: [&str; 4] = ["as_it_was", "reset", "opened", "timed_out"];

/// How sessions come by connections.
#[derive(Debug)]
pub struct PoolMetrics {
    granted: [Counter; GRANTS.len()],
    waits: Latencies,
    waiting: Gauge,
    full: Counter,
    share: Gauge,
    through: Gauge,
}

impl PoolMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let granted = Family::<Vec<(&'static str, String)>, Counter>::default();
        registry.register(
            "pool_grants",
            "Connections that sessions needed, and what they got",
            granted.clone(),
        );
        let waits = Latencies::default();
        registry.register(
            "pool_wait_seconds",
            "How long sessions waited for a connection",
            waits.clone(),
        );
        let waiting = Gauge::default();
        registry.register(
            "pool_waiting",
            "Sessions that wait for a connection",
            waiting.clone(),
        );
        let full = Counter::default();
        registry.register(
            "backend_full",
            "Logins that a server refused because it has too many connections",
            full.clone(),
        );
        let share = Gauge::default();
        registry.register(
            "connection_share",
            "How many connections to each server are this sidecar's share; -1: nobody says",
            share.clone(),
        );
        share.set(-1);
        let through = Gauge::default();
        registry.register(
            "clients_through_gateway",
            "Clients that a gateway serves, since this sidecar has too few connections",
            through.clone(),
        );
        let counter = |label: &str| {
            granted
                .get_or_create(&vec![("result", label.to_owned())])
                .clone()
        };
        Self {
            granted: GRANTS.map(counter),
            waits,
            waiting,
            full,
            share,
            through,
        }
    }

    /// Counts a session that waits, until what this gives is dropped.
    pub(crate) fn waits(&self) -> OpenGuard {
        OpenGuard::new(&self.waiting)
    }

    /// Counts a login that was refused for lack of room.
    pub(crate) fn was_full(&self) {
        self.full.inc();
    }

    /// Notes the sidecar's share of each server's connections.
    pub(crate) fn has_share(&self, share: Option<u32>) {
        self.share.set(share.map_or(-1, i64::from));
    }

    /// Counts a client that a gateway serves, until what this gives is dropped.
    pub(crate) fn goes_through(&self) -> OpenGuard {
        OpenGuard::new(&self.through)
    }

    /// Counts what it got.
    pub(crate) fn got(&self, granted: Granted, waited: Duration) {
        self.granted[granted as usize].inc();
        self.waits.observe(waited);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_stand_in_the_order_of_their_numbers() {
        let metrics = PoolMetrics::register(&mut Registry::default());
        metrics.got(Granted::TimedOut, Duration::ZERO);
        assert_eq!(GRANTS[Granted::TimedOut as usize], "timed_out");
        assert_eq!(GRANTS[Granted::AsItWas as usize], "as_it_was");
        assert_eq!(metrics.granted[3].get(), 1);
    }
}
