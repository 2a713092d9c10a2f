//! Who has how many connections, who waits, and who gets the next one. Pure.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use remora_crds::Sidecar;
use tokio::sync::oneshot;

use super::identity::{Fit, Want};
use super::queue::Pool;
use super::rested::Kept;
use super::shortage::Shortage;
use crate::snapshot::Connections;

/// What a pool keeps to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Bounds {
    /// How many connections there may be.
    pub(crate) most: usize,
    /// How many are kept open although nobody uses them.
    pub(crate) warm: usize,
    /// How long one waits for a connection.
    pub(crate) queue: Duration,
    /// How long an idle one stays open.
    pub(crate) idle: Duration,
    /// How old one may be that changes hands.
    pub(crate) lifetime: Duration,
    /// Whether there are too few for all sidecars at once.
    pub(crate) takes_turns: bool,
}

impl Bounds {
    /// What the manifest says, within the sidecar's share.
    pub(crate) fn of(sidecar: &Sidecar, connections: &Connections) -> Self {
        let pool = &sidecar.pool;
        let share = connections.share.unwrap_or(u32::MAX).max(1);
        Self {
            most: sidecar.backend_connections.min(share) as usize,
            warm: pool.warm_connections as usize,
            queue: pool.queue_timeout.into(),
            idle: pool.idle_timeout.into(),
            lifetime: pool.max_lifetime.into(),
            takes_turns: connections.are_short(),
        }
    }
}

/// The right to have one connection. Whoever drops it gives it up.
#[derive(Debug)]
pub(crate) struct Seat {
    pool: Arc<Pool>,
}

impl Seat {
    pub(super) fn new(pool: Arc<Pool>) -> Self {
        Self { pool }
    }

    /// Where it is a seat.
    pub(crate) fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.pool.vacate();
    }
}

/// Somebody who waits.
#[derive(Debug)]
pub(super) struct Waiter<C> {
    pub(super) number: u64,
    pub(super) want: Arc<Want>,
    pub(super) since: Instant,
    pub(super) grant: oneshot::Sender<Granted<C>>,
}

/// What one who came gets.
#[derive(Debug)]
pub(crate) enum Granted<C> {
    /// A connection.
    Kept(C),
    /// The right to open one.
    Seat(Seat),
}

/// How it goes for one who comes.
#[derive(Debug)]
pub(super) enum Took<C> {
    /// One that rested.
    Kept(C),
    /// It opens one, which is counted.
    Opens,
    /// Others were first, or there is nothing. What is in the way of a new connection is closed.
    Wait(Option<C>),
}

/// What becomes of a connection that is given back.
#[derive(Debug)]
pub(super) enum Gave<C> {
    /// Whoever waited longest gets it.
    Handed(Waiter<C>, C),
    /// It rests.
    Rests,
    /// It is closed, which frees its seat.
    Close(C),
}

/// Connections of one pool.
#[derive(Debug)]
pub(super) struct Seats<C> {
    pub(super) bounds: Bounds,
    /// Connections that there are, or that are being opened.
    pub(super) open: usize,
    /// Those that rest; the one used last is at the end.
    idle: Vec<C>,
    queue: VecDeque<Waiter<C>>,
    pub(super) shortage: Shortage,
}

/// Whoever waited so long for a connection of its own kind is first, whatever that costs: a
/// connection of another kind is closed for it.
const FAIR: Duration = Duration::from_millis(100);

