//! Statements of the agent: run, and quoted.

use super::AgentError;
use super::socket::failure;
use crate::backend::{Backend, Row};

/// Runs a statement without rows. `what` it does is told if it fails, its text never.
pub(super) async fn run(
    backend: &mut Backend,
    what: &'static str,
    sql: &str,
) -> Result<(), AgentError> {
    let ended = backend
        .query(sql.as_bytes())
        .await
        .map_err(failure)?
        .finish()
        .await;
    let outcome = ended.map_err(failure)?;
    outcome
        .map(drop)
        .map_err(|error| AgentError::Refused { what, error })
}

/// Runs a query; MySQL's own error is inside.
pub(super) async fn rows(
    backend: &mut Backend,
    sql: &str,
) -> Result<Result<Vec<Row>, remora_protocol::ErrPacket<'static>>, AgentError> {
    backend.rows(sql.as_bytes()).await.map_err(failure)
}

/// A query that has no reason to fail.
pub(super) async fn ask(
    backend: &mut Backend,
    what: &'static str,
    sql: &str,
) -> Result<Vec<Row>, AgentError> {
    rows(backend, sql)
        .await?
        .map_err(|error| AgentError::Refused { what, error })
}

/// A text of the row, empty if NULL.
pub(super) fn text(row: &Row, column: usize) -> String {
    let value = row
        .get(column)
        .and_then(Option::as_deref)
        .unwrap_or_default();
    String::from_utf8_lossy(value).into_owned()
}

/// A string literal, right in a session whose `sql_mode` is empty.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// An identifier.
pub(super) fn identifier(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_its_quotes() {
        assert_eq!(literal(r"it's \'"), r"'it''s \\'''");
        assert_eq!(identifier("a`b"), "`a``b`");
    }
}
