//! The session's own connections to MySQL: at most one for each shard, opened when needed.

use crate::backend::Backend;

/// Open connections, by shard.
#[derive(Debug, Default)]
pub(crate) struct Backends {
    open: Vec<Option<Backend>>,
    last: Option<usize>,
}

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
            if slot.as_mut().is_some_and(Backend::is_gone) {
                *slot = None;
            }
        }
    }

    /// Remembers a new connection; an older one to the same shard is closed by its drop.
    pub(crate) fn insert(&mut self, backend: Backend) {
        let shard = backend.shard();
        if self.open.len() <= shard {
            self.open.resize_with(shard + 1, || None);
        }
        self.open[shard] = Some(backend);
    }

    /// Closes the connection to `shard`.
    pub(crate) fn remove(&mut self, shard: usize) -> Option<Backend> {
        self.open.get_mut(shard)?.take()
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

    /// Ends all connections politely.
    pub(crate) async fn quit_all(&mut self) {
        self.last = None;
        for backend in self.open.drain(..).flatten() {
            backend.quit().await;
        }
    }
}
