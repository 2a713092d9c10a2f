//! User variables that statements assign by themselves (`@a := 1`, INTO @a, OUT parameters).

use remora_planner::lexer::{Lexer, SqlMode, TokenKind};

use super::Session;
use crate::failure::Failure;

/// Variables that one shard knows and the session does not yet.
#[derive(Debug, Default)]
pub(crate) struct Variables {
    on: Option<usize>,
    /// Their names, with the `@`.
    names: Vec<Vec<u8>>,
    /// Some are too large to be held here.
    kept: bool,
}

impl Variables {
    /// The shard, if there are any.
    pub(crate) fn on(&self) -> Option<usize> {
        self.on
    }

    /// Whether some cannot be brought to another connection.
    pub(crate) fn are_kept(&self) -> bool {
        self.kept
    }

    /// Notes one on `shard` that is too large to be held here.
    pub(crate) fn keep(&mut self, shard: usize) {
        self.on = Some(shard);
        self.kept = true;
    }

    /// Notes that a statement on `shard` may have assigned what it names.
    fn assigned(&mut self, shard: usize, sql: &[u8], mode: SqlMode) {
        self.on = Some(shard);
        for name in named(sql, mode) {
            if !self.names.contains(&name) {
                self.names.push(name);
            }
        }
    }
}

/// The user variables that a statement names.
fn named(sql: &[u8], mode: SqlMode) -> Vec<Vec<u8>> {
    let tokens = Lexer::new(sql, mode);
    tokens
        .filter(|token| token.kind == TokenKind::UserVariable)
        .map(|token| token.text(sql).to_ascii_lowercase())
        .collect()
}

impl Session {
    /// Notes that a statement on `shard` may have assigned variables.
    pub(crate) fn assigned_variables(&mut self, shard: usize, sql: &[u8]) {
        let mode = self.state.context.sql_mode;
        self.state.variables.assigned(shard, sql, mode);
    }

    /// Asks the shard that knows them for the values of variables, as if each had been SET.
    pub(crate) async fn fetch_variables(&mut self) -> Result<(), Failure> {
        let Some(shard) = self.state.variables.on else {
            return Ok(());
        };
        for name in std::mem::take(&mut self.state.variables.names) {
            match self.computed(shard, &name).await? {
                Some(set) => self.state.settings.put(&name, set),
                None => {
                    self.state.settings.forget(&name);
                    self.state.variables.kept = true;
                }
            }
        }
        if let Some(backend) = self.backends.get(shard) {
            backend.adopt(&self.state.settings);
        }
        if !self.state.variables.kept {
            self.state.variables.on = None;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_variable_that_a_statement_names_is_known_once() {
        let mut variables = Variables::default();
        let sql = b"SELECT @A := @b + 1, '@no', @@sql_mode, @`c d` INTO @a";
        variables.assigned(1, sql, SqlMode::default());
        let names: Vec<_> = variables
            .names
            .iter()
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect();
        assert_eq!(names, ["@a", "@b", "@`c d`"]);
        assert_eq!((variables.on(), variables.are_kept()), (Some(1), false));
    }
}
