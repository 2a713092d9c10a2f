//! One connection to MySQL. Whoever holds it is its only user.

use std::time::{Duration, Instant};

use bytes::{BufMut, BytesMut};
use remora_protocol::{
    ColumnDef, ColumnType, Command, ErrPacket, Event, PacketCodec, Param, PrepareOk, ProtocolError, Reply, ServerIdentity,
    encode_execute, text_fields,
};

use super::statements::Statements;
use super::{BackendError, Exchange};
use crate::net::Channel;
use crate::telemetry::OpenGuard;

/// A connection that rested longer than this is looked at before it is used again: MySQL may
/// have closed it (`wait_timeout`, a restart). More often would cost a system call each time.
const TRUSTED_REST: Duration = Duration::from_secs(1);

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
    /// How many commands are queued whose answers come before the next one's.
    queued: usize,
    /// Whether it has state that cannot be replayed: temporary tables, locks by name, and
    /// what a stored procedure left behind.
    pub holds_state: bool,
    /// How much of the session's state this connection has; see `session::replay`.
    pub applied: Applied,
    /// Counts the connection as open while it lives.
    counted: Option<OpenGuard>,
}

/// A statement as it goes to one server.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// The text.
    pub sql: &'a [u8],
    /// What its `?` stand for; `None` in the text protocol.
    pub params: Option<Vec<Param<'a>>>,
}

/// What MySQL says of a statement that it prepared.
#[derive(Clone, Debug, Default)]
pub struct Described {
    /// Its id on the connection that prepared it.
    pub statement: u32,
    /// Warnings.
    pub warnings: u16,
    /// The payloads of the definitions of its parameters.
    pub params: Vec<Box<[u8]>>,
    /// The payloads of the definitions of its columns.
    pub columns: Vec<Box<[u8]>>,
}

impl Described {
    fn head(&mut self, payload: &[u8]) -> Result<(), ProtocolError> {
        let head = PrepareOk::decode(payload)?;
        self.statement = head.statement;
        self.warnings = head.warnings;
        Ok(())
    }
}

/// Rows of an internal query.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The columns' types.
    pub kinds: Vec<ColumnType>,
    /// Text values.
    pub rows: Vec<Row>,
}

impl Table {
    /// The value of a column in the first row, empty for NULL.
    #[must_use]
    pub fn text(&self, column: usize) -> String {
        let value = self.rows.first().and_then(|row| row.get(column)).and_then(Option::as_ref);
        value.map(|v| String::from_utf8_lossy(v).into_owned()).unwrap_or_default()
    }

    /// Whether a column of the first row is NULL.
    #[must_use]
    pub fn is_null(&self, column: usize) -> bool {
        self.rows.first().and_then(|row| row.get(column)).is_none_or(Option::is_none)
    }
}

/// One row of text values; `None` is NULL.
pub type Row = Vec<Option<Vec<u8>>>;

/// What of a session's state a connection already has.
#[derive(Clone, Debug, Default)]
pub struct Applied {
    /// The number of the last SET that was replayed or run here.
    pub settings: u64,
    /// The current database, where one is known.
    pub database: Option<String>,
    /// What LAST_INSERT_ID() answers here.
    pub last_insert_id: u64,
}

impl Backend {
    pub(super) fn new(
        shard: usize,
        channel: Channel,
        codec: PacketCodec,
        identity: ServerIdentity,
        database: Option<String>,
    ) -> Self {
        Self {
            shard,
            channel,
            codec,
            out: BytesMut::new(),
            identity,
            broken: false,
            statements: Statements::default(),
            last_used: Instant::now(),
            queued: 0,
            holds_state: false,
            applied: Applied { database, ..Applied::default() },
            counted: None,
        }
    }

