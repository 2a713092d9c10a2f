//! What a byte may begin or continue.

/// The byte continues an identifier without quotes.
pub(super) const IDENTIFIER: u8 = 1;
/// The byte continues an identifier without quotes, and is ASCII.
pub(super) const ASCII_NAME: u8 = 16;
/// The byte is blank to MySQL.
pub(super) const BLANK: u8 = 2;
/// The byte is a decimal digit.
pub(super) const DIGIT: u8 = 4;
/// The byte continues a comparison operator.
pub(super) const COMPARISON: u8 = 8;

const fn classes() -> [u8; 256] {
    let mut table = [0_u8; 256];
    let mut i = 0;
    while i < 256 {
        let b = i as u8;
        if b.is_ascii_alphanumeric() || b == b'_' || b == b'$' || b >= 0x80 {
            table[i] |= IDENTIFIER;
            if b < 0x80 {
                table[i] |= ASCII_NAME;
            }
        }
        if b.is_ascii_digit() {
            table[i] |= DIGIT;
        }
        if matches!(b, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r') {
            table[i] |= BLANK;
        }
        if matches!(b, b'<' | b'>' | b'=' | b'!') {
            table[i] |= COMPARISON;
        }
        i += 1;
    }
    table
}

const CLASSES_OF_BYTES: [u8; 256] = classes();
static CLASSES: [u8; 256] = CLASSES_OF_BYTES;

/// Whether `byte` has one of `classes`, where a table is made of it.
pub(super) const fn is_const(byte: u8, classes: u8) -> bool {
    CLASSES_OF_BYTES[byte as usize] & classes != 0
}

/// Whether `byte` has one of `classes`.
#[inline]
pub(super) fn is(byte: u8, classes: u8) -> bool {
    CLASSES[byte as usize] & classes != 0
}

/// Whether `_name` is an introducer: the character sets of MySQL 9.7.
pub(super) fn is_charset(name: &[u8]) -> bool {
    const CHARSETS: [&str; 42] = [
        "armscii8", "ascii", "big5", "binary", "cp1250", "cp1251", "cp1256", "cp1257", "cp850",
        "cp852", "cp866", "cp932", "dec8", "eucjpms", "euckr", "gb18030", "gb2312", "gbk",
        "geostd8", "greek", "hebrew", "hp8", "keybcs2", "koi8r", "koi8u", "latin1", "latin2",
        "latin5", "latin7", "macce", "macroman", "sjis", "swe7", "tis620", "ucs2", "ujis", "utf16",
        "utf16le", "utf32", "utf8", "utf8mb3", "utf8mb4",
    ];
    CHARSETS
        .iter()
        .any(|charset| name.eq_ignore_ascii_case(charset.as_bytes()))
}
