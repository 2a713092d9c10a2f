//! The pool of one server, and waiting for it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::holder::{Holder, seconds};
use super::identity::Want;
use super::rested::Rested;
use super::seats::{Bounds, Gave, Granted, Seat, Seats, Took, Waiter};
use crate::backend::Login;
use crate::locked::locked;

/// How many wait for connections of any pool, with one more for each pool whose connections others'
/// sidecars may wait for: the one number that sessions look at after each statement.
#[derive(Debug, Default)]
pub(crate) struct Pressure(AtomicUsize);

impl Pressure {
    /// Whether anybody waits.
    pub(crate) fn is_felt(&self) -> bool {
        self.0.load(Ordering::SeqCst) > 0
    }
}

/// The connections to one server.
#[derive(Debug)]
pub(crate) struct Pool {
    seats: Mutex<Seats<Rested>>,
    /// Sessions that hold connections, and since when.
    holders: Mutex<HashMap<u32, (Arc<Holder>, u32)>>,
    /// How many wait.
    waiting: AtomicUsize,
    pressure: Arc<Pressure>,
    /// Other sidecars may wait for connections to this server.
    takes_turns: AtomicBool,
    numbers: AtomicU64,
    /// How the last session logged in, for connections that nobody asked for yet.
    latest: Mutex<Option<Login>>,
}

/// What one who came gets.
pub(crate) type Grant = Granted<Rested>;

impl Pool {
    /// One without connections.
    pub(crate) fn new(bounds: Bounds, pressure: Arc<Pressure>) -> Arc<Self> {
        Arc::new(Self {
            seats: Mutex::new(Seats::new(bounds)),
            holders: Mutex::default(),
            waiting: AtomicUsize::new(0),
            pressure,
            takes_turns: AtomicBool::new(false),
            numbers: AtomicU64::new(0),
            latest: Mutex::default(),
        })
    }

    /// One for tests of what surrounds it.
    #[cfg(test)]
    pub(crate) fn of_test() -> Arc<Self> {
        let connections = crate::snapshot::Connections::default();
        let bounds = Bounds::of(&remora_crds::Sidecar::default(), &connections);
        Self::new(bounds, Arc::default())
    }

    /// Changes what it keeps to.
    pub(crate) fn bound(self: &Arc<Self>, bounds: Bounds) {
        let mut admitted = Vec::new();
        {
            let mut seats = locked(&self.seats);
            seats.bounds = bounds;
            seats.shortage.told(bounds.takes_turns);
            self.take_turns(seats.shortage.is_felt(Instant::now()));
            admitted.extend(std::iter::from_fn(|| seats.next()));
        }
        for waiter in admitted {
            self.seat(waiter);
        }
    }

    /// What it keeps to.
    pub(crate) fn bounds(&self) -> Bounds {
        locked(&self.seats).bounds
    }

    /// Whether anybody waits, here or in another sidecar.
    pub(crate) fn is_wanted(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0 || self.takes_turns()
    }

    /// Whether connections are given back after each command, since other sidecars may wait.
    pub(crate) fn takes_turns(&self) -> bool {
        self.takes_turns.load(Ordering::SeqCst)
    }

    fn take_turns(&self, yes: bool) {
        match (self.takes_turns.swap(yes, Ordering::SeqCst), yes) {
            (false, true) => self.pressure.0.fetch_add(1, Ordering::SeqCst),
            (true, false) => self.pressure.0.fetch_sub(1, Ordering::SeqCst),
            _ => 0,
        };
    }

    /// The server refused a login for lack of room: until somebody tries again, nobody opens a
    /// connection. Answers after which time to do so.
    pub(crate) fn was_full(&self) -> Duration {
        let pause = {
            let mut seats = locked(&self.seats);
            seats.shortage.was_full(Instant::now(), rand::random())
        };
        self.take_turns(true);
        pause
    }

    /// How long to wait before a connection is opened, for the sake of other sidecars.
    pub(crate) fn steps_back(&self) -> Duration {
        locked(&self.seats).shortage.steps_back(Instant::now())
    }

    /// Lets connections be opened again, after the server had room or to see whether it has.
    pub(crate) fn try_again(self: &Arc<Self>, had_room: bool) {
        let next = {
            let mut seats = locked(&self.seats);
            if had_room {
                seats.shortage.had_room();
            } else {
                seats.shortage.try_again();
            }
            // One is enough: if it gets in, it lets the next one try.
            had_room.then(|| seats.next()).flatten()
        };
        if let Some(waiter) = next {
            self.seat(waiter);
        }
    }

    /// How many connections there are, how many of them rest, and how many sessions wait.
    pub(crate) fn counts(&self) -> (usize, usize, usize) {
        let seats = locked(&self.seats);
        (
            seats.open,
            seats.resting(),
            self.waiting.load(Ordering::SeqCst),
        )
    }

