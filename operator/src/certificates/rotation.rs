//! When the CA is replaced by another, step by step. Pure: the clock is passed in.
//!
//! ```text
//! Settled ── Begin ──► Distributing ── Switch ──► Issuing ── Forget ──► Settled
//!   one CA               both trusted,              both trusted,
//!                        the old one issues         the new one issues
//! ```
//!
//! Where the rotation stands is what the Secret holds, so that it survives the operator.

use std::time::{Duration, SystemTime};

use super::Validity;

/// The least that a phase lasts. Replicas of the operator read the Secret every few seconds, and
/// apiservers hear of the webhook's CA a moment after it was written.
pub(super) const LEAST: Duration = Duration::from_secs(15);

/// Where a rotation stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Phase {
    /// There is one CA.
    Settled,
    /// All learn to trust the next CA. The present one still issues.
    Distributing,
    /// The new CA issues. All still trust the old one, until no server shows its certificates.
    Issuing,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Step {
    /// Make the next CA, and let all trust it.
    Begin,
    /// Issue by the next CA from now on.
    Switch,
    /// Trust the old CA no longer.
    Forget,
}

/// How things are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Situation {
    /// Where the rotation stands.
    pub(super) phase: Phase,
    /// For how long, as far as this leader knows.
    pub(super) lasted: Duration,
    /// The validity of the CA that will be, or was, replaced.
    pub(super) validity: Validity,
    /// Somebody asks for another CA, and did not get it yet.
    pub(super) requested: bool,
    /// Somebody does not trust the next CA yet, or still shows a certificate of the old one.
    pub(super) waiting: bool,
}

/// The next step, if it is time for one. A CA that is about to expire is replaced whoever is
/// waited for: those would be cut off in any case, and the others with them.
#[must_use]
pub(super) fn decide(situation: &Situation, now: SystemTime) -> Option<Step> {
    let Situation {
        phase,
        lasted,
        validity,
        requested,
        waiting,
    } = *situation;
    let ready = lasted >= LEAST && !waiting;
    match phase {
        Phase::Settled => (requested || validity.is_due(now)).then_some(Step::Begin),
        Phase::Distributing => (ready || validity.is_urgent(now)).then_some(Step::Switch),
        // Nobody accepts its certificates any more.
        Phase::Issuing => (ready || now > validity.until).then_some(Step::Forget),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 3600);

    fn begun() -> SystemTime {
        SystemTime::UNIX_EPOCH + 20_000 * DAY
    }

    fn situation(phase: Phase) -> Situation {
        Situation {
            phase,
            lasted: DAY,
            validity: Validity {
                from: begun(),
                until: begun() + 360 * DAY,
            },
            requested: false,
            waiting: false,
        }
    }

    #[test]
    fn one_ca_is_replaced_when_it_is_asked_for_or_two_thirds_are_over() {
        let at = |days: u32, requested| {
            let situation = Situation {
                requested,
                ..situation(Phase::Settled)
            };
            decide(&situation, begun() + days * DAY)
        };
        assert_eq!(at(1, false), None);
        assert_eq!(at(1, true), Some(Step::Begin));
        assert_eq!(at(239, false), None);
        assert_eq!(at(240, false), Some(Step::Begin));
    }

    #[test]
    fn no_phase_is_left_while_somebody_is_behind_or_may_not_have_heard_of_it() {
        for (phase, step) in [
            (Phase::Distributing, Step::Switch),
            (Phase::Issuing, Step::Forget),
        ] {
            let after = |lasted, waiting| {
                let situation = Situation {
                    lasted,
                    waiting,
                    ..situation(phase)
                };
                decide(&situation, begun() + 241 * DAY)
            };
            assert_eq!(after(LEAST / 2, false), None);
            assert_eq!(after(LEAST, true), None);
            assert_eq!(after(LEAST, false), Some(step));
        }
    }

    #[test]
    fn a_request_during_a_rotation_waits_for_its_end() {
        for phase in [Phase::Distributing, Phase::Issuing] {
            let situation = Situation {
                requested: true,
                waiting: true,
                ..situation(phase)
            };
            assert_eq!(decide(&situation, begun() + DAY), None);
        }
    }

    #[test]
    fn what_expires_waits_for_nobody() {
        let late = |phase, days: u32| {
            let situation = Situation {
                waiting: true,
                lasted: Duration::ZERO,
                ..situation(phase)
            };
            decide(&situation, begun() + days * DAY)
        };
        assert_eq!(late(Phase::Distributing, 329), None);
        assert_eq!(late(Phase::Distributing, 330), Some(Step::Switch));
        assert_eq!(late(Phase::Issuing, 360), None);
        assert_eq!(late(Phase::Issuing, 361), Some(Step::Forget));
    }
}