impl<C: Kept> Seats<C> {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            open: 0,
            idle: Vec::new(),
            queue: VecDeque::new(),
            shortage: Shortage::default(),
        }
    }

    /// Whether one more connection may be opened.
    fn has_room(&self) -> bool {
        self.open < self.bounds.most && self.shortage.admits()
    }

    /// Somebody comes. `ahead`: it holds connections that others wait for, and passes the queue.
    pub(super) fn take(&mut self, want: &Want, ahead: bool, now: Instant) -> Took<C> {
        if !ahead && !self.queue.is_empty() {
            return Took::Wait(None);
        }
        if let Some(kept) = self.fitting(want, now) {
            return Took::Kept(kept);
        }
        if self.has_room() {
            self.open += 1;
            return Took::Opens;
        }
        let oldest = (!self.idle.is_empty()).then(|| self.idle.remove(0));
        Took::Wait(oldest)
    }

    /// The best of those that rest; among equals the one that was used last, whose server has it
    /// in its caches.
    fn fitting(&mut self, want: &Want, now: Instant) -> Option<C> {
        let lifetime = self.shortage.tighten(self.bounds, now).lifetime;
        let young = |kept: &C| now.saturating_duration_since(kept.opened()) < lifetime;
        let candidates = self.idle.iter().enumerate().rev();
        let (at, fit) = candidates
            .filter(|(_, kept)| young(kept))
            .map(|(at, kept)| (at, kept.fit(want)))
            .min_by_key(|(_, fit)| *fit)?;
        (fit != Fit::Never).then(|| self.idle.remove(at))
    }

    /// Lets somebody wait. `ahead`: before all others.
    pub(super) fn queue(&mut self, waiter: Waiter<C>, ahead: bool) {
        if ahead {
            self.queue.push_front(waiter);
        } else {
            self.queue.push_back(waiter);
        }
    }

    /// Somebody waits no longer. `false`: it was served meanwhile.
    pub(super) fn leave(&mut self, number: u64) -> bool {
        let before = self.queue.len();
        self.queue.retain(|waiter| waiter.number != number);
        self.queue.len() < before
    }

    /// A connection is given back.
    pub(super) fn give(&mut self, kept: C, now: Instant) -> Gave<C> {
        let age = now.saturating_duration_since(kept.opened());
        let lifetime = self.shortage.tighten(self.bounds, now).lifetime;
        if self.open > self.bounds.most || age >= lifetime {
            self.shortage.turn_ended(now);
            return Gave::Close(kept);
        }
        self.queue.retain(|waiter| !waiter.grant.is_closed());
        let Some(first) = self.queue.front() else {
            self.idle.push(kept);
            return Gave::Rests;
        };
        let patient = now.saturating_duration_since(first.since) < FAIR;
        let fits = |waiter: &Waiter<C>| kept.fit(&waiter.want) != Fit::Never;
        let served = match fits(first) {
            true => Some(0),
            false if patient => self.queue.iter().position(fits),
            false => None,
        };
        match served.and_then(|at| self.queue.remove(at)) {
            Some(waiter) => Gave::Handed(waiter, kept),
            None => Gave::Close(kept),
        }
    }

    /// A connection is gone; whoever is first may open another one.
    pub(super) fn vacate(&mut self) -> Option<Waiter<C>> {
        self.open = self.open.saturating_sub(1);
        self.next()
    }

    /// Who may open a connection now.
    pub(super) fn next(&mut self) -> Option<Waiter<C>> {
        self.queue.retain(|waiter| !waiter.grant.is_closed());
        if !self.has_room() {
            return None;
        }
        let waiter = self.queue.pop_front()?;
        self.open += 1;
        Some(waiter)
    }

    /// Takes out what has rested too long, is too old, or is too much.
    pub(super) fn expire(&mut self, now: Instant) -> Vec<C> {
        let Bounds {
            most,
            warm,
            idle,
            lifetime,
            ..
        } = self.shortage.tighten(self.bounds, now);
        let mut spare = self.open.saturating_sub(warm);
        let mut excess = self.open.saturating_sub(most);
        let mut expired = Vec::new();
        for kept in std::mem::take(&mut self.idle) {
            let rested = now.saturating_duration_since(kept.idle_since()) >= idle && spare > 0;
            let old = now.saturating_duration_since(kept.opened()) >= lifetime;
            if rested || old || excess > 0 {
                spare = spare.saturating_sub(1);
                excess = excess.saturating_sub(1);
                expired.push(kept);
            } else {
                self.idle.push(kept);
            }
        }
        expired
    }

    /// How many rest.
    pub(super) fn resting(&self) -> usize {
        self.idle.len()
    }

    /// Takes out all that rest.
    pub(super) fn clear(&mut self) -> Vec<C> {
        std::mem::take(&mut self.idle)
    }

    /// Counts one more, if fewer are open than are to be kept.
    pub(super) fn warm(&mut self) -> bool {
        let bounds = self.shortage.tighten(self.bounds, Instant::now());
        let lacks = self.open < bounds.warm && self.has_room() && self.queue.is_empty();
        self.open += usize::from(lacks);
        lacks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::identity::{Identity, Place};
    use crate::session::Settings;

    /// A connection that fits those who want its database, and must be reset for those who want
    /// the one with a `*` behind it.
    #[derive(Debug, PartialEq)]
    struct Fake {
        of: &'static str,
        opened: Instant,
        used: Instant,
    }

    impl Kept for Fake {
        fn fit(&self, want: &Want) -> Fit {
            match &want.place {
                Place::In(name) if name == self.of => Fit::Same,
                Place::In(name) if name.trim_end_matches('*') == self.of => Fit::Reset,
                _ => Fit::Never,
            }
        }
        fn idle_since(&self) -> Instant {
            self.used
        }
        fn opened(&self) -> Instant {
            self.opened
        }
    }

    struct Bench {
        seats: Seats<Fake>,
        start: Instant,
        numbers: u64,
    }

    type Receiver = oneshot::Receiver<Granted<Fake>>;

    impl Bench {
        fn new(most: usize) -> Self {
            let bounds = Bounds {
                most,
                warm: 0,
                queue: Duration::from_secs(1),
                idle: Duration::from_secs(10),
                lifetime: Duration::from_secs(60),
                takes_turns: false,
            };
            let seats = Seats::new(bounds);
            Self {
                seats,
                start: Instant::now(),
                numbers: 0,
            }
        }

        fn at(&self, millis: u64) -> Instant {
            self.start + Duration::from_millis(millis)
        }

        fn fake(&self, of: &'static str, at: u64) -> Fake {
            let at = self.at(at);
            Fake {
                of,
                opened: at,
                used: at,
            }
        }

        fn opens(&mut self, of: &str) -> bool {
            let took = self.seats.take(&want(of), false, self.start);
            matches!(took, Took::Opens)
        }

        fn waits(&mut self, of: &str, at: u64, ahead: bool) -> (Receiver, Option<Fake>) {
            let Took::Wait(closed) = self.seats.take(&want(of), ahead, self.at(at)) else {
                panic!("nothing to wait for");
            };
            let (grant, receiver) = oneshot::channel();
            self.numbers += 1;
            let waiter = Waiter {
                number: self.numbers,
                want: Arc::new(want(of)),
                since: self.at(at),
                grant,
            };
            self.seats.queue(waiter, ahead);
            (receiver, closed)
        }

        fn serves(&mut self, kept: Fake, at: u64) -> Option<u64> {
            match self.seats.give(kept, self.at(at)) {
                Gave::Handed(waiter, _) => Some(waiter.number),
                Gave::Rests | Gave::Close(_) => None,
            }
        }
    }

    fn want(of: &str) -> Want {
        let identity = Identity {
            user: b"app".to_vec(),
            password: remora_protocol::Password::default(),
            capabilities: remora_protocol::CapabilityFlags::empty(),
            collation: 255,
        };
        Want {
            identity: Arc::new(identity),
            place: Place::In(of.to_owned()),
            settings: Settings::default(),
            first: b"",
        }
    }

    #[test]
    fn no_more_are_open_than_may_be() {
        let mut bench = Bench::new(2);
        assert!(bench.opens("a") && bench.opens("a") && !bench.opens("a"));
        assert_eq!(bench.seats.open, 2);
    }

    #[test]
    fn the_one_that_fits_best_is_taken_and_the_last_used_among_equals() {
        let mut bench = Bench::new(9);
        for _ in 0..4 {
            assert!(bench.opens("a"));
        }
        for (of, at) in [("b", 0), ("a", 1), ("a", 2), ("b", 3)] {
            bench.seats.give(bench.fake(of, at), bench.at(at));
        }
        let mut take = |of| match bench.seats.take(&want(of), false, bench.start) {
            Took::Kept(kept) => Some((kept.of, kept.used - bench.start)),
            _ => None,
        };
        let millis = Duration::from_millis;
        assert_eq!(take("a"), Some(("a", millis(2))));
        assert_eq!(take("b*"), Some(("b", millis(3))));
        assert_eq!(take("c"), None);
    }

    #[test]
    fn what_nobody_uses_makes_room_for_another_kind() {
        let mut bench = Bench::new(1);
        bench.opens("a");
        bench.seats.give(bench.fake("a", 0), bench.at(0));
        let (_receiver, closed) = bench.waits("b", 1, false);
        assert_eq!(closed.unwrap().of, "a");
        assert_eq!(bench.seats.vacate().unwrap().number, 1);
        assert_eq!(bench.seats.open, 1);
    }

    #[test]
    fn who_waits_is_served_in_turn_and_who_holds_others_first() {
        let mut bench = Bench::new(1);
        bench.opens("a");
        let _first = bench.waits("a", 0, false);
        let _second = bench.waits("a", 0, false);
        let _holds = bench.waits("a", 0, true);
        let order: Vec<_> = (0..3)
            .map(|_| bench.serves(bench.fake("a", 0), 1).unwrap())
            .collect();
        assert_eq!(order, [3, 1, 2]);
        assert_eq!(bench.serves(bench.fake("a", 0), 1), None);
    }

    #[test]
    fn another_kind_is_passed_by_for_a_moment_only() {
        let mut bench = Bench::new(1);
        bench.opens("a");
        let _other = bench.waits("b", 0, false);
        let _same = bench.waits("a", 0, false);
        assert_eq!(bench.serves(bench.fake("a", 0), 99), Some(2));
        let _again = bench.waits("a", 99, false);
        assert_eq!(bench.serves(bench.fake("a", 0), 100), None);
        assert_eq!(bench.seats.vacate().unwrap().number, 1);
    }

    #[test]
    fn who_went_away_is_not_served() {
        let mut bench = Bench::new(1);
        bench.opens("a");
        drop(bench.waits("a", 0, false));
        let _there = bench.waits("a", 0, false);
        assert_eq!(bench.serves(bench.fake("a", 0), 1), Some(2));
        assert!(!bench.seats.leave(2) && !bench.seats.leave(1));
    }

    #[test]
    fn connections_that_rested_too_long_or_are_too_old_are_closed() {
        let mut bench = Bench::new(9);
        assert!(bench.opens("a") && bench.opens("a") && bench.opens("a"));
        for at in [0, 5_000, 9_000] {
            bench.seats.give(bench.fake("a", at), bench.at(at));
        }
        bench.seats.bounds.warm = 2;
        let closed = |at| {
            let closed = bench.seats.expire(bench.start + Duration::from_millis(at));
            closed.iter().for_each(|_| drop(bench.seats.vacate()));
            closed.len()
        };
        // The two that are kept warm are closed only when they are too old.
        assert_eq!([30_000, 31_000, 66_000, 70_000].map(closed), [1, 0, 1, 1]);
    }

    #[test]
    fn one_that_is_too_old_or_too_much_does_not_change_hands() {
        let mut bench = Bench::new(2);
        assert!(bench.opens("a") && bench.opens("a"));
        let _waits = bench.waits("a", 0, false);
        let old = bench.fake("a", 0);
        assert!(matches!(
            bench.seats.give(old, bench.at(60_000)),
            Gave::Close(_)
        ));
        bench.seats.bounds.most = 1;
        let excess = bench.fake("a", 60_000);
        assert!(matches!(
            bench.seats.give(excess, bench.at(60_000)),
            Gave::Close(_)
        ));
        assert!(bench.seats.vacate().is_none());
    }

    #[test]
    fn the_share_bounds_what_the_manifest_allows() {
        let most = |share| {
            let connections = Connections {
                share,
                gateway: None,
            };
            let bounds = Bounds::of(&Sidecar::default(), &connections);
            (bounds.most, bounds.takes_turns)
        };
        assert_eq!(most(None), (100, false));
        assert_eq!(most(Some(500)), (100, false));
        assert_eq!(most(Some(2)), (2, false));
        assert_eq!(most(Some(1)), (1, true));
        assert_eq!(most(Some(0)), (1, true));
    }

    #[test]
    fn while_a_server_is_full_all_wait_but_for_those_who_fit() {
        let mut bench = Bench::new(9);
        assert!(bench.opens("a") && bench.opens("a"));
        bench.seats.shortage.was_full(bench.start, 0.5);
        // The login that was refused.
        assert!(bench.seats.vacate().is_none());
        let _waits = bench.waits("a", 0, false);
        assert_eq!(bench.serves(bench.fake("a", 0), 1), Some(1));
        let _waits = bench.waits("a", 1, false);
        assert!(bench.seats.next().is_none());
        bench.seats.shortage.try_again();
        assert_eq!(bench.seats.next().unwrap().number, 2);
    }

    #[test]
    fn a_connection_whose_turn_is_over_is_closed_whoever_waits_here() {
        let mut bench = Bench::new(2);
        assert!(bench.opens("a") && bench.opens("a"));
        bench.seats.shortage.told(true);
        let _waits = bench.waits("a", 0, false);
        let young = bench.fake("a", 0);
        assert!(matches!(
            bench.seats.give(young, bench.at(199)),
            Gave::Handed(..)
        ));
        let old = bench.fake("a", 0);
        assert!(matches!(
            bench.seats.give(old, bench.at(200)),
            Gave::Close(_)
        ));
    }
}
