//! KILL.

use super::cursor::Cursor;
use super::span::{Span, Unparsed};
use crate::lexer::{SqlMode, TokenKind, integer_literal};

/// Whose statement or connection is to end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum KillId {
    /// The connection with this number. Like MySQL, it takes one that is too large for the
    /// largest.
    Number(u32),
    /// The client's own: CONNECTION_ID().
    Own,
    /// What this expression says.
    Expression(Span),
}

/// A KILL.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Kill {
    /// The statement only, and not the connection.
    pub query: bool,
    /// Whose.
    pub id: KillId,
}

/// Reads a statement of [`super::StatementKind::Kill`].
///
/// # Errors
/// [`Unparsed`] where it is not of MySQL's grammar.
pub fn kill(sql: &[u8], mode: SqlMode) -> Result<Kill, Unparsed> {
    let mut cursor = Cursor::new(sql, mode);
    cursor.expect_word("KILL")?;
    let query = cursor.word("QUERY");
    if !query {
        cursor.word("CONNECTION");
    }
    let mut ahead = cursor.clone();
    if ahead.word("CONNECTION_ID")
        && ahead.kind(TokenKind::LeftParen)
        && ahead.kind(TokenKind::RightParen)
        && ahead.at_end()
    {
        let id = KillId::Own;
        return Ok(Kill { query, id });
    }
    let span = cursor.rest()?.ok_or(Unparsed)?;
    let text = sql.get(span.range()).unwrap_or_default();
    let id = match integer_literal(text) {
        Some(number) => KillId::Number(u32::try_from(number).unwrap_or(u32::MAX)),
        None => KillId::Expression(span),
    };
    Ok(Kill { query, id })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(sql: &str) -> Option<(bool, KillId)> {
        let kill = kill(sql.as_bytes(), SqlMode::default()).ok()?;
        Some((kill.query, kill.id))
    }

    #[test]
    fn a_kill_is_of_a_connection_unless_it_says_query() {
        let number = KillId::Number;
        assert_eq!(read("KILL 7"), Some((false, number(7))));
        assert_eq!(read("kill connection 7 ;"), Some((false, number(7))));
        assert_eq!(read("KILL /* x */ QUERY 7"), Some((true, number(7))));
        assert_eq!(read("KILL 99999999999"), Some((false, number(u32::MAX))));
        assert_eq!(read("KILL connection_id()"), Some((false, KillId::Own)));
        assert_eq!(
            read("KILL QUERY CONNECTION_ID ( )"),
            Some((true, KillId::Own))
        );
        let (_, id) = read("KILL QUERY @a + 1").unwrap();
        assert_eq!(id, KillId::Expression(Span { start: 11, end: 17 }));
        assert_eq!(read("KILL"), None);
        assert_eq!(read("KILL QUERY"), None);
        assert_eq!(read("KILL (7"), None);
    }
}
