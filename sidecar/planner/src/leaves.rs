//! What a statement leaves behind in its session on the server that runs it.

use crate::catalog::Catalog;
use crate::reads::calls_other;
use crate::text::Source;
use crate::utility::StatementKind;

/// What is on one server afterwards, and cannot be brought to another.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Leaves {
    /// Nothing.
    #[default]
    Nothing,
    /// A temporary table.
    TemporaryTable,
    /// Locks of tables, until UNLOCK TABLES.
    TableLocks,
    /// Locks by name, taken or released.
    NamedLocks,
    /// User variables that it assigns by itself.
    Variables,
    /// Nobody knows.
    Anything,
}

/// Functions that tell of one session or one server, and leave nothing there that the sidecar
/// does not know: it keeps LAST_INSERT_ID itself.
const LEAVES_NOTHING: [&str; 9] = [
    "CONNECTION_ID",
    "FOUND_ROWS",
    "IS_FREE_LOCK",
    "IS_USED_LOCK",
    "LAST_INSERT_ID",
    "LOAD_FILE",
    "ROW_COUNT",
    "UUID_SHORT",
    "VERSION",
];

/// The functions that take and release locks by name.
const NAMED_LOCKS: [&str; 3] = ["GET_LOCK", "RELEASE_LOCK", "RELEASE_ALL_LOCKS"];

impl Leaves {
    /// Reads a statement's, on which later reads may depend.
    pub(crate) fn of(source: &Source<'_>, kind: StatementKind, catalog: &Catalog) -> Self {
        use StatementKind as K;
        match kind {
            K::Query
            | K::With
            | K::Insert
            | K::Replace
            | K::Update
            | K::Delete
            | K::Do
            | K::Set => Self::of_functions(source, kind, catalog),
            K::Ddl if source.is(1, "TEMPORARY") && source.is(0, "CREATE") => Self::TemporaryTable,
            K::LockTables => Self::TableLocks,
            K::Flush if locks(source) => Self::TableLocks,
            K::Account if !source.is(0, "SET") => Self::Nothing,
            K::Call
            | K::Handler
            | K::Unknown
            | K::Account
            | K::LockInstance
            | K::Administration => Self::Anything,
            _ => Self::Nothing,
        }
    }

    fn of_functions(source: &Source<'_>, kind: StatementKind, catalog: &Catalog) -> Self {
        let mut leaves = Self::Nothing;
        if matches!(kind, StatementKind::Query | StatementKind::With) && source.assigns_variable() {
            leaves = Self::Variables;
        }
        for token in 0..source.len() {
            if !calls_other(source, token, catalog) || source.is_any(token, &LEAVES_NOTHING) {
                continue;
            }
            if leaves == Self::Variables || !source.is_any(token, &NAMED_LOCKS) {
                return Self::Anything;
            }
            leaves = Self::NamedLocks;
        }
        leaves
    }
}

/// FLUSH TABLES … WITH READ LOCK, or FOR EXPORT.
fn locks(source: &Source<'_>) -> bool {
    (0..source.len()).any(|token| source.is_any(token, &["LOCK", "EXPORT"]))
}
