//! The rows of all parts in one sequence.

use crate::error::MergeError;
use crate::key::Keys;
use crate::row::{Row, Shape};
use crate::tournament::Tournament;

/// What comes next.
pub(crate) enum Next {
    /// Nothing can be said before this part gave its next row, or its end.
    Need(usize),
    /// [`Source::current`] is the next row.
    Row,
    /// All rows have been given.
    End,
}

/// One part, and its next row once it is there.
#[derive(Debug, Default)]
struct Part {
    row: Row,
    ready: bool,
    finished: bool,
}

/// Merges the parts. It holds one row of each, and the last one given.
#[derive(Debug)]
pub(crate) struct Source {
    parts: Vec<Part>,
    sequence: Sequence,
    current: Row,
    /// Whether `current` is a row, which none after it may precede.
    begun: bool,
    held: usize,
}

#[derive(Debug)]
enum Sequence {
    /// Without an order: all of the first part, then all of the second …
    Chained { part: usize },
    /// With an order: the lowest of the parts' next rows. There is no tree before each part
    /// gave its first row.
    Ordered(Option<Tournament>),
}

impl Source {
    pub(crate) fn new(parts: usize, ordered: bool) -> Self {
        Self {
            parts: std::iter::repeat_with(Part::default).take(parts).collect(),
            sequence: if ordered {
                Sequence::Ordered(None)
            } else {
                Sequence::Chained { part: 0 }
            },
            current: Row::default(),
            begun: false,
            held: 0,
        }
    }

    /// The row that [`next`](Self::next) announced last.
    pub(crate) fn current(&self) -> &Row {
        &self.current
    }

    /// How many bytes of rows are held.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// Gives a part's next row.
    pub(crate) fn push(
        &mut self,
        part: usize,
        packet: &[u8],
        shape: &Shape,
        keys: &mut Keys,
    ) -> Result<(), MergeError> {
        let known = self
            .parts
            .get_mut(part)
            .filter(|part| !part.ready && !part.finished);
        let Some(known) = known else {
            return Err(MergeError::Unasked { part });
        };
        self.held -= known.row.bytes.len();
        known.row.load(packet, shape)?;
        self.held += known.row.bytes.len();
        keys.decode(&mut known.row)?;
        known.ready = true;
        Ok(())
    }

    /// Says that a part has no more rows.
    pub(crate) fn finish(&mut self, part: usize) {
        if let Some(part) = self.parts.get_mut(part) {
            part.finished = true;
        }
    }

    /// Finds the next row.
    pub(crate) fn next(&mut self, keys: &Keys) -> Result<Next, MergeError> {
        match &mut self.sequence {
            Sequence::Chained { part } => {
                while let Some(next) = self.parts.get(*part) {
                    if next.ready {
                        let part = *part;
                        return self.take(part, keys);
                    }
                    if !next.finished {
                        return Ok(Next::Need(*part));
                    }
                    *part += 1;
                }
                Ok(Next::End)
            }
            Sequence::Ordered(tree) => {
                let parts = &self.parts;
                let lacks = |part: &Part| !part.ready && !part.finished;
                let before = |a: usize, b: usize| precedes(parts, keys, a, b);
                let winner = match tree {
                    None => {
                        if let Some(part) = parts.iter().position(lacks) {
                            return Ok(Next::Need(part));
                        }
                        tree.insert(Tournament::new(parts.len(), before)).winner()
                    }
                    Some(tree) => {
                        // Only the winner's row was taken, so only it can have changed.
                        if lacks(&parts[tree.winner()]) {
                            return Ok(Next::Need(tree.winner()));
                        }
                        tree.replay(before);
                        tree.winner()
                    }
                };
                match parts.get(winner) {
                    Some(part) if part.ready => self.take(winner, keys),
                    _ => Ok(Next::End),
                }
            }
        }
    }

    /// Makes the part's row the current one.
    fn take(&mut self, part: usize, keys: &Keys) -> Result<Next, MergeError> {
        let taken = &mut self.parts[part];
        if self.begun && keys.compare(&self.current, &taken.row).is_gt() {
            return Err(MergeError::OutOfOrder { part });
        }
        std::mem::swap(&mut self.current, &mut taken.row);
        taken.ready = false;
        self.begun = true;
        Ok(Next::Row)
    }
}

/// Whether part `a`'s row comes before part `b`'s. Equal rows come in the order of the parts,
/// and a part without rows comes last.
fn precedes(parts: &[Part], keys: &Keys, a: usize, b: usize) -> bool {
    match (parts[a].ready, parts[b].ready) {
        (true, true) => keys
            .compare(&parts[a].row, &parts[b].row)
            .then(a.cmp(&b))
            .is_lt(),
        (ready, _) => ready,
    }
}
