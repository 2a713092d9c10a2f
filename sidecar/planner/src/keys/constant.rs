//! A constant that a key is compared with or set to.

use std::borrow::Cow;

use super::charset::Charset;
use super::temporal::Moment;
use crate::lexer::{SqlMode, TokenKind, bit_literal, hex_literal, integer_literal, string_literal};

/// A constant's value with what MySQL knows of its type.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant<'a> {
    /// NULL.
    Null,
    /// TRUE or FALSE.
    Boolean(bool),
    /// An integer of 64 bits, with or without a sign.
    Integer {
        /// A minus stands in front.
        negative: bool,
        /// The digits' value.
        magnitude: u64,
    },
    /// An exact number: a sign maybe, digits, a point maybe.
    Decimal(Cow<'a, str>),
    /// An approximate number.
    Float(f64),
    /// A string in the session's character set. Where `character_set_client` and
    /// `character_set_connection` differ, the character set is [`Charset::Other`].
    Text {
        /// The bytes, escapes resolved.
        bytes: Cow<'a, [u8]>,
        /// What the bytes mean.
        charset: Charset,
    },
    /// A hex or bit literal.
    Bytes(Vec<u8>),
    /// A date, or a date and time, of a binary parameter.
    Moment(Moment),
    /// Anything else: nothing is known of how MySQL would convert it.
    Other,
}

impl<'a> Constant<'a> {
    /// The constant of a literal's token, with the minus in front of it, in a session whose
    /// client and connection character set is `charset`.
    #[must_use]
    pub fn literal(
        kind: TokenKind,
        token: &'a [u8],
        negative: bool,
        mode: SqlMode,
        charset: Charset,
    ) -> Self {
        let number = || std::str::from_utf8(token).ok();
        match kind {
            TokenKind::Integer => {
                integer_literal(token).map_or(Self::Other, |magnitude| Self::Integer {
                    negative,
                    magnitude,
                })
            }
            TokenKind::Decimal => match number() {
                Some(digits) if negative => Self::Decimal(Cow::Owned(format!("-{digits}"))),
                Some(digits) => Self::Decimal(Cow::Borrowed(digits)),
                None => Self::Other,
            },
            TokenKind::Float => match number().and_then(|digits| digits.parse::<f64>().ok()) {
                Some(value) => Self::Float(if negative { -value } else { value }),
                None => Self::Other,
            },
            // A minus makes a number of a string, by rules of its own.
            _ if negative => Self::Other,
            TokenKind::String => Self::Text {
                bytes: string_literal(token, mode),
                charset,
            },
            TokenKind::Hex => Self::Bytes(hex_literal(token)),
            TokenKind::Bit => Self::Bytes(bit_literal(token)),
            _ => Self::Other,
        }
    }

    /// A signed integer, as binary parameters have it.
    #[must_use]
    pub fn signed(value: i64) -> Self {
        Self::Integer {
            negative: value < 0,
            magnitude: value.unsigned_abs(),
        }
    }

    /// The value of an integer or a boolean.
    pub(super) fn integer(&self) -> Option<i128> {
        match self {
            Self::Boolean(value) => Some(i128::from(*value)),
            Self::Integer {
                negative: true,
                magnitude,
            } => Some(-i128::from(*magnitude)),
            Self::Integer {
                negative: false,
                magnitude,
            } => Some(i128::from(*magnitude)),
            _ => None,
        }
    }

    /// The text of a string.
    pub(super) fn text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Text { bytes, charset } => charset.decode(bytes),
            _ => None,
        }
    }
}
