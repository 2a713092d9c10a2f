//! The lexer: one token at a time, without allocation.

use memchr::{memchr, memchr2};

use super::mode::SqlMode;
use super::table::{BLANK, COMPARISON, DIGIT, IDENTIFIER, is, is_charset};
use super::token::{Token, TokenKind};

/// The version that `/*!NNNNN … */` is compared with: that of the servers we run, 9.7.4.
pub const SERVER_VERSION_ID: u32 = 90_704;

/// Keywords behind which `/*+ … */` is a hint; elsewhere it is a comment.
const HINTABLE: [&[u8]; 5] = [b"SELECT", b"INSERT", b"REPLACE", b"UPDATE", b"DELETE"];

/// Reads the tokens of a statement, or of several joined by `;`.
///
/// Comments and blanks are passed over, and so are the marks of a version comment whose
/// content the server executes.
#[derive(Clone, Debug)]
pub struct Lexer<'a> {
    pub(super) sql: &'a [u8],
    mode: SqlMode,
    pub(super) at: usize,
    previous: Token,
    /// Where the version comment begins whose content is being read as code.
    version_comment: Option<usize>,
    /// One past the `*/` of the last version comment that was read as code.
    version_comment_end: usize,
}

/// What stands between two tokens.
enum Gap {
    /// A token begins here.
    Token,
    /// A hint begins here.
    Hint,
    /// The statement ends here.
    End,
    /// A comment that MySQL does not accept begins here.
    Invalid,
}

impl<'a> Lexer<'a> {
    /// Begins at the first byte of `sql`. Beyond 4 GiB nothing is read: no packet is so long.
    #[must_use]
    pub fn new(sql: &'a [u8], mode: SqlMode) -> Self {
        let sql = sql.get(..u32::MAX as usize).unwrap_or(sql);
        let previous = Token {
            kind: TokenKind::Semicolon,
            start: 0,
            end: 0,
        };
        Self {
            sql,
            mode,
            at: 0,
            previous,
            version_comment: None,
            version_comment_end: 0,
        }
    }

    /// Where the version comment begins that holds the token just read.
    #[must_use]
    pub fn version_comment(&self) -> Option<usize> {
        self.version_comment
    }

    /// One past the `*/` of the last version comment whose content was code; 0 before any.
    #[must_use]
    pub fn version_comment_end(&self) -> usize {
        self.version_comment_end
    }

    pub(super) fn byte(&self, at: usize) -> u8 {
        self.sql.get(at).copied().unwrap_or(0)
    }

    pub(super) fn past(&self, mut at: usize, class: u8) -> usize {
        while at < self.sql.len() && is(self.sql[at], class) {
            at += 1;
        }
        at
    }

    /// Passes blanks and comments.
    fn gap(&mut self) -> Gap {
        loop {
            self.at = self.past(self.at, BLANK);
            let Some(&byte) = self.sql.get(self.at) else {
                return if self.version_comment.is_some() {
                    Gap::Invalid
                } else {
                    Gap::End
                };
            };
            match (byte, self.byte(self.at + 1)) {
                (b'#', _) => self.at = self.line_end(),
                (b'-', b'-') if self.ends_dashes(self.at + 2) => self.at = self.line_end(),
                (b'/', b'*') => match self.comment() {
                    Gap::Token => {}
                    other => return other,
                },
                (b'*', b'/') if self.version_comment.is_some() => {
                    self.version_comment = None;
                    self.at += 2;
                    self.version_comment_end = self.at;
                }
                _ => return Gap::Token,
            }
        }
    }

    /// `--` is a comment only before a blank, a control character or the end.
    fn ends_dashes(&self, at: usize) -> bool {
        self.sql
            .get(at)
            .is_none_or(|b| is(*b, BLANK) || b.is_ascii_control())
    }

    fn line_end(&self) -> usize {
        self.sql
            .get(self.at..)
            .and_then(|rest| memchr(b'\n', rest))
            .map_or(self.sql.len(), |n| self.at + n)
    }

