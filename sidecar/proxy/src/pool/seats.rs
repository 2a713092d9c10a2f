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
mod tests;
