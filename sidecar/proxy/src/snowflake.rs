//! Values for generated keys without a round trip: time, node and counter in 63 bits.

use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::locked::locked;

/// 2025-01-01T00:00:00Z in milliseconds of Unix time. 41 bits from here last until 2094.
const EPOCH: u64 = 1_735_689_600_000;
/// Bits of the counter: 4096 values in each millisecond.
const COUNTER_BITS: u32 = 12;
/// Bits of the node: sidecars that generate at the same time.
const NODE_BITS: u32 = 10;
/// How many nodes there can be.
pub(crate) const NODES: u64 = 1 << NODE_BITS;

/// The generator of one process.
#[derive(Debug)]
pub(crate) struct Snowflake {
    node: u64,
    last: Mutex<u64>,
}

impl Snowflake {
    /// A generator for a node; of `node` the low ten bits count.
    #[must_use]
    pub(crate) fn new(node: u64) -> Self {
        Self {
            node: node % NODES,
            last: Mutex::new(0),
        }
    }

    /// Gives `count` values that grow.
    pub(crate) fn take(&self, count: usize) -> Vec<u64> {
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let now = u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX);
        self.take_at(now.saturating_sub(EPOCH), count)
    }

    /// Time and counter are one number that never goes back: when the clock does, or a
    /// millisecond has no more values, it runs ahead of the clock.
    fn take_at(&self, millis: u64, count: usize) -> Vec<u64> {
        let mut last = locked(&self.last);
        (0..count)
            .map(|_| {
                *last = (millis << COUNTER_BITS).max(*last + 1);
                let (time, counter) = (*last >> COUNTER_BITS, *last & ((1 << COUNTER_BITS) - 1));
                time << (NODE_BITS + COUNTER_BITS) | self.node << COUNTER_BITS | counter
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_grow_though_the_clock_goes_back() {
        let flakes = Snowflake::new(7);
        let mut values = flakes.take_at(1000, 5000);
        values.extend(flakes.take_at(900, 3));
        assert!(values.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn nodes_never_meet() {
        let [a, b] = [1, 2].map(|node| Snowflake::new(node).take_at(5, 4096));
        assert!(a.iter().all(|value| !b.contains(value)));
    }

    #[test]
    fn a_value_fits_in_a_signed_bigint() {
        let last_millisecond = (1 << 41) - 1;
        let value = Snowflake::new(1023).take_at(last_millisecond, 1)[0];
        assert!(i64::try_from(value).is_ok());
    }
}
