//! INSERT and REPLACE, split into header, rows, values and tail.
//!
//! One pass over the tokens, whatever the number of rows: a general parser takes a hundred
//! times longer for a long list of rows.

use super::cursor::Cursor;
use super::span::{Span, TableName, Unparsed};
use crate::lexer::{SqlMode, TokenKind};

/// An INSERT or REPLACE.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Insert {
    /// REPLACE, not INSERT.
    pub replace: bool,
    /// IGNORE: rows that fail are passed over with a warning.
    pub ignore: bool,
    /// DELAYED, LOW_PRIORITY or HIGH_PRIORITY.
    pub priority: Option<Span>,
    /// The table.
    pub table: TableName,
    /// The group behind PARTITION, in its parentheses.
    pub partition: Option<Span>,
    /// The columns' names (a qualified name's last part); none where no list stands there.
    pub columns: Option<Vec<Span>>,
    /// The list of columns with its parentheses.
    pub column_list: Option<Span>,
    /// Where the rows come from.
    pub source: InsertSource,
    /// `AS new` and maybe `(names)` behind it.
    pub alias: Option<Span>,
    /// ON DUPLICATE KEY UPDATE and its assignments.
    pub on_duplicate: Option<Span>,
}

/// Where the rows of an INSERT come from.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum InsertSource {
    /// VALUES and its rows.
    Rows {
        /// VALUES or VALUE.
        keyword: Span,
        /// The rows.
        rows: Vec<InsertRow>,
        /// The values of all rows in order.
        values: Vec<Span>,
    },
    /// SET column = value …
    Assignments(Vec<(Span, Span)>),
    /// SELECT, TABLE, WITH or a query in parentheses.
    Query(Span),
}

/// One row of VALUES.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct InsertRow {
    /// The row with its parentheses, and with ROW where that stands in front.
    pub span: Span,
    /// Its first value's index among all values.
    pub first: u32,
    /// How many values it has.
    pub count: u32,
}

impl InsertRow {
    /// The row's part of the values of all rows.
    #[must_use]
    pub fn values(self, all: &[Span]) -> &[Span] {
        let first = self.first as usize;
        all.get(first..first + self.count as usize)
            .unwrap_or_default()
    }
}

/// Reads an INSERT or REPLACE.
///
/// # Errors
/// [`Unparsed`] where it is not of MySQL's grammar.
pub fn insert(sql: &[u8], mode: SqlMode) -> Result<Insert, Unparsed> {
    let mut cursor = Cursor::new(sql, mode);
    let replace = cursor.word("REPLACE");
    if !replace {
        cursor.expect_word("INSERT")?;
    }
    cursor.kind(TokenKind::Hint);
    let priority = cursor
        .any(&["LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY"])
        .then(|| cursor.last());
    let ignore = !replace && cursor.word("IGNORE");
    cursor.word("INTO");
    let table = cursor.table_name()?;
    let partition = match cursor.word("PARTITION") {
        true => Some(cursor.group()?),
        false => None,
    };
    let (columns, column_list) = match column_list(&mut cursor)? {
        Some((columns, span)) => (Some(columns), Some(span)),
        None => (None, None),
    };
    let source = source(&mut cursor, columns.is_some())?;
    let alias = match !matches!(source, InsertSource::Query(_)) && cursor.word("AS") {
        true => Some(alias(&mut cursor)?),
        false => None,
    };
    let on_duplicate = on_duplicate(&mut cursor)?;
    if replace && (alias.is_some() || on_duplicate.is_some()) {
        return Err(Unparsed);
    }
    cursor.expect_end()?;
    Ok(Insert {
        replace,
        ignore,
        priority,
        table,
        partition,
        columns,
        column_list,
        source,
        alias,
        on_duplicate,
    })
}

/// `(a, t.b, …)`, unless a query stands in the parentheses.
fn column_list(cursor: &mut Cursor<'_>) -> Result<Option<(Vec<Span>, Span)>, Unparsed> {
    let before = cursor.clone();
    if !cursor.kind(TokenKind::LeftParen) {
        return Ok(None);
    }
    let open = cursor.last();
    let query = ["SELECT", "WITH", "TABLE", "VALUES"];
    if cursor.is_any(&query) || cursor.peek_kind() == Some(TokenKind::LeftParen) {
        *cursor = before;
        return Ok(None);
    }
    let mut columns = Vec::new();
    if cursor.kind(TokenKind::RightParen) {
        return Ok(Some((columns, open.to(cursor.last()))));
    }
    loop {
        columns.push(column(cursor)?);
        if cursor.kind(TokenKind::RightParen) {
            return Ok(Some((columns, open.to(cursor.last()))));
        }
        cursor.expect(TokenKind::Comma)?;
    }
}

