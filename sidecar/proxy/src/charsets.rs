//! Character sets in which a text may mean something else than its bytes.
//!
//! In these a character may end in the byte of `\\` or of a quote. To read SQL in them means to
//! split it into characters first, which the lexer does not do: it would end strings where MySQL
//! does not. In a text that is ASCII there are no such characters.

use remora_protocol::ErrPacket;

/// Their names.
const NAMES: [&str; 5] = ["big5", "cp932", "gb18030", "gbk", "sjis"];
/// The numbers of their collations.
const COLLATIONS: [u8; 11] = [1, 13, 28, 84, 87, 88, 95, 96, 248, 249, 250];

/// Whether a character may hide a quote, in the character set of this name.
pub(crate) fn hides_quotes(name: &str) -> bool {
    NAMES.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// The same by the number of a collation, as in a login.
pub(crate) fn collation_hides_quotes(number: u8) -> bool {
    COLLATIONS.contains(&number)
}

/// What gives a session the character sets that a login with this collation has.
pub(crate) fn set_names(collation: u8) -> String {
    match remora_protocol::collation(collation) {
        Some((charset, collation)) => format!("SET NAMES {charset} COLLATE {collation}"),
        // MySQL takes its own default then, too.
        None => "SET NAMES DEFAULT".to_owned(),
    }
}

/// The refusal of a text that is not ASCII in one of these character sets.
pub(crate) fn refusal() -> ErrPacket<'static> {
    let message = "This version of Remora doesn't yet support texts that are not ASCII in the \
                   character sets big5, cp932, gb18030, gbk and sjis; use utf8mb4";
    ErrPacket::new(1235, *b"42000", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_hide_a_quote_in_a_character_is_known_in_any_case() {
        for name in ["sjis", "GBK", "Big5", "cp932", "gb18030"] {
            assert!(hides_quotes(name), "{name}");
        }
        for name in ["utf8mb4", "latin1", "gb2312", "ujis", "binary"] {
            assert!(!hides_quotes(name), "{name}");
        }
        assert!(collation_hides_quotes(28) && collation_hides_quotes(249));
        assert!(
            ![0, 8, 33, 45, 63, 255]
                .into_iter()
                .any(collation_hides_quotes)
        );
    }

    #[test]
    fn the_collation_of_a_login_can_be_given_back() {
        let of = |number| set_names(number);
        assert_eq!(of(255), "SET NAMES utf8mb4 COLLATE utf8mb4_0900_ai_ci");
        assert_eq!(of(33), "SET NAMES utf8mb3 COLLATE utf8mb3_general_ci");
        assert_eq!(of(8), "SET NAMES latin1 COLLATE latin1_swedish_ci");
        // ucs2_general_ci, which no client may have; no collation at all.
        assert_eq!([of(35), of(0)], ["SET NAMES DEFAULT", "SET NAMES DEFAULT"]);
    }
}
