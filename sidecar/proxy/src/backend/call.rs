//! Statements on a connection: as text, or prepared where they have parameters.

use remora_protocol::{
    Attribute, Command, ErrPacket, Event, Param, PrepareOk, ProtocolError, RawParam, Reply,
    encode_execute, encode_long_data,
};

use super::connection::QUERY_HEAD;
use super::{Backend, BackendError, Exchange};

/// A statement as it goes to one server.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// The text.
    pub sql: &'a [u8],
    /// What its `?` stand for; `None` in the text protocol.
    pub params: Option<Vec<Param<'a>>>,
    /// What the client says beside it.
    pub attributes: &'a [Attribute<'a>],
    /// In an EXECUTE by name, what they stand for: the answer comes in the text protocol then.
    pub using: Vec<Operand<'a>>,
}

/// What an EXECUTE by name binds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Operand<'a> {
    /// A user variable, with its `@`.
    Variable(&'a [u8]),
    /// A number that was made here.
    Number(u64),
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

/// EXECUTE without a cursor: all rows are sent at once.
const NO_CURSOR: u8 = 0;
/// A value of so many bytes goes ahead of its EXECUTE, in pieces of this size.
const LONG: usize = 1 << 20;
/// What a parameter takes beside its value, at most.
const MOST_HEAD: usize = 16;
/// MySQL's number for `max_prepared_stmt_count`.
const TOO_MANY_STATEMENTS: u16 = 1461;

/// A value that goes ahead of its EXECUTE.
fn ahead<'a>(param: &Param<'a>) -> Option<&'a [u8]> {
    match param.raw {
        RawParam::Bytes(bytes) if bytes.len() >= LONG => Some(bytes),
        _ => None,
    }
}

/// The bytes of an attribute, at most.
fn weight(attribute: &Attribute<'_>) -> usize {
    attribute.name.len() + length(&attribute.param) + MOST_HEAD
}

/// The bytes of a parameter's value that is not sent yet.
fn length(param: &Param<'_>) -> usize {
    match param.raw {
        RawParam::Encoded(bytes) | RawParam::Bytes(bytes) => bytes.len(),
        RawParam::Null | RawParam::Integer(_) | RawParam::Long => 0,
    }
}

