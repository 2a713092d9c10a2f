//! What a MySQL session remembers between statements.

use std::sync::Arc;

use remora_planner::Context;
use remora_planner::keys::Charset;
use remora_protocol::{CapabilityFlags, StatusFlags};

use super::{Diagnostics, NextTransaction, Settings, Transaction, Variables};
use crate::atomic::Branch;
use crate::charsets;

/// A session's state, wherever its statements run.
#[derive(Debug)]
pub(crate) struct State {
    /// What decides how texts are read.
    pub(crate) context: Arc<Context>,
    /// Whether a character of the client's texts may hold the byte of a quote.
    pub(crate) hides_quotes: bool,
    /// Whether each statement commits by itself.
    pub(crate) autocommit: bool,
    /// `sql_select_limit`, if it limits anything.
    pub(crate) select_limit: Option<u64>,
    /// SETs, to be replayed on further connections.
    pub(crate) settings: Settings,
    /// The transaction, if one is open.
    pub(crate) transaction: Transaction,
    /// Whether a BEGIN of the client's began it, which is told to those who track it.
    pub(crate) began: bool,
    /// Shards where, without autocommit, a statement failed outside a transaction: MySQL keeps the
    /// table's definition locked for the session until it ends the transaction that is none.
    pub(crate) locks_definitions: Vec<usize>,
    /// SET TRANSACTION statements that the next transaction begins with.
    pub(crate) next_transaction: NextTransaction,
    /// LAST_INSERT_ID().
    pub(crate) insert_id: InsertId,
    /// ROW_COUNT().
    pub(crate) row_count: i64,
    /// Whether a server's error was passed on as the answer: the statements behind it do not run.
    pub(crate) failed: bool,
    /// FOUND_ROWS(), where it is known here.
    pub(crate) found_rows: Option<u64>,
    /// The shard that alone knows it.
    pub(crate) found_rows_at: Option<usize>,
    /// What SHOW WARNINGS shows.
    pub(crate) diagnostics: Diagnostics,
    /// User variables which a statement assigned by itself, and the one shard that knows them.
    pub(crate) variables: Variables,
    /// Branches of its own transactions that are committed and do not show it yet, by shard.
    pub(crate) unsettled: Vec<(usize, Branch)>,
}

/// Where LAST_INSERT_ID() is known.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum InsertId {
    /// It is this.
    Known(u64),
    /// A statement on this shard may have changed it there; if not, it is what it was.
    Ask {
        /// The shard.
        shard: usize,
        /// What it was before.
        otherwise: u64,
    },
}

impl State {
    /// The state of a client that just logged in.
    pub(crate) fn new(capabilities: CapabilityFlags, collation: u8) -> Self {
        let mut context = Context::default();
        context.sql_mode.ignore_space = capabilities.contains(CapabilityFlags::CLIENT_IGNORE_SPACE);
        context.charset = match collation {
            utf8 if is_utf8(utf8) => Charset::Utf8mb4,
            // What MySQL's own client says where the locale is C, as in most containers.
            5 | 8 | 15 | 31 | 47..=49 | 94 => Charset::Latin1,
            11 | 65 => Charset::Ascii,
            _ => Charset::Other,
        };
        Self {
            context: Arc::new(context),
            hides_quotes: charsets::collation_hides_quotes(collation),
            autocommit: true,
            select_limit: None,
            settings: Settings::default(),
            transaction: Transaction::None,
            began: false,
            locks_definitions: Vec::new(),
            next_transaction: NextTransaction::default(),
            insert_id: InsertId::Known(0),
            row_count: 0,
            failed: false,
            found_rows: Some(0),
            found_rows_at: None,
            diagnostics: Diagnostics::Clean,
            variables: Variables::default(),
            unsettled: Vec::new(),
        }
    }

    /// What it holds of the client's texts, in bytes.
    pub(super) fn held(&self) -> usize {
        self.settings.held() + self.next_transaction.held() + self.transaction.held()
    }

    /// Notes that a statement without rows, warnings or effect on rows succeeded.
    pub(crate) fn succeeded(&mut self) {
        self.row_count = 0;
        self.diagnostics = Diagnostics::Clean;
    }

    /// Notes that a statement failed on this shard, which has told the client why.
    pub(crate) fn failed_on(&mut self, shard: usize) {
        self.failed = true;
        self.row_count = -1;
        self.diagnostics = Diagnostics::On(shard);
    }

    /// The status flags of an answer that is made here.
    pub(crate) fn status(&self) -> StatusFlags {
        let mut status = self.transaction.status();
        status.set(StatusFlags::SERVER_STATUS_AUTOCOMMIT, self.autocommit);
        status.set(
            StatusFlags::SERVER_STATUS_NO_BACKSLASH_ESCAPES,
            self.context.sql_mode.no_backslash_escapes,
        );
        status
    }
}

/// Whether a collation, by the number that fits in a login's byte, is of utf8mb3 or utf8mb4.
fn is_utf8(collation: u8) -> bool {
    matches!(collation, 33 | 45 | 46 | 76 | 83 | 192..=215 | 223..=247 | 255)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greeting_says_what_a_clients_strings_mean() {
        let charset = |collation| {
            State::new(CapabilityFlags::empty(), collation)
                .context
                .charset
        };
        // utf8mb4_0900_ai_ci, latin1_swedish_ci and latin1_bin, ascii_general_ci, cp1250_general_ci.
        let known = [255, 8, 47, 11, 26].map(charset);
        let (utf8, latin) = (Charset::Utf8mb4, Charset::Latin1);
        assert_eq!(known, [utf8, latin, latin, Charset::Ascii, Charset::Other]);
    }
}
