//! The values that literals stand for.

use std::borrow::Cow;

use super::mode::SqlMode;

/// The bytes of a string literal (`'…'`, `"…"`, `N'…'`) with its escapes resolved.
///
/// `\%` and `\_` keep their backslash, as in MySQL: they mean something to LIKE.
#[must_use]
pub fn string_literal(token: &[u8], mode: SqlMode) -> Cow<'_, [u8]> {
    let token = match token {
        [b'n' | b'N', rest @ ..] => rest,
        _ => token,
    };
    unquote(token, !mode.no_backslash_escapes)
}

/// The name that a word or a quoted identifier stands for.
#[must_use]
pub fn identifier(token: &[u8]) -> Cow<'_, [u8]> {
    match token {
        [b'`' | b'"', ..] => unquote(token, false),
        _ => Cow::Borrowed(token),
    }
}

/// The value of digits, if it fits 64 bits.
#[must_use]
pub fn integer_literal(token: &[u8]) -> Option<u64> {
    if token.is_empty() {
        return None;
    }
    token.iter().try_fold(0_u64, |value, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

/// The bytes of `x'…'` or `0x…`; an odd number of digits has a zero in front.
#[must_use]
pub fn hex_literal(token: &[u8]) -> Vec<u8> {
    let digits: Vec<u8> = inner_digits(token)
        .iter()
        .filter_map(|b| char::from(*b).to_digit(16))
        .map(|digit| digit as u8)
        .collect();
    let (first, pairs) = digits.split_at(digits.len() % 2);
    first
        .iter()
        .copied()
        .chain(pairs.chunks(2).map(|pair| pair[0] << 4 | pair[1]))
        .collect()
}

/// The bytes of `b'…'` or `0b…`, filled up with zeros in front.
#[must_use]
pub fn bit_literal(token: &[u8]) -> Vec<u8> {
    let digits = inner_digits(token);
    let (first, bytes) = digits.split_at(digits.len() % 8);
    let value = |bits: &[u8]| bits.iter().fold(0_u8, |byte, bit| byte << 1 | (bit & 1));
    let first = (!first.is_empty()).then(|| value(first));
    first
        .into_iter()
        .chain(bytes.chunks(8).map(value))
        .collect()
}

fn inner_digits(token: &[u8]) -> &[u8] {
    match token {
        [_, b'\'', digits @ .., b'\''] | [b'0', b'x' | b'b', digits @ ..] => digits,
        _ => &[],
    }
}

fn unquote(token: &[u8], backslash: bool) -> Cow<'_, [u8]> {
    let [quote, inner @ .., _] = token else {
        return Cow::Borrowed(&[]);
    };
    let quote = *quote;
    let special = |b: u8| b == quote || (backslash && b == b'\\');
    if !inner.iter().any(|b| special(*b)) {
        return Cow::Borrowed(inner);
    }
    let mut value = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter().copied();
    while let Some(byte) = bytes.next() {
        if !special(byte) {
            value.push(byte);
            continue;
        }
        let Some(next) = bytes.next() else { break };
        match next {
            _ if byte == quote => value.push(next),
            b'0' => value.push(0),
            b'b' => value.push(8),
            b'n' => value.push(b'\n'),
            b'r' => value.push(b'\r'),
            b't' => value.push(b'\t'),
            b'Z' => value.push(0x1a),
            b'%' | b'_' => value.extend([b'\\', next]),
            other => value.push(other),
        }
    }
    Cow::Owned(value)
}
