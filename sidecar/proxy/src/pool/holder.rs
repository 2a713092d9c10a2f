//! A session as those see it who want its connections.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use std::task::Poll;

use futures::task::AtomicWaker;

/// A clock for what lasts long: seconds, counted by [`pass_a_second`]. To read the real one after
/// each statement costs more.
static SECONDS: AtomicU32 = AtomicU32::new(0);

/// Moves the clock of idle sessions; answers what it shows.
pub(super) fn pass_a_second() -> u32 {
    SECONDS.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
}

/// What the clock of idle sessions shows.
pub(super) fn seconds() -> u32 {
    SECONDS.load(Ordering::Relaxed)
}

/// What a session with connections is doing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub(crate) enum Doing {
    /// It runs a command, and looks at the end whether someone waits.
    Busy,
    /// It waits for its client, and can give connections back.
    Idle,
    /// It waits for its client, and what is on its connections keeps them.
    Kept,
}

/// A session that holds connections.
#[derive(Debug)]
pub(crate) struct Holder {
    /// Its number.
    pub(crate) id: u32,
    doing: AtomicU8,
    /// When it last said what it is doing.
    since: AtomicU32,
    asked: AtomicBool,
    waker: AtomicWaker,
}

impl Holder {
    /// One that runs a command.
    pub(crate) fn new(id: u32) -> Self {
        Self {
            id,
            doing: AtomicU8::new(Doing::Busy as u8),
            since: AtomicU32::new(0),
            asked: AtomicBool::new(false),
            waker: AtomicWaker::new(),
        }
    }

    /// Notes what the session is doing.
    ///
    /// Whoever waits counts itself first and looks for an idle session then; an idle session says
    /// so first and looks for those who wait then. In one order for all (`SeqCst`) one of the two
    /// sees the other.
    pub(crate) fn set(&self, doing: Doing) {
        self.since.store(seconds(), Ordering::Relaxed);
        self.doing.store(doing as u8, Ordering::SeqCst);
    }

    /// For how many seconds it has been doing the same.
    pub(super) fn idle_for(&self, now: u32) -> u64 {
        now.wrapping_sub(self.since.load(Ordering::Relaxed)).into()
    }

    /// Asks an idle session to give back what it can. `false`: it is not idle, or was asked.
    pub(super) fn ask(&self) -> bool {
        if self.doing.load(Ordering::SeqCst) != Doing::Idle as u8
            || self.asked.swap(true, Ordering::SeqCst)
        {
            return false;
        }
        self.waker.wake();
        true
    }

    /// Asks a session, whatever it does, to give back what it can: it has had it for long.
    pub(super) fn demand(&self) {
        self.asked.store(true, Ordering::SeqCst);
        if self.doing.load(Ordering::SeqCst) == Doing::Idle as u8 {
            self.waker.wake();
        }
    }

    /// Ready once the session was asked.
    pub(crate) fn poll_asked(&self, cx: &mut std::task::Context<'_>) -> Poll<()> {
        if self.take_asked() {
            return Poll::Ready(());
        }
        self.waker.register(cx.waker());
        // It may have been asked before the waker was there.
        match self.take_asked() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }

    /// Whether the session was asked since this was looked at last.
    pub(crate) fn take_asked(&self) -> bool {
        // Most often it is not: a load costs nothing that other cores notice.
        self.asked.load(Ordering::SeqCst) && self.asked.swap(false, Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    #[tokio::test]
    async fn only_an_idle_session_is_asked_and_only_once() {
        let holder = Holder::new(1);
        assert!(!holder.ask());
        holder.set(Doing::Kept);
        assert!(!holder.ask());
        holder.set(Doing::Idle);
        assert!(holder.ask() && !holder.ask());
        poll_fn(|cx| holder.poll_asked(cx)).await;
        assert!(holder.ask());
    }
}
