//! Strings, quoted identifiers and the names of user variables.

use memchr::{memchr, memchr2};

use super::scan::{Lexer, SHORT};
use super::table::{IDENTIFIER, is};
use super::token::TokenKind;

impl Lexer<'_> {
    /// A short string without escapes.
    pub(super) fn short_string(&self) -> Option<(TokenKind, usize)> {
        let start = self.at + 1;
        let end = self.sql.len().min(start + SHORT);
        let inner = self.sql.get(start..end)?;
        let length = inner.iter().position(|b| matches!(b, b'\'' | b'\\'))?;
        let quote = start + length;
        let plain = self.sql[quote] == b'\'' && self.byte(quote + 1) != b'\'';
        plain.then_some((TokenKind::String, quote + 1))
    }

    pub(super) fn variable(&self, next: u8) -> Option<(TokenKind, usize)> {
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
    pub(super) fn string(&self, at: usize) -> Option<usize> {
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
    pub(super) fn doubled(&self, at: usize) -> Option<usize> {
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
