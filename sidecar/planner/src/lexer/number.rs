//! Numbers, and the names that begin with digits.

use memchr::memchr;

use super::scan::Lexer;
use super::table::{DIGIT, IDENTIFIER, is};
use super::token::TokenKind;

impl Lexer<'_> {
    /// Digits, or a name that begins with digits.
    pub(super) fn number(&self) -> Option<(TokenKind, usize)> {
        let at = self.at;
        if self.byte(at) == b'0' {
            let kind = match self.byte(at + 1) {
                b'x' => Some(TokenKind::Hex),
                b'b' => Some(TokenKind::Bit),
                _ => None,
            };
            if let Some(kind) = kind {
                let length = self.sql[at + 2..]
                    .iter()
                    .take_while(|b| is_digit(kind, **b))
                    .count();
                let end = at + 2 + length;
                if length > 0 && !is(self.byte(end), IDENTIFIER) {
                    return Some((kind, end));
                }
                return Some(self.word());
            }
        }
        let end = self.past(at, DIGIT);
        match self.byte(end) {
            b'.' => self.fraction(end + 1),
            b'e' | b'E' => match self.exponent(end + 1) {
                Some(end) => Some((TokenKind::Float, end)),
                None => Some(self.word()),
            },
            next if is(next, IDENTIFIER) => Some(self.word()),
            _ => Some((integer_kind(&self.sql[at..end]), end)),
        }
    }

    /// The digits behind a point, and an exponent.
    pub(super) fn fraction(&self, at: usize) -> Option<(TokenKind, usize)> {
        let end = self.past(at, DIGIT);
        match self.byte(end) {
            // Without digits MySQL goes on behind it as if no number stood there.
            b'e' | b'E' => match self.exponent(end + 1) {
                Some(end) => Some((TokenKind::Float, end)),
                None => Some(self.unread()),
            },
            _ => Some((TokenKind::Decimal, end)),
        }
    }

    /// The end of `[+-]digits`.
    fn exponent(&self, at: usize) -> Option<usize> {
        let digits = if matches!(self.byte(at), b'+' | b'-') {
            at + 1
        } else {
            at
        };
        is(self.byte(digits), DIGIT).then(|| self.past(digits, DIGIT))
    }

    /// `x'…'` with an even number of hex digits, or `b'…'`.
    pub(super) fn quoted_digits(&self, kind: TokenKind) -> Option<(TokenKind, usize)> {
        let start = self.at + 2;
        let end = start + memchr(b'\'', self.sql.get(start..)?)?;
        let digits = &self.sql[start..end];
        let valid = digits.iter().all(|b| is_digit(kind, *b))
            && (kind == TokenKind::Bit || digits.len().is_multiple_of(2));
        valid.then_some((kind, end + 1))
    }
}

/// Whether `byte` may stand in a hex or in a bit literal.
fn is_digit(kind: TokenKind, byte: u8) -> bool {
    match kind {
        TokenKind::Hex => byte.is_ascii_hexdigit(),
        _ => matches!(byte, b'0' | b'1'),
    }
}

/// Digits that do not fit an unsigned 64-bit number are a DECIMAL to MySQL.
fn integer_kind(digits: &[u8]) -> TokenKind {
    const MAX: &[u8] = b"18446744073709551615";
    if digits.len() < MAX.len() {
        return TokenKind::Integer;
    }
    let zeros = digits.iter().take_while(|b| **b == b'0').count();
    let digits = &digits[zeros..];
    if digits.len() < MAX.len() || (digits.len() == MAX.len() && digits <= MAX) {
        TokenKind::Integer
    } else {
        TokenKind::Decimal
    }
}