    /// Passes one `/*` comment; [`Gap::Token`] means that it was passed.
    fn comment(&mut self) -> Gap {
        match self.byte(self.at + 2) {
            b'!' => {
                if self.version_comment.is_some() {
                    return Gap::Invalid;
                }
                let digits = self.past(self.at + 3, DIGIT).min(self.at + 9);
                let length = digits - (self.at + 3);
                let version = self.sql[self.at + 3..digits]
                    .iter()
                    .fold(0_u32, |version, digit| {
                        version * 10 + u32::from(digit - b'0')
                    });
                if length < 5 {
                    self.version_comment = Some(self.at);
                    self.at += 3;
                    return Gap::Token;
                }
                if version <= SERVER_VERSION_ID {
                    self.version_comment = Some(self.at);
                    self.at = digits;
                    return Gap::Token;
                }
                self.pass(self.comment_end(digits, true))
            }
            b'+' if self.hint_may_stand() => Gap::Hint,
            _ => self.pass(self.comment_end(self.at + 2, false)),
        }
    }

    fn pass(&mut self, end: Option<usize>) -> Gap {
        match end {
            Some(end) => {
                self.at = end;
                Gap::Token
            }
            None => Gap::Invalid,
        }
    }

    /// One past the `*/` of a comment. A comment of a later version may hold others, one deep.
    fn comment_end(&self, mut at: usize, nested: bool) -> Option<usize> {
        loop {
            let rest = self.sql.get(at..)?;
            at += if nested {
                memchr2(b'*', b'/', rest)?
            } else {
                memchr(b'*', rest)?
            };
            match (self.sql[at], self.byte(at + 1)) {
                (b'*', b'/') => return Some(at + 2),
                (b'/', b'*') => at = self.comment_end(at + 2, false)?,
                _ => at += 1,
            }
        }
    }

    fn hint_may_stand(&self) -> bool {
        self.previous.kind == TokenKind::Word && {
            let word = self.previous.text(self.sql);
            HINTABLE
                .iter()
                .any(|keyword| word.eq_ignore_ascii_case(keyword))
        }
    }

    /// The end of a hint. Quotes that the end might be inside of are not understood.
    fn hint_end(&self) -> Option<usize> {
        let end = self.comment_end(self.at + 3, false)?;
        let text = &self.sql[self.at..end];
        let odd = |quote: u8| text.iter().filter(|b| **b == quote).count() % 2 == 1;
        (!odd(b'`') && !odd(b'"') && !odd(b'\'')).then_some(end)
    }

    /// The kind of the token that begins at `self.at`, and its end; none where it is invalid.
    fn token(&self) -> Option<(TokenKind, usize)> {
        use TokenKind as K;
        let at = self.at;
        let byte = self.byte(at);
        let next = self.byte(at + 1);
        let one = |kind| Some((kind, at + 1));
        let two = |kind| Some((kind, at + 2));
        let behind_dot = self.previous.kind == K::Dot && self.previous.end as usize == at;
        match byte {
            _ if behind_dot && is(byte, IDENTIFIER) => Some((K::Word, self.past(at, IDENTIFIER))),
            b'0'..=b'9' => self.number(),
            b'x' | b'X' if next == b'\'' => self.quoted_digits(K::Hex),
            b'b' | b'B' if next == b'\'' => self.quoted_digits(K::Bit),
            b'n' | b'N' if next == b'\'' => Some((K::NationalString, self.string(at + 1)?)),
            b'_' => {
                let end = self.past(at, IDENTIFIER);
                let qualified = self.byte(end) == b'.' && is(self.byte(end + 1), IDENTIFIER);
                let introducer = !qualified && is_charset(&self.sql[at + 1..end]);
                Some((if introducer { K::Introducer } else { K::Word }, end))
            }
            _ if is(byte, IDENTIFIER) => Some((K::Word, self.past(at, IDENTIFIER))),
            b'"' if self.mode.ansi_quotes => Some((K::QuotedIdentifier, self.doubled(at)?)),
            b'\'' | b'"' => Some((K::String, self.string(at)?)),
            b'`' => Some((K::QuotedIdentifier, self.doubled(at)?)),
            b'@' => self.variable(next),
            b'.' if is(next, DIGIT) && !self.follows_word() => self.fraction(at + 1),
            b'.' => one(K::Dot),
            b',' => one(K::Comma),
            b'(' => one(K::LeftParen),
            b')' => one(K::RightParen),
            b'{' => one(K::LeftBrace),
            b'}' => one(K::RightBrace),
            b';' => one(K::Semicolon),
            b'*' => one(K::Star),
            b'+' => one(K::Plus),
            b'-' if next == b'>' && self.byte(at + 2) == b'>' => Some((K::LongArrow, at + 3)),
            b'-' if next == b'>' => two(K::Arrow),
            b'-' => one(K::Minus),
            b'/' => one(K::Slash),
            b'%' => one(K::Percent),
            b'^' => one(K::Caret),
            b'~' => one(K::Tilde),
            b'&' if next == b'&' => two(K::DoubleAmpersand),
            b'&' => one(K::Ampersand),
            b'|' if next == b'|' => two(K::DoublePipe),
            b'|' => one(K::Pipe),
            b'?' => one(K::Parameter),
            b':' if next == b'=' => two(K::Assign),
            b':' => one(K::Colon),
            b'<' | b'>' | b'=' | b'!' => self.comparison(),
            _ => None,
        }
    }

