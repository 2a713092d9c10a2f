//! What of a session decides how its text is read.

use crate::catalog::Catalog;
use crate::keys::Charset;
use crate::lexer::SqlMode;

/// 64 characters of up to four bytes.
const LONGEST_NAME: usize = 256;

/// The version, the charset, flags.
const HEAD: usize = 10;

/// Room for the key of [`Context::cache_key`].
pub(crate) struct CacheKey([u8; HEAD + LONGEST_NAME]);

impl CacheKey {
    pub(crate) const EMPTY: Self = Self([0; HEAD + LONGEST_NAME]);
}

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
    /// Written into `key`, which the caller keeps on its stack.
    pub(crate) fn cache_key<'k>(
        &self,
        catalog: &Catalog,
        key: &'k mut CacheKey,
        veiled: bool,
    ) -> &'k [u8] {
        let database = self.database.as_deref();
        let name = database.unwrap_or_default().as_bytes();
        // A longer name is none that MySQL takes, and names no table of the manifest.
        let name = name.get(..LONGEST_NAME).unwrap_or(name);
        let (head, tail) = key.0.split_at_mut(HEAD);
        head[..8].copy_from_slice(&catalog.version().to_le_bytes());
        head[8] = self.charset as u8;
        head[9] = u8::from(self.zero_is_a_value)
            | u8::from(database.is_some()) << 1
            | u8::from(veiled) << 2;
        tail[..name.len()].copy_from_slice(name);
        &key.0[..HEAD + name.len()]
    }
}
