//! Statements that the client prepared. Servers prepare them when they first run there.

use std::collections::HashMap;
use std::sync::Arc;

use remora_planner::{Context, Planned};
use remora_protocol::{ErrPacket, ParamType};

use crate::failure::Failure;

/// MySQL's default for `max_prepared_stmt_count`.
const MAX_STATEMENTS: usize = 16_382;
/// MySQL's default for `max_allowed_packet`, which also bounds a parameter sent in pieces.
const MAX_LONG_DATA: usize = 64 << 20;

/// Prepared statements by the id that the client knows.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    statements: HashMap<u32, ClientStatement, ahash::RandomState>,
    last_id: u32,
}

/// One statement that the client prepared.
#[derive(Debug)]
pub(crate) struct ClientStatement {
    /// Its text.
    pub(crate) sql: Vec<u8>,
    /// What the planner made of it.
    pub(crate) planned: Planned,
    /// How the session read texts when it was prepared; that stays so.
    pub(crate) context: Arc<Context>,
    /// The number of parameters.
    pub(crate) params: usize,
    /// The types that the client bound last; it may leave them out next time.
    pub(crate) types: Vec<ParamType>,
    /// Parameters that were sent in pieces.
    pub(crate) long_data: HashMap<usize, Vec<u8>>,
    /// A mistake in sending pieces, which MySQL reports with the next EXECUTE.
    pub(crate) spoiled: Option<ErrPacket<'static>>,
}

impl Prepared {
    /// Remembers a statement and gives its id.
    ///
    /// # Errors
    /// MySQL's 1461 when the client holds too many.
    pub(crate) fn insert(&mut self, statement: ClientStatement) -> Result<u32, Failure> {
        if self.statements.len() >= MAX_STATEMENTS {
            let message = format!(
                "Can't create more than max_prepared_stmt_count statements \
                 (current value: {MAX_STATEMENTS})"
            );
            return Err(ErrPacket::new(1461, *b"42000", message).into());
        }
        self.last_id = self.last_id.wrapping_add(1);
        self.statements.insert(self.last_id, statement);
        Ok(self.last_id)
    }

    /// Takes a statement out, to execute it.
    ///
    /// # Errors
    /// MySQL's 1243 when there is none with this id.
    pub(crate) fn take(&mut self, id: u32) -> Result<ClientStatement, Failure> {
        self.statements
            .remove(&id)
            .ok_or_else(|| unknown(id, "mysqld_stmt_execute").into())
    }

    /// Puts a statement back after [`take`](Self::take).
    pub(crate) fn put_back(&mut self, id: u32, statement: ClientStatement) {
        self.statements.insert(id, statement);
    }

    /// Appends to a parameter. There is no answer; mistakes show with EXECUTE.
    pub(crate) fn long_data(&mut self, id: u32, param: u16, data: &[u8]) {
        let Some(statement) = self.statements.get_mut(&id) else {
            return;
        };
        let param = usize::from(param);
        if param >= statement.params {
            statement.spoiled = Some(ErrPacket::new(
                1210,
                *b"HY000",
                "Incorrect arguments to mysqld_stmt_send_long_data",
            ));
            return;
        }
        let held: usize = statement.long_data.values().map(Vec::len).sum();
        if held + data.len() > MAX_LONG_DATA {
            statement.spoiled = Some(ErrPacket::new(
                1105,
                *b"HY000",
                "Parameter of prepared statement which is set through \
                 mysql_send_long_data() is longer than 'max_allowed_packet' bytes",
            ));
            return;
        }
        statement
            .long_data
            .entry(param)
            .or_default()
            .extend_from_slice(data);
    }

    /// Forgets what was sent in pieces.
    ///
    /// # Errors
    /// MySQL's 1243 when there is no such statement.
    pub(crate) fn reset(&mut self, id: u32) -> Result<(), Failure> {
        let statement = self
            .statements
            .get_mut(&id)
            .ok_or_else(|| unknown(id, "mysqld_stmt_reset"))?;
        statement.long_data.clear();
        statement.spoiled = None;
        Ok(())
    }

    /// The error of a FETCH: no statement has an open cursor, since all rows are sent at once.
    pub(crate) fn no_cursor(&self, id: u32) -> ErrPacket<'static> {
        if self.statements.contains_key(&id) {
            let message = format!("The statement ({id}) has no open cursor.");
            ErrPacket::new(1421, *b"HY000", message)
        } else {
            unknown(id, "mysqld_stmt_fetch")
        }
    }

    /// Forgets a statement. Servers forget theirs when others take their place.
    pub(crate) fn close(&mut self, id: u32) {
        self.statements.remove(&id);
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.statements.clear();
    }
}

fn unknown(id: u32, function: &str) -> ErrPacket<'static> {
    let message = format!("Unknown prepared statement handler ({id}) given to {function}");
    ErrPacket::new(1243, *b"HY000", message)
}
