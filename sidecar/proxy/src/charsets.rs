//! Character sets that clients cannot send their texts in.
//!
//! In these a character may end in the byte of `\\` or of a quote. To read SQL in them means to
//! split it into characters first, which the lexer does not do: it would end strings where MySQL
//! does not.

use remora_protocol::ErrPacket;

/// Their names.
const NAMES: [&str; 5] = ["big5", "cp932", "gb18030", "gbk", "sjis"];
/// The numbers of their collations.
const COLLATIONS: [u16; 11] = [1, 13, 28, 84, 87, 88, 95, 96, 248, 249, 250];

/// Refuses a character set by its name, in any case.
///
/// # Errors
/// If clients cannot send texts in it.
pub(crate) fn admit_name(name: &str) -> Result<(), ErrPacket<'static>> {
    match NAMES.iter().find(|known| known.eq_ignore_ascii_case(name)) {
        Some(name) => Err(refusal(name)),
        None => Ok(()),
    }
}

/// Refuses the character set of a collation, by its number as in a login.
///
/// # Errors
/// If clients cannot send texts in it.
pub(crate) fn admit_collation(number: u16) -> Result<(), ErrPacket<'static>> {
    if COLLATIONS.contains(&number) {
        return Err(refusal("big5, cp932, gb18030, gbk and sjis"));
    }
    Ok(())
}

/// What gives a session the character sets that a login with this collation has.
pub(crate) fn set_names(collation: u8) -> String {
    match remora_protocol::collation(collation) {
        Some((charset, collation)) => format!("SET NAMES {charset} COLLATE {collation}"),
        // MySQL takes its own default then, too.
        None => "SET NAMES DEFAULT".to_owned(),
    }
}

fn refusal(what: &str) -> ErrPacket<'static> {
    let message = format!(
        "This version of Remora doesn't yet support statements in the character set {what}; \
         use utf8mb4"
    );
    ErrPacket::new(1235, *b"42000", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_hide_a_quote_in_a_character_is_refused_in_any_case() {
        for name in ["sjis", "GBK", "Big5", "cp932", "gb18030"] {
            assert_eq!(admit_name(name).map_err(|e| e.code), Err(1235), "{name}");
        }
        for name in ["utf8mb4", "latin1", "gb2312", "ujis", "binary"] {
            assert_eq!(admit_name(name).map_err(|e| e.code), Ok(()), "{name}");
        }
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

    #[test]
    fn a_login_is_refused_by_the_number_of_its_collation() {
        assert!(admit_collation(28).is_err());
        assert!(admit_collation(249).is_err());
        for usual in [0, 8, 33, 45, 63, 255, 309] {
            assert!(admit_collation(usual).is_ok(), "{usual}");
        }
    }
}
