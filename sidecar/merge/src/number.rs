//! Numbers as rows carry them.

use crate::column::{Column, Format};
use crate::error::{MergeError, malformed};

/// An unsigned integer's text.
pub(crate) fn unsigned(text: &[u8]) -> Result<u64, MergeError> {
    if text.is_empty() {
        return Err(malformed("not an integer"));
    }
    // Up to 19 digits cannot overflow, and hardly any integer has more.
    if text.len() < 20 {
        return text
            .iter()
            .try_fold(0, |number: u64, byte| match byte.wrapping_sub(b'0') {
                digit @ 0..=9 => Ok(number * 10 + u64::from(digit)),
                _ => Err(malformed("not an integer")),
            });
    }
    std::str::from_utf8(text)
        .ok()
        .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|text| text.parse().ok())
        .ok_or(malformed("not an integer"))
}

/// A signed integer's text.
pub(crate) fn signed(text: &[u8]) -> Result<i64, MergeError> {
    let number = match text {
        [b'-', digits @ ..] => 0_i64.checked_sub_unsigned(unsigned(digits)?),
        _ => 0_i64.checked_add_unsigned(unsigned(text)?),
    };
    number.ok_or(malformed("not an integer of its type"))
}

/// A binary integer of up to eight bytes.
pub(crate) fn little_endian(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The same, with the sign of its own width.
pub(crate) fn sign_extended(bytes: &[u8]) -> i64 {
    let unused = 64 - 8 * bytes.len().clamp(1, 8) as u32;
    (little_endian(bytes) << unused).cast_signed() >> unused
}

/// An integer of a column.
pub(crate) fn integer(value: &[u8], column: &Column, format: Format) -> Result<i128, MergeError> {
    match (format, column.unsigned()) {
        (Format::Text, true) => unsigned(value).map(i128::from),
        (Format::Text, false) => signed(value).map(i128::from),
        (Format::Binary, true) => Ok(i128::from(little_endian(value))),
        (Format::Binary, false) => Ok(i128::from(sign_extended(value))),
    }
}

/// An integer as binary rows carry it, if it fits the column.
pub(crate) fn fitted(integer: i128, column: &Column) -> Option<([u8; 8], usize)> {
    let width = column.integer_width();
    let bits = 8 * width as u32;
    let fits = if column.unsigned() {
        (0..1 << bits).contains(&integer)
    } else {
        (-(1 << (bits - 1))..1 << (bits - 1)).contains(&integer)
    };
    fits.then(|| ((integer as u64).to_le_bytes(), width))
}

/// A FLOAT or DOUBLE.
pub(crate) fn real(value: &[u8], format: Format) -> Result<f64, MergeError> {
    let real = match (format, value.len()) {
        (Format::Text, _) => std::str::from_utf8(value)
            .ok()
            .and_then(|text| text.parse().ok()),
        (Format::Binary, 4) => value
            .first_chunk::<4>()
            .map(|bytes| f64::from(f32::from_le_bytes(*bytes))),
        (Format::Binary, _) => value
            .first_chunk::<8>()
            .map(|bytes| f64::from_le_bytes(*bytes)),
    };
    real.filter(|real| real.is_finite())
        .ok_or(malformed("not a number"))
}

#[cfg(test)]
mod tests {
    use remora_protocol::{ColumnFlags, ColumnType};

    use super::*;
    use crate::column::tests::column;

    #[test]
    fn integers_are_read_up_to_their_limits() {
        assert_eq!(unsigned(b"18446744073709551615"), Ok(u64::MAX));
        assert_eq!(unsigned(b"00042"), Ok(42));
        assert_eq!(signed(b"-9223372036854775808"), Ok(i64::MIN));
        assert_eq!(signed(b"9223372036854775807"), Ok(i64::MAX));
        for text in [
            "",
            "-",
            "+1",
            "1.0",
            "18446744073709551616",
            "000000000000000000+1",
            "x",
        ] {
            assert!(unsigned(text.as_bytes()).is_err(), "{text}");
            assert!(signed(text.as_bytes()).is_err(), "{text}");
        }
        assert!(signed(b"9223372036854775808").is_err());
    }

    #[test]
    fn binary_integers_have_the_sign_of_their_width() {
        assert_eq!(sign_extended(&[0xFF]), -1);
        assert_eq!(sign_extended(&[0xFE, 0xFF]), -2);
        assert_eq!(sign_extended(&[0x00, 0x80, 0, 0]), 0x8000);
        assert_eq!(sign_extended(&i64::MIN.to_le_bytes()), i64::MIN);
        assert_eq!(little_endian(&u64::MAX.to_le_bytes()), u64::MAX);
    }

    #[test]
    fn an_integer_fits_its_width_or_not_at_all() {
        let tiny = column(ColumnType::MYSQL_TYPE_TINY);
        assert_eq!(
            fitted(-128, &tiny).map(|(bytes, width)| (bytes[0], width)),
            Some((0x80, 1))
        );
        assert_eq!(fitted(128, &tiny), None);
        let big = column(ColumnType::MYSQL_TYPE_LONGLONG);
        let unsigned = Column {
            flags: ColumnFlags::UNSIGNED_FLAG,
            ..big
        };
        assert_eq!(fitted(u64::MAX.into(), &unsigned), Some(([0xFF; 8], 8)));
        assert_eq!(fitted(u64::MAX.into(), &big), None);
        assert_eq!(fitted(-1, &unsigned), None);
        assert_eq!(
            fitted(i64::MIN.into(), &big),
            Some((i64::MIN.to_le_bytes(), 8))
        );
    }

    #[test]
    fn reals_are_read_from_both_encodings() {
        assert_eq!(real(b"-1.5e-3", Format::Text), Ok(-0.0015));
        assert_eq!(real(&1.5_f32.to_le_bytes(), Format::Binary), Ok(1.5));
        assert_eq!(real(&1e300_f64.to_le_bytes(), Format::Binary), Ok(1e300));
        assert!(real(b"nan", Format::Text).is_err());
        assert!(real(&f64::NAN.to_le_bytes(), Format::Binary).is_err());
        assert!(real(b"", Format::Binary).is_err());
    }
}
