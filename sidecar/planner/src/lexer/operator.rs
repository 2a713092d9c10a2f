//! Comparison operators, and minus signs that a comment would join.

use super::scan::Lexer;
use super::table::{COMPARISON, is};
use super::token::TokenKind;

impl Lexer<'_> {
    /// The longest run of comparison characters that MySQL takes must be an operator.
    pub(super) fn comparison(&self) -> Option<(TokenKind, usize)> {
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
            // MySQL takes `!<` for `!`.
            (b'!', _) => Some(self.unread()),
            _ => None,
        }
    }

    /// `--` right before a comment or a `;`: with blanks in its place, the rest of the line would
    /// be a comment. MySQL reads two signs; nobody writes it, so it is not read at all.
    pub(super) fn hides_dashes(&self, next: u8) -> bool {
        let doubled =
            self.previous.kind == TokenKind::Minus && self.previous.end as usize == self.at;
        let comment = match next {
            b'#' | b';' => true,
            b'/' => self.byte(self.at + 2) == b'*',
            b'*' => self.byte(self.at + 2) == b'/',
            b'-' => self.byte(self.at + 2) == b'-' && self.ends_dashes(self.at + 3),
            _ => false,
        };
        doubled && comment
    }
}
