//! One connection to MySQL. Whoever holds it is its only user.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{BufMut as _, BytesMut};
use remora_protocol::{
    Attribute, Command, ErrPacket, PacketCodec, Reply, ServerIdentity, StatusFlags, put_attributes,
};

use super::lending::Applied;
use super::statements::Statements;
use super::written::Written;
use super::{BackendError, Exchange};
use crate::clients::Lease;
use crate::instances::{Server, SocketGuard};
use crate::net::Channel;
use crate::pool::{Holding, Identity, Seat};
use crate::session::Residue;
use crate::telemetry::OpenGuard;

/// A connection that rested longer than this is looked at before it is used again: MySQL may
/// have closed it (`wait_timeout`, a restart). More often would cost a system call each time.
const TRUSTED_REST: Duration = Duration::from_secs(1);

/// How long a parting word may take.
const PARTING: Duration = Duration::from_secs(1);

/// A connection to the MySQL server of one shard.
///
/// Every command runs inside an [`Exchange`]. One that was dropped before its answer was read
/// to the end leaves the connection broken, and a broken connection is only good for closing.
#[derive(Debug)]
pub struct Backend {
    pub(super) shard: usize,
    pub(super) channel: Channel,
    pub(super) codec: PacketCodec,
    pub(super) out: BytesMut,
    pub(super) identity: ServerIdentity,
    pub(super) broken: bool,
    pub(super) statements: Statements,
    pub(super) last_used: Instant,
    /// A packet of so many bytes is more than the server takes.
    pub(super) packet_limit: usize,
    pub(super) opened: Instant,
    /// As whom it logged in.
    pub(super) logged_in: Arc<Identity>,
    /// What the server said last about session and transaction.
    pub(super) status: StatusFlags,
    /// How many commands are queued whose answers come before the next one's.
    pub(super) queued: usize,
    /// What its session left on it that cannot be replayed.
    pub(crate) residue: Residue,
    /// How much of the session's state this connection has; see `session::replay`.
    pub applied: Applied,
    /// What it committed, where that is of interest.
    pub(super) written: Option<Written>,
    /// Counts the connection as open while it lives.
    counted: Option<OpenGuard>,
    /// Ends it with its server.
    ends: Option<SocketGuard>,
    /// The server that it leads to.
    pub(super) server: Option<Arc<Server>>,
    /// The client that it works for.
    pub(super) lease: Option<Lease>,
    /// The session that has it, as those see it who want it.
    pub(super) held: Option<Holding>,
    /// The right to have it, where connections are counted. Last: it is given up when all else of
    /// the connection is gone.
    pub(super) seat: Option<Seat>,
}

impl Backend {
    pub(super) fn new(
        shard: usize,
        channel: Channel,
        codec: PacketCodec,
        identity: ServerIdentity,
        logged_in: Arc<Identity>,
        database: Option<String>,
    ) -> Self {
        let now = Instant::now();
        Self {
            shard,
            channel,
            codec,
            out: BytesMut::new(),
            identity,
            broken: false,
            statements: Statements::default(),
            last_used: now,
            opened: now,
            logged_in,
            status: StatusFlags::empty(),
            packet_limit: usize::MAX,
            queued: 0,
            residue: Residue::default(),
            applied: Applied {
                database,
                ..Applied::default()
            },
            written: None,
            counted: None,
            ends: None,
            server: None,
            lease: None,
            seat: None,
            held: None,
        }
    }

    /// Holds what counts the connection as open until it ends.
    pub fn count(&mut self, guard: OpenGuard) {
        self.counted = Some(guard);
    }

    /// Lets the connection end when its server is silent.
    pub(crate) fn end_with(&mut self, server: &Arc<Server>) {
        // Without a handle it waits as long as the server is silent.
        let socket = self.channel.stream().socket().ok();
        self.ends = socket.map(|socket| server.hold(socket));
    }

    /// Notes the server that it leads to.
    pub(crate) fn leads_to(&mut self, server: &Arc<Server>) {
        self.server = Some(Arc::clone(server));
    }

    /// Its socket, as a handle of its own.
    ///
    /// # Errors
    /// If the process has no more handles.
    pub(crate) fn socket(&self) -> std::io::Result<std::os::fd::OwnedFd> {
        self.channel.stream().socket()
    }

    /// Notes from now on what is committed here, or no more.
    pub fn track_writes(&mut self, yes: bool) {
        self.written = yes.then(Written::default);
    }

