//! Statements on a connection: as text, or prepared where they have parameters.

use remora_protocol::{
    Command, ErrPacket, Event, Param, PrepareOk, ProtocolError, Reply, encode_execute,
};

use super::{Backend, BackendError, Exchange};

/// A statement as it goes to one server.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// The text.
    pub sql: &'a [u8],
    /// What its `?` stand for; `None` in the text protocol.
    pub params: Option<Vec<Param<'a>>>,
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
/// MySQL's number for `max_prepared_stmt_count`.
const TOO_MANY_STATEMENTS: u16 = 1461;

impl Backend {
    /// Runs a statement: as text, or prepared where it has parameters to bind.
    ///
    /// # Errors
    /// If the connection breaks. MySQL's refusal to prepare it is [`BackendError::Server`].
    pub async fn run(&mut self, call: &Call<'_>) -> Result<Exchange<'_>, BackendError> {
        match &call.params {
            None if !call.using.is_empty() => self.execute_by_name(call.sql, &call.using).await,
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
