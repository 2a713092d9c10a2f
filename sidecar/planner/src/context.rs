//! What of a session decides how its text is read.

use crate::catalog::Catalog;
use crate::keys::Charset;
use crate::lexer::SqlMode;

/// The part of a session's state that decides what its text means. Made anew when USE,
/// SET sql_mode or SET NAMES changes it.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Context {
    /// The current database.
    pub database: Option<String>,
    /// The modes that change how text is read.
    pub sql_mode: SqlMode,
    /// How literals are encoded: `character_set_client` and `character_set_connection`.
    pub charset: Charset,
    /// `NO_AUTO_VALUE_ON_ZERO` is set: 0 in a generated column is a value of its own.
    pub zero_is_a_value: bool,
}

impl Default for Context {
    fn default() -> Self {
        Self {
            database: None,
            sql_mode: SqlMode::default(),
            charset: Charset::Utf8mb4,
            zero_is_a_value: false,
        }
    }
}

impl Context {
    /// All that a plan depends on besides the text: two texts with equal keys have one plan.
    pub(crate) fn cache_key(&self, catalog: &Catalog) -> Vec<u8> {
        let database = self.database.as_deref();
        let mut key = Vec::with_capacity(12 + database.map_or(0, str::len));
        key.extend_from_slice(&catalog.version().to_le_bytes());
        key.push(self.charset as u8);
        key.push(u8::from(self.zero_is_a_value));
        key.push(u8::from(database.is_some()));
        key.extend_from_slice(database.unwrap_or_default().as_bytes());
        key
    }
}
