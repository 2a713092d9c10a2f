//! What a session said last, for whoever looks for the reason of a failure.

use std::collections::VecDeque;
use std::fmt::{self, Display, Formatter};
use std::time::Instant;

/// How many statements are kept.
const KEPT: usize = 40;
/// How much of a statement is shown.
const SHOWN: usize = 120;

/// The last statements of a session.
#[derive(Debug)]
pub(super) struct History {
    begun: Instant,
    said: VecDeque<String>,
}

impl History {
    pub(super) fn new(begun: Instant) -> Self {
        Self {
            begun,
            said: VecDeque::with_capacity(KEPT),
        }
    }

    /// Notes what is said.
    pub(super) fn note(&mut self, text: &str) {
        if self.said.len() == KEPT {
            self.said.pop_front();
        }
        let shown: String = text.chars().take(SHOWN).collect();
        let at = self.begun.elapsed().as_secs_f64();
        self.said.push_back(format!("{at:9.3} {shown}"));
    }
}

impl Display for History {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for line in &self.said {
            writeln!(f, "{line}")?;
        }
        Ok(())
    }
}
