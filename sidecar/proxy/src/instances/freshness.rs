//! How far a replica is behind, by what it has executed. Without I/O and clock.
//!
//! The primary's executed GTIDs are noted with the moment before they were asked for. A replica
//! that has all of a note is not further behind than the note is old, whatever its threads claim:
//! a source that is cut off or frozen looks idle to them. No clock but the sidecar's own counts.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::gtid::GtidSet;

/// So many notes are kept. A primary is asked at least each second, so they reach a minute back.
const NOTES: usize = 64;

/// What a primary had executed when.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes {
    notes: VecDeque<Note>,
}

#[derive(Clone, Debug)]
struct Note {
    /// The last moment before which it was asked and had this.
    at: Instant,
    executed: Arc<GtidSet>,
}

/// What is known of a replica's lag.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Freshness {
    /// It has all that the primary had at this moment.
    AsOf(Instant),
    /// It lacks something that the primary had at this moment already.
    Before(Instant),
    /// Nothing is known.
    Unknown,
}

impl Notes {
    /// Notes what the primary answered to a question that was asked at `at`.
    pub(crate) fn put(&mut self, at: Instant, executed: Arc<GtidSet>) {
        // It may have lost what it had: it is another one, or was made anew.
        self.notes.retain(|note| executed.contains(&note.executed));
        if let Some(last) = self.notes.back_mut()
            && *last.executed == *executed
        {
            last.at = at;
            return;
        }
        if self.notes.len() == NOTES {
            self.notes.pop_front();
        }
        self.notes.push_back(Note { at, executed });
    }

    /// Forgets all: the shard has another primary.
    pub(crate) fn clear(&mut self) {
        self.notes.clear();
    }

    /// What a replica with these GTIDs is known to have.
    pub(crate) fn freshness(&self, executed: &GtidSet) -> Freshness {
        let newest = self
            .notes
            .iter()
            .rev()
            .find(|note| executed.contains(&note.executed));
        match (newest, self.notes.front()) {
            (Some(note), _) => Freshness::AsOf(note.at),
            (None, Some(oldest)) => Freshness::Before(oldest.at),
            (None, None) => Freshness::Unknown,
        }
    }
}

impl Freshness {
    /// The lag at `now`, and whether it is more than that.
    pub(crate) fn lag(self, now: Instant) -> Option<(Duration, bool)> {
        match self {
            Self::AsOf(at) => Some((now.saturating_duration_since(at), false)),
            Self::Before(at) => Some((now.saturating_duration_since(at), true)),
            Self::Unknown => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(last: u64) -> Arc<GtidSet> {
        let text = match last {
            0 => String::new(),
            _ => format!("291212a5-ed01-11f1-bcd7-02fc00000001:1-{last}"),
        };
        Arc::new(GtidSet::parse(&text).unwrap())
    }

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn an_idle_replica_is_as_fresh_as_the_last_question() {
        let start = Instant::now();
        let mut notes = Notes::default();
        assert_eq!(notes.freshness(&set(1)), Freshness::Unknown);
        notes.put(start, set(5));
        notes.put(start + seconds(9), set(5));
        assert_eq!(
            notes.freshness(&set(5)),
            Freshness::AsOf(start + seconds(9))
        );
        assert_eq!(
            notes.freshness(&set(7)),
            Freshness::AsOf(start + seconds(9))
        );
    }

    #[test]
    fn a_replica_that_applies_later_is_behind_by_that() {
        let start = Instant::now();
        let mut notes = Notes::default();
        for second in 0..20 {
            notes.put(start + seconds(second), set(10 + second));
        }
        let freshness = notes.freshness(&set(15));
        assert_eq!(
            freshness.lag(start + seconds(20)),
            Some((seconds(15), false))
        );
        let freshness = notes.freshness(&set(3));
        assert_eq!(
            freshness.lag(start + seconds(20)),
            Some((seconds(20), true))
        );
    }

    #[test]
    fn a_primary_that_is_not_heard_of_makes_replicas_old() {
        let start = Instant::now();
        let mut notes = Notes::default();
        notes.put(start, set(5));
        let freshness = notes.freshness(&set(5));
        assert_eq!(
            freshness.lag(start + seconds(30)),
            Some((seconds(30), false))
        );
    }

    #[test]
    fn a_primary_that_lost_something_is_another_one() {
        let start = Instant::now();
        let mut notes = Notes::default();
        notes.put(start, set(9));
        notes.put(start + seconds(1), set(4));
        assert_eq!(
            notes.freshness(&set(4)),
            Freshness::AsOf(start + seconds(1))
        );
    }

    #[test]
    fn so_many_notes_are_kept() {
        let start = Instant::now();
        let mut notes = Notes::default();
        for second in 0..200 {
            notes.put(start + seconds(second), set(second));
        }
        assert_eq!(notes.notes.len(), NOTES);
        assert_eq!(
            notes.freshness(&set(1)),
            Freshness::Before(start + seconds(136))
        );
    }
}
