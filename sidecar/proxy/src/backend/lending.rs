//! Whose a connection is, and what of its session is on it: lending it from one to the next.

use std::sync::Arc;
use std::time::Instant;

use bytes::BufMut as _;
use remora_protocol::{Command, Reply};

use super::{Backend, BackendError};
use crate::charsets;
use crate::clients::{Entry, Lease};
use crate::pool::{Fit, Holding, Identity, Place, Pool, Seat, Want};
use crate::session::{Residue, Settings};

const COM_RESET_CONNECTION: u8 = 0x1f;

/// What of a session's state a connection already has.
#[derive(Clone, Debug, Default)]
pub struct Applied {
    /// All SETs that were replayed or run here.
    pub(super) settings: Settings,
    /// Something else may have been SET too.
    pub(super) unknown: bool,
    /// What it began with.
    pub(super) first: &'static [u8],
    /// The current database, where one is known.
    pub database: Option<String>,
    /// What LAST_INSERT_ID() answers here.
    pub last_insert_id: u64,
}

impl Backend {
    /// Lets it work for a client: whoever interrupts that one's statements interrupts them here.
    pub(crate) fn work_for(&mut self, client: &Arc<Entry>) {
        let server = self.server.as_ref();
        self.lease = server.map(|server| Lease::new(client, server, self.identity.connection_id));
    }

    /// Whether whoever interrupts a client's statements interrupts what runs here.
    pub(crate) fn works_for_somebody(&self) -> bool {
        self.lease.is_some()
    }

    /// Lets it work for nobody, so that somebody else may have it. That waits for a KILL that is
    /// under way on it; where one may still come, the connection is given up.
    pub(crate) async fn work_for_nobody(&mut self) {
        if let Some(lease) = self.lease.take()
            && !lease.end().await
        {
            self.abandon();
        }
    }

    /// Counts it among the connections of its server.
    pub(crate) fn seat(&mut self, seat: Seat) {
        self.seat = Some(seat);
    }

    /// The pool that it belongs to, where connections are counted.
    pub(crate) fn pool(&self) -> Option<&Arc<Pool>> {
        self.seat.as_ref().map(Seat::pool)
    }

    /// Notes whose it is; `None`: nobody's.
    pub(crate) fn belongs(&mut self, held: Option<Holding>) {
        self.held = held;
    }

    /// Whether it is in a known state and nothing of its session is on it but settings.
    pub(crate) fn may_rest(&self) -> bool {
        self.is_clean() && self.queued == 0
    }

    /// The same, whatever waits to be sent.
    pub(crate) fn is_clean(&self) -> bool {
        let clean = !self.broken && self.residue.is_nothing();
        clean && !self.in_transaction() && self.channel.buffered().is_empty()
    }

    /// Sends what was to travel with a statement that did not come.
    ///
    /// # Errors
    /// If the connection breaks, or the server refuses.
    pub(crate) async fn send_queued(&mut self) -> Result<(), BackendError> {
        if self.queued == 0 {
            return Ok(());
        }
        let shard = self.shard;
        let pong = self.command(&Command::Ping, Reply::Command).await?;
        let pong = pong.finish().await?;
        pong.map(drop)
            .map_err(|error| BackendError::Server { shard, error })
    }

    /// Since when nobody has used it.
    pub(crate) fn last_used(&self) -> Instant {
        self.last_used
    }

    /// When it was opened.
    pub(crate) fn opened(&self) -> Instant {
        self.opened
    }

    /// How well it fits what somebody wants.
    pub(crate) fn fit(&self, want: &Want) -> Fit {
        let Applied {
            settings,
            unknown,
            first,
            database,
            ..
        } = &self.applied;
        let leaves = want.place != Place::Nowhere || database.is_none();
        if !self.logged_in.is(&want.identity) || !leaves {
            return Fit::Never;
        }
        if *unknown || *first != want.first || !settings.are(&want.settings) {
            return Fit::Reset;
        }
        match &want.place {
            Place::In(wanted) if database.as_ref() != Some(wanted) => Fit::Elsewhere,
            Place::In(_) | Place::Anywhere | Place::Nowhere => Fit::Same,
        }
    }

    /// The settings that it lacks to have `settings`; it is told them next.
    pub(crate) fn lacks<'s>(&self, settings: &'s Settings) -> impl Iterator<Item = &'s [u8]> {
        settings.since(self.applied.settings.version())
    }

    /// Whether it has these settings of its session's.
    pub(crate) fn has(&self, settings: &Settings) -> bool {
        self.applied.settings.version() == settings.version()
    }

    /// Notes that it has these settings.
    pub(crate) fn adopt(&mut self, settings: &Settings) {
        self.applied.settings = settings.clone();
    }

    /// Notes that a SET failed here, or a text ran that nobody understood: whatever it did stays
    /// until a reset.
    pub(crate) fn is_unclear(&mut self) {
        self.applied.unknown = true;
    }

    /// Lets it begin with these settings, in the same write as the next command.
    pub(crate) fn begin(&mut self, first: &'static [u8]) {
        self.queue_query(first);
        self.applied.first = first;
    }

    /// Lets the server forget all that others left, in the same write as the next command.
    pub(crate) fn queue_reset(&mut self, want: &Want) {
        self.start();
        self.codec.encode_with(&mut self.out, |payload| {
            payload.put_u8(COM_RESET_CONNECTION);
        });
        self.queued += 1;
        self.forgot();
        // The server's own default may be another one than the login's.
        self.queue_query(charsets::set_names(want.identity.collation).as_bytes());
        self.begin(want.first);
    }

    /// Notes that the server forgot everything but user and database.
    fn forgot(&mut self) {
        self.statements.clear();
        self.residue = Residue::default();
        let database = self.applied.database.take();
        self.applied = Applied {
            database,
            ..Applied::default()
        };
    }

    /// Lets the server forget everything but the user and the database.
    ///
    /// # Errors
    /// If the connection breaks or the server refuses.
    pub async fn reset(&mut self) -> Result<(), BackendError> {
        let shard = self.shard;
        let reset = self
            .command(&Command::ResetConnection, Reply::Command)
            .await?;
        reset
            .finish()
            .await?
            .map_err(|error| BackendError::Server { shard, error })?;
        self.forgot();
        Ok(())
    }

    /// Notes that its session is that of another collation now.
    pub(crate) fn is_of(&mut self, identity: &Arc<Identity>) {
        self.logged_in = Arc::clone(identity);
    }
}
