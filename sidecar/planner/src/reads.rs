//! Which statements a replica may answer, as far as their text tells.
//!
//! A replica may answer what certainly reads, and gives there what it gives on the primary. All
//! that is not known to be so stays on the primary: a stored function may take locks or write, a
//! lock by name or a system variable is of one server.

use std::ops::Range;

use crate::catalog::Catalog;
use crate::functions::{KEYWORDS, native};
use crate::lexer::TokenKind;
use crate::text::Source;
use crate::utility::StatementKind;

/// Where the client wants a statement to be read, by a comment of its own.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ReadHint {
    /// It does not say.
    #[default]
    None,
    /// `/* remora: primary */`.
    Primary,
    /// `/* remora: replica */`: whatever the session wrote before.
    Replica,
}

/// Schemas that tell of one server.
const OF_ONE_SERVER: [&str; 4] = ["information_schema", "performance_schema", "mysql", "sys"];

/// What clients ask for when they connect. None of it is of one server: all have the same
/// configuration, and the session's own values are replayed.
const ALIKE: [&str; 29] = [
    "auto_increment_increment",
    "autocommit",
    "character_set_client",
    "character_set_connection",
    "character_set_database",
    "character_set_results",
    "character_set_server",
    "collation_connection",
    "collation_database",
    "collation_server",
    "init_connect",
    "interactive_timeout",
    "license",
    "lower_case_table_names",
    "max_allowed_packet",
    "max_execution_time",
    "net_buffer_length",
    "net_read_timeout",
    "net_write_timeout",
    "performance_schema",
    "socket",
    "sql_mode",
    "system_time_zone",
    "time_zone",
    "transaction_isolation",
    "transaction_read_only",
    "version",
    "version_comment",
    "wait_timeout",
];

/// Words that no plain read has: it writes, locks, or leaves something behind in its session.
const NOT_PLAIN: [&str; 7] = [
    "INTO",
    "UPDATE",
    "DELETE",
    "LOCK",
    "SHARE",
    "PROCEDURE",
    "SQL_CALC_FOUND_ROWS",
];

/// Whether a statement surely reads only, and may be answered by a replica that has its rows.
pub(crate) fn is_read(source: &Source<'_>, kind: StatementKind, catalog: &Catalog) -> bool {
    if !matches!(kind, StatementKind::Query | StatementKind::With) {
        return false;
    }
    (0..source.len()).all(|token| match source.kind(token) {
        Some(TokenKind::Word) => {
            !source.is_any(token, &NOT_PLAIN)
                && !names_one_server(source, token)
                && !calls_other(source, token, catalog)
        }
        Some(TokenKind::QuotedIdentifier) => {
            !names_one_server(source, token) && !calls_other(source, token, catalog)
        }
        // Their values are of a server, or of one connection to it.
        Some(TokenKind::UserVariable | TokenKind::Assign) => false,
        Some(TokenKind::SystemVariable) => is_alike(source, token + 1),
        _ => true,
    })
}

/// Whether a system variable is one that all servers of a cluster have alike, once the session's
/// SETs were replayed.
fn is_alike(source: &Source<'_>, token: usize) -> bool {
    let scoped = source.is_any(token, &["SESSION", "LOCAL", "GLOBAL"])
        && source.kind(token + 1) == Some(TokenKind::Dot);
    let name = if scoped { token + 2 } else { token };
    source.is_any(name, &ALIKE)
}

fn names_one_server(source: &Source<'_>, token: usize) -> bool {
    source.kind(token + 1) == Some(TokenKind::Dot)
        && source.name(token).is_some_and(|name| {
            OF_ONE_SERVER
                .iter()
                .any(|schema| name.eq_ignore_ascii_case(schema))
        })
}

/// Whether a token calls what is not known to read only.
pub(crate) fn calls_other(source: &Source<'_>, token: usize, catalog: &Catalog) -> bool {
    if source.kind(token + 1) != Some(TokenKind::LeftParen) {
        return false;
    }
    let qualified = token > 0 && source.kind(token - 1) == Some(TokenKind::Dot);
    let known = match source.kind(token) {
        Some(TokenKind::Word) if !qualified => {
            native::only_reads(source.text(token)) || source.is_any(token, &KEYWORDS)
        }
        Some(TokenKind::Word | TokenKind::QuotedIdentifier) => false,
        _ => return false,
    };
    !known
        && !source
            .name(token)
            .is_some_and(|name| catalog.only_reads(&name))
        // Last, since it looks far: an INSERT may have thousands of rows.
        && !has_columns(source, token)
}

