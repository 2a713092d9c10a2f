//! How many reads may be asked again of another server: a share of all reads, so that a failure
//! does not grow into an overload. Without I/O and clock.

use std::time::Instant;

/// What was not used counts for so long.
const WINDOW: f64 = 10.0;

/// The bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Limits {
    /// Retries for each hundred reads.
    pub(crate) percent: u32,
    /// Retries each second, however few reads there are.
    pub(crate) min_per_second: u32,
}

/// A bucket of tokens, one for each retry. It is looked at only when something failed: reads are
/// counted elsewhere, and their number is handed in.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    limits: Limits,
    tokens: f64,
    at: Instant,
    reads: u64,
}

impl Budget {
    /// One that has what it gets in ten seconds without reads.
    pub(crate) fn new(limits: Limits, now: Instant) -> Self {
        Self {
            limits,
            tokens: f64::from(limits.min_per_second) * WINDOW,
            at: now,
            reads: 0,
        }
    }

    /// Takes other bounds, for what happens from now on.
    pub(crate) fn limit(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Takes a token, if there is one; `reads`: how many there were since the process started.
    pub(crate) fn withdraw(&mut self, now: Instant, reads: u64) -> bool {
        let seconds = now.saturating_duration_since(self.at).as_secs_f64();
        // Precise up to 2^53 reads between two failures.
        let new = reads.saturating_sub(self.reads) as f64;
        let share = f64::from(self.limits.percent) / 100.0;
        let least = f64::from(self.limits.min_per_second);
        // Two failures of one moment say nothing of the rate; then all reads so far count.
        let rate = new / seconds.max(WINDOW);
        let most = (least + share * rate) * WINDOW;
        let filled = self.tokens + least * seconds + share * new;
        // What earlier reads brought is not taken away by a moment without reads.
        self.tokens = filled.min(most.max(self.kept(seconds)));
        (self.at, self.reads) = (now, reads);
        if self.tokens < 1.0 {
            return false;
        }
        self.tokens -= 1.0;
        true
    }

    /// What is left of the tokens that were there, which fade over the window.
    fn kept(&self, seconds: f64) -> f64 {
        self.tokens * (1.0 - (seconds / WINDOW).min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    const LIMITS: Limits = Limits {
        percent: 20,
        min_per_second: 10,
    };

    fn granted(budget: &mut Budget, now: Instant, reads: u64) -> u32 {
        (0..).take_while(|_| budget.withdraw(now, reads)).count() as u32
    }

    #[test]
    fn few_reads_may_all_be_tried_again() {
        let start = Instant::now();
        let mut budget = Budget::new(LIMITS, start);
        assert_eq!(granted(&mut budget, start, 0), 100);
        assert_eq!(granted(&mut budget, start + Duration::from_secs(1), 0), 10);
    }

    #[test]
    fn many_reads_bring_their_share() {
        let start = Instant::now();
        let mut budget = Budget::new(LIMITS, start);
        // An hour of 1000 reads a second: what ten seconds of them bring counts.
        let later = start + Duration::from_secs(3600);
        let retries = granted(&mut budget, later, 3_600_000);
        assert!((2000..=2200).contains(&retries), "{retries}");
        let retries = granted(&mut budget, later + Duration::from_secs(1), 3_601_000);
        assert!((205..=210).contains(&retries), "{retries}");
    }

    #[test]
    fn without_a_share_the_least_remains() {
        let start = Instant::now();
        let none = Limits {
            percent: 0,
            min_per_second: 0,
        };
        let mut budget = Budget::new(none, start);
        assert!(!budget.withdraw(start + Duration::from_secs(10), 1_000_000));
    }

    proptest! {
        #[test]
        fn it_never_grants_more_than_its_share_and_the_least(
            steps in prop::collection::vec((0_u64..5000, 0_u64..2000, 0_u32..500), 1..50),
        ) {
            let start = Instant::now();
            let (mut now, mut reads, mut retries) = (start, 0, 0_u32);
            let mut budget = Budget::new(LIMITS, start);
            for (millis, more, wanted) in steps {
                now += Duration::from_millis(millis);
                reads += more;
                for _ in 0..wanted {
                    retries += u32::from(budget.withdraw(now, reads));
                }
                let seconds = (now - start).as_secs_f64();
                let most = 100.0 + 10.0 * seconds + 0.2 * reads as f64;
                prop_assert!(f64::from(retries) <= most + 1e-6, "{retries} of {most}");
            }
        }
    }
}
