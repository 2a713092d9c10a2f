//! Reads a statement's tokens in order, with one token of lookahead.

use super::span::{Span, TableName, Unparsed};
use crate::lexer::{Lexer, SqlMode, Token, TokenKind};

/// Tokens of one statement; it ends at its `;`, behind which nothing may stand.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    pub(super) sql: &'a [u8],
    lexer: Lexer<'a>,
    next: Option<Token>,
    last: Span,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(sql: &'a [u8], mode: SqlMode) -> Self {
        let mut lexer = Lexer::new(sql, mode);
        let next = lexer.next();
        Self {
            sql,
            lexer,
            next,
            last: Span::default(),
        }
    }

    /// The next token, or none at the end of the text.
    pub(super) fn peek(&self) -> Option<Token> {
        self.next
    }

    pub(super) fn peek_kind(&self) -> Option<TokenKind> {
        self.next.map(|token| token.kind)
    }

    /// Takes the next token, whatever it is, but for an invalid one.
    pub(super) fn take(&mut self) -> Result<Token, Unparsed> {
        let token = self
            .next
            .filter(|token| !token.kind.is_broken())
            .ok_or(Unparsed)?;
        self.last = token.into();
        self.next = self.lexer.next();
        Ok(token)
    }

    /// The token taken last.
    pub(super) fn last(&self) -> Span {
        self.last
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        self.next.is_some_and(|token| token.is_word(self.sql, word))
    }

    /// Whether the next token is one of `words`.
    pub(super) fn is_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is_word(word))
    }

    /// Takes the next token if it is `word`.
    pub(super) fn word(&mut self, word: &str) -> bool {
        self.is_word(word) && self.take().is_ok()
    }

    /// Takes one of `words`.
    pub(super) fn any(&mut self, words: &[&str]) -> bool {
        words.iter().any(|word| self.word(word))
    }

    /// Takes all of `words` in order, or nothing.
    pub(super) fn words(&mut self, words: &[&str]) -> bool {
        let before = self.clone();
        let found = words.iter().all(|word| self.word(word));
        if !found {
            *self = before;
        }
        found
    }

    /// Takes the next token if it is of `kind`.
    pub(super) fn kind(&mut self, kind: TokenKind) -> bool {
        self.peek_kind() == Some(kind) && self.take().is_ok()
    }

    pub(super) fn expect_word(&mut self, word: &str) -> Result<(), Unparsed> {
        self.word(word).then_some(()).ok_or(Unparsed)
    }

    pub(super) fn expect(&mut self, kind: TokenKind) -> Result<Token, Unparsed> {
        match self.next {
            Some(token) if token.kind == kind => self.take(),
            _ => Err(Unparsed),
        }
    }

    /// Takes a word or a quoted identifier.
    pub(super) fn name(&mut self) -> Result<Span, Unparsed> {
        match self.next {
            Some(token) if token.kind.is_name() => self.take().map(Span::from),
            _ => Err(Unparsed),
        }
    }

    /// Takes `[schema.]name`.
    pub(super) fn table_name(&mut self) -> Result<TableName, Unparsed> {
        let first = self.name()?;
        if self.kind(TokenKind::Dot) {
            return Ok(TableName {
                schema: Some(first),
                name: self.name()?,
            });
        }
        Ok(TableName {
            schema: None,
            name: first,
        })
    }

    /// Takes `name, name …`.
    pub(super) fn table_names(&mut self) -> Result<Vec<TableName>, Unparsed> {
        let mut names = vec![self.table_name()?];
        while self.kind(TokenKind::Comma) {
            names.push(self.table_name()?);
        }
        Ok(names)
    }

    /// Whether the statement ends here: nothing stands behind, or only `;`.
    pub(super) fn at_end(&self) -> bool {
        let mut rest = self.next.into_iter().chain(self.lexer.clone());
        rest.all(|token| token.kind == TokenKind::Semicolon)
    }

    pub(super) fn expect_end(&self) -> Result<(), Unparsed> {
        self.at_end().then_some(()).ok_or(Unparsed)
    }

    /// Takes tokens up to the end of the statement or, outside parentheses, to one that
    /// `stop` knows. None where there is not a token, or a parenthesis is open or too many.
    pub(super) fn span_until(
        &mut self,
        stop: impl Fn(&Self, Token) -> bool,
    ) -> Result<Option<Span>, Unparsed> {
        let mut depth = 0_usize;
        let mut span: Option<Span> = None;
        while let Some(token) = self.next {
            match token.kind {
                TokenKind::Semicolon => break,
                _ if depth == 0 && stop(self, token) => break,
                TokenKind::LeftParen => depth += 1,
                TokenKind::RightParen => depth = depth.checked_sub(1).ok_or(Unparsed)?,
                _ => {}
            }
            let token = Span::from(self.take()?);
            span = Some(span.map_or(token, |span| span.to(token)));
        }
        if depth == 0 { Ok(span) } else { Err(Unparsed) }
    }

    /// Takes an expression: tokens up to a comma or the end.
    pub(super) fn expression(&mut self) -> Result<Span, Unparsed> {
        self.span_until(|_, token| token.kind == TokenKind::Comma)?
            .ok_or(Unparsed)
    }

    /// Takes what is left of the statement; none where nothing is.
    pub(super) fn rest(&mut self) -> Result<Option<Span>, Unparsed> {
        let rest = self.span_until(|_, _| false)?;
        self.expect_end()?;
        Ok(rest)
    }

    /// Takes a group in parentheses; the next token must be the left one.
    pub(super) fn group(&mut self) -> Result<Span, Unparsed> {
        let open = Span::from(self.expect(TokenKind::LeftParen)?);
        self.span_until(|_, token| token.kind == TokenKind::RightParen)?;
        let close = Span::from(self.expect(TokenKind::RightParen)?);
        Ok(open.to(close))
    }
}
