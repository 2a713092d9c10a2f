//! A circuit breaker: who failed several times in a row is left alone for a while, and then one
//! may try. Without I/O and clock.

use std::time::{Duration, Instant};

/// When a breaker opens, and for how long.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Limits {
    /// So many failures in a row open it.
    pub(crate) consecutive_errors: u32,
    /// So long it keeps everybody away.
    pub(crate) open_for: Duration,
}

/// What a breaker lets happen.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum State {
    /// Everybody may.
    Closed,
    /// One may try, the others may not.
    HalfOpen,
    /// Nobody may.
    Open,
}

/// The breaker of one server.
#[derive(Clone, Debug)]
pub(crate) struct Breaker {
    limits: Limits,
    errors: u32,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Phase {
    Closed,
    /// Since then.
    Open(Instant),
    /// Someone tries since then.
    Probing(Instant),
}

impl Breaker {
    /// A closed one.
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            errors: 0,
            phase: Phase::Closed,
        }
    }

    /// Takes other limits, for what happens from now on.
    pub(crate) fn limit(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Whether the caller may try now. Of those who come after the time of an open breaker, one
    /// may; who never says how it ended is taken for lost after the same time.
    pub(crate) fn admit(&mut self, now: Instant) -> bool {
        match self.phase {
            Phase::Closed => true,
            Phase::Open(since) | Phase::Probing(since)
                if now.saturating_duration_since(since) >= self.limits.open_for =>
            {
                self.phase = Phase::Probing(now);
                true
            }
            Phase::Open(_) | Phase::Probing(_) => false,
        }
    }

    /// Someone succeeded.
    pub(crate) fn succeeded(&mut self) {
        self.errors = 0;
        self.phase = Phase::Closed;
    }

    /// Someone failed.
    pub(crate) fn failed(&mut self, now: Instant) {
        self.errors = self.errors.saturating_add(1);
        match self.phase {
            Phase::Closed if self.errors < self.limits.consecutive_errors => {}
            // What began before it opened may fail long after: that is no reason to wait longer.
            Phase::Open(_) => {}
            Phase::Closed | Phase::Probing(_) => self.phase = Phase::Open(now),
        }
    }

    /// What it lets happen.
    pub(crate) fn state(&self) -> State {
        match self.phase {
            Phase::Closed => State::Closed,
            Phase::Open(_) => State::Open,
            Phase::Probing(_) => State::HalfOpen,
        }
    }
}

impl State {
    /// As the console and logs show it.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::HalfOpen => "half-open",
            Self::Open => "open",
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: Limits = Limits {
        consecutive_errors: 3,
        open_for: Duration::from_secs(2),
    };

    #[test]
    fn so_many_errors_in_a_row_open_it() {
        let now = Instant::now();
        let mut breaker = Breaker::new(LIMITS);
        for _ in 0..2 {
            breaker.failed(now);
        }
        breaker.succeeded();
        for _ in 0..2 {
            breaker.failed(now);
            assert_eq!(breaker.state(), State::Closed);
        }
        breaker.failed(now);
        assert_eq!(breaker.state(), State::Open);
        assert!(!breaker.admit(now + Duration::from_secs(1)));
    }

    #[test]
    fn one_tries_when_the_time_is_over() {
        let now = Instant::now();
        let mut breaker = Breaker::new(LIMITS);
        for _ in 0..3 {
            breaker.failed(now);
        }
        let later = now + LIMITS.open_for;
        assert!(breaker.admit(later));
        assert!(!breaker.admit(later), "a second one tries too");
        assert_eq!(breaker.state(), State::HalfOpen);
        breaker.failed(later);
        assert_eq!(breaker.state(), State::Open);
        let latest = later + LIMITS.open_for;
        assert!(breaker.admit(latest));
        breaker.succeeded();
        assert_eq!(breaker.state(), State::Closed);
        assert!(breaker.admit(latest) && breaker.admit(latest));
    }

    #[test]
    fn one_who_tries_and_is_never_heard_of_does_not_block_it() {
        let now = Instant::now();
        let mut breaker = Breaker::new(LIMITS);
        for _ in 0..3 {
            breaker.failed(now);
        }
        assert!(breaker.admit(now + LIMITS.open_for));
        assert!(breaker.admit(now + LIMITS.open_for * 2));
    }

    #[derive(Clone, Debug)]
    enum Step {
        Admit,
        Succeeded,
        Failed,
        Wait(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            Just(Step::Admit),
            Just(Step::Succeeded),
            Just(Step::Failed),
            (0_u64..3000).prop_map(Step::Wait),
        ]
    }

    proptest! {
        #[test]
        fn it_opens_only_after_errors_and_lets_at_most_one_in_while_it_is_not_closed(
            steps in prop::collection::vec(step(), 0..200),
        ) {
            let mut now = Instant::now();
            let mut breaker = Breaker::new(LIMITS);
            let mut in_a_row = 0;
            let mut let_in = None;
            for step in steps {
                let before = breaker.state();
                match step {
                    Step::Admit => {
                        let admitted = breaker.admit(now);
                        if before == State::Closed {
                            prop_assert!(admitted);
                        } else if admitted {
                            if let Some(last) = let_in {
                                prop_assert!(now - last >= LIMITS.open_for);
                            }
                            let_in = Some(now);
                        }
                    }
                    Step::Succeeded => {
                        breaker.succeeded();
                        (in_a_row, let_in) = (0, None);
                        prop_assert_eq!(breaker.state(), State::Closed);
                    }
                    Step::Failed => {
                        breaker.failed(now);
                        in_a_row += 1;
                    }
                    Step::Wait(millis) => now += Duration::from_millis(millis),
                }
                if breaker.state() != State::Closed {
                    prop_assert!(in_a_row >= LIMITS.consecutive_errors);
                } else {
                    prop_assert!(in_a_row < LIMITS.consecutive_errors);
                }
            }
        }
    }
}
