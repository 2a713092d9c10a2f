//! Functions that every server has.
//!
//! A stored or loadable function lives on the first shard only, so a statement that any
//! shard could answer goes there if it calls a function that is not known here.

pub(crate) mod native;

use crate::lexer::TokenKind;
use crate::text::Source;

/// MySQL's own functions that every server has though each gives its own answer: the session
/// knows what to do with them. One that is left out costs a detour to the first shard.
const OF_SESSIONS: [&str; 5] = [
    "CONNECTION_ID",
    "FOUND_ROWS",
    "LAST_INSERT_ID",
    "ROW_COUNT",
    "VERSION",
];

/// Words before a parenthesis that are no functions.
pub(crate) const KEYWORDS: [&str; 61] = [
    "ALL",
    "AND",
    "ANY",
    "AS",
    "BETWEEN",
    "BINARY",
    "BY",
    "CASE",
    "DECIMAL",
    "DISTINCT",
    "DIV",
    "ELSE",
    "EXCEPT",
    "EXISTS",
    "FROM",
    "HAVING",
    "IN",
    "INTERSECT",
    "INTERVAL",
    "IS",
    "JOIN",
    "KEY",
    "INDEX",
    "LIKE",
    "LIMIT",
    "NOT",
    "ON",
    "OR",
    "OVER",
    "REGEXP",
    "RLIKE",
    "ROW",
    "SELECT",
    "SOME",
    "THEN",
    "UNION",
    "USING",
    "VALUES",
    "WHEN",
    "WHERE",
    "WITH",
    "XOR",
    "DATETIME",
    "VARCHAR",
    "NCHAR",
    "AGAINST",
    "COLUMNS",
    "DISTINCTROW",
    "DOUBLE",
    "FLOAT",
    "LATERAL",
    "OF",
    "PARTITION",
    "PRECISION",
    "REAL",
    "ROLLUP",
    "SIGNED",
    "STRAIGHT_JOIN",
    "UNSIGNED",
    "VALUE",
    "VARBINARY",
];

/// Whether a statement calls a function that is not known to be on every server.
pub(crate) fn calls_unknown(source: &Source<'_>) -> bool {
    (0..source.len()).any(|token| {
        source.kind(token + 1) == Some(TokenKind::LeftParen)
            && match source.kind(token) {
                Some(TokenKind::QuotedIdentifier) => true,
                Some(TokenKind::Word) => {
                    !native::only_reads(source.text(token))
                        && !source.is_any(token, &OF_SESSIONS)
                        && !source.is_any(token, &KEYWORDS)
                }
                _ => false,
            }
    })
}
