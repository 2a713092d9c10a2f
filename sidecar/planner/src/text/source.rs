//! A statement and its tokens, as the planner reads them on a miss.

use std::ops::Range;

use crate::lexer::{Lexer, SqlMode, Token, TokenKind, identifier};

use super::{Position, Span};

/// A statement, its tokens, and where each of them is among the literals.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    pub(crate) sql: &'a [u8],
    pub(crate) mode: SqlMode,
    /// The tokens, without a trailing `;`.
    pub(crate) tokens: Vec<Token>,
    /// For each token how many literals end before it begins.
    literals_before: Vec<u32>,
    /// Where the last literal before each token ends.
    literal_ends: Vec<u32>,
    /// For each token how many `?` stand before it.
    params_before: Vec<u32>,
    /// Whether some tokens stand in a version comment: such a text cannot be cut.
    pub(crate) version_comment: bool,
    /// Where the statement ends: behind its last token, or the version comment around that.
    end: Position,
}

impl<'a> Source<'a> {
    /// Reads the tokens of a statement that takes the bytes `body` of `sql`.
    pub(crate) fn new(sql: &'a [u8], mode: SqlMode, body: &Range<usize>) -> Self {
        let mut lexer = Lexer::new(sql, mode);
        let mut source = Self {
            sql,
            mode,
            tokens: Vec::new(),
            literals_before: Vec::new(),
            literal_ends: Vec::new(),
            params_before: Vec::new(),
            version_comment: false,
            end: Position::START,
        };
        let (mut literals, mut literal_end, mut params) = (0, body.start as u32, 0);
        while let Some(token) = lexer.next() {
            source.version_comment |= lexer.version_comment().is_some();
            source.literals_before.push(literals);
            source.literal_ends.push(literal_end);
            source.params_before.push(params);
            source.tokens.push(token);
            if token.kind.is_literal() {
                literals += 1;
                literal_end = token.end;
            }
            params += u32::from(token.kind == TokenKind::Parameter);
        }
        while source
            .tokens
            .last()
            .is_some_and(|token| token.kind == TokenKind::Semicolon)
        {
            source.tokens.pop();
        }
        source.end = Position {
            literals,
            delta: (body.end as u32).saturating_sub(literal_end),
        };
        source
    }

    /// How many tokens there are.
    pub(crate) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// The kind of a token.
    pub(crate) fn kind(&self, token: usize) -> Option<TokenKind> {
        self.tokens.get(token).map(|token| token.kind)
    }

    /// Whether a token is this word without quotes, in any case.
    pub(crate) fn is(&self, token: usize, word: &str) -> bool {
        self.tokens
            .get(token)
            .is_some_and(|token| token.is_word(self.sql, word))
    }

