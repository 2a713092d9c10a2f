//! What of a statement concerns its session, wherever it runs.

use crate::catalog::Catalog;
use crate::leaves::Leaves;
use crate::reads;
use crate::text::Source;
use crate::utility::StatementKind;

/// What a session must know of a statement besides where it runs.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Traits {
    /// It changes rows or definitions.
    pub writes: bool,
    /// It surely reads only: a replica may answer it.
    pub read: bool,
    /// What it leaves behind in its session on the server that runs it.
    pub leaves: Leaves,
    /// It locks rows that it reads (FOR UPDATE, FOR SHARE).
    pub locks: bool,
    /// MySQL commits the open transaction before it.
    pub implicit_commit: bool,
    /// It reads user variables.
    pub reads_user_variables: bool,
    /// It sets user variables other than by SET: only the server that ran it has them then.
    pub assigns_user_variables: bool,
    /// It asks for LAST_INSERT_ID(): `SET last_insert_id` on its server first, if that one has
    /// another than the session.
    pub uses_last_insert_id: bool,
    /// It calls CONNECTION_ID().
    pub uses_connection_id: bool,
    /// It calls ROW_COUNT().
    pub uses_row_count: bool,
    /// It calls FOUND_ROWS().
    pub uses_found_rows: bool,
    /// FOUND_ROWS() is the number of its rows afterwards. With a LIMIT, or SQL_CALC_FOUND_ROWS, only
    /// the server that ran it knows.
    pub shows_found_rows: bool,
}

impl Traits {
    /// Whether something may be left in its session on one server, on which later reads depend.
    #[must_use]
    pub fn leaves_state(&self) -> bool {
        self.leaves != Leaves::Nothing
    }

    /// Reads a statement's.
    pub(crate) fn of(source: &Source<'_>, kind: StatementKind, catalog: &Catalog) -> Self {
        use StatementKind as K;
        let any = |words: &[&str]| (0..source.len()).any(|token| source.is_any(token, words));
        let last = source.len().checked_sub(1);
        let locks = (0..source.len()).any(|token| {
            source.is(token, "FOR") && source.is_any(token + 1, &["UPDATE", "SHARE"])
                || source.are(token, &["LOCK", "IN", "SHARE", "MODE"])
        });
        let into = last.is_some() && matches!(kind, K::Query | K::With) && any(&["INTO"]);
        let temporary = source.is(1, "TEMPORARY");
        // An OUT parameter, a column of a file.
        let hands_out = matches!(kind, K::Call | K::Load);
        let reads_rows = matches!(kind, K::Query | K::With);
        Self {
            read: reads::is_read(source, kind, catalog),
            leaves: Leaves::of(source, kind, catalog),
            writes: matches!(
                kind,
                K::Insert | K::Replace | K::Update | K::Delete | K::Load | K::Ddl | K::Call
            ) || kind == K::With && any(&["UPDATE", "DELETE"]) && !locks,
            locks: reads_rows && locks,
            // CHECKSUM TABLE is the one statement of its kind that only reads.
            implicit_commit: !temporary
                && !source.is(0, "CHECKSUM")
                && matches!(
                    kind,
                    K::Ddl | K::LockTables | K::Maintenance | K::Account | K::Flush
                ),
            reads_user_variables: source.uses_variable(),
            assigns_user_variables: kind != K::Set
                && (source.assigns_variable() || into || hands_out && source.uses_variable()),
            uses_last_insert_id: any(&["LAST_INSERT_ID", "IDENTITY"]),
            uses_connection_id: any(&["CONNECTION_ID"]),
            uses_row_count: any(&["ROW_COUNT"]),
            uses_found_rows: any(&["FOUND_ROWS"]),
            shows_found_rows: reads_rows && !into && !any(&["SQL_CALC_FOUND_ROWS", "LIMIT"]),
        }
    }
}
