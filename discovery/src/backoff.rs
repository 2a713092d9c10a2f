//! Waiting longer and longer between attempts, at random, so that a thousand sidecars do not
//! fall upon a restarted operator in step.

use std::time::Duration;

use rand::Rng;

const FIRST: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(15);

/// The next wait.
#[derive(Debug)]
pub(crate) struct Backoff {
    ceiling: Duration,
}

impl Backoff {
    pub(crate) fn new() -> Self {
        Self { ceiling: FIRST }
    }

    /// Something worked: the next wait is short again.
    pub(crate) fn reset(&mut self) {
        self.ceiling = FIRST;
    }

    /// Half of the ceiling and a random part of the other half; the ceiling doubles.
    pub(crate) fn next(&mut self) -> Duration {
        let ceiling = self.ceiling;
        self.ceiling = (ceiling * 2).min(LONGEST);
        ceiling.mul_f64(rand::rng().random_range(0.5..=1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_a_bound_and_start_again() {
        let mut backoff = Backoff::new();
        assert!(backoff.next() <= FIRST);
        for _ in 0..20 {
            assert!(backoff.next() <= LONGEST);
        }
        assert!(backoff.next() >= LONGEST / 2);
        backoff.reset();
        assert!(backoff.next() <= FIRST);
    }
}
