//! Character sets: how a session's bytes become text, and what a column can hold.

use std::borrow::Cow;

/// A character set, as far as keys need it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Charset {
    /// utf8mb4: all of Unicode.
    Utf8mb4,
    /// utf8mb3: the first 65,536 code points.
    Utf8mb3,
    /// latin1: MySQL means Windows-1252, its five holes filled with control characters.
    Latin1,
    /// ascii.
    Ascii,
    /// Bytes without a meaning as text.
    Binary,
    /// One that keys do not know.
    Other,
}

/// The characters of latin1's bytes 0x80 to 0x9F.
const LATIN1_HIGH: [char; 32] = [
    '\u{20ac}', '\u{81}', '\u{201a}', '\u{192}', '\u{201e}', '\u{2026}', '\u{2020}', '\u{2021}',
    '\u{2c6}', '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8d}', '\u{17d}', '\u{8f}',
    '\u{90}', '\u{2018}', '\u{2019}', '\u{201c}', '\u{201d}', '\u{2022}', '\u{2013}', '\u{2014}',
    '\u{2dc}', '\u{2122}', '\u{161}', '\u{203a}', '\u{153}', '\u{9d}', '\u{17e}', '\u{178}',
];

impl Charset {
    /// The character set of this name, in any case.
    #[must_use]
    pub fn named(name: &str) -> Self {
        match name.to_ascii_lowercase().as_str() {
            "utf8mb4" => Self::Utf8mb4,
            "utf8mb3" | "utf8" => Self::Utf8mb3,
            "latin1" => Self::Latin1,
            "ascii" => Self::Ascii,
            "binary" => Self::Binary,
            _ => Self::Other,
        }
    }

    /// The text that `bytes` are in this character set; none where they are not valid in it.
    pub(super) fn decode(self, bytes: &[u8]) -> Option<Cow<'_, str>> {
        match self {
            Self::Utf8mb4 | Self::Utf8mb3 => {
                let text = std::str::from_utf8(bytes).ok()?;
                self.holds(text).then_some(Cow::Borrowed(text))
            }
            Self::Ascii if !bytes.is_ascii() => None,
            Self::Ascii => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
            Self::Latin1 if bytes.is_ascii() => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
            Self::Latin1 => Some(Cow::Owned(bytes.iter().map(|b| latin1_char(*b)).collect())),
            Self::Binary | Self::Other => None,
        }
    }

    /// Whether every character of `text` exists in this character set.
    pub(super) fn holds(self, text: &str) -> bool {
        match self {
            Self::Utf8mb4 => true,
            Self::Utf8mb3 => text.chars().all(|c| u32::from(c) <= 0xffff),
            Self::Latin1 => text.chars().all(|c| latin1_byte(c).is_some()),
            Self::Ascii => text.is_ascii(),
            Self::Binary | Self::Other => false,
        }
    }
}

fn latin1_char(byte: u8) -> char {
    match byte {
        0x80..=0x9f => LATIN1_HIGH[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

/// The byte of a character in latin1.
pub(super) fn latin1_byte(c: char) -> Option<u8> {
    if let Some(high) = LATIN1_HIGH.iter().position(|high| *high == c) {
        return Some(0x80 + high as u8);
    }
    u8::try_from(u32::from(c))
        .ok()
        .filter(|byte| !(0x80..=0x9f).contains(byte))
}
