//! What a session leaves on one connection and that cannot be replayed on another: temporary
//! tables, locks, open cursors, and what a procedure did.

use remora_planner::lexer::{Lexer, SqlMode, Token, TokenKind, identifier};
use remora_planner::{Leaves, Statement};
use remora_protocol::{ParamValue, RawParam};

use super::Session;
use crate::execute::Route;
use crate::failure::Failure;

/// What is on a connection.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Residue {
    /// Temporary tables, as DATABASE.NAME.
    temporary: Vec<Vec<u8>>,
    /// LOCK TABLES.
    table_locks: bool,
    /// Names of locks that were taken, as constants in SQL.
    locks: Vec<Vec<u8>>,
    /// Open cursors.
    cursors: usize,
    /// Nobody knows what: only a reset takes it away.
    anything: bool,
}

impl Residue {
    /// Whether nothing is.
    pub(crate) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Something that leaves nobody knows what is about to run.
    pub(crate) fn may_leave_anything(&mut self) {
        self.anything = true;
    }

    /// A cursor was opened.
    pub(crate) fn opened_cursor(&mut self) {
        self.cursors += 1;
    }

    /// A cursor was closed.
    pub(crate) fn closed_cursor(&mut self) {
        self.cursors = self.cursors.saturating_sub(1);
    }

    /// UNLOCK TABLES.
    pub(crate) fn unlocked_tables(&mut self) {
        self.table_locks = false;
    }
}

/// The words of a statement.
struct Words<'a> {
    sql: &'a [u8],
    tokens: Vec<Token>,
}

impl<'a> Words<'a> {
    fn new(sql: &'a [u8], mode: SqlMode) -> Self {
        let tokens = Lexer::new(sql, mode).collect();
        Self { sql, tokens }
    }

    fn is(&self, at: usize, word: &str) -> bool {
        let token = self.tokens.get(at);
        token.is_some_and(|token| token.is_word(self.sql, word))
    }

    fn has(&self, word: &str) -> bool {
        (0..self.tokens.len()).any(|at| self.is(at, word))
    }

    fn kind(&self, at: usize) -> Option<TokenKind> {
        self.tokens.get(at).map(|token| token.kind)
    }

    fn text(&self, at: usize) -> &'a [u8] {
        let token = self.tokens.get(at);
        token.map_or(&[], |token| token.text(self.sql))
    }

    /// The table whose name begins at a token, and the token behind it.
    fn table(&self, at: usize, database: &[u8]) -> (Vec<u8>, usize) {
        let bare = |at| identifier(self.text(at)).into_owned();
        match self.kind(at + 1) {
            Some(TokenKind::Dot) => ([bare(at), bare(at + 2)].join(&b'.'), at + 3),
            _ => ([database.to_vec(), bare(at)].join(&b'.'), at + 1),
        }
    }

    /// The tables that CREATE or DROP TABLE names.
    fn tables(&self, database: &[u8]) -> Vec<Vec<u8>> {
        let mut at = 1;
        let before = ["TEMPORARY", "TABLE", "TABLES", "IF", "NOT", "EXISTS"];
        while before.iter().any(|word| self.is(at, word)) {
            at += 1;
        }
        let mut tables = Vec::new();
        loop {
            let (table, behind) = self.table(at, database);
            tables.push(table);
            if self.kind(behind) != Some(TokenKind::Comma) {
                return tables;
            }
            at = behind + 1;
        }
    }

    /// The names of the locks that it takes, as constants; `None` if one is no constant.
    fn locks(&self, param: impl Fn(usize) -> Option<Vec<u8>>) -> Option<Vec<Vec<u8>>> {
        let calls = (0..self.tokens.len()).filter(|at| {
            self.is(*at, "GET_LOCK") && self.kind(at + 1) == Some(TokenKind::LeftParen)
        });
        let name = |at: usize| {
            let alone = self.kind(at + 3) == Some(TokenKind::Comma);
            match self.kind(at + 2)? {
                TokenKind::String if alone => Some(self.text(at + 2).to_vec()),
                TokenKind::Parameter if alone => {
                    let before = self.tokens[..at + 2].iter();
                    param(before.filter(|t| t.kind == TokenKind::Parameter).count())
                }
                _ => None,
            }
        };
        calls.map(name).collect()
    }
}

