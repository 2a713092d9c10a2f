//! What a token is: a kind and a range of bytes.

use std::ops::Range;

/// The kind of a token.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[repr(u8)]
pub enum TokenKind {
    /// A keyword or an identifier without quotes; also NULL, TRUE and FALSE.
    Word,
    /// `` `name` ``, or `"name"` under ANSI_QUOTES.
    QuotedIdentifier,
    /// `_utf8mb4` and the like, for a character set that the server has.
    Introducer,
    /// `'text'`, or `"text"` without ANSI_QUOTES.
    String,
    /// `N'text'`.
    NationalString,
    /// `x'6F'` or `0x6F`.
    Hex,
    /// `b'01'` or `0b01`.
    Bit,
    /// Digits that fit 64 bits without a sign.
    Integer,
    /// Digits with a point, or too many digits for 64 bits.
    Decimal,
    /// A number with an exponent.
    Float,
    /// `?`.
    Parameter,
    /// `@name`, `@'name'`, `` @`name` ``, `@"name"`; `@` alone has the empty name.
    UserVariable,
    /// `@@`, before a system variable's name.
    SystemVariable,
    /// `/*+ … */` behind a keyword that takes hints.
    Hint,
    /// `,`
    Comma,
    /// `(`
    LeftParen,
    /// `)`
    RightParen,
    /// `{`, of ODBC's escapes.
    LeftBrace,
    /// `}`
    RightBrace,
    /// `;`
    Semicolon,
    /// `.`
    Dot,
    /// `*`
    Star,
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `/`
    Slash,
    /// `%`
    Percent,
    /// `^`
    Caret,
    /// `~`
    Tilde,
    /// `&`
    Ampersand,
    /// `|`
    Pipe,
    /// `!`
    Exclamation,
    /// `=`
    Equal,
    /// `<=>`
    NullSafeEqual,
    /// `<>` or `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
    /// `&&`
    DoubleAmpersand,
    /// `||`: OR, or with PIPES_AS_CONCAT the joining of strings.
    DoublePipe,
    /// `:=`
    Assign,
    /// `:`
    Colon,
    /// `->`
    Arrow,
    /// `->>`
    LongArrow,
    /// Bytes that MySQL answers with a syntax error: an open quote or comment, `=!`, `\N`.
    /// The range runs to the end of the text, and no token follows.
    Invalid,
    /// Bytes that MySQL may read, but only by accident: a NUL, `--` right before a comment, a
    /// version comment inside another, a word that is not UTF-8. They are not read here: the statement must be refused.
    /// The range runs to the end of the text, and no token follows.
    Unread,
}

impl TokenKind {
    /// Whether the token is a constant that the fingerprint leaves out.
    #[must_use]
    pub fn is_literal(self) -> bool {
        matches!(
            self,
            Self::String
                | Self::NationalString
                | Self::Hex
                | Self::Bit
                | Self::Integer
                | Self::Decimal
                | Self::Float
        )
    }

    /// Whether what follows cannot be read: nothing is known of the rest of the text.
    #[must_use]
    pub fn is_broken(self) -> bool {
        matches!(self, Self::Invalid | Self::Unread)
    }

    /// Whether the token can be a name: a word or a quoted identifier.
    #[must_use]
    pub fn is_name(self) -> bool {
        matches!(self, Self::Word | Self::QuotedIdentifier)
    }
}

/// A token: its kind and the bytes that it takes in the statement.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Its first byte.
    pub start: u32,
    /// One past its last byte.
    pub end: u32,
}

impl Token {
    /// The bytes of the token in the statement it was read from.
    #[must_use]
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The token's text; empty where `sql` is not the statement it was read from.
    #[must_use]
    pub fn text(self, sql: &[u8]) -> &[u8] {
        sql.get(self.range()).unwrap_or_default()
    }

    /// Whether the token is this word without quotes, in any case.
    #[must_use]
    pub fn is_word(self, sql: &[u8], word: &str) -> bool {
        self.kind == TokenKind::Word && self.text(sql).eq_ignore_ascii_case(word.as_bytes())
    }
}
