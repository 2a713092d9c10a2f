//! A statement's text without the values of its literals.

use std::ops::Range;

use crate::lexer::{Lexer, Program, SqlMode, Token, TokenKind};

/// Buffers beyond this size are given back with [`Normalizer::rest`]: an idle session keeps no
/// more.
const KEPT_BYTES: usize = 1024;

/// The buffers that one session reuses for every statement.
#[derive(Debug, Default)]
pub struct Normalizer {
    text: Vec<u8>,
    literals: Vec<Token>,
}

/// A statement, split into what the plan depends on and what it is fed with.
#[derive(Clone, Debug)]
pub struct Fingerprint<'a> {
    /// The statement from its first to its last token. A version comment is in it as a whole;
    /// comments around it and the `;` behind it are not, and stay out of the cache's key.
    pub body: Range<usize>,
    /// The literals in the order of the text.
    pub literals: &'a [Token],
    /// Whether a token of it is broken, or a `;` stands inside a version comment.
    pub invalid: bool,
    /// Whether a token of it is not read here though MySQL may read it: it must be refused.
    pub unread: bool,
    /// Whether another statement follows behind a `;`.
    pub several: bool,
    /// Context, mode and body, each literal as a zero byte and its kind.
    pub(super) normalized: &'a [u8],
}

impl Normalizer {
    /// Reads `sql`. `context` is all else that a plan depends on (database, version of the
    /// schema, character sets …); it is compared byte by byte.
    pub fn normalize(&mut self, sql: &[u8], mode: SqlMode, context: &[u8]) -> Fingerprint<'_> {
        self.clear();
        self.text
            .extend_from_slice(&(context.len() as u32).to_le_bytes());
        self.text.extend_from_slice(context);
        self.text.push(mode.class());

        let mut lexer = Lexer::new(sql, mode);
        let mut body = 0..0;
        let mut copied = 0;
        let mut invalid = false;
        let mut unread = false;
        let mut several = false;
        let mut last_in_comment = false;
        let mut ended = false;
        // Most statements are no data definition, and are not followed.
        let mut program: Option<Program> = None;
        while let Some(token) = lexer.next() {
            let comment = lexer.version_comment();
            if let Some(program) = &mut program {
                program.read(token, sql);
            }
            let inside = program.as_ref().is_some_and(Program::is_open);
            if token.kind == TokenKind::Semicolon && !inside {
                if last_in_comment && !ended {
                    body.end = lexer.version_comment_end();
                }
                invalid |= comment.is_some();
                unread |= comment.is_some();
                ended = true;
                continue;
            }
            if ended {
                several = true;
                break;
            }
            if body.end == 0 {
                body.start = comment.unwrap_or(token.start as usize);
                copied = body.start;
                if Program::may_begin(token, sql) {
                    program.get_or_insert_default().read(token, sql);
                }
            }
            body.end = token.end as usize;
            last_in_comment = comment.is_some();
            invalid |= token.kind.is_broken();
            unread |= token.kind == TokenKind::Unread;
            if token.kind.is_literal() {
                self.text
                    .extend_from_slice(&sql[copied..token.start as usize]);
                self.text.extend_from_slice(&[0, token.kind as u8]);
                self.literals.push(token);
                copied = token.end as usize;
            }
        }
        if last_in_comment && !ended && !invalid {
            body.end = lexer.version_comment_end();
        }
        self.text
            .extend_from_slice(sql.get(copied..body.end).unwrap_or_default());
        Fingerprint {
            body,
            literals: &self.literals,
            invalid,
            unread,
            several,
            normalized: &self.text,
        }
    }

    /// Gives back what a large statement made the buffers grow to.
    pub fn rest(&mut self) {
        if self.text.capacity() > KEPT_BYTES {
            self.text = Vec::new();
        }
        if self.literals.capacity() * size_of::<Token>() > KEPT_BYTES {
            self.literals = Vec::new();
        }
    }

    fn clear(&mut self) {
        self.text.clear();
        self.literals.clear();
    }
}
