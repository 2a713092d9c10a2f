//! DECIMALs as text, which is how rows carry them, and how they compare.

use std::cmp::Ordering;

/// A DECIMAL's text taken apart: `-0012.50` is negative, `12` and `50`.
#[derive(Clone, Copy)]
pub(crate) struct Digits<'a> {
    pub(crate) negative: bool,
    /// Without leading zeros.
    pub(crate) integer: &'a [u8],
    pub(crate) fraction: &'a [u8],
}

impl<'a> Digits<'a> {
    /// Takes a text apart that [`is_decimal`].
    pub(crate) fn of(text: &'a [u8]) -> Self {
        let (negative, digits) = match text {
            [b'-', rest @ ..] => (true, rest),
            _ => (false, text),
        };
        let point = memchr::memchr(b'.', digits).unwrap_or(digits.len());
        let integer = &digits[..point];
        let zeros = integer.iter().take_while(|digit| **digit == b'0').count();
        Self {
            negative,
            integer: &integer[zeros..],
            fraction: digits.get(point + 1..).unwrap_or_default(),
        }
    }

    fn magnitude(&self, other: &Self) -> Ordering {
        self.integer
            .len()
            .cmp(&other.integer.len())
            .then_with(|| self.integer.cmp(other.integer))
            .then_with(|| {
                let common = self.fraction.len().min(other.fraction.len());
                let rest = |digits: &[u8]| digits[common..].iter().any(|digit| *digit != b'0');
                self.fraction[..common]
                    .cmp(&other.fraction[..common])
                    .then_with(|| rest(self.fraction).cmp(&rest(other.fraction)))
            })
    }

    fn is_zero(&self) -> bool {
        self.integer.is_empty() && self.fraction.iter().all(|digit| *digit == b'0')
    }
}

/// Whether a text is a DECIMAL, so that the other functions may be given it.
pub(crate) fn is_decimal(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let points = digits.iter().filter(|byte| **byte == b'.').count();
    digits.len() > points
        && points <= 1
        && digits
            .iter()
            .all(|byte| byte.is_ascii_digit() || *byte == b'.')
}

/// Compares two DECIMALs by value.
pub(crate) fn compare(a: &[u8], b: &[u8]) -> Ordering {
    let (a, b) = (Digits::of(a), Digits::of(b));
    match (a.negative, b.negative) {
        (false, false) => a.magnitude(&b),
        (true, true) => b.magnitude(&a),
        _ if a.is_zero() && b.is_zero() => Ordering::Equal,
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
    }
}

/// The integer part, as far as it fits: a number that never orders against [`compare`].
pub(crate) fn front(text: &[u8]) -> i64 {
    let digits = Digits::of(text);
    let magnitude = if digits.integer.len() > 18 {
        i64::MAX
    } else {
        digits
            .integer
            .iter()
            .fold(0, |number, digit| number * 10 + i64::from(digit - b'0'))
    };
    if digits.negative {
        -magnitude
    } else {
        magnitude
    }
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use bigdecimal::BigDecimal;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn zero_is_zero_whatever_its_sign_and_digits() {
        for zero in ["0", "-0", "0.00", "-0.000", ".0", "00"] {
            assert_eq!(compare(zero.as_bytes(), b"0"), Ordering::Equal, "{zero}");
            assert_eq!(
                compare(zero.as_bytes(), b"-0.01"),
                Ordering::Greater,
                "{zero}"
            );
            assert_eq!(compare(zero.as_bytes(), b"0.01"), Ordering::Less, "{zero}");
        }
    }

    #[test]
    fn what_is_no_decimal_is_refused() {
        for text in ["", "-", ".", "1e5", "1.2.3", "+1", "1 ", "--1"] {
            assert!(!is_decimal(text.as_bytes()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn texts_compare_as_their_values(
            a in "-?[0-9]{1,40}(\\.[0-9]{1,25})?",
            b in "-?[0-9]{1,40}(\\.[0-9]{1,25})?",
        ) {
            let expected = BigDecimal::from_str(&a).unwrap().cmp(&BigDecimal::from_str(&b).unwrap());
            prop_assert_eq!(compare(a.as_bytes(), b.as_bytes()), expected);
            let fronts = front(a.as_bytes()).cmp(&front(b.as_bytes()));
            prop_assert!(fronts == expected || fronts.is_eq());
        }
    }
}
