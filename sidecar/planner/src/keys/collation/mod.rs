//! How texts of a sharding key compare.
//!
//! Only collations whose equality is reproduced exactly are known; the others are refused by
//! name. Weights are not those of the Unicode standard but the server's own, taken from its
//! WEIGHT_STRING() for every code point by `examples/collation_tables.rs`, and a test compares
//! them with a running server over all of Unicode.

mod general;
mod swedish;
mod unicode;

use super::charset::Charset;

/// A collation of a sharding key.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Collation {
    /// ascii_bin.
    AsciiBin,
    /// ascii_general_ci.
    AsciiGeneralCi,
    /// latin1_bin.
    Latin1Bin,
    /// latin1_swedish_ci, latin1's default.
    Latin1SwedishCi,
    /// utf8mb3_bin.
    Utf8mb3Bin,
    /// utf8mb3_general_ci, utf8mb3's default.
    Utf8mb3GeneralCi,
    /// utf8mb4_bin.
    Utf8mb4Bin,
    /// utf8mb4_general_ci.
    Utf8mb4GeneralCi,
    /// utf8mb4_0900_bin.
    Utf8mb40900Bin,
    /// utf8mb4_0900_ai_ci, utf8mb4's default.
    Utf8mb40900AiCi,
    /// utf8mb4_0900_as_ci.
    Utf8mb40900AsCi,
    /// utf8mb4_0900_as_cs.
    Utf8mb40900AsCs,
}

impl Collation {
    /// All collations of sharding keys.
    pub const ALL: [Self; 12] = [
        Self::AsciiBin,
        Self::AsciiGeneralCi,
        Self::Latin1Bin,
        Self::Latin1SwedishCi,
        Self::Utf8mb3Bin,
        Self::Utf8mb3GeneralCi,
        Self::Utf8mb4Bin,
        Self::Utf8mb4GeneralCi,
        Self::Utf8mb40900Bin,
        Self::Utf8mb40900AiCi,
        Self::Utf8mb40900AsCi,
        Self::Utf8mb40900AsCs,
    ];

    /// The collation's name in MySQL.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AsciiBin => "ascii_bin",
            Self::AsciiGeneralCi => "ascii_general_ci",
            Self::Latin1Bin => "latin1_bin",
            Self::Latin1SwedishCi => "latin1_swedish_ci",
            Self::Utf8mb3Bin => "utf8mb3_bin",
            Self::Utf8mb3GeneralCi => "utf8mb3_general_ci",
            Self::Utf8mb4Bin => "utf8mb4_bin",
            Self::Utf8mb4GeneralCi => "utf8mb4_general_ci",
            Self::Utf8mb40900Bin => "utf8mb4_0900_bin",
            Self::Utf8mb40900AiCi => "utf8mb4_0900_ai_ci",
            Self::Utf8mb40900AsCi => "utf8mb4_0900_as_ci",
            Self::Utf8mb40900AsCs => "utf8mb4_0900_as_cs",
        }
    }

    /// The collation of this name, in any case; `utf8_` is `utf8mb3_`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let name = name
            .strip_prefix("utf8_")
            .map_or(name.clone(), |rest| format!("utf8mb3_{rest}"));
        Self::ALL
            .into_iter()
            .find(|collation| collation.name() == name)
    }

    /// All names, for messages.
    pub(super) fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    /// The character set of the column.
    #[must_use]
    pub fn charset(self) -> Charset {
        match self {
            Self::AsciiBin | Self::AsciiGeneralCi => Charset::Ascii,
            Self::Latin1Bin | Self::Latin1SwedishCi => Charset::Latin1,
            Self::Utf8mb3Bin | Self::Utf8mb3GeneralCi => Charset::Utf8mb3,
            _ => Charset::Utf8mb4,
        }
    }

    /// Appends bytes that are the same for two texts if and only if they are equal in this
    /// collation. `text` must be of its character set.
    ///
    /// - `_bin`: the text in UTF-8, without spaces at the end where the collation is PAD SPACE
    ///   (all but utf8mb4_0900_bin);
    /// - ascii_general_ci, latin1_swedish_ci: one byte for each character, without the weights
    ///   of spaces at the end;
    /// - `general_ci`: two bytes for each character, big-endian, without those of spaces at the
    ///   end;
    /// - `0900`: exactly the server's WEIGHT_STRING().
    pub fn weights(self, text: &str, out: &mut Vec<u8>) {
        let padded = text.trim_end_matches(' ');
        match self {
            Self::AsciiBin | Self::Latin1Bin | Self::Utf8mb3Bin | Self::Utf8mb4Bin => {
                out.extend_from_slice(padded.as_bytes());
            }
            Self::AsciiGeneralCi => out.extend(padded.bytes().map(|b| b.to_ascii_uppercase())),
            Self::Latin1SwedishCi => swedish::weights(text, out),
            Self::Utf8mb3GeneralCi | Self::Utf8mb4GeneralCi => general::weights(text, out),
            Self::Utf8mb40900Bin => out.extend_from_slice(text.as_bytes()),
            Self::Utf8mb40900AiCi => unicode::weights(text, 1, out),
            Self::Utf8mb40900AsCi => unicode::weights(text, 2, out),
            Self::Utf8mb40900AsCs => unicode::weights(text, 3, out),
        }
    }
}