impl Backend {
    /// Runs a statement: as text, or prepared where it has parameters to bind.
    ///
    /// # Errors
    /// If the connection breaks. MySQL's refusal to prepare it is [`BackendError::Server`], and so
    /// is that of a text which became too large for the server on its way.
    pub async fn run(&mut self, call: &Call<'_>) -> Result<Exchange<'_>, BackendError> {
        let beside: usize = call.attributes.iter().map(weight).sum();
        self.admit_packet(call.sql.len() + QUERY_HEAD + beside)?;
        match &call.params {
            None if !call.using.is_empty() => self.execute_by_name(call.sql, &call.using).await,
            None => self.query_with(call.sql, call.attributes).await,
            Some(params) => {
                let statement = self.prepared(call.sql).await?;
                self.execute(statement, NO_CURSOR, params, call.attributes)
                    .await
            }
        }
    }

    /// Executes what is prepared here. Long values go ahead in pieces: all of them together may
    /// be more than one packet holds.
    pub(super) async fn execute(
        &mut self,
        statement: u32,
        flags: u8,
        params: &[Param<'_>],
        attributes: &[Attribute<'_>],
    ) -> Result<Exchange<'_>, BackendError> {
        let capabilities = self.identity.capabilities;
        if params.iter().all(|param| length(param) < LONG) {
            self.start();
            self.codec.encode_with(&mut self.out, |payload| {
                encode_execute(statement, flags, params, attributes, capabilities, payload);
            });
            return self.flush(Reply::Command).await;
        }
        let mut params = params.to_vec();
        let inline = params.iter().filter(|param| ahead(param).is_none());
        let inline: usize = inline.map(|param| length(param) + MOST_HEAD).sum();
        let beside: usize = attributes.iter().map(weight).sum();
        self.admit_packet(inline + beside)?;
        for (number, param) in (0..).zip(&mut params) {
            if let Some(bytes) = ahead(param) {
                self.send_long(statement, number, bytes).await?;
                param.raw = RawParam::Long;
            }
        }
        self.start();
        self.codec.encode_with(&mut self.out, |payload| {
            encode_execute(statement, flags, &params, attributes, capabilities, payload);
        });
        self.flush(Reply::Command).await
    }

    /// Sends a parameter's value in pieces, which have no answer.
    async fn send_long(
        &mut self,
        statement: u32,
        param: u16,
        value: &[u8],
    ) -> Result<(), BackendError> {
        let shard = self.shard;
        let most = self.packet_limit.saturating_sub(MOST_HEAD);
        for piece in value.chunks(most.clamp(1, LONG)) {
            let mut encoded = Ok(());
            self.start();
            self.codec.encode_with(&mut self.out, |payload| {
                encoded = encode_long_data(statement, param, piece, payload);
            });
            encoded.map_err(|source| BackendError::Protocol { shard, source })?;
            self.spill().await?;
        }
        Ok(())
    }

    /// Executes a statement as SQL's EXECUTE does. No text of the client's names what is prepared
    /// here: names are the session's.
    async fn execute_by_name(
        &mut self,
        sql: &[u8],
        using: &[Operand<'_>],
    ) -> Result<Exchange<'_>, BackendError> {
        let shard = self.shard;
        // Whatever the session's sql_mode, hex digits are the same bytes.
        self.queue_query(format!("SET @`remora text` = X'{}'", hex::encode(sql)).as_bytes());
        let mut execute = b"EXECUTE `remora` USING ".to_vec();
        for (index, operand) in using.iter().enumerate() {
            if index > 0 {
                execute.extend_from_slice(b", ");
            }
            match operand {
                Operand::Variable(name) => execute.extend_from_slice(name),
                Operand::Number(number) => {
                    let variable = format!("@`remora {index}`");
                    self.queue_query(format!("SET {variable} = {number}").as_bytes());
                    execute.extend_from_slice(variable.as_bytes());
                }
            }
        }
        let prepared = self.query(b"PREPARE `remora` FROM @`remora text`").await?;
        if let Err(error) = prepared.finish().await? {
            return Err(BackendError::Server { shard, error });
        }
        self.query(&execute).await
    }

    /// Prepares a statement that has parameters, if it is not prepared yet.
    ///
    /// # Errors
    /// As [`Backend::run`].
    pub(crate) async fn ready(&mut self, call: &Call<'_>) -> Result<(), BackendError> {
        if call.params.is_some() {
            self.prepared(call.sql).await?;
        }
        Ok(())
    }

    /// Refuses what the server would end the connection for.
    fn admit_packet(&self, bytes: usize) -> Result<(), BackendError> {
        if bytes < self.packet_limit {
            return Ok(());
        }
        let limit = self.packet_limit;
        Err(BackendError::Server {
            shard: self.shard,
            error: ProtocolError::TooLarge { limit }.as_err_packet(),
        })
    }

    /// The id of the prepared statement with this text, which is prepared if it is not yet.
    async fn prepared(&mut self, sql: &[u8]) -> Result<u32, BackendError> {
        if let Some(id) = self.statements.get(sql) {
            return Ok(id);
        }
        let shard = self.shard;
        let mut described = self.describe(sql).await?;
        if matches!(&described, Err(error) if error.code == TOO_MANY_STATEMENTS) {
            self.forget_statements()?;
            described = self.describe(sql).await?;
        }
        described
            .map(|d| d.statement)
            .map_err(|error| BackendError::Server { shard, error })
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
            step.await?
                .map_err(|source| BackendError::Protocol { shard, source })?;
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
        let prepared = self.prepare(sql).await?;
        if let Ok(described) = &prepared {
            for evicted in self.statements.insert(sql, described.statement) {
                self.queue_silent(&Command::StmtClose(evicted))?;
            }
        }
        Ok(prepared)
    }

    /// The same for a statement that nobody will execute: it is closed with the next command.
    ///
    /// # Errors
    /// As [`Backend::describe`].
    pub async fn look_at(
        &mut self,
        sql: &[u8],
    ) -> Result<Result<Described, ErrPacket<'static>>, BackendError> {
        let prepared = self.prepare(sql).await?;
        if let Ok(described) = &prepared {
            self.queue_silent(&Command::StmtClose(described.statement))?;
        }
        Ok(prepared)
    }

    /// Prepares a statement for one use; whoever asks for it closes it.
    ///
    /// # Errors
    /// If the connection breaks. MySQL's refusal is [`BackendError::Server`].
    pub(super) async fn prepare_apart(&mut self, sql: &[u8]) -> Result<u32, BackendError> {
        self.admit_packet(sql.len() + QUERY_HEAD)?;
        let shard = self.shard;
        let mut described = self.prepare(sql).await?;
        if matches!(&described, Err(error) if error.code == TOO_MANY_STATEMENTS) {
            self.forget_statements()?;
            described = self.prepare(sql).await?;
        }
        described
            .map(|d| d.statement)
            .map_err(|error| BackendError::Server { shard, error })
    }

    async fn prepare(
        &mut self,
        sql: &[u8],
    ) -> Result<Result<Described, ErrPacket<'static>>, BackendError> {
        let shard = self.shard;
        let mut exchange = self
            .command(&Command::StmtPrepare(sql), Reply::Prepare)
            .await?;
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
            step.await?
                .map_err(|source| BackendError::Protocol { shard, source })?;
        }
        Ok(refused.map_or(Ok(described), Err))
    }

    /// Lets the server close what is prepared here, with the next command.
    pub(crate) fn forget_statements(&mut self) -> Result<(), BackendError> {
        while let Some(statement) = self.statements.evict() {
            self.queue_silent(&Command::StmtClose(statement))?;
        }
        Ok(())
    }
}
