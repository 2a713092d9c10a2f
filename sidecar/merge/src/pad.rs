//! How collations compare strings of different length.
//!
//! A PAD SPACE collation compares the shorter string as if spaces followed it. What
//! `WEIGHT_STRING` gives is not padded, so the weight of a space is needed. It was read from
//! MySQL 9.7 for each of its collations (`pad/collations.tsv`, which the test below compares).

use std::cmp::Ordering;

/// What follows a weight string when it is compared with a longer one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Pad(&'static [u8]);

impl Pad {
    /// The end of the string is lower than anything.
    pub(crate) const NONE: Self = Self(&[]);

    /// The pad of a collation. None where weights of several levels follow each other, so that
    /// no padding at the end makes them comparable; where MySQL itself is of two minds (latin7:
    /// `=` pads with the weight of a space, sorting with 0x20); and for names that MySQL 9.7
    /// does not have.
    pub(crate) fn of(collation: &[u8]) -> Option<Self> {
        let name = std::str::from_utf8(collation).ok()?;
        if name == "binary" {
            return Some(Self::NONE);
        }
        let (charset, rest) = name.split_once('_')?;
        if rest.starts_with("0900_") || rest.contains("_0900_") {
            return Some(Self::NONE);
        }
        let unit: &[u8] = match (charset, rest) {
            ("latin2" | "cp1250", "czech_cs")
            | ("latin7", "estonian_cs" | "general_ci" | "general_cs") => return None,
            ("gb18030", "unicode_520_ci") => &[0x02, 0x0A],
            ("utf8mb4" | "utf16" | "utf16le" | "utf32", "bin") => &[0, 0, 0x20],
            ("utf8mb3" | "ucs2", "bin") => &[0, 0x20],
            ("utf8mb4" | "utf8mb3" | "utf16" | "utf16le" | "utf32" | "ucs2", unicode) => {
                match unicode {
                    "general_ci" | "general_mysql500_ci" | "tolower_ci" => &[0, 0x20],
                    "unicode_520_ci" => &[0x02, 0x0A],
                    _ => &[0x02, 0x09],
                }
            }
            (single, _) if EIGHT_BIT.contains(&single) => &[0x20],
            _ => return None,
        };
        Some(Self(unit))
    }

    /// Compares two weight strings.
    pub(crate) fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        let common = a.len().min(b.len());
        a[..common].cmp(&b[..common]).then_with(|| {
            if self.0.is_empty() {
                a.len().cmp(&b.len())
            } else if a.len() < b.len() {
                self.against(&b[common..]).reverse()
            } else {
                self.against(&a[common..])
            }
        })
    }

    /// Compares the end of a string with spaces.
    fn against(self, rest: &[u8]) -> Ordering {
        let spaces = self.0.iter().cycle();
        rest.iter()
            .zip(spaces)
            .map(|(byte, space)| byte.cmp(space))
            .find(|o| o.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    /// The first eight bytes of a weight string with its padding, as a number of their order.
    pub(crate) fn front(self, weight: &[u8]) -> u64 {
        if let Some(front) = weight.first_chunk::<8>() {
            return u64::from_be_bytes(*front);
        }
        let mut front = [0; 8];
        front[..weight.len()].copy_from_slice(weight);
        for (byte, space) in front[weight.len()..].iter_mut().zip(self.0.iter().cycle()) {
            *byte = *space;
        }
        u64::from_be_bytes(front)
    }
}

/// Character sets whose space weighs one byte of 0x20 in every collation not named above.
const EIGHT_BIT: [&str; 34] = [
    "armscii8", "ascii", "big5", "cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866",
    "cp932", "dec8", "eucjpms", "euckr", "gb18030", "gb2312", "gbk", "geostd8", "greek", "hebrew",
    "hp8", "keybcs2", "koi8r", "koi8u", "latin1", "latin2", "latin5", "latin7", "macce",
    "macroman", "sjis", "swe7", "tis620", "ujis",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_collation_of_the_server_is_padded_with_its_own_space() {
        let golden = include_str!("pad/collations.tsv");
        let mut seen = 0;
        for line in golden.lines() {
            let [name, attribute, space] = line.split('\t').collect::<Vec<_>>()[..] else {
                panic!("{line}");
            };
            let expected = match attribute {
                "NO PAD" => Some(String::new()),
                _ if name.ends_with("_czech_cs") => None,
                _ if name.starts_with("latin7_") && space != "20" => None,
                _ => Some(space.to_owned()),
            };
            let pad = Pad::of(name.as_bytes()).map(|pad| {
                pad.0
                    .iter()
                    .map(|byte| format!("{byte:02X}"))
                    .collect::<String>()
            });
            assert_eq!(pad, expected, "{name}");
            seen += 1;
        }
        assert_eq!(seen, 286);
        assert_eq!(Pad::of(b"klingon_ci"), None);
    }

    #[test]
    fn trailing_spaces_do_not_count_where_the_collation_pads() {
        let general = Pad::of(b"utf8mb4_general_ci").unwrap();
        assert_eq!(general.compare(b"\0A", b"\0A\0 "), Ordering::Equal);
        assert_eq!(general.compare(b"\0A", b"\0A\0\t"), Ordering::Greater);
        assert_eq!(general.compare(b"\0A\0!", b"\0A"), Ordering::Greater);
        assert_eq!(general.front(b"\0A"), general.front(b"\0A\0 \0 "));
        let modern = Pad::of(b"utf8mb4_0900_ai_ci").unwrap();
        assert_eq!(
            modern.compare(b"\x1C\x47", b"\x1C\x47\x02\x09"),
            Ordering::Less
        );
        assert_eq!(modern.compare(b"", b"\0"), Ordering::Less);
    }
}
