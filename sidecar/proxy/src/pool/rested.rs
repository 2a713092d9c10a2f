//! A connection that someone else may have.

use std::time::Instant;

use super::identity::{Fit, Want};
use crate::backend::Backend;

/// A connection in a known state that holds nothing of a session's but settings.
#[derive(Debug)]
pub(crate) struct Rested {
    backend: Backend,
}

impl Rested {
    /// Lets a session's connection go, if nothing of the session's is on it.
    ///
    /// # Errors
    /// Gives it back otherwise: it is under way, broken, in a transaction, holds state, or its
    /// session may still be interrupted there (`Backend::work_for_nobody`).
    pub(crate) fn new(mut backend: Backend) -> Result<Self, Box<Backend>> {
        if backend.may_rest() && !backend.works_for_somebody() {
            backend.belongs(None);
            Ok(Self { backend })
        } else {
            Err(Box::new(backend))
        }
    }

    /// Gives it to whoever wants it most.
    pub(crate) fn give(self) {
        // One that nobody counts is nobody's to have.
        if let Some(pool) = self.backend.pool().cloned() {
            pool.give(self);
        }
    }

    /// The connection, for whoever has to close it.
    pub(crate) fn into_backend(self) -> Backend {
        self.backend
    }

    /// The connection as it was wanted: what others left on it is forgotten before the next
    /// command, in the same write. Says whether there was something to forget.
    pub(crate) fn lend(mut self, want: &Want) -> (Backend, bool) {
        let resets = matches!(self.fit(want), Fit::Reset | Fit::Never);
        if resets {
            self.backend.queue_reset(want);
        } else {
            self.backend.adopt(&want.settings);
        }
        (self.backend, resets)
    }
}

/// What the pool must know of what it keeps.
pub(super) trait Kept {
    /// How well it fits.
    fn fit(&self, want: &Want) -> Fit;
    /// Since when nobody has used it.
    fn idle_since(&self) -> Instant;
    /// When it was opened.
    fn opened(&self) -> Instant;
}

impl Kept for Rested {
    fn fit(&self, want: &Want) -> Fit {
        self.backend.fit(want)
    }

    fn idle_since(&self) -> Instant {
        self.backend.last_used()
    }

    fn opened(&self) -> Instant {
        self.backend.opened()
    }
}