    /// Holds what counts the connection as open until it ends.
    pub fn count(&mut self, guard: OpenGuard) {
        self.counted = Some(guard);
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
        self.start();
        self.codec.encode_with(&mut self.out, |payload| {
            payload.put_u8(COM_QUERY);
            payload.put_slice(sql);
        });
        self.flush(Reply::Command).await
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

    /// Runs a statement: as text, or prepared where it has parameters to bind.
    ///
    /// # Errors
    /// If the connection breaks. MySQL's refusal to prepare it is [`BackendError::Server`].
    pub async fn run(&mut self, call: &Call<'_>) -> Result<Exchange<'_>, BackendError> {
        match &call.params {
            None => self.query(call.sql).await,
            Some(params) => {
                let statement = self.prepared(call.sql).await?;
                self.start();
                self.codec.encode_with(&mut self.out, |payload| {
                    encode_execute(statement, NO_CURSOR, params, payload);
                });
                self.flush(Reply::Command).await
            }
        }
    }

    /// The id of the prepared statement with this text, which is prepared if it is not yet.
    async fn prepared(&mut self, sql: &[u8]) -> Result<u32, BackendError> {
        if let Some(id) = self.statements.get(sql) {
            return Ok(id);
        }
        let described = self.describe(sql).await?;
        let shard = self.shard;
        described.map(|d| d.statement).map_err(|error| BackendError::Server { shard, error })
    }

    /// Runs a query for the definitions of its columns; its rows are read and dropped.
    ///
    /// # Errors
    /// If the connection breaks. MySQL's refusal is inside the result.
    pub async fn columns_of(
        &mut self,
        call: &Call<'_>,
    ) -> Result<Result<Described, ErrPacket<'static>>, BackendError> {
        let shard = self.shard;
        let mut exchange = self.run(call).await?;
        exchange.surface_columns(true);
        let mut described = Described::default();
        let mut refused = None;
        while !exchange.is_done() {
            let step = exchange.next(|event, payload| {
                match event {
                    Event::Column => described.columns.push(payload.into()),
                    Event::Err => refused = Some(ErrPacket::decode(payload)?.into_owned()),
                    _ => {}
                }
                Ok(())
            });
            step.await?.map_err(|source| BackendError::Protocol { shard, source })?;
        }
        Ok(refused.map_or(Ok(described), Err))
    }

    /// Prepares a statement, which stays prepared, and gives what MySQL says of it.
    ///
    /// # Errors
    /// If the connection breaks. MySQL's refusal is inside the result.
    pub async fn describe(
        &mut self,
        sql: &[u8],
    ) -> Result<Result<Described, ErrPacket<'static>>, BackendError> {
        let shard = self.shard;
        let mut exchange = self.command(&Command::StmtPrepare(sql), Reply::Prepare).await?;
        exchange.surface_columns(true);
        let mut described = Described::default();
        let mut refused = None;
        while !exchange.is_done() {
            let step = exchange.next(|event, payload| {
                match event {
                    Event::PrepareOk(_) => described.head(payload)?,
                    Event::Param => described.params.push(payload.into()),
                    Event::Column => described.columns.push(payload.into()),
                    Event::Err => refused = Some(ErrPacket::decode(payload)?.into_owned()),
                    _ => {}
                }
                Ok(())
            });
            step.await?.map_err(|source| BackendError::Protocol { shard, source })?;
        }
        drop(exchange);
        if let Some(error) = refused {
            return Ok(Err(error));
        }
        if let Some(evicted) = self.statements.insert(sql, described.statement) {
            self.queue_silent(&Command::StmtClose(evicted))?;
        }
        Ok(Ok(described))
    }

    /// Adds a COM_QUERY that travels with the next command. Its answer must be OK and is
    /// swallowed; if it is an error, the next command's answer is never looked at.
    pub fn queue_query(&mut self, sql: &[u8]) {
        self.start();
        self.codec.encode_with(&mut self.out, |payload| {
            payload.put_u8(COM_QUERY);
            payload.put_slice(sql);
        });
        self.queued += 1;
    }

