//! DOUBLE as MySQL prints it.

use std::io::Write;

use crate::column::NOT_FIXED;

/// Positions of the decimal point, counted from the first digit, for which MySQL writes no
/// exponent.
const PLAIN: std::ops::RangeInclusive<i32> = -14..=15;

/// Appends the text of a DOUBLE: `decimals` digits after the point where their number is
/// fixed, else as many as are needed to read the same value again.
pub(crate) fn write(value: f64, decimals: u8, out: &mut Vec<u8>) {
    // Writing to a Vec cannot fail.
    if decimals < NOT_FIXED {
        let _ = write!(out, "{value:.0$}", usize::from(decimals));
        return;
    }
    let mut buffer = [0; 32];
    let mut rest = &mut buffer[..];
    let _ = write!(rest, "{value:e}");
    let unused = rest.len();
    let text = &buffer[..buffer.len() - unused];
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let mark = memchr::memchr(b'e', text).unwrap_or(text.len());
    let (mantissa, exponent) = text.split_at(mark);
    let (first, fraction) = mantissa.split_at(1);
    let fraction = fraction.get(1..).unwrap_or_default();
    let exponent = std::str::from_utf8(exponent.get(1..).unwrap_or_default())
        .ok()
        .and_then(|text| text.parse::<i32>().ok())
        .unwrap_or(0);
    if negative {
        out.push(b'-');
    }
    let digits = fraction.len() + 1;
    let point = exponent + 1;
    let digit = first.iter().chain(fraction).copied();
    if !PLAIN.contains(&point) {
        out.extend_from_slice(mantissa);
        let _ = write!(out, "e{exponent}");
    } else if point <= 0 {
        out.extend_from_slice(b"0.");
        out.extend(std::iter::repeat_n(b'0', point.unsigned_abs() as usize));
        out.extend(digit);
    } else {
        let whole = point.unsigned_abs() as usize;
        out.extend(digit.clone().take(whole));
        out.extend(std::iter::repeat_n(b'0', whole.saturating_sub(digits)));
        if digits > whole {
            out.push(b'.');
            out.extend(digit.skip(whole));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(value: f64, decimals: u8) -> String {
        let mut out = Vec::new();
        write(value, decimals, &mut out);
        String::from_utf8(out).unwrap()
    }

    /// Each of these is what MySQL 9.7.4 answers.
    #[test]
    fn doubles_are_written_as_mysql_writes_them() {
        for (value, expected) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1e15, "1e15"),
            (1e14, "100000000000000"),
            (1.234_567_890_123_456_8e17, "1.2345678901234568e17"),
            (1e-15, "0.000000000000001"),
            (1e-16, "1e-16"),
            (1.5e-20, "1.5e-20"),
            (1e100, "1e100"),
            (-1e300, "-1e300"),
            (123_456_789_012_345.6, "123456789012345.6"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1e22, "1e22"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e308"),
            (999_999_999_999_999e0, "999999999999999"),
            (9_999_999_999_999_998e0, "9.999999999999998e15"),
            (3.333_333_333_333_333e19, "3.333333333333333e19"),
            (333_333_333_374_485.5, "333333333374485.5"),
        ] {
            assert_eq!(text(value, NOT_FIXED), expected);
        }
    }

    #[test]
    fn fixed_decimals_are_kept() {
        assert_eq!(text(4.4, 2), "4.40");
        assert_eq!(text(0.125, 2), "0.12");
        assert_eq!(text(-0.001, 2), "-0.00");
        assert_eq!(text(1e20, 2), "100000000000000000000.00");
        assert_eq!(text(2.5, 0), "2");
    }

    proptest! {
        #[test]
        fn a_written_double_reads_the_same(bits: u64) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            prop_assert_eq!(text(value, NOT_FIXED).parse::<f64>().unwrap().to_bits(), bits);
        }
    }
}