    /// Whether it is noted what is committed here.
    #[must_use]
    pub fn tracks_writes(&self) -> bool {
        self.written.is_some()
    }

    /// What was committed here since this was asked last.
    pub(crate) fn take_written(&mut self) -> Written {
        let mut written = self
            .written
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default();
        written.unknown |= self.broken && self.written.is_some();
        written
    }

    /// The shard that it leads to.
    #[must_use]
    pub fn shard(&self) -> usize {
        self.shard
    }

    /// What the server said of itself.
    #[must_use]
    pub fn identity(&self) -> &ServerIdentity {
        &self.identity
    }

    /// Whether it must not be used again.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// Gives the connection up: what is on it is not what the session believes.
    pub fn abandon(&mut self) {
        self.broken = true;
    }

    /// The same, and lets the server know, so that what it holds for the connection ends.
    pub async fn hang_up(&mut self) {
        self.broken = true;
        // A server that is frozen sees it when it goes on.
        drop(tokio::time::timeout(PARTING, self.channel.close()).await);
    }

    /// Whether the server closed the connection while it rested.
    pub fn is_gone(&mut self) -> bool {
        if !self.broken && self.last_used.elapsed() > TRUSTED_REST && self.channel.is_disturbed() {
            self.broken = true;
        }
        self.broken
    }