/// `a`, `t.a` or `s.t.a`.
fn column(cursor: &mut Cursor<'_>) -> Result<Span, Unparsed> {
    let mut name = cursor.name()?;
    for _ in 0..2 {
        if cursor.kind(TokenKind::Dot) {
            name = cursor.name()?;
        }
    }
    Ok(name)
}

fn source(cursor: &mut Cursor<'_>, columns: bool) -> Result<InsertSource, Unparsed> {
    if cursor.any(&["VALUES", "VALUE"]) {
        return rows(cursor);
    }
    if !columns && cursor.word("SET") {
        return assignments(cursor);
    }
    let query = cursor.is_any(&["SELECT", "WITH", "TABLE"])
        || cursor.peek_kind() == Some(TokenKind::LeftParen);
    if !query {
        return Err(Unparsed);
    }
    let query = cursor.span_until(|cursor, token| {
        token.is_word(cursor.sql, "ON") && cursor.clone().words(&["ON", "DUPLICATE", "KEY"])
    })?;
    query.map(InsertSource::Query).ok_or(Unparsed)
}

fn rows(cursor: &mut Cursor<'_>) -> Result<InsertSource, Unparsed> {
    let keyword = cursor.last();
    let mut rows = Vec::new();
    let mut values = Vec::new();
    loop {
        let row = cursor.word("ROW").then(|| cursor.last());
        let open = Span::from(cursor.expect(TokenKind::LeftParen)?);
        let first = values.len();
        if !cursor.kind(TokenKind::RightParen) {
            row_values(cursor, &mut values)?;
        }
        rows.push(InsertRow {
            span: row.unwrap_or(open).to(cursor.last()),
            first: first as u32,
            count: (values.len() - first) as u32,
        });
        if !cursor.kind(TokenKind::Comma) {
            return Ok(InsertSource::Rows {
                keyword,
                rows,
                values,
            });
        }
    }
}

/// Takes the values of one row and its right parenthesis.
fn row_values(cursor: &mut Cursor<'_>, values: &mut Vec<Span>) -> Result<(), Unparsed> {
    let mut depth = 0_usize;
    let mut value: Option<Span> = None;
    loop {
        let token = cursor.take()?;
        match token.kind {
            TokenKind::Comma | TokenKind::RightParen if depth == 0 => {
                values.push(value.take().ok_or(Unparsed)?);
                if token.kind == TokenKind::RightParen {
                    return Ok(());
                }
                continue;
            }
            TokenKind::LeftParen => depth += 1,
            TokenKind::RightParen => depth -= 1,
            TokenKind::Semicolon => return Err(Unparsed),
            _ => {}
        }
        let span = Span::from(token);
        value = Some(value.map_or(span, |value| value.to(span)));
    }
}

fn assignments(cursor: &mut Cursor<'_>) -> Result<InsertSource, Unparsed> {
    let mut assignments = Vec::new();
    loop {
        let name = column(cursor)?;
        if !cursor.kind(TokenKind::Equal) {
            cursor.expect(TokenKind::Assign)?;
        }
        let value = cursor.span_until(|cursor, token| {
            token.kind == TokenKind::Comma
                || token.is_word(cursor.sql, "AS")
                || token.is_word(cursor.sql, "ON")
        })?;
        assignments.push((name, value.ok_or(Unparsed)?));
        if !cursor.kind(TokenKind::Comma) {
            return Ok(InsertSource::Assignments(assignments));
        }
    }
}

fn alias(cursor: &mut Cursor<'_>) -> Result<Span, Unparsed> {
    let start = cursor.last();
    let name = cursor.name()?;
    if cursor.peek_kind() == Some(TokenKind::LeftParen) {
        return Ok(start.to(cursor.group()?));
    }
    Ok(start.to(name))
}

fn on_duplicate(cursor: &mut Cursor<'_>) -> Result<Option<Span>, Unparsed> {
    if !cursor.is_word("ON") {
        return Ok(None);
    }
    if !cursor.clone().words(&["ON", "DUPLICATE", "KEY", "UPDATE"]) {
        return Err(Unparsed);
    }
    cursor.rest()
}