    /// Runs an internal query and takes its rows, text values, into memory.
    ///
    /// # Errors
    /// If the connection breaks. An error of MySQL's is inside the result.
    pub async fn rows(
        &mut self,
        sql: &[u8],
    ) -> Result<Result<Vec<Row>, ErrPacket<'static>>, BackendError> {
        Ok(self.table(sql).await?.map(|table| table.rows))
    }

    /// The same with the columns' types.
    ///
    /// # Errors
    /// As [`rows`](Self::rows).
    pub async fn table(
        &mut self,
        sql: &[u8],
    ) -> Result<Result<Table, ErrPacket<'static>>, BackendError> {
        let shard = self.shard;
        let mut exchange = self.query(sql).await?;
        exchange.surface_rows(true);
        exchange.surface_columns(true);
        let mut table = Table::default();
        let mut error = None;
        while !exchange.is_done() {
            let step = exchange.next(|event, payload| match event {
                Event::Row => {
                    let row: Result<Row, _> = text_fields(payload)
                        .map(|field| field.map(|f| f.value.map(<[u8]>::to_vec)))
                        .collect();
                    table.rows.push(row?);
                    Ok(())
                }
                Event::Column => {
                    table.kinds.push(ColumnDef::decode(payload)?.kind);
                    Ok(())
                }
                Event::Err => {
                    error = Some(ErrPacket::decode(payload)?.into_owned());
                    Ok(())
                }
                _ => Ok(()),
            });
            step.await?.map_err(|source| BackendError::Protocol { shard, source })?;
        }
        Ok(error.map_or(Ok(table), Err))
    }

    /// Begins a command behind what is queued already.
    pub(super) fn start(&mut self) {
        self.codec.restart();
    }

    /// Writes what is queued; the last command's answer is `reply`.
    pub(super) async fn flush(&mut self, reply: Reply) -> Result<Exchange<'_>, BackendError> {
        // Broken until the answer was read to the end, whatever becomes of this future.
        self.broken = true;
        let written = self.channel.write(&self.out).await;
        self.out.clear();
        if self.out.capacity() > LARGE_OUT {
            self.out = BytesMut::new();
        }
        written.map_err(|source| BackendError::Lost { shard: self.shard, source })?;
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
        while let Some(statement) = self.statements.evict() {
            self.queue_silent(&Command::StmtClose(statement))?;
        }
        let command = Command::InitDb(name.as_bytes());
        let finished = self.command(&command, Reply::Command).await?.finish().await?;
        match finished {
            Ok(_) => self.applied.database = Some(name.to_owned()),
            Err(error) => return Ok(Err(error)),
        }
        Ok(Ok(()))
    }

    /// Lets the server forget everything but the user and the database.
    ///
    /// # Errors
    /// If the connection breaks or the server refuses.
    pub async fn reset(&mut self) -> Result<(), BackendError> {
        let shard = self.shard;
        let reset = self.command(&Command::ResetConnection, Reply::Command).await?;
        reset.finish().await?.map_err(|error| BackendError::Server { shard, error })?;
        self.statements.clear();
        self.holds_state = false;
        let database = self.applied.database.take();
        self.applied = Applied { database, ..Applied::default() };
        Ok(())
    }

    /// Says goodbye and closes.
    pub async fn quit(mut self) {
        if !self.broken {
            // The server may be gone already; either way nothing is left to do.
            if self.put(&Command::Quit).is_ok() {
                let _ = self.channel.write(&self.out).await;
            }
        }
        self.channel.close().await;
    }
}

const COM_QUERY: u8 = 3;
/// EXECUTE without a cursor: all rows are sent at once, which a client that asked for a cursor
/// sees by the status and reads all the same.
const NO_CURSOR: u8 = 0;
/// A write buffer larger than this is given back after its statement.
const LARGE_OUT: usize = 16 * 1024;
