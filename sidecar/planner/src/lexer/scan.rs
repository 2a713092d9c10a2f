//! The lexer: one token at a time, without allocation.

use super::comment::Gap;
use super::mode::SqlMode;
use super::start::Start;
use super::table::{ASCII_NAME, COMPARISON, DIGIT, IDENTIFIER, is, is_charset};
use super::token::{Token, TokenKind};

/// The version that `/*!NNNNN … */` is compared with: that of the servers we run, 9.7.4.
pub const SERVER_VERSION_ID: u32 = 90_704;

/// Digits and strings of less bytes than this are read byte by byte: a search costs more.
pub(super) const SHORT: usize = 20;

/// Reads the tokens of a statement, or of several joined by `;`.
///
/// Comments and blanks are passed over, and so are the marks of a version comment whose
/// content the server executes.
#[derive(Clone, Debug)]
pub struct Lexer<'a> {
    pub(super) sql: &'a [u8],
    pub(super) mode: SqlMode,
    pub(super) at: usize,
    pub(super) previous: Token,
    /// Where the version comment begins whose content is being read as code.
    pub(super) version_comment: Option<usize>,
    /// One past the `*/` of the last version comment that was read as code.
    pub(super) version_comment_end: usize,
}

impl<'a> Lexer<'a> {
    /// Begins at the first byte of `sql`. A NUL as its last byte is its end, as to MySQL.
    /// Beyond 4 GiB nothing is read: no packet is so long.
    #[must_use]
    pub fn new(sql: &'a [u8], mode: SqlMode) -> Self {
        let sql = sql.strip_suffix(&[0]).unwrap_or(sql);
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

    /// The word that begins here.
    #[inline]
    pub(super) fn word(&self) -> (TokenKind, usize) {
        let end = self.past(self.at, ASCII_NAME);
        if self.byte(end) < 0x80 {
            (TokenKind::Word, end)
        } else {
            self.wide_word(end)
        }
    }

    /// A word with bytes beyond ASCII. What is not UTF-8 are letters in one character set and
    /// blanks in another (0xA0 in latin1): a word with such bytes is not read.
    #[cold]
    fn wide_word(&self, at: usize) -> (TokenKind, usize) {
        let end = self.past(at, IDENTIFIER);
        if std::str::from_utf8(&self.sql[self.at..end]).is_ok() {
            (TokenKind::Word, end)
        } else {
            self.unread()
        }
    }

    fn emit(&mut self, kind: TokenKind, end: usize) -> Token {
        let token = Token {
            kind,
            start: self.at as u32,
            end: end as u32,
        };
        self.previous = token;
        self.at = end;
        token
    }

    /// A token that is decided by its first bytes and the one behind it; none where it is not.
    fn short(&self, byte: u8) -> Option<(TokenKind, usize)> {
        let at = self.at;
        let next = self.byte(at + 1);
        match byte {
            b'0'..=b'9' if !self.name_follows() => {
                let end = self.past(at + 1, DIGIT);
                let next = self.byte(end);
                let plain = !is(next, IDENTIFIER) && next != b'.' && end - at < SHORT;
                plain.then_some((TokenKind::Integer, end))
            }
            b'\'' => self.short_string(),
            b'=' if !is(next, COMPARISON) => Some((TokenKind::Equal, at + 1)),
            b'.' if !is(next, DIGIT) => Some((TokenKind::Dot, at + 1)),
            b'*' if self.version_comment.is_none() => Some((TokenKind::Star, at + 1)),
            b'x' | b'X' | b'b' | b'B' | b'n' | b'N' if next != b'\'' => Some(self.word()),
            _ => None,
        }
    }

    /// The next token by all rules, behind blanks and comments.
    fn long(&mut self) -> Option<Token> {
        let found = match self.gap() {
            Gap::End => return None,
            Gap::Token => self.token(),
            Gap::Hint => Some(self.hint()),
            // The end was told once already.
            Gap::Invalid | Gap::Unread if self.previous.kind.is_broken() => return None,
            Gap::Invalid => None,
            Gap::Unread => Some(self.unread()),
        };
        let (kind, end) = found.unwrap_or((TokenKind::Invalid, self.sql.len()));
        Some(self.emit(kind, end))
    }

    pub(super) fn unread(&self) -> (TokenKind, usize) {
        (TokenKind::Unread, self.sql.len())
    }

    /// Right behind `.` and `@@` a name stands, whatever it looks like.
    fn name_follows(&self) -> bool {
        matches!(
            self.previous.kind,
            TokenKind::Dot | TokenKind::SystemVariable
        ) && self.previous.end as usize == self.at
    }

    /// The kind of the token that begins at `self.at`, and its end; none where it is invalid.
    fn token(&self) -> Option<(TokenKind, usize)> {
        use TokenKind as K;
        let at = self.at;
        let byte = self.byte(at);
        let next = self.byte(at + 1);
        let one = |kind| Some((kind, at + 1));
        let two = |kind| Some((kind, at + 2));
        match byte {
            _ if self.name_follows() && is(byte, IDENTIFIER) => Some(self.word()),
            b'0'..=b'9' => self.number(),
            b'x' | b'X' if next == b'\'' => self.quoted_digits(K::Hex),
            b'b' | b'B' if next == b'\'' => self.quoted_digits(K::Bit),
            b'n' | b'N' if next == b'\'' => Some((K::NationalString, self.string(at + 1)?)),
            b'_' => {
                let end = self.past(at, IDENTIFIER);
                let qualified = self.byte(end) == b'.' && is(self.byte(end + 1), IDENTIFIER);
                let introducer = !qualified && is_charset(&self.sql[at + 1..end]);
                if introducer {
                    Some((K::Introducer, end))
                } else {
                    Some(self.word())
                }
            }
            _ if is(byte, IDENTIFIER) => Some(self.word()),
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
            b'-' if self.hides_dashes(next) => Some(self.unread()),
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
            0 => Some(self.unread()),
            _ => None,
        }
    }

    /// A point right behind a word separates names, even before a digit (`t.1`).
    fn follows_word(&self) -> bool {
        self.previous.kind == TokenKind::Word
            && self.previous.end as usize == self.at
            && self.at > 0
    }
}

impl Iterator for Lexer<'_> {
    type Item = Token;

    #[inline]
    fn next(&mut self) -> Option<Token> {
        // Most tokens are known by their first byte or two; all others take the long way.
        while let Some(&byte) = self.sql.get(self.at) {
            let at = self.at;
            let (kind, end) = match Start::of(byte) {
                Start::Blank => {
                    self.at += 1;
                    continue;
                }
                Start::Word => self.word(),
                Start::Mark(kind) => (kind, at + 1),
                Start::Maybe => match self.short(byte) {
                    Some(found) => found,
                    None => break,
                },
                Start::Other => break,
            };
            return Some(self.emit(kind, end));
        }
        self.long()
    }
}
