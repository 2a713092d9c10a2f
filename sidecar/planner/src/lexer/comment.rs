//! What stands between two tokens: blanks, comments, hints.

use memchr::{memchr, memchr2};

use super::scan::{Lexer, SERVER_VERSION_ID};
use super::table::{BLANK, DIGIT, is};
use super::token::TokenKind;

/// Keywords behind which `/*+ … */` is a hint; elsewhere it is a comment.
const HINTABLE: [&[u8]; 5] = [b"SELECT", b"INSERT", b"REPLACE", b"UPDATE", b"DELETE"];

/// What stands between two tokens.
pub(super) enum Gap {
    /// A token begins here.
    Token,
    /// A hint begins here.
    Hint,
    /// The statement ends here.
    End,
    /// A comment that MySQL does not accept begins here.
    Invalid,
    /// A comment that is not understood here begins here.
    Unread,
}

impl Lexer<'_> {
    /// Passes blanks and comments.
    pub(super) fn gap(&mut self) -> Gap {
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
                (b'#', _) | (b'-', b'-') if byte == b'#' || self.ends_dashes(self.at + 2) => {
                    let end = self.line_end();
                    // MySQL ends the comment at a NUL, and the statement too.
                    if memchr(0, &self.sql[self.at..end]).is_some() {
                        return Gap::Unread;
                    }
                    self.at = end;
                }
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

    /// `--` is a comment only before a blank, a control character or the end, which MySQL sees
    /// before any `;` and blanks there.
    pub(super) fn ends_dashes(&self, at: usize) -> bool {
        match self.sql.get(at) {
            None => true,
            Some(b';') => self.sql[at..].iter().all(|b| *b == b';' || is(*b, BLANK)),
            Some(b) => is(*b, BLANK) || b.is_ascii_control(),
        }
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
                    return Gap::Unread;
                }
                let first = self.at + 3;
                let all = self.past(first, DIGIT) - first;
                // A sixth digit belongs to the version only before a blank.
                let length = match all {
                    6 if is(self.byte(first + 6), BLANK) => 6,
                    _ => all.min(5),
                };
                let digits = first + length;
                let version = self.sql[first..digits]
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

    /// A hint. Quotes that its end might be inside of are not understood.
    pub(super) fn hint(&self) -> (TokenKind, usize) {
        let Some(end) = self.comment_end(self.at + 3, false) else {
            return (TokenKind::Invalid, self.sql.len());
        };
        let text = &self.sql[self.at..end];
        let odd = |quote: u8| text.iter().filter(|b| **b == quote).count() % 2 == 1;
        if odd(b'`') || odd(b'"') || odd(b'\'') || memchr(0, text).is_some() {
            return self.unread();
        }
        (TokenKind::Hint, end)
    }
}
