//! Statements that the client prepared. Servers prepare them when they first run there.

use std::collections::HashMap;
use std::sync::Arc;

use remora_planner::veil::Veil;
use remora_planner::{Context, Planned};
use remora_protocol::{ErrPacket, ParamType};

use super::memory::{EACH, MOST};
use crate::execute::Cursor;
use crate::failure::Failure;

/// MySQL's default for `max_prepared_stmt_count`.
const MAX_STATEMENTS: usize = 16_382;

/// Prepared statements by the id that the client knows.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    /// Those of SQL, by their names, which are equal in any case.
    named: HashMap<String, ClientStatement, ahash::RandomState>,
    statements: HashMap<u32, ClientStatement, ahash::RandomState>,
    last_id: u32,
    /// How many the client closed.
    closed: u64,
    /// The bytes of all texts and of what was sent in pieces.
    held: usize,
}

/// One statement that the client prepared.
#[derive(Debug)]
pub(crate) struct ClientStatement {
    /// Its text.
    pub(crate) sql: Vec<u8>,
    /// What the planner made of it.
    pub(crate) planned: Planned,
    /// How it is veiled, if it names a table with protected columns.
    pub(crate) veil: Option<Veil>,
    /// How the session read texts when it was prepared; that stays so.
    pub(crate) context: Arc<Context>,
    /// The number of parameters.
    pub(crate) params: usize,
    /// Whether its answer is a result set.
    pub(crate) has_rows: bool,
    /// The types that the client bound last; it may leave them out next time.
    pub(crate) types: Vec<ParamType>,
    /// Parameters that were sent in pieces.
    pub(crate) long_data: HashMap<usize, Vec<u8>>,
    /// A mistake in sending pieces, which MySQL reports with the next EXECUTE.
    pub(crate) spoiled: Option<ErrPacket<'static>>,
    /// The cursor of its last execution, if it is open.
    pub(crate) cursor: Option<Cursor>,
}

impl ClientStatement {
    /// The bytes of what was sent in pieces.
    fn long_bytes(&self) -> usize {
        self.long_data.values().map(Vec::len).sum()
    }
}

impl Prepared {
    /// How many the client closed.
    pub(crate) fn closed(&self) -> u64 {
        self.closed
    }

    /// The bytes that it takes.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// Remembers a statement and gives its id.
    ///
    /// # Errors
    /// MySQL's 1461 when the client holds too many, or more than there is `room` for.
    pub(crate) fn insert(
        &mut self,
        statement: ClientStatement,
        room: usize,
    ) -> Result<u32, Failure> {
        self.admit(&statement, room)?;
        self.held += statement.sql.len() + EACH;
        self.last_id = self.last_id.wrapping_add(1);
        self.statements.insert(self.last_id, statement);
        Ok(self.last_id)
    }

    fn admit(&self, statement: &ClientStatement, room: usize) -> Result<(), Failure> {
        if statement.sql.len() + EACH > room {
            let message = format!(
                "Can't create more statements: those of a session, and its variables, may take \
                 {MOST} bytes together; close some"
            );
            return Err(ErrPacket::new(1461, *b"42000", message).into());
        }
        if self.statements.len() + self.named.len() >= MAX_STATEMENTS {
            let message = format!(
                "Can't create more than max_prepared_stmt_count statements \
                 (current value: {MAX_STATEMENTS})"
            );
            return Err(ErrPacket::new(1461, *b"42000", message).into());
        }
        Ok(())
    }

    /// Takes a statement out, to execute it.
    ///
    /// # Errors
    /// MySQL's 1243 when there is none with this id.
    pub(crate) fn take(&mut self, id: u32) -> Result<ClientStatement, Failure> {
        self.statements
            .remove(&id)
            .ok_or_else(|| unknown(id).into())
    }

    /// Puts a statement back after [`take`](Self::take). What was sent in pieces is used up.
    pub(crate) fn put_back(&mut self, id: u32, mut statement: ClientStatement) {
        self.held -= statement.long_bytes();
        statement.long_data.clear();
        self.statements.insert(id, statement);
    }

