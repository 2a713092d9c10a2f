//! What a session must be like: kept by its client, and compared with what comes back.

use std::collections::BTreeMap;

use super::settings::Defaults;
use crate::client::Prepared;
use crate::mysql::Account;

/// The names of the user variables besides `@mark`.
pub(super) const VARIABLES: [&str; 3] = ["@a", "@b", "@c"];

/// The databases that sessions move between; the first holds the sharded table.
pub(super) const DATABASES: [&str; 2] = ["shop", "side"];

/// A statement that the session prepared.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) statement: Prepared,
    pub(super) kind: Kind,
    /// The current database when it was prepared: it stays that of the statement.
    pub(super) database: &'static str,
    /// How texts were read when it was prepared.
    pub(super) reading: Reading,
}

/// What decides how texts are read: `sql_mode` and character sets.
pub(super) type Reading = [String; 3];

/// What a prepared statement does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// Says a parameter and the session's variables.
    Say,
    /// Reads a row by its key.
    Read,
    /// Adds to a row.
    Add,
    /// Makes a row.
    Make,
    /// Takes a long text.
    Long,
}

/// A session between its login, or a reset, and its end.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) account: Account,
    pub(super) database: &'static str,
    pub(super) settings: BTreeMap<&'static str, String>,
    /// It sets nothing: its connections are of use to others like it as they are, and whatever is
    /// left on them shows.
    pub(super) plain: bool,
    /// `@mark`: none until the session has set it.
    pub(super) mark: Option<String>,
    pub(super) variables: BTreeMap<&'static str, Option<String>>,
    /// A SELECT assigned variables: the server that ran it alone knows them.
    pub(super) assigned: bool,
    /// The rows of the temporary table, where there is one.
    pub(super) temporary: Option<Vec<i64>>,
    pub(super) prepared: Vec<Held>,
    /// What LAST_INSERT_ID() is.
    pub(super) insert_id: u64,
    /// The lock of the session's name is held.
    pub(super) locked: bool,
}

impl Model {
    /// How texts are read now.
    pub(super) fn reading(&self) -> Reading {
        ["sql_mode", "character_set_client", "collation_connection"]
            .map(|name| self.settings.get(name).cloned().unwrap_or_default())
    }

    /// As a login, or a reset, leaves it.
    pub(super) fn begun(account: Account, database: &'static str, defaults: &Defaults) -> Self {
        Self {
            account,
            database,
            settings: defaults.clone(),
            plain: false,
            mark: None,
            variables: VARIABLES.map(|name| (name, None)).into(),
            assigned: false,
            temporary: None,
            prepared: Vec::new(),
            insert_id: 0,
            locked: false,
        }
    }
}

/// The rows of the session in the sharded table, by their keys.
pub(super) type Rows = BTreeMap<u64, i64>;
