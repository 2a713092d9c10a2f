//! What a token may be, by its first byte.

use super::table::{BLANK, DIGIT, IDENTIFIER, is_const};
use super::token::TokenKind;

/// What the first byte says of a token.
#[derive(Clone, Copy)]
pub(super) enum Start {
    /// The byte is blank.
    Blank,
    /// A word, whatever follows.
    Word,
    /// A token of this one byte, whatever follows.
    Mark(TokenKind),
    /// Often decided by a few bytes.
    Maybe,
    /// All rules are needed.
    Other,
}

const fn start(byte: u8) -> Start {
    match byte {
        b'x' | b'X' | b'b' | b'B' | b'n' | b'N' | b'\'' | b'=' | b'.' | b'*' => Start::Maybe,
        b'_' => Start::Other,
        b',' => Start::Mark(TokenKind::Comma),
        b'(' => Start::Mark(TokenKind::LeftParen),
        b')' => Start::Mark(TokenKind::RightParen),
        b'{' => Start::Mark(TokenKind::LeftBrace),
        b'}' => Start::Mark(TokenKind::RightBrace),
        b';' => Start::Mark(TokenKind::Semicolon),
        b'+' => Start::Mark(TokenKind::Plus),
        b'%' => Start::Mark(TokenKind::Percent),
        b'^' => Start::Mark(TokenKind::Caret),
        b'~' => Start::Mark(TokenKind::Tilde),
        b'?' => Start::Mark(TokenKind::Parameter),
        _ if is_const(byte, BLANK) => Start::Blank,
        _ if is_const(byte, DIGIT) => Start::Maybe,
        _ if is_const(byte, IDENTIFIER) => Start::Word,
        _ => Start::Other,
    }
}

const fn starts() -> [Start; 256] {
    let mut table = [Start::Other; 256];
    let mut i = 0;
    while i < 256 {
        table[i] = start(i as u8);
        i += 1;
    }
    table
}

static STARTS: [Start; 256] = starts();

impl Start {
    /// What `byte` says of the token that it begins.
    pub(super) fn of(byte: u8) -> Self {
        STARTS[byte as usize]
    }
}
