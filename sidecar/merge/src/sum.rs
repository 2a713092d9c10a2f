//! Exact sums and averages of DECIMALs.

use bigdecimal::num_bigint::{BigInt, Sign};

use crate::decimal::{Digits, is_decimal};
use crate::error::{MergeError, malformed};

/// MySQL keeps the digits of a DECIMAL in words of nine, and at most so many words.
const WORDS: usize = 9;
const WORD: usize = 9;

/// Digits that surely fit an `i128`.
const SMALL: usize = 37;

/// A sum of DECIMALs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sum {
    /// What has been added, in units of the last digit, as long as it fits.
    small: i128,
    /// The rest, where it did not.
    large: Option<BigInt>,
    /// Digits after the point.
    scale: usize,
}

impl Sum {
    /// Zero, with so many digits after the point.
    pub(crate) fn clear(&mut self, scale: usize) {
        *self = Self {
            small: 0,
            large: None,
            scale,
        };
    }

    /// Adds the text of a DECIMAL.
    pub(crate) fn add(&mut self, text: &[u8]) -> Result<(), MergeError> {
        if !is_decimal(text) {
            return Err(malformed("not a DECIMAL"));
        }
        let digits = Digits::of(text);
        let fraction = digits.fraction.len();
        if fraction > self.scale {
            return Err(malformed("a DECIMAL has more digits than its type"));
        }
        let scaled = digits.integer.iter().chain(digits.fraction).copied();
        let scaled = scaled.chain(std::iter::repeat_n(b'0', self.scale - fraction));
        if digits.integer.len() + self.scale <= SMALL {
            let number = scaled.fold(0, |number: i128, digit| {
                number * 10 + i128::from(digit - b'0')
            });
            self.add_small(if digits.negative { -number } else { number });
        } else {
            let text = scaled.collect::<Vec<_>>();
            let number = BigInt::parse_bytes(&text, 10).ok_or(malformed("not a DECIMAL"))?;
            self.add_large(if digits.negative { -number } else { number });
        }
        Ok(())
    }

    fn add_small(&mut self, number: i128) {
        match self.small.checked_add(number) {
            Some(sum) => self.small = sum,
            None => self.add_large(BigInt::from(number)),
        }
    }

    fn add_large(&mut self, number: BigInt) {
        self.large = Some(self.large.take().unwrap_or_default() + number);
    }

    fn total(&self) -> BigInt {
        BigInt::from(self.small) + self.large.clone().unwrap_or_default()
    }

    /// Gives the sum's text. MySQL's SUM may have more than 65 digits, but no more than fit
    /// its words.
    pub(crate) fn write(&self, out: &mut Vec<u8>) -> Result<(), MergeError> {
        match &self.large {
            None => {
                let magnitude = self.small.unsigned_abs();
                write(
                    self.small < 0,
                    magnitude.to_string().as_bytes(),
                    self.scale,
                    out,
                );
            }
            Some(_) => {
                let (sign, magnitude) = self.total().into_parts();
                let digits = magnitude.to_str_radix(10);
                if words(digits.len().saturating_sub(self.scale)) + words(self.scale) > WORDS {
                    return Err(MergeError::OutOfRange("DECIMAL"));
                }
                write(sign == Sign::Minus, digits.as_bytes(), self.scale, out);
            }
        }
        Ok(())
    }

    /// Gives the text of `self / count` with `scale` digits, as AVG computes it: the quotient
    /// is cut to whole words of nine digits, then rounded half away from zero. (So AVG of a
    /// DECIMAL(n,5) is cut, not rounded: its nine digits are just one word.)
    pub(crate) fn average(
        &self,
        count: u64,
        scale: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), MergeError> {
        if count == 0 || scale < self.scale {
            return Err(malformed("a sum without a count"));
        }
        let own = words(self.scale) * WORD;
        let more = (scale - self.scale).saturating_sub(own - self.scale);
        let cut = words(own + more);
        let (sign, magnitude) = self.total().into_parts();
        let magnitude = BigInt::from(magnitude);
        let integer = (&magnitude / BigInt::from(count) / power(self.scale)).to_string();
        let integer = if integer == "0" {
            0
        } else {
            words(integer.len())
        };
        if integer > WORDS {
            return Err(MergeError::OutOfRange("DECIMAL"));
        }
        let cut = cut.min(WORDS - integer) * WORD;
        let dividend = if cut >= self.scale {
            magnitude * power(cut - self.scale)
        } else {
            magnitude / power(self.scale - cut)
        };
        let quotient = dividend / BigInt::from(count);
        let rounded = if cut > scale {
            (quotient + 5 * power(cut - scale - 1)) / power(cut - scale)
        } else {
            quotient * power(scale - cut)
        };
        write(
            sign == Sign::Minus,
            rounded.to_string().as_bytes(),
            scale,
            out,
        );
        Ok(())
    }
}

fn words(digits: usize) -> usize {
    digits.div_ceil(WORD)
}