impl Session {
    /// Notes what a statement left on the connection to `shard`, or took away, where something else
    /// was `before`.
    ///
    /// # Errors
    /// If the server does not say which locks there are.
    pub(crate) async fn note_residue(
        &mut self,
        shard: usize,
        before: Residue,
        statement: &Statement<'_>,
        route: &Route<'_>,
        succeeded: bool,
    ) -> Result<(), Failure> {
        let sql = &statement.sql;
        if route.traits.assigns_user_variables {
            self.assigned_variables(shard, sql);
        }
        let Some(backend) = self.backends.get(shard) else {
            return Ok(());
        };
        if !(succeeded || route.traits.leaves != Leaves::NamedLocks) {
            // It may have taken one before it failed.
            return Ok(());
        }
        if route.traits.leaves != Leaves::Anything {
            backend.residue = before;
        }
        let residue = &mut backend.residue;
        let drops = route.traits.writes && !residue.temporary.is_empty();
        if !succeeded || route.traits.leaves == Leaves::Nothing && !drops {
            return Ok(());
        }
        let words = Words::new(sql, self.state.context.sql_mode);
        let database = self.state.context.database.clone().unwrap_or_default();
        match route.traits.leaves {
            Leaves::TemporaryTable => {
                residue.temporary.extend(words.tables(database.as_bytes()));
            }
            Leaves::TableLocks => residue.table_locks = true,
            Leaves::NamedLocks => {
                let param = |at: usize| lock_name(route, at);
                match words.locks(param) {
                    Some(names) => residue.locks.extend(names),
                    None => residue.anything = true,
                }
                if words.has("RELEASE_LOCK") || words.has("RELEASE_ALL_LOCKS") {
                    self.recheck_locks(shard).await?;
                }
            }
            Leaves::Nothing if words.is(0, "DROP") => {
                let dropped = words.tables(database.as_bytes());
                residue.temporary.retain(|table| !dropped.contains(table));
            }
            // It may have another name from now on.
            Leaves::Nothing if words.has("RENAME") => residue.anything = true,
            Leaves::Nothing | Leaves::Variables | Leaves::Anything => {}
        }
        Ok(())
    }

    /// Asks which of the locks that were taken there still are.
    async fn recheck_locks(&mut self, shard: usize) -> Result<(), Failure> {
        let Some(backend) = self.backends.get(shard) else {
            return Ok(());
        };
        let mut held = Vec::new();
        for name in std::mem::take(&mut backend.residue.locks) {
            let ask = [
                b"SELECT IS_USED_LOCK(",
                &name[..],
                b") <=> CONNECTION_ID() LIMIT 1",
            ]
            .concat();
            if backend.table(&ask).await??.text(0) == "1" && !held.contains(&name) {
                held.push(name);
            }
        }
        backend.residue.locks = held;
        Ok(())
    }
}

/// A parameter that names a lock, as a constant in SQL.
fn lock_name(route: &Route<'_>, at: usize) -> Option<Vec<u8>> {
    let param = route.params?.get(at)?;
    match (param.raw, param.value().ok()?) {
        // Others would be in a character set that the constant is not in.
        (RawParam::Bytes(_), ParamValue::Bytes(name)) if name.is_ascii() => {
            Some(format!("X'{}'", hex::encode(name)).into_bytes())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(sql: &str) -> Vec<String> {
        let words = Words::new(sql.as_bytes(), SqlMode::default());
        let tables = words.tables(b"shop").into_iter();
        tables.map(|t| String::from_utf8(t).unwrap()).collect()
    }

    #[test]
    fn temporary_tables_are_known_by_database_and_name() {
        assert_eq!(
            tables("CREATE TEMPORARY TABLE IF NOT EXISTS `a` (id INT)"),
            ["shop.a"]
        );
        assert_eq!(
            tables("DROP TEMPORARY TABLE IF EXISTS a, other.b, `c`"),
            ["shop.a", "other.b", "shop.c"]
        );
    }

    #[test]
    fn locks_are_known_by_constants_only() {
        let locks = |sql: &str| {
            let words = Words::new(sql.as_bytes(), SqlMode::default());
            let param = |at| Some(format!("p{at}").into_bytes());
            let names = words.locks(param)?.into_iter();
            Some(
                names
                    .map(|n| String::from_utf8(n).unwrap())
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(
            locks("SELECT GET_LOCK('a', 1), get_lock(?, ?)").unwrap(),
            ["'a'", "p0"]
        );
        assert_eq!(locks("SELECT RELEASE_LOCK('a')").unwrap(), [""; 0]);
        assert_eq!(locks("SELECT GET_LOCK(CONCAT('a', 1), 1)"), None);
        assert_eq!(locks("SELECT GET_LOCK('a' 'b', 1)"), None);
    }
}
