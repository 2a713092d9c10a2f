//! A connection to MySQL that works for a client, as those see it who interrupt its statements.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{Mutex, OwnedMutexGuard};

use super::Entry;
use crate::instances::Server;

/// A connection that works for a client.
#[derive(Debug)]
pub(crate) struct Connection {
    /// The server.
    pub(super) server: Arc<Server>,
    /// The connection's id there.
    pub(super) id: u32,
    /// Held by whoever has a KILL under way on it: the lease ends after that KILL's own answer,
    /// or the KILL would hit the next one's statement.
    gate: Arc<Mutex<()>>,
    /// It works for that client no more.
    ended: AtomicBool,
    /// A KILL was sent whose answer is not known: it may come at any time.
    doubtful: AtomicBool,
}

/// Held while nobody may interrupt a connection.
pub(crate) type Shield = OwnedMutexGuard<()>;

impl Connection {
    /// Waits for a KILL that is under way, and keeps others back.
    pub(super) async fn shield(&self) -> Shield {
        Arc::clone(&self.gate).lock_owned().await
    }

    /// Whether a KILL of this connection would still be meant for the client. Asked behind
    /// [`shield`](Self::shield).
    pub(super) fn is_leased(&self) -> bool {
        !self.ended.load(Ordering::Acquire)
    }

    /// Notes whether a KILL may still come: one was sent, and its answer is not there. Answers
    /// whether another may.
    pub(super) fn doubt(&self, yes: bool) -> bool {
        self.doubtful.swap(yes, Ordering::AcqRel)
    }
}

/// Holds a connection among those that work for a client. When it is dropped the connection must
/// be closed, as it is with the connection that holds it: an id that MySQL gave once is not given
/// again, so that a KILL under way hits nobody. One that goes on for somebody else is
/// [`ended`](Self::end).
#[derive(Debug)]
pub(crate) struct Lease {
    entry: Arc<Entry>,
    connection: Arc<Connection>,
}

impl Lease {
    /// Notes that this connection works for `entry`'s client from now on.
    pub(crate) fn new(entry: &Arc<Entry>, server: &Arc<Server>, id: u32) -> Self {
        let connection = Arc::new(Connection {
            server: Arc::clone(server),
            id,
            gate: Arc::default(),
            ended: AtomicBool::new(false),
            doubtful: AtomicBool::new(false),
        });
        entry.works_with(Arc::clone(&connection));
        Self {
            entry: Arc::clone(entry),
            connection,
        }
    }

    /// Ends the lease once no KILL is under way on the connection. Answers whether somebody else
    /// may have it: not where a KILL may still come.
    pub(crate) async fn end(self) -> bool {
        let _shield = self.connection.shield().await;
        self.connection.ended.store(true, Ordering::Release);
        !self.connection.doubtful.load(Ordering::Acquire)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.connection.ended.store(true, Ordering::Release);
        self.entry.rests_with(&self.connection);
    }
}