    /// A point right behind a word separates names, even before a digit (`t.1`).
    fn follows_word(&self) -> bool {
        self.previous.kind == TokenKind::Word
            && self.previous.end as usize == self.at
            && self.at > 0
    }

    /// The longest run of comparison characters that MySQL takes must be an operator.
    fn comparison(&self) -> Option<(TokenKind, usize)> {
        use TokenKind as K;
        let at = self.at;
        let second = self.byte(at + 1);
        if !is(second, COMPARISON) {
            let kind = match self.byte(at) {
                b'<' => K::Less,
                b'>' => K::Greater,
                b'=' => K::Equal,
                _ => K::Exclamation,
            };
            return Some((kind, at + 1));
        }
        let third = self.byte(at + 2);
        match (self.byte(at), second) {
            (b'<', b'=') if third == b'>' => Some((K::NullSafeEqual, at + 3)),
            (b'<', _) if matches!(third, b'>' | b'=' | b'!') => None,
            (b'<', b'=') => Some((K::LessEqual, at + 2)),
            (b'<', b'>') | (b'!', b'=') => Some((K::NotEqual, at + 2)),
            (b'<', b'<') => Some((K::ShiftLeft, at + 2)),
            (b'>', b'=') => Some((K::GreaterEqual, at + 2)),
            (b'>', b'>') => Some((K::ShiftRight, at + 2)),
            _ => None,
        }
    }

    fn variable(&self, next: u8) -> Option<(TokenKind, usize)> {
        let at = self.at;
        let end = match next {
            b'@' => return Some((TokenKind::SystemVariable, at + 2)),
            b'`' => self.doubled(at + 1)?,
            b'"' if self.mode.ansi_quotes => self.doubled(at + 1)?,
            b'\'' | b'"' => self.string(at + 1)?,
            _ => {
                let mut end = at + 1;
                while is(self.byte(end), IDENTIFIER) || self.byte(end) == b'.' {
                    end += 1;
                }
                end
            }
        };
        Some((TokenKind::UserVariable, end))
    }

    /// The end of the string whose quote is at `at`.
    fn string(&self, at: usize) -> Option<usize> {
        if self.mode.no_backslash_escapes {
            return self.doubled_quote(at);
        }
        let quote = self.byte(at);
        let mut at = at + 1;
        loop {
            at += memchr2(quote, b'\\', self.sql.get(at..)?)?;
            if self.sql[at] == b'\\' || self.byte(at + 1) == quote {
                at += 2;
            } else {
                return Some(at + 1);
            }
        }
    }

    /// The end of a quoted identifier, which holds no NUL.
    fn doubled(&self, at: usize) -> Option<usize> {
        let end = self.doubled_quote(at)?;
        memchr(0, &self.sql[at..end]).is_none().then_some(end)
    }

    /// The end of a quoted text in which only the doubled quote stands for itself.
    fn doubled_quote(&self, at: usize) -> Option<usize> {
        let quote = self.byte(at);
        let mut at = at + 1;
        loop {
            at += memchr(quote, self.sql.get(at..)?)?;
            if self.byte(at + 1) != quote {
                return Some(at + 1);
            }
            at += 2;
        }
    }
}

impl Iterator for Lexer<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        let found = match self.gap() {
            Gap::End => return None,
            Gap::Token => self.token(),
            Gap::Hint => self.hint_end().map(|end| (TokenKind::Hint, end)),
            // The end was told once already.
            Gap::Invalid if self.previous.kind == TokenKind::Invalid => return None,
            Gap::Invalid => None,
        };
        let start = self.at;
        let (kind, end) = found.unwrap_or((TokenKind::Invalid, self.sql.len()));
        self.at = end;
        self.previous = Token {
            kind,
            start: start as u32,
            end: end as u32,
        };
        Some(self.previous)
    }
}