    /// Sends COM_QUERY.
    ///
    /// # Errors
    /// If the connection breaks.
    pub async fn query(&mut self, sql: &[u8]) -> Result<Exchange<'_>, BackendError> {
        self.query_with(sql, &[]).await
    }

    /// Sends COM_QUERY with attributes of the client's.
    ///
    /// # Errors
    /// If the connection breaks.
    pub(super) async fn query_with(
        &mut self,
        sql: &[u8],
        attributes: &[Attribute<'_>],
    ) -> Result<Exchange<'_>, BackendError> {
        self.put_query(sql, attributes);
        self.flush(Reply::Command).await
    }

    fn put_query(&mut self, sql: &[u8], attributes: &[Attribute<'_>]) {
        let capabilities = self.identity.capabilities;
        self.start();
        self.codec.encode_with(&mut self.out, |payload| {
            payload.reserve(sql.len() + QUERY_HEAD);
            payload.put_u8(COM_QUERY);
            put_attributes(attributes, capabilities, payload);
            payload.put_slice(sql);
        });
    }

    /// Sends a command that has an answer of kind `reply`.
    ///
    /// # Errors
    /// If the connection breaks.
    pub async fn command(
        &mut self,
        command: &Command<'_>,
        reply: Reply,
    ) -> Result<Exchange<'_>, BackendError> {
        self.put(command)?;
        self.flush(reply).await
    }

    /// Adds a command that has no answer; it travels with the next one.
    ///
    /// # Errors
    /// If it cannot be encoded for this server.
    pub fn queue_silent(&mut self, command: &Command<'_>) -> Result<(), BackendError> {
        self.put(command)
    }

    /// Sends a command that has no answer.
    ///
    /// # Errors
    /// If it cannot be encoded for this server, or the connection breaks.
    pub(crate) async fn send_silent(&mut self, command: &Command<'_>) -> Result<(), BackendError> {
        self.put(command)?;
        let written = self.write_out().await;
        self.broken |= written.is_err();
        written
    }

    /// Whether its session has a transaction open, as the server said last.
    pub(crate) fn in_transaction(&self) -> bool {
        self.status.contains(StatusFlags::SERVER_STATUS_IN_TRANS)
    }

    fn put(&mut self, command: &Command<'_>) -> Result<(), BackendError> {
        let shard = self.shard;
        let capabilities = self.identity.capabilities;
        let mut encoded = Ok(());
        self.start();
        self.codec.encode_with(&mut self.out, |payload| {
            encoded = command.encode(capabilities, payload);
        });
        encoded.map_err(|source| BackendError::Protocol { shard, source })
    }

    /// Adds a COM_QUERY that travels with the next command. Its answer must be OK and is
    /// swallowed; if it is an error, the next command's answer is never looked at.
    pub fn queue_query(&mut self, sql: &[u8]) {
        self.put_query(sql, &[]);
        self.queued += 1;
    }

    /// Begins a command behind what is queued already.
    pub(super) fn start(&mut self) {
        self.codec.restart();
    }

    /// Writes what was added, and gives back what a large statement made the buffer grow to.
    async fn write_out(&mut self) -> Result<(), BackendError> {
        let shard = self.shard;
        let written = self.channel.write(&self.out).await;
        self.out.clear();
        if self.out.capacity() > LARGE_OUT {
            self.out = BytesMut::new();
        }
        written.map_err(|source| BackendError::Lost { shard, source })
    }

    /// Writes a packet of a file, numbered from `sequence`; gives the number that follows.
    pub(super) async fn write_file(
        &mut self,
        packet: &[u8],
        sequence: u8,
    ) -> Result<u8, BackendError> {
        self.codec.set_sequence(sequence);
        self.codec.encode(packet, &mut self.out);
        self.write_out().await?;
        Ok(self.codec.sequence())
    }

    /// Writes commands that have no answer, once they are some bytes.
    pub(super) async fn spill(&mut self) -> Result<(), BackendError> {
        if self.out.len() < LARGE_OUT {
            return Ok(());
        }
        if self.broken {
            self.out.clear();
            return Err(BackendError::gone(self.shard));
        }
        // A packet that was written in part is none.
        self.broken = true;
        self.write_out().await?;
        self.broken = false;
        Ok(())
    }

    /// Writes what is queued; the last command's answer is `reply`.
    pub(super) async fn flush(&mut self, reply: Reply) -> Result<Exchange<'_>, BackendError> {
        if self.broken {
            // An answer that nobody read would pass for that of this command.
            self.out.clear();
            self.queued = 0;
            return Err(BackendError::gone(self.shard));
        }
        // Broken until the answer was read to the end, whatever becomes of this future.
        self.broken = true;
        self.write_out().await?;
        let sequence = self.codec.sequence();
        for _ in 0..std::mem::take(&mut self.queued) {
            let shard = self.shard;
            let queued = Exchange::new(self, Reply::Command, 1).finish().await?;
            // The next command's answer is under way, and nobody will read it.
            self.broken = true;
            queued.map_err(|error| BackendError::Queued { shard, error })?;
        }
        Ok(Exchange::new(self, reply, sequence))
    }

    /// Changes the current database. Statements that were prepared belong to the old one.
    ///
    /// # Errors
    /// If the connection breaks. An error of MySQL's is inside the result.
    pub async fn use_database(
        &mut self,
        name: &str,
    ) -> Result<Result<(), ErrPacket<'static>>, BackendError> {
        self.forget_statements()?;
        let command = Command::InitDb(name.as_bytes());
        let finished = self
            .command(&command, Reply::Command)
            .await?
            .finish()
            .await?;
        match finished {
            Ok(_) => self.applied.database = Some(name.to_owned()),
            Err(error) => return Ok(Err(error)),
        }
        Ok(Ok(()))
    }

    /// Says goodbye, and waits until the server let the connection go: its seat is free then, there
    /// as well as here.
    pub async fn quit(mut self) {
        if self.broken || self.put(&Command::Quit).is_err() {
            return self.channel.close().await;
        }
        let parting = async {
            // The server may be gone already; then there is nothing to wait for.
            if self.channel.write(&self.out).await.is_ok() {
                while self.channel.fill().await.is_ok() {}
            }
        };
        // One that is frozen closes it when it goes on.
        drop(tokio::time::timeout(PARTING, parting).await);
        self.channel.close().await;
    }
}

const COM_QUERY: u8 = 3;
/// What stands before a statement without attributes.
pub(super) const QUERY_HEAD: usize = 3;
/// A write buffer larger than this is given back after its statement.
const LARGE_OUT: usize = 16 * 1024;

#[cfg(test)]
impl Backend {
    /// A connection whose server is a test.
    pub(crate) fn to_test(stream: tokio::net::UnixStream) -> Self {
        let identity = ServerIdentity {
            version: b"9.7.4".to_vec(),
            connection_id: 1,
            capabilities: remora_protocol::backend_wish(
                remora_protocol::CapabilityFlags::CLIENT_DEPRECATE_EOF,
            ),
            status: remora_protocol::StatusFlags::SERVER_STATUS_AUTOCOMMIT,
            collation: 255,
        };
        let channel = Channel::new(crate::net::Stream::Unix(stream));
        let nobody = Arc::new(Identity {
            user: Vec::new(),
            password: remora_protocol::Password::default(),
            capabilities: identity.capabilities,
            collation: 255,
        });
        Self::new(
            0,
            channel,
            PacketCodec::new(1 << 20),
            identity,
            nobody,
            None,
        )
    }
}