    /// Appends to a parameter, where the session holds so many bytes of `others`, and one packet
    /// may have `limit`. There is no answer; mistakes show with EXECUTE.
    pub(crate) fn long_data(
        &mut self,
        id: u32,
        param: u16,
        data: &[u8],
        (others, limit): (usize, usize),
    ) {
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
        let known = statement.long_data.get(&param).map_or(0, Vec::len);
        let most = MOST.max(limit);
        if self.held + others + data.len() > most || known + data.len() > limit {
            statement.spoiled = Some(ErrPacket::new(
                1105,
                *b"HY000",
                "Parameter of prepared statement which is set through \
                 mysql_send_long_data() is longer than 'max_allowed_packet' bytes",
            ));
            return;
        }
        self.held += data.len();
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
        let statement = self.statements.get_mut(&id).ok_or_else(|| unknown(id))?;
        self.held -= statement.long_bytes();
        statement.long_data.clear();
        statement.spoiled = None;
        Ok(())
    }

    /// Takes the cursor of a statement, to fetch from it.
    ///
    /// # Errors
    /// MySQL's 1421 where none is open, and 1243 when there is no such statement.
    pub(crate) fn take_cursor(&mut self, id: u32) -> Result<Cursor, Failure> {
        let statement = self.statements.get_mut(&id).ok_or_else(|| unknown(id))?;
        statement.cursor.take().ok_or_else(|| {
            let message = format!("The statement ({id}) has no open cursor.");
            ErrPacket::new(1421, *b"HY000", message).into()
        })
    }

    /// Puts a cursor back after [`take_cursor`](Self::take_cursor).
    pub(crate) fn put_cursor(&mut self, id: u32, cursor: Cursor) {
        if let Some(statement) = self.statements.get_mut(&id) {
            statement.cursor = Some(cursor);
        }
    }

    /// How many cursors over several servers are open.
    pub(crate) fn merged_cursors(&self) -> usize {
        let merged = |it: &&ClientStatement| matches!(it.cursor, Some(Cursor::Merged(_)));
        self.statements.values().filter(merged).count()
    }

    /// Forgets a statement. Servers forget theirs when others take their place.
    pub(crate) fn close(&mut self, id: u32) {
        self.closed += 1;
        if let Some(statement) = self.statements.remove(&id) {
            self.held -= statement.sql.len() + EACH + statement.long_bytes();
        }
    }

    /// Remembers a statement by its name in SQL.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub(crate) fn name(
        &mut self,
        name: &str,
        statement: ClientStatement,
        room: usize,
    ) -> Result<(), Failure> {
        self.admit(&statement, room)?;
        self.held += statement.sql.len() + EACH;
        self.named.insert(name.to_lowercase(), statement);
        Ok(())
    }

    /// Takes the statement of this name out, to execute it.
    pub(crate) fn take_named(&mut self, name: &str) -> Option<ClientStatement> {
        self.named.remove(&name.to_lowercase())
    }

    /// Puts a statement back after [`take_named`](Self::take_named).
    pub(crate) fn put_back_named(&mut self, name: &str, statement: ClientStatement) {
        self.named.insert(name.to_lowercase(), statement);
    }

    /// Forgets the statement of this name; answers whether there was one.
    pub(crate) fn forget_named(&mut self, name: &str) -> bool {
        let statement = self.named.remove(&name.to_lowercase());
        if let Some(statement) = &statement {
            self.held -= statement.sql.len() + EACH;
        }
        statement.is_some()
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.named.clear();
        self.statements.clear();
        self.held = 0;
    }
}

fn unknown(id: u32) -> ErrPacket<'static> {
    let message = format!("Unknown prepared statement handler ({id}) given to mysql_stmt_precheck");
    ErrPacket::new(1243, *b"HY000", message)
}
