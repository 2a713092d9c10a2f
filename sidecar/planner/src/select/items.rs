//! Where the items of a select list stand, in tokens.

use sqlparser::ast::{Expr, Query, Select, SelectItem, SetExpr};

use crate::lexer::TokenKind;
use crate::parse::token_number;
use crate::text::{Edit, Piece, Position, Source, Span};

/// A range of tokens.
pub(crate) type Range = (usize, usize);

/// Words between SELECT and its first column.
const MODIFIERS: [&str; 10] = [
    "ALL",
    "DISTINCT",
    "DISTINCTROW",
    "HIGH_PRIORITY",
    "STRAIGHT_JOIN",
    "SQL_SMALL_RESULT",
    "SQL_BIG_RESULT",
    "SQL_BUFFER_RESULT",
    "SQL_NO_CACHE",
    "SQL_CALC_FOUND_ROWS",
];

/// Words that end a select list.
const ENDS: [&str; 12] = [
    "FROM",
    "INTO",
    "WHERE",
    "GROUP",
    "HAVING",
    "ORDER",
    "LIMIT",
    "FOR",
    "UNION",
    "INTERSECT",
    "EXCEPT",
    "LOCK",
];

/// The items of the SELECT at token `select`, and the token behind them.
pub(crate) fn items(source: &Source<'_>, select: usize) -> (Vec<Range>, usize) {
    let mut first = select + 1;
    while source.kind(first) == Some(TokenKind::Hint) || source.is_any(first, &MODIFIERS) {
        first += 1;
    }
    let closing = source.unopened(first);
    let end = source.find(first, closing, &ENDS).unwrap_or(closing);
    (source.list(first, end), end)
}

/// The SELECT whose columns a query's result has: the first of a UNION.
fn leading(query: &Query) -> Option<&Select> {
    let mut body = &*query.body;
    loop {
        body = match body {
            SetExpr::Select(select) => return Some(select),
            SetExpr::Query(query) => &query.body,
            SetExpr::SetOperation { left, .. } => left,
            _ => return None,
        };
    }
}

/// Edits that name the columns of a query's result whose own text would show what is spliced
/// into it at the places in `within`.
pub(crate) fn aliases(source: &Source<'_>, query: &Query, within: &[Position]) -> Vec<Edit> {
    let select = leading(query);
    let token = select.and_then(|select| token_number(select.select_token.0.span));
    let (Some(select), Some(token)) = (select, token) else {
        return Vec::new();
    };
    let (ranges, _) = items(source, token);
    if ranges.len() != select.projection.len() {
        return Vec::new();
    }
    let unnamed = select.projection.iter().zip(ranges).filter(|(item, _)| {
        !matches!(
            item,
            SelectItem::UnnamedExpr(Expr::Identifier(_) | Expr::CompoundIdentifier(_))
        ) && matches!(item, SelectItem::UnnamedExpr(_))
    });
    unnamed
        .map(|(_, (from, to))| source.span(from, to))
        .filter(|text| within.iter().any(|at| (text.start..text.end).contains(at)))
        .map(|text| {
            let span = Span {
                start: text.end,
                end: text.end,
            };
            Edit {
                span,
                piece: Piece::Alias { text, only: None },
            }
        })
        .collect()
}
