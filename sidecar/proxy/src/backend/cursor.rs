//! Cursors on a connection. MySQL keeps their rows in a temporary table, so that the connection
//! is free for other statements meanwhile, but nobody else may have it.

use remora_protocol::{
    Command, CursorType, ErrPacket, Event, ProtocolError, Reply, StatusFlags, decode_end,
};

use super::{Backend, BackendError, Call, Ended, Exchange};

/// EXECUTE with a cursor for reading.
const READ_ONLY: u8 = CursorType::CURSOR_TYPE_READ_ONLY.bits();

/// What MySQL says of a cursor that it opened.
#[derive(Debug)]
pub(crate) struct OpenedCursor {
    /// The statement whose cursor it is.
    pub(crate) statement: u32,
    /// The payloads of the definitions of its columns.
    pub(crate) columns: Vec<Box<[u8]>>,
    /// The session's state, and warnings.
    pub(crate) ended: Ended,
}

impl Backend {
    /// Executes a statement with a cursor. It is prepared for this one cursor: another of the
    /// same text may be open. Tells which statement it is.
    ///
    /// # Errors
    /// If the connection breaks. MySQL's refusal to prepare it is [`BackendError::Server`].
    pub(crate) async fn run_with_cursor(
        &mut self,
        call: &Call<'_>,
        of: &mut Option<u32>,
    ) -> Result<Exchange<'_>, BackendError> {
        let statement = self.prepare_apart(call.sql).await?;
        *of = Some(statement);
        let params = call.params.as_deref().unwrap_or_default();
        self.execute(statement, READ_ONLY, params, call.attributes)
            .await
    }

    /// Opens a cursor whose columns are for the caller.
    ///
    /// # Errors
    /// If the connection breaks. MySQL's refusal is inside the result.
    pub(crate) async fn open_cursor(
        &mut self,
        call: &Call<'_>,
    ) -> Result<Result<OpenedCursor, ErrPacket<'static>>, BackendError> {
        let shard = self.shard;
        let protocol = |source| BackendError::Protocol { shard, source };
        let capabilities = self.identity.capabilities;
        let mut of = None;
        let mut exchange = match self.run_with_cursor(call, &mut of).await {
            Ok(exchange) => exchange,
            Err(BackendError::Server { error, .. }) => return Ok(Err(error)),
            Err(lost) => return Err(lost),
        };
        exchange.surface_columns(true);
        let mut columns = Vec::new();
        let mut ended = Ended::default();
        let mut refused = None;
        while !exchange.is_done() {
            let step = exchange.next(|event, payload| match event {
                Event::Column => {
                    columns.push(payload.into());
                    Ok(())
                }
                Event::End { .. } => {
                    ended = Ended::from(&decode_end(payload, capabilities)?);
                    Ok(())
                }
                Event::Err => {
                    refused = Some(ErrPacket::decode(payload)?.into_owned());
                    Ok(())
                }
                Event::Row => Err(ProtocolError::Malformed("a row where a cursor was opened")),
                _ => Ok(()),
            });
            step.await?.map_err(protocol)?;
        }
        drop(exchange);
        let statement = of.unwrap_or_default();
        if let Some(error) = refused {
            self.queue_silent(&Command::StmtClose(statement))?;
            return Ok(Err(error));
        }
        if !ended
            .status
            .contains(StatusFlags::SERVER_STATUS_CURSOR_EXISTS)
        {
            return Err(protocol(ProtocolError::Malformed("no cursor was opened")));
        }
        self.residue.opened_cursor();
        Ok(Ok(OpenedCursor {
            statement,
            columns,
            ended,
        }))
    }

    /// Asks for rows of a cursor.
    ///
    /// # Errors
    /// If the connection breaks.
    pub(crate) async fn fetch(
        &mut self,
        statement: u32,
        rows: u32,
    ) -> Result<Exchange<'_>, BackendError> {
        let command = Command::StmtFetch { statement, rows };
        self.command(&command, Reply::Fetch).await
    }

    /// Lets the server close a cursor and its statement, with the next command.
    pub(crate) fn close_cursor(&mut self, statement: u32) -> Result<(), BackendError> {
        self.residue.closed_cursor();
        self.queue_silent(&Command::StmtClose(statement))
    }
}
