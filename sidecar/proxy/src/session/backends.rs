//! The session's own connections to MySQL: at most one for each shard, opened when needed.

use crate::backend::{Backend, Written};
use crate::instances::GtidSet;

/// Open connections, by shard.
#[derive(Debug, Default)]
pub(crate) struct Backends {
    open: Vec<Option<Backend>>,
    last: Option<usize>,
    /// By shard, what the session committed there.
    written: Vec<Written>,
}

/// What a replica of a shard must have, so that the session reads what it wrote.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Mark<'a> {
    /// The session wrote nothing there that some replica lacks.
    Nothing,
    /// These.
    Gtids(&'a GtidSet),
    /// Nobody knows: the primary must be asked.
    Unknown,
}

/// A session that wrote in so many places of the shard's history is better off with all of it:
/// what its primary has executed.
const MOST_RANGES: usize = 64;

impl Backends {
    /// The connection to `shard`, if one is open and in a known state.
    pub(crate) fn get(&mut self, shard: usize) -> Option<&mut Backend> {
        self.open
            .get_mut(shard)?
            .as_mut()
            .filter(|b| !b.is_broken())
    }

    /// The connection to `shard`, whatever its state.
    pub(crate) fn slot(&mut self, shard: usize) -> Option<&mut Backend> {
        self.open.get_mut(shard)?.as_mut()
    }

    /// Closes the connections that are in no known state, or were closed by their server.
    pub(crate) fn drop_gone(&mut self) {
        for slot in &mut self.open {
            if slot.as_mut().is_some_and(Backend::is_gone)
                && let Some(gone) = slot.take()
            {
                collect(&mut self.written, gone);
            }
        }
    }

    /// What a replica of `shard` must have.
    pub(crate) fn mark(&mut self, shard: usize) -> Mark<'_> {
        let slot = self.open.get_mut(shard).and_then(Option::as_mut);
        if let Some(backend) = slot {
            if !backend.tracks_writes() {
                // It is of a time when nobody wanted to know.
                return Mark::Unknown;
            }
            let written = backend.take_written();
            if !written.is_nothing() {
                let all = entry(&mut self.written, shard);
                all.merge(written);
                let ranges = all.gtids.as_ref().map_or(0, GtidSet::ranges);
                all.unknown |= ranges > MOST_RANGES;
            }
        }
        match self.written.get(shard) {
            Some(Written { unknown: true, .. }) => Mark::Unknown,
            Some(Written {
                gtids: Some(gtids), ..
            }) => Mark::Gtids(gtids),
            Some(_) | None => Mark::Nothing,
        }
    }

    /// Notes that the session wrote something on `shard` by other means than its connection.
    pub(crate) fn wrote(&mut self, shard: usize, written: Written) {
        entry(&mut self.written, shard).merge(written);
    }

    /// Notes that replicas of `shard` need what its primary had executed when it was asked.
    pub(crate) fn know(&mut self, shard: usize, executed: GtidSet) {
        *entry(&mut self.written, shard) = Written {
            gtids: Some(executed),
            unknown: false,
        };
    }

    /// Notes that all replicas of `shard` have what the session wrote.
    pub(crate) fn settle(&mut self, shard: usize) {
        *entry(&mut self.written, shard) = Written::default();
    }

    /// Remembers a new connection; an older one to the same shard is closed by its drop.
    pub(crate) fn insert(&mut self, backend: Backend) {
        let shard = backend.shard();
        if self.open.len() <= shard {
            self.open.resize_with(shard + 1, || None);
        }
        if let Some(older) = self.open[shard].replace(backend) {
            collect(&mut self.written, older);
        }
    }

    /// Closes the connection to `shard`.
    pub(crate) fn remove(&mut self, shard: usize) {
        if let Some(removed) = self.open.get_mut(shard).and_then(Option::take) {
            collect(&mut self.written, removed);
        }
    }

    /// Takes the connection to `shard` out, for somebody else. What was written through it is
    /// still known.
    pub(crate) fn take(&mut self, shard: usize) -> Option<Backend> {
        let mut backend = self.open.get_mut(shard)?.take()?;
        let last = backend.take_written();
        if !last.is_nothing() {
            entry(&mut self.written, shard).merge(last);
        }
        Some(backend)
    }

    /// The shards with a connection.
    pub(crate) fn shards(&self) -> impl Iterator<Item = usize> {
        let open = self.open.iter().enumerate();
        open.filter_map(|(shard, backend)| backend.as_ref().map(|_| shard))
    }

    /// Whether any connection is such.
    pub(crate) fn any(&self, is: impl Fn(usize, &Backend) -> bool) -> bool {
        let open = self.open.iter().enumerate();
        let mut open = open.filter_map(|(shard, backend)| Some((shard, backend.as_ref()?)));
        open.any(|(shard, backend)| is(shard, backend))
    }

    /// Notes that a statement ran on `shard`.
    pub(crate) fn used(&mut self, shard: usize) {
        self.last = Some(shard);
    }

    /// The shard that ran the last statement, or any that is connected.
    pub(crate) fn preferred(&self) -> Option<usize> {
        let usable = |shard: &usize| {
            self.open
                .get(*shard)
                .is_some_and(|b| b.as_ref().is_some_and(|b| !b.is_broken()))
        };
        self.last
            .filter(usable)
            .or_else(|| (0..self.open.len()).find(usable))
    }

    /// All open connections.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Backend> {
        self.open.iter_mut().flatten()
    }

    /// The connections to `shards`, which ascend and are open.
    pub(crate) fn select(&mut self, shards: &[usize]) -> Vec<&mut Backend> {
        self.iter_mut()
            .filter(|b| shards.contains(&b.shard()))
            .collect()
    }
}

fn entry(written: &mut Vec<Written>, shard: usize) -> &mut Written {
    if written.len() <= shard {
        written.resize_with(shard + 1, Written::default);
    }
    &mut written[shard]
}

/// Keeps what a connection committed that is closed now.
fn collect(written: &mut Vec<Written>, mut closed: Backend) {
    let last = closed.take_written();
    if !last.is_nothing() {
        entry(written, closed.shard()).merge(last);
    }
}