    /// Whether a token is one of these words.
    pub(crate) fn is_any(&self, token: usize, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(token, word))
    }

    /// Whether the words stand here, one after the other.
    pub(crate) fn are(&self, token: usize, words: &[&str]) -> bool {
        words
            .iter()
            .enumerate()
            .all(|(ahead, word)| self.is(token + ahead, word))
    }

    /// The name that a token stands for; `None` if it is none.
    pub(crate) fn name(&self, token: usize) -> Option<String> {
        let token = self
            .tokens
            .get(token)
            .filter(|token| token.kind.is_name())?;
        Some(String::from_utf8_lossy(&identifier(token.text(self.sql))).into_owned())
    }

    /// A token's bytes.
    pub(crate) fn text(&self, token: usize) -> &'a [u8] {
        self.tokens
            .get(token)
            .and_then(|token| self.sql.get(token.range()))
            .unwrap_or_default()
    }

    /// The number of the literal that a token is, among the statement's literals.
    pub(crate) fn literal(&self, token: usize) -> Option<u32> {
        self.kind(token).filter(|kind| kind.is_literal())?;
        self.literals_before.get(token).copied()
    }

    /// The number of the `?` that a token is.
    pub(crate) fn param(&self, token: usize) -> Option<u32> {
        self.kind(token)
            .filter(|kind| *kind == TokenKind::Parameter)?;
        self.params_before.get(token).copied()
    }

    /// Where a token begins.
    pub(crate) fn start(&self, token: usize) -> Position {
        match (
            self.tokens.get(token),
            self.literals_before.get(token),
            self.literal_ends.get(token),
        ) {
            (Some(found), Some(literals), Some(end)) => Position {
                literals: *literals,
                delta: found.start - end,
            },
            _ => self.end(token.saturating_sub(1)),
        }
    }

    /// Where a token ends.
    pub(crate) fn end(&self, token: usize) -> Position {
        let Some(found) = self.tokens.get(token) else {
            return Position::START;
        };
        let before = self.literals_before.get(token).copied().unwrap_or(0);
        if found.kind.is_literal() {
            return Position {
                literals: before + 1,
                delta: 0,
            };
        }
        let end = self.literal_ends.get(token).copied().unwrap_or(0);
        Position {
            literals: before,
            delta: found.end - end,
        }
    }

    /// Where the statement ends.
    pub(crate) fn body_end(&self) -> Position {
        self.end
    }

    /// The range that tokens `from..to` take.
    pub(crate) fn span(&self, from: usize, to: usize) -> Span {
        Span {
            start: self.start(from),
            end: self.end(to.saturating_sub(1)),
        }
    }

    /// The bytes that tokens `from..to` take.
    pub(crate) fn slice(&self, from: usize, to: usize) -> &'a [u8] {
        match (
            self.tokens.get(from),
            to.checked_sub(1).and_then(|last| self.tokens.get(last)),
        ) {
            (Some(first), Some(last)) if from < to => self
                .sql
                .get(first.start as usize..last.end as usize)
                .unwrap_or_default(),
            _ => &[],
        }
    }

    /// The token that closes the parenthesis opened at `open`.
    pub(crate) fn closing(&self, open: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for (number, token) in self.tokens.iter().enumerate().skip(open) {
            match token.kind {
                TokenKind::LeftParen => depth += 1,
                TokenKind::RightParen => {
                    depth = depth.checked_sub(1)?;
                    if depth == 0 {
                        return Some(number);
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Splits tokens `from..to` at commas outside parentheses, into ranges of tokens.
    pub(crate) fn list(&self, from: usize, to: usize) -> Vec<(usize, usize)> {
        let mut items = Vec::new();
        let (mut depth, mut start) = (0_usize, from);
        for number in from..to {
            match self.kind(number) {
                Some(TokenKind::LeftParen) => depth += 1,
                Some(TokenKind::RightParen) => depth = depth.saturating_sub(1),
                Some(TokenKind::Comma) if depth == 0 => {
                    items.push((start, number));
                    start = number + 1;
                }
                _ => {}
            }
        }
        items.push((start, to));
        items
    }

    /// The first token from `from` on, before `to` and outside parentheses, that is one of
    /// these words.
    pub(crate) fn find(&self, from: usize, to: usize, words: &[&str]) -> Option<usize> {
        let mut depth = 0_usize;
        for number in from..to {
            match self.kind(number) {
                Some(TokenKind::LeftParen) => depth += 1,
                Some(TokenKind::RightParen) => depth = depth.saturating_sub(1),
                Some(TokenKind::Word) if depth == 0 && self.is_any(number, words) => {
                    let qualified = number > from && self.kind(number - 1) == Some(TokenKind::Dot);
                    if !qualified {
                        return Some(number);
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Where each `?` begins.
    pub(crate) fn params(&self) -> Vec<Position> {
        (0..self.len())
            .filter(|token| self.kind(*token) == Some(TokenKind::Parameter))
            .map(|token| self.start(token))
            .collect()
    }

    /// The first function of these that is called.
    pub(crate) fn calls(&self, functions: &[&'static str]) -> Option<&'static str> {
        (0..self.len()).find_map(|token| {
            let called = self.kind(token + 1) == Some(TokenKind::LeftParen);
            functions
                .iter()
                .find(|name| called && self.is(token, name))
                .copied()
        })
    }

    /// Whether a user variable is assigned by `:=`.
    pub(crate) fn assigns_variable(&self) -> bool {
        self.tokens
            .iter()
            .any(|token| token.kind == TokenKind::Assign)
    }

    /// Whether a user variable is used.
    pub(crate) fn uses_variable(&self) -> bool {
        self.tokens
            .iter()
            .any(|token| token.kind == TokenKind::UserVariable)
    }

    /// The token that begins at a byte.
    pub(crate) fn token_at(&self, byte: u32) -> Option<usize> {
        self.tokens
            .binary_search_by_key(&byte, |token| token.start)
            .ok()
    }

    /// The first token from `from` on that closes a parenthesis opened before, or the end.
    pub(crate) fn unopened(&self, from: usize) -> usize {
        let mut depth = 0_usize;
        for number in from..self.len() {
            match self.kind(number) {
                Some(TokenKind::LeftParen) => depth += 1,
                Some(TokenKind::RightParen) if depth == 0 => return number,
                Some(TokenKind::RightParen) => depth -= 1,
                _ => {}
            }
        }
        self.len()
    }
}