/// Whether columns are listed behind a name: of a derived table (`AS t (a, b)`), of a common
/// table expression (`t (a, b) AS (`), or of the table of an INSERT.
fn has_columns(source: &Source<'_>, token: usize) -> bool {
    let alias = token > 0 && source.is(token - 1, "AS");
    let common = || {
        source.closing(token + 1).is_some_and(|end| {
            source.is(end + 1, "AS") && source.kind(end + 2) == Some(TokenKind::LeftParen)
        })
    };
    alias || common() || is_inserted_table(source, token)
}

fn is_inserted_table(source: &Source<'_>, token: usize) -> bool {
    if !source.is_any(0, &["INSERT", "REPLACE"]) {
        return false;
    }
    let end = source.len().min(token + 1);
    source
        .find(
            1,
            end,
            &["VALUES", "VALUE", "SELECT", "SET", "TABLE", "WITH"],
        )
        .is_none()
}

/// What the comments between a statement's tokens say. The last one holds.
pub(crate) fn among(source: &Source<'_>) -> ReadHint {
    let mut hint = ReadHint::None;
    for pair in source.tokens.windows(2) {
        if let [before, after] = pair {
            let gap = source.sql.get(before.end as usize..after.start as usize);
            hint = in_gap(gap, hint);
        }
    }
    hint
}

/// What the comments before and behind a statement's body say, else what those `among` its
/// tokens do. They are in no plan: of texts that differ in them only, one is cached.
pub(crate) fn around(sql: &[u8], body: &Range<usize>, among: ReadHint) -> ReadHint {
    let before = in_gap(sql.get(..body.start), ReadHint::None);
    let behind = in_gap(sql.get(body.end..), ReadHint::None);
    [behind, among, before]
        .into_iter()
        .find(|hint| *hint != ReadHint::None)
        .unwrap_or_default()
}

/// What comments in a stretch of blanks and comments say, else `before`.
fn in_gap(gap: Option<&[u8]>, before: ReadHint) -> ReadHint {
    let mut hint = before;
    let mut rest = gap.unwrap_or_default();
    if rest.len() < SHORTEST {
        return hint;
    }
    while let Some(start) = memchr::memmem::find(rest, b"/*") {
        rest = &rest[start + 2..];
        let Some(end) = memchr::memmem::find(rest, b"*/") else {
            break;
        };
        hint = of_comment(&rest[..end]).unwrap_or(hint);
        rest = &rest[end + 2..];
    }
    hint
}

/// Nothing shorter is a hint. Most statements have nothing around them at all.
const SHORTEST: usize = b"/*remora:primary*/".len();

fn of_comment(text: &[u8]) -> Option<ReadHint> {
    let text = text.trim_ascii();
    let (name, value) = text.split_at_checked(b"remora".len())?;
    if !name.eq_ignore_ascii_case(b"remora") {
        return None;
    }
    let value = value.trim_ascii_start().strip_prefix(b":")?.trim_ascii();
    if value.eq_ignore_ascii_case(b"replica") {
        Some(ReadHint::Replica)
    } else if value.eq_ignore_ascii_case(b"primary") {
        Some(ReadHint::Primary)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::Normalizer;
    use crate::lexer::SqlMode;

    fn of(sql: &str) -> ReadHint {
        let mut normalizer = Normalizer::default();
        let body = normalizer
            .normalize(sql.as_bytes(), SqlMode::default(), b"")
            .body;
        let source = Source::new(sql.as_bytes(), SqlMode::default(), &body);
        around(sql.as_bytes(), &body, among(&source))
    }

    #[test]
    fn a_comment_says_where_to_read() {
        assert_eq!(of("SELECT 1"), ReadHint::None);
        assert_eq!(of("/* remora: replica */ SELECT 1"), ReadHint::Replica);
        assert_eq!(of("/*REMORA:Primary*/SELECT 1"), ReadHint::Primary);
        assert_eq!(of("SELECT /* remora: replica */ 1"), ReadHint::Replica);
        assert_eq!(
            of("SELECT 1 /* trace=7 */ /*remora : primary*/"),
            ReadHint::Primary
        );
        assert_eq!(
            of("/*remora:replica*/ SELECT 1 /*remora:primary*/"),
            ReadHint::Primary
        );
    }

    #[test]
    fn what_is_no_comment_of_ours_says_nothing() {
        for sql in [
            "SELECT '/* remora: replica */'",
            "SELECT `/*remora:replica*/` FROM t",
            "SELECT 1 -- remora: replica",
            "/* remora: secondary */ SELECT 1",
            "/* remorax: replica */ SELECT 1",
            "/* remora replica */ SELECT 1",
        ] {
            assert_eq!(of(sql), ReadHint::None, "{sql}");
        }
    }
}