    /// Waits for a connection or the right to open one, until `deadline`; `None`: in vain.
    /// `ahead`: the one who comes holds connections that others wait for, and goes before them.
    pub(crate) async fn take(
        self: &Arc<Self>,
        want: &Arc<Want>,
        ahead: bool,
        deadline: Instant,
    ) -> Option<Grant> {
        let (waiting, receiver) = {
            let now = Instant::now();
            let mut seats = locked(&self.seats);
            match seats.take(want, ahead, now) {
                Took::Kept(rested) => return Some(Granted::Kept(rested)),
                Took::Opens => return Some(Granted::Seat(Seat::new(Arc::clone(self)))),
                Took::Wait(closed) => {
                    let waiting = Waiting::new(self);
                    let (grant, receiver) = oneshot::channel();
                    let waiter = Waiter {
                        number: waiting.number,
                        want: Arc::clone(want),
                        since: now,
                        grant,
                    };
                    seats.queue(waiter, ahead);
                    drop(seats);
                    match closed {
                        Some(closed) => close(closed),
                        None => self.ask(),
                    }
                    (waiting, receiver)
                }
            }
        };
        let granted = tokio::time::timeout_at(deadline.into(), receiver).await;
        drop(waiting);
        granted.ok()?.ok()
    }

    /// Takes a connection back.
    pub(crate) fn give(self: &Arc<Self>, rested: Rested) {
        let mut rested = rested;
        loop {
            let gave = locked(&self.seats).give(rested, Instant::now());
            match gave {
                Gave::Rests => return,
                Gave::Close(rested) => return close(rested),
                Gave::Handed(waiter, kept) => match waiter.grant.send(Granted::Kept(kept)) {
                    // It went away at this moment.
                    Err(Granted::Kept(kept)) => rested = kept,
                    Err(Granted::Seat(_)) | Ok(()) => return,
                },
            }
        }
    }

    /// A connection is gone.
    pub(super) fn vacate(self: &Arc<Self>) {
        let next = locked(&self.seats).vacate();
        if let Some(waiter) = next {
            self.seat(waiter);
        }
    }

    /// Lets somebody who waited open a connection, which is counted. If it just went away, its
    /// seat is dropped, and goes to the next one.
    fn seat(self: &Arc<Self>, waiter: Waiter<Rested>) {
        drop(
            waiter
                .grant
                .send(Granted::Seat(Seat::new(Arc::clone(self)))),
        );
    }

    /// Asks an idle session for its connection.
    pub(crate) fn ask(&self) {
        locked(&self.holders)
            .values()
            .any(|(holder, _)| holder.ask());
    }

    /// Notes that a session has a connection, for as long as what this gives is there.
    pub(crate) fn hold(self: &Arc<Self>, holder: &Arc<Holder>) -> Holding {
        let held = (Arc::clone(holder), seconds());
        locked(&self.holders).insert(holder.id, held);
        Holding {
            pool: Arc::clone(self),
            holder: holder.id,
        }
    }

    /// Notes how somebody logged in.
    pub(crate) fn logged_in(&self, login: &Login) {
        *locked(&self.latest) = Some(login.clone());
    }

    /// Closes what is not to be kept, and asks sessions for what they have not used for long.
    pub(super) fn tidy(self: &Arc<Self>, tick: u32) {
        let (expired, bounds, excess, next) = {
            let now = Instant::now();
            let mut seats = locked(&self.seats);
            let expired = seats.expire(now);
            let excess = seats.open > seats.bounds.most || seats.shortage.is_felt(now);
            self.take_turns(seats.shortage.is_felt(now));
            // Whoever was to try again may have gone away.
            seats.shortage.try_again();
            (expired, seats.bounds, excess, seats.next())
        };
        if let Some(waiter) = next {
            self.seat(waiter);
        }
        expired.into_iter().for_each(close);
        for (holder, since) in locked(&self.holders).values() {
            if excess || holder.idle_for(tick) >= bounds.idle.as_secs() {
                holder.ask();
            }
            if u64::from(tick.wrapping_sub(*since)) >= bounds.lifetime.as_secs() {
                holder.demand();
            }
        }
    }

    /// Closes what has rested long enough while other sidecars may wait.
    pub(super) fn pass_on(&self) {
        let expired = locked(&self.seats).expire(Instant::now());
        expired.into_iter().for_each(close);
    }

    /// Closes all that rest.
    pub(crate) fn clear(&self) {
        let all = locked(&self.seats).clear();
        all.into_iter().for_each(close);
    }

    /// The right to open a connection that nobody asked for yet, and how to log in.
    pub(super) fn warm(self: &Arc<Self>) -> Option<(Seat, Login)> {
        let login = locked(&self.latest).clone()?;
        locked(&self.seats)
            .warm()
            .then(|| (Seat::new(Arc::clone(self)), login))
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.take_turns(false);
    }
}

/// A session has a connection of this pool.
#[derive(Debug)]
pub(crate) struct Holding {
    pool: Arc<Pool>,
    holder: u32,
}

impl Drop for Holding {
    fn drop(&mut self) {
        locked(&self.pool.holders).remove(&self.holder);
    }
}

/// Lets the server know that a connection ends. Its seat is free then.
fn close(rested: Rested) {
    tokio::spawn(rested.into_backend().quit());
}

/// Somebody in the queue; it leaves when this is dropped.
struct Waiting<'a> {
    pool: &'a Pool,
    number: u64,
}

impl<'a> Waiting<'a> {
    fn new(pool: &'a Pool) -> Self {
        pool.waiting.fetch_add(1, Ordering::SeqCst);
        pool.pressure.0.fetch_add(1, Ordering::SeqCst);
        let number = pool.numbers.fetch_add(1, Ordering::Relaxed);
        Self { pool, number }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.pool.waiting.fetch_sub(1, Ordering::SeqCst);
        self.pool.pressure.0.fetch_sub(1, Ordering::SeqCst);
        locked(&self.pool.seats).leave(self.number);
    }
}