fn power(digits: usize) -> BigInt {
    BigInt::from(10).pow(digits as u32)
}

/// Gives a number of `10^-scale` as text; zero has no sign.
fn write(negative: bool, digits: &[u8], scale: usize, out: &mut Vec<u8>) {
    if negative && digits != b"0" {
        out.push(b'-');
    }
    let integer = digits.len().saturating_sub(scale);
    if integer == 0 {
        out.push(b'0');
    }
    out.extend_from_slice(&digits[..integer]);
    if scale > 0 {
        out.push(b'.');
        out.extend(std::iter::repeat_n(
            b'0',
            scale.saturating_sub(digits.len()),
        ));
        out.extend_from_slice(&digits[integer..]);
    }
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use bigdecimal::BigDecimal;
    use proptest::prelude::*;

    use super::*;

    fn average(values: &[&str], scale: usize, to: usize) -> String {
        let mut sum = Sum::default();
        sum.clear(scale);
        for value in values {
            sum.add(value.as_bytes()).unwrap();
        }
        let mut out = Vec::new();
        sum.average(values.len() as u64, to, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// Each of these is what MySQL 9.7.4 answers.
    #[test]
    fn averages_are_cut_and_rounded_as_mysql_does() {
        assert_eq!(
            average(&["0.00001", "0.00001", "0.00000"], 5, 9),
            "0.000006666"
        );
        assert_eq!(
            average(&["0.000001", "0.000001", "0.000000"], 6, 10),
            "0.0000006667"
        );
        assert_eq!(average(&["1", "1", "0"], 0, 4), "0.6667");
        assert_eq!(average(&["2", "3", "3"], 0, 4), "2.6667");
        assert_eq!(
            average(
                &["0.00000000000001", "0.00000000000001", "0.00000000000000"],
                14,
                18
            ),
            "0.000000000000006666"
        );
        assert_eq!(
            average(
                &["123456789012.12345", "23456789012.12346", "3.00000"],
                5,
                9
            ),
            "48971192675.748970000"
        );
        assert_eq!(
            average(
                &[
                    "12345678901234567890123456.12345678901234",
                    "-1.00000000000000",
                    "3.00000000000000"
                ],
                14,
                18
            ),
            "4115226300411522630041152.707818929670780000"
        );
        assert_eq!(
            average(
                &[
                    "12345678901234567890123456789012345.123456789012345678901234567891",
                    "1",
                    "1"
                ],
                30,
                30
            ),
            "4115226300411522630041152263004115.707818929670781892967078189297"
        );
        assert_eq!(
            average(
                &[
                    "9999999999999999999999999999999999999999999999999999999.0000000001",
                    "1"
                ],
                10,
                14
            ),
            "5000000000000000000000000000000000000000000000000000000.00000000005000"
        );
        let nines = "9".repeat(65);
        assert_eq!(average(&[&nines, &nines], 0, 4), format!("{nines}.0000"));
        assert_eq!(average(&["-0.4", "0.3"], 1, 1), "-0.1");
        assert_eq!(average(&["-0.1", "0", "0", "0"], 1, 1), "0.0");
        assert_eq!(average(&["1", "1", "0"], 0, 9), "0.666666666");
        assert_eq!(average(&["1", "1", "0"], 0, 20), "0.66666666666666666667");
        assert_eq!(average(&["1.01", "1.02", "1.02"], 2, 9), "1.016666666");
        assert_eq!(average(&["1.01", "1.02", "1.02"], 2, 11), "1.01666666667");
    }

    #[test]
    fn a_sum_may_have_more_digits_than_a_decimal() {
        let nines = "9".repeat(65);
        let mut sum = Sum::default();
        sum.clear(0);
        sum.add(nines.as_bytes()).unwrap();
        sum.add(nines.as_bytes()).unwrap();
        let mut out = Vec::new();
        sum.write(&mut out).unwrap();
        assert_eq!(out, format!("1{}8", "9".repeat(64)).into_bytes());
        for _ in 0..2 {
            sum.add("9".repeat(81).as_bytes()).unwrap();
        }
        assert_eq!(sum.write(&mut out), Err(MergeError::OutOfRange("DECIMAL")));
    }

    proptest! {
        #[test]
        fn sums_are_exact(values in proptest::collection::vec("-?[0-9]{1,50}\\.[0-9]{0,9}", 0..20)) {
            let mut sum = Sum::default();
            sum.clear(9);
            let mut expected = BigDecimal::from(0).with_scale(9);
            for value in &values {
                let value = value.trim_end_matches('.');
                sum.add(value.as_bytes()).unwrap();
                expected += BigDecimal::from_str(value).unwrap();
            }
            let mut out = Vec::new();
            sum.write(&mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            prop_assert_eq!(text.split_once('.').unwrap().1.len(), 9);
            prop_assert_eq!(BigDecimal::from_str(&text).unwrap(), expected);
        }
    }
}
