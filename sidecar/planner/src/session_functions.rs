//! Functions whose value the session may know better than the server that runs the statement.

use crate::lexer::TokenKind;
use crate::text::{Edit, Piece, SessionFunction, Source, Span};
use crate::utility::StatementKind;

const FUNCTIONS: [(&str, SessionFunction); 3] = [
    ("CONNECTION_ID", SessionFunction::ConnectionId),
    ("ROW_COUNT", SessionFunction::RowCount),
    ("FOUND_ROWS", SessionFunction::FoundRows),
];

/// Adds the edits that put the session's values in place of such calls. A column of the result
/// keeps the name that MySQL would give it.
pub(crate) fn add(source: &Source<'_>, kind: StatementKind, edits: &mut Vec<Edit>) {
    let statement = matches!(
        kind,
        StatementKind::Query
            | StatementKind::With
            | StatementKind::Insert
            | StatementKind::Replace
            | StatementKind::Update
            | StatementKind::Delete
            | StatementKind::Do
    );
    if !statement {
        return;
    }
    // What a server tells of its own connections has its own number of this one.
    let of_server = (0..source.len()).any(|token| source.is(token, "PERFORMANCE_SCHEMA"));
    for token in 0..source.len() {
        if let Some(end) = socket(source, token) {
            replace(source, (token, end), SessionFunction::Socket, edits);
        }
        if of_server && source.is(token, "CONNECTION_ID") {
            continue;
        }
        let Some((_, function)) = FUNCTIONS.iter().find(|(name, _)| source.is(token, name)) else {
            continue;
        };
        let called = source.kind(token + 1) == Some(TokenKind::LeftParen)
            && source.kind(token + 2) == Some(TokenKind::RightParen);
        if !called {
            continue;
        }
        replace(source, (token, token + 3), *function, edits);
    }
}

/// Where `@@socket` ends, if it begins at a token. A client that connects there, as some do who are
/// on the same machine, would go past the sidecar.
fn socket(source: &Source<'_>, token: usize) -> Option<usize> {
    if source.kind(token) != Some(TokenKind::SystemVariable) {
        return None;
    }
    let global = source.is(token + 1, "GLOBAL") && source.kind(token + 2) == Some(TokenKind::Dot);
    let name = if global { token + 3 } else { token + 1 };
    source.is(name, "SOCKET").then_some(name + 1)
}

/// Puts the session's value in place of some tokens.
fn replace(
    source: &Source<'_>,
    (token, end): (usize, usize),
    function: SessionFunction,
    edits: &mut Vec<Edit>,
) {
    edits.push(Edit {
        span: source.span(token, end),
        piece: Piece::Session(function),
    });
    let Some((from, to)) = unnamed_item(source, token, end) else {
        return;
    };
    let text = source.span(from, to);
    let at = Span {
        start: text.end,
        end: text.end,
    };
    let known = edits
        .iter()
        .any(|edit| edit.span == at && matches!(edit.piece, Piece::Alias { .. }));
    if !known {
        let only = Some(function);
        edits.push(Edit {
            span: at,
            piece: Piece::Alias { text, only },
        });
    }
}

/// The item of the outer select list that holds the tokens up to `until`, if it has no alias.
fn unnamed_item(source: &Source<'_>, token: usize, until: usize) -> Option<(usize, usize)> {
    if !source.is(0, "SELECT") {
        return None;
    }
    let stop = [
        "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "FOR", "INTO", "UNION",
    ];
    let end = source.find(1, source.len(), &stop).unwrap_or(source.len());
    let mut items = source.list(1, end).into_iter();
    let (from, to) = items.find(|(from, to)| (*from..*to).contains(&token))?;
    let from = (from..to).find(|it| !source.is_any(*it, &["ALL", "DISTINCT"]))?;
    let last = source.kind(to - 1)?;
    let named = source.find(from, to, &["AS"]).is_some() || last.is_name() && to != until;
    (!named && source.len() > 1).then_some((from, to))
}
