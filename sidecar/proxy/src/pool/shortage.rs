//! What is done where a server has fewer connections than there are sidecars that want one. Pure.
//!
//! Nobody knows of the others, so each takes turns: a connection is given back after each command
//! and closed soon, whoever wants one next must come anew, and a server that was found full is
//! asked again by one session of the sidecar, after pauses that grow.

use std::time::{Duration, Instant};

use super::seats::Bounds;

/// How old a connection may be that is used again. Long enough that logging in, which costs a
/// millisecond or two, does not count; short enough that some turns fit in the time that one waits.
const TURN: Duration = Duration::from_millis(200);
/// How long one that nobody uses stays open.
const LINGER: Duration = Duration::from_millis(50);
/// After a server was found full, turns are taken for so long.
const REMEMBERED: Duration = Duration::from_secs(30);
/// The pause after the first login that was refused for lack of room, and the longest one.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(320));

/// How short connections to a server are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shortage {
    /// The sidecar's share says so.
    told: bool,
    /// The server was found full; remembered until then.
    found: Option<Instant>,
    /// How many logins were refused one after the other.
    refused: u32,
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
        let (shortest, longest) = PAUSES;
        let pause = shortest.saturating_mul(1 << self.refused.min(8));
        self.refused = self.refused.saturating_add(1);
        self.found = Some(now + REMEMBERED);
        self.closed = true;
        pause.min(longest).mul_f64(0.5 + chance)
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
    fn pauses_grow_and_begin_anew_once_there_was_room() {
        let now = Instant::now();
        let mut shortage = Shortage::default();
        let mut pause = || shortage.was_full(now, 0.5).as_millis();
        assert_eq!([pause(), pause(), pause()], [20, 40, 80]);
        assert_eq!([pause(), pause(), pause()], [160, 320, 320]);
        shortage.had_room();
        assert_eq!(shortage.was_full(now, 0.0), Duration::from_millis(10));
        for _ in 0..100 {
            assert!(shortage.was_full(now, 1.0) <= Duration::from_millis(480));
        }
    }
}
