//! The session's own connections to replicas, beside those to the primaries, and what keeps it
//! from reading there.

use std::sync::Arc;

use crate::backend::Backend;
use crate::instances::Server;

/// Open connections to replicas: at most one for each.
#[derive(Debug, Default)]
pub(crate) struct Replicas {
    open: Vec<(Arc<Server>, Backend)>,
    /// The replica that answered the last statement, which alone knows its FOUND_ROWS().
    answered: Option<Arc<Server>>,
    /// Something is on a primary that reads may depend on, and that no replica has.
    pinned: bool,
}

impl Replicas {
    /// The connection to `server`, if one is open and in a known state.
    pub(crate) fn get(&mut self, server: &Arc<Server>) -> Option<&mut Backend> {
        let mut open = self.open.iter_mut();
        let (_, backend) = open.find(|(known, _)| Arc::ptr_eq(known, server))?;
        Some(backend).filter(|backend| !backend.is_broken())
    }

    /// Closes the connection to `server` if its server closed it, or it is in no known state.
    pub(crate) fn drop_if_gone(&mut self, server: &Arc<Server>) {
        self.open
            .retain_mut(|(known, backend)| !Arc::ptr_eq(known, server) || !backend.is_gone());
    }

    /// Remembers a new connection.
    pub(crate) fn insert(&mut self, server: Arc<Server>, backend: Backend) {
        self.open.push((server, backend));
    }

    /// Closes the connection to `server`.
    pub(crate) fn remove(&mut self, server: &Arc<Server>) {
        self.open.retain(|(known, _)| !Arc::ptr_eq(known, server));
    }

    /// The connections to those of `servers` that are open.
    pub(crate) fn select<'a>(
        &'a mut self,
        servers: &'a [Arc<Server>],
    ) -> impl Iterator<Item = &'a mut Backend> {
        let wanted = |known: &Arc<Server>| servers.iter().any(|s| Arc::ptr_eq(s, known));
        self.open
            .iter_mut()
            .filter(move |(known, backend)| wanted(known) && !backend.is_broken())
            .map(|(_, backend)| backend)
    }

    /// Notes which replica answered the last statement.
    pub(crate) fn answered(&mut self, server: &Arc<Server>) {
        self.answered = Some(Arc::clone(server));
    }

    /// The replica that answered the last statement; another statement follows.
    pub(crate) fn take_answered(&mut self) -> Option<Arc<Server>> {
        self.answered.take()
    }

    /// Keeps the session's reads on the primaries until it is reset.
    pub(crate) fn pin(&mut self) {
        self.pinned = true;
    }

    /// Whether the session's reads stay on the primaries.
    pub(crate) fn is_pinned(&self) -> bool {
        self.pinned
    }

    /// Lets each server forget the session, and runs `then` on those that did.
    pub(crate) async fn reset(&mut self, then: impl Fn(&mut Backend)) {
        self.pinned = false;
        self.answered = None;
        let mut kept = Vec::with_capacity(self.open.len());
        for (server, mut backend) in self.open.drain(..) {
            // One that is gone is opened anew when it is needed.
            if !backend.is_gone() && backend.reset().await.is_ok() {
                then(&mut backend);
                kept.push((server, backend));
            }
        }
        self.open = kept;
    }

    /// Takes all connections out, for somebody else.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = Backend> {
        self.open.drain(..).map(|(_, backend)| backend)
    }

    /// Takes those connections out that `wanted` says.
    pub(crate) fn take(&mut self, wanted: impl Fn(&Backend) -> bool) -> Vec<Backend> {
        let taken = self.open.extract_if(.., |(_, backend)| wanted(backend));
        taken.map(|(_, backend)| backend).collect()
    }

    /// Whether none is open.
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Forgets what keeps the session from reading here.
    pub(crate) fn forget(&mut self) {
        self.pinned = false;
        self.answered = None;
    }
}
