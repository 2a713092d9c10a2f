//! SET in all its forms but those of accounts.

use std::borrow::Cow;

use super::cursor::Cursor;
use super::span::{Span, Unparsed};
use super::transaction::{AccessMode, Isolation, TransactionScope, characteristics};
use crate::lexer::{Lexer, SqlMode, TokenKind, string_literal};

/// Where a system variable is set.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Scope {
    /// In this session; also where no scope is named.
    Session,
    /// In the server.
    Global,
    /// In the server, kept over restarts.
    Persist,
    /// Only for the server's next start.
    PersistOnly,
}

/// One part of a SET.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Assignment {
    /// A system variable. `SET @@transaction_isolation` and `SET @@transaction_read_only`
    /// without a scope keyword are of the next transaction only: `bare_at` tells that form.
    Variable {
        /// Where it is set.
        scope: Scope,
        /// Whether it was written `@@name`, without a scope.
        bare_at: bool,
        /// Its name, maybe with quotes; with a point for a structured variable.
        name: Span,
        /// The expression.
        value: Span,
    },
    /// A user variable.
    User {
        /// The token, `@` included.
        name: Span,
        /// The expression.
        value: Span,
    },
    /// SET NAMES; none is DEFAULT.
    Names {
        /// The character set, maybe in quotes.
        charset: Option<Span>,
        /// The collation, maybe in quotes.
        collation: Option<Span>,
    },
    /// SET CHARACTER SET; none is DEFAULT.
    CharacterSet(Option<Span>),
    /// SET TRANSACTION.
    Transaction {
        /// Which transactions.
        scope: TransactionScope,
        /// ISOLATION LEVEL.
        isolation: Option<Isolation>,
        /// READ ONLY or READ WRITE.
        access: Option<AccessMode>,
    },
}

/// Reads a statement of [`super::StatementKind::Set`].
///
/// # Errors
/// [`Unparsed`] where it is not of MySQL's grammar.
pub fn set(sql: &[u8], mode: SqlMode) -> Result<Vec<Assignment>, Unparsed> {
    let mut cursor = Cursor::new(sql, mode);
    cursor.expect_word("SET")?;
    if let Some(transaction) = set_transaction(&mut cursor)? {
        cursor.expect_end()?;
        return Ok(vec![transaction]);
    }
    let mut assignments = Vec::new();
    // A scope keyword holds for the assignments behind it too, until the next keyword.
    let mut sticky = Scope::Session;
    loop {
        assignments.push(assignment(&mut cursor, &mut sticky)?);
        if !cursor.kind(TokenKind::Comma) {
            cursor.expect_end()?;
            return Ok(assignments);
        }
    }
}

fn set_transaction(cursor: &mut Cursor<'_>) -> Result<Option<Assignment>, Unparsed> {
    let before = cursor.clone();
    let scope = match scope_word(cursor) {
        None => TransactionScope::Next,
        Some(Scope::Session) => TransactionScope::Session,
        Some(_) => TransactionScope::Global,
    };
    if !cursor.word("TRANSACTION") || !cursor.is_any(&["ISOLATION", "READ"]) {
        *cursor = before;
        return Ok(None);
    }
    let (isolation, access) = characteristics(cursor)?;
    Ok(Some(Assignment::Transaction {
        scope,
        isolation,
        access,
    }))
}

fn scope_word(cursor: &mut Cursor<'_>) -> Option<Scope> {
    if cursor.any(&["SESSION", "LOCAL"]) {
        Some(Scope::Session)
    } else if cursor.word("GLOBAL") {
        Some(Scope::Global)
    } else if cursor.word("PERSIST") {
        Some(Scope::Persist)
    } else if cursor.word("PERSIST_ONLY") {
        Some(Scope::PersistOnly)
    } else {
        None
    }
}

fn assignment(cursor: &mut Cursor<'_>, sticky: &mut Scope) -> Result<Assignment, Unparsed> {
    if cursor.peek_kind() == Some(TokenKind::UserVariable) {
        let name = Span::from(cursor.take()?);
        return Ok(Assignment::User {
            name,
            value: value(cursor)?,
        });
    }
    if cursor.kind(TokenKind::SystemVariable) {
        let scope = match cursor.peek_kind() {
            Some(TokenKind::Word) => explicit_scope(cursor)?,
            _ => None,
        };
        let name = variable_name(cursor)?;
        return Ok(Assignment::Variable {
            scope: scope.unwrap_or(Scope::Session),
            bare_at: scope.is_none(),
            name,
            value: value(cursor)?,
        });
    }
    if let Some(found) = names_or_charset(cursor)? {
        return Ok(found);
    }
    if let Some(scope) = scope_word(cursor) {
        *sticky = scope;
    }
    let name = variable_name(cursor)?;
    Ok(Assignment::Variable {
        scope: *sticky,
        bare_at: false,
        name,
        value: value(cursor)?,
    })
}

