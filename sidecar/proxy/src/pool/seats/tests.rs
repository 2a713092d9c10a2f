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
