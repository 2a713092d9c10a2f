//! What is done where a server has fewer connections than there are sidecars that want one. Pure.
//!
//! Nobody knows of the others, so each takes turns: a connection is given back after each command
//! and closed soon, whoever wants one next must come anew, and a server that was found full is
//! asked again by one session of the sidecar, the more often the longer it has waited.

use std::time::{Duration, Instant};

use super::seats::Bounds;

/// How old a connection may be that is used again. Long enough that logging in, which costs a
/// millisecond or two, does not count; short enough that some turns fit in the time that one waits.
const TURN: Duration = Duration::from_millis(200);
/// How long one that nobody uses stays open.
const LINGER: Duration = Duration::from_millis(50);
/// After a server was found full, turns are taken for so long.
const REMEMBERED: Duration = Duration::from_secs(30);
/// The pauses after logins that were refused for lack of room. They shrink: whoever waited longest
/// has the best chances, and nobody waits much longer than others.
const PAUSES: [Duration; 3] = [
    Duration::from_millis(320),
    Duration::from_millis(160),
    Duration::from_millis(80),
];
/// For so long a sidecar whose turn is over lets others go first. It knows when its connection ends;
/// they come upon that by chance.
const STEPS_BACK: Duration = Duration::from_millis(80);

/// How short connections to a server are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shortage {
    /// The sidecar's share says so.
    told: bool,
    /// The server was found full; remembered until then.
    found: Option<Instant>,
    /// How many logins were refused one after the other.
    refused: usize,
    /// When a connection was closed for others.
    ended: Option<Instant>,
    /// Nobody opens a connection, but for the one who waits to try.
    closed: bool,
}

impl Shortage {
    /// Takes note of what the share says.
    pub(super) fn told(&mut self, yes: bool) {
        self.told = yes;
    }

    /// The server had no room for another connection. Answers how long to wait before the next
    /// try, of which `chance` (0 to 1) makes another time for each sidecar.
    pub(super) fn was_full(&mut self, now: Instant, chance: f64) -> Duration {
        let pause = PAUSES[self.refused.min(PAUSES.len() - 1)];
        self.refused = self.refused.saturating_add(1);
        self.found = Some(now + REMEMBERED);
        self.closed = true;
        pause.mul_f64(0.5 + chance)
    }

    /// A connection is closed because its turn is over.
    pub(super) fn turn_ended(&mut self, now: Instant) {
        self.ended = self.is_felt(now).then_some(now);
    }

    /// How long to wait before a connection is opened, where others are known to wait.
    pub(super) fn steps_back(&self, now: Instant) -> Duration {
        let met_others = self.found.is_some_and(|until| now < until);
        let ended = self.ended.filter(|_| met_others);
        ended.map_or(Duration::ZERO, |ended| {
            STEPS_BACK.saturating_sub(now.saturating_duration_since(ended))
        })
    }

    /// The server had room.
    pub(super) fn had_room(&mut self) {
        self.refused = 0;
        self.closed = false;
    }

    /// It is time to try again.
    pub(super) fn try_again(&mut self) {
        self.closed = false;
    }

    /// Whether a connection may be opened.
    pub(super) fn admits(&self) -> bool {
        !self.closed
    }

    /// Whether sidecars take turns.
    pub(super) fn is_felt(&self, now: Instant) -> bool {
        self.told || self.found.is_some_and(|until| now < until)
    }

    /// `bounds` under the shortage.
    pub(super) fn tighten(&self, bounds: Bounds, now: Instant) -> Bounds {
        if !self.is_felt(now) {
            return bounds;
        }
        Bounds {
            warm: 0,
            idle: bounds.idle.min(LINGER),
            lifetime: bounds.lifetime.min(TURN),
            ..bounds
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds() -> Bounds {
        Bounds {
            most: 9,
            warm: 3,
            queue: Duration::from_secs(10),
            idle: Duration::from_secs(300),
            lifetime: Duration::from_secs(1800),
            takes_turns: false,
        }
    }

    #[test]
    fn where_connections_are_short_none_is_kept() {
        let now = Instant::now();
        let mut shortage = Shortage::default();
        assert_eq!(shortage.tighten(bounds(), now), bounds());
        shortage.told(true);
        let tight = shortage.tighten(bounds(), now);
        assert_eq!(
            (tight.warm, tight.most, tight.queue),
            (0, 9, bounds().queue)
        );
        assert_eq!((tight.idle, tight.lifetime), (LINGER, TURN));
    }

    #[test]
    fn a_server_that_was_full_is_known_for_a_while() {
        let now = Instant::now();
        let mut shortage = Shortage::default();
        shortage.was_full(now, 0.5);
        assert!(!shortage.admits() && shortage.is_felt(now));
        shortage.had_room();
        assert!(shortage.admits() && shortage.is_felt(now + Duration::from_secs(29)));
        assert!(!shortage.is_felt(now + Duration::from_secs(30)));
    }

    #[test]
    fn pauses_shrink_and_begin_anew_once_there_was_room() {
        let now = Instant::now();
        let mut shortage = Shortage::default();
        let mut pause = || shortage.was_full(now, 0.5).as_millis();
        assert_eq!([pause(), pause(), pause(), pause()], [320, 160, 80, 80]);
        shortage.had_room();
        assert_eq!(shortage.was_full(now, 0.0), Duration::from_millis(160));
    }

    #[test]
    fn whose_turn_is_over_steps_back_where_others_were_met() {
        let now = Instant::now();
        let later = now + Duration::from_millis(30);
        let mut shortage = Shortage::default();
        shortage.told(true);
        shortage.turn_ended(now);
        assert_eq!(shortage.steps_back(now), Duration::ZERO);
        shortage.was_full(now, 0.5);
        assert_eq!(shortage.steps_back(later), Duration::from_millis(50));
        let long_after = now + Duration::from_secs(1);
        assert_eq!(shortage.steps_back(long_after), Duration::ZERO);
    }
}