/// `scope.` behind `@@`; a variable's name may be one of the words too.
fn explicit_scope(cursor: &mut Cursor<'_>) -> Result<Option<Scope>, Unparsed> {
    let before = cursor.clone();
    let scope = scope_word(cursor);
    if scope.is_some() && cursor.kind(TokenKind::Dot) {
        return Ok(scope);
    }
    *cursor = before;
    Ok(None)
}

fn variable_name(cursor: &mut Cursor<'_>) -> Result<Span, Unparsed> {
    let name = cursor.name()?;
    if cursor.kind(TokenKind::Dot) {
        return Ok(name.to(cursor.name()?));
    }
    Ok(name)
}

fn value(cursor: &mut Cursor<'_>) -> Result<Span, Unparsed> {
    if !cursor.kind(TokenKind::Equal) {
        cursor.expect(TokenKind::Assign)?;
    }
    cursor.expression()
}

fn names_or_charset(cursor: &mut Cursor<'_>) -> Result<Option<Assignment>, Unparsed> {
    let before = cursor.clone();
    let names = cursor.word("NAMES");
    let charset = !names
        && (cursor.words(&["CHARACTER", "SET"])
            || cursor.words(&["CHAR", "SET"])
            || cursor.word("CHARSET"));
    if !names && !charset {
        return Ok(None);
    }
    if matches!(
        cursor.peek_kind(),
        Some(TokenKind::Equal | TokenKind::Assign)
    ) {
        *cursor = before;
        return Ok(None);
    }
    let default = cursor.word("DEFAULT");
    let charset = if default {
        None
    } else {
        Some(name_or_string(cursor)?)
    };
    if !names {
        return Ok(Some(Assignment::CharacterSet(charset)));
    }
    let collation = match !default && cursor.word("COLLATE") {
        true => Some(name_or_string(cursor)?),
        false => None,
    };
    Ok(Some(Assignment::Names { charset, collation }))
}

fn name_or_string(cursor: &mut Cursor<'_>) -> Result<Span, Unparsed> {
    match cursor.peek_kind() {
        Some(TokenKind::String | TokenKind::Word | TokenKind::QuotedIdentifier) => {
            cursor.take().map(Span::from)
        }
        _ => Err(Unparsed),
    }
}

/// The value of an assignment, where it is plain.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum SetValue<'a> {
    /// DEFAULT.
    Default,
    /// A word or a name, such as ON or utf8mb4.
    Word(Cow<'a, [u8]>),
    /// A string.
    Text(Cow<'a, [u8]>),
    /// An integer, with its sign.
    Integer(i128),
    /// Anything else: MySQL must evaluate it.
    Expression,
}

/// Reads an assignment's value.
#[must_use]
pub fn set_value(sql: &[u8], value: Span, mode: SqlMode) -> SetValue<'_> {
    let text = value.text(sql);
    let mut lexer = Lexer::new(text, mode);
    let (first, second, third) = (lexer.next(), lexer.next(), lexer.next());
    let (Some(first), None) = (first, third) else {
        return SetValue::Expression;
    };
    let integer = |token: &[u8], sign: i128| {
        let number = std::str::from_utf8(token)
            .ok()
            .and_then(|digits| digits.parse::<i128>().ok());
        number.map_or(SetValue::Expression, |number| {
            SetValue::Integer(sign * number)
        })
    };
    match (first.kind, second) {
        (TokenKind::Word, None) if first.is_word(text, "DEFAULT") => SetValue::Default,
        (TokenKind::Word, None) => SetValue::Word(Cow::Borrowed(first.text(text))),
        (TokenKind::QuotedIdentifier, None) => SetValue::Word(Span::from(first).name(text)),
        (TokenKind::String, None) => SetValue::Text(string_literal(first.text(text), mode)),
        (TokenKind::Integer, None) => integer(first.text(text), 1),
        (TokenKind::Minus, Some(second)) if second.kind == TokenKind::Integer => {
            integer(second.text(text), -1)
        }
        _ => SetValue::Expression,
    }
}
