//! Constants for integer, YEAR and DECIMAL columns.

use super::constant::Constant;
use super::convert::{Found, Purpose};
use super::declared::IntegerType;

/// Below it every integer is a DOUBLE, so that comparing as DOUBLE tells integers apart.
const EXACT_DOUBLE: f64 = 9_007_199_254_740_992.0;

/// More digits than this MySQL cuts off a DECIMAL literal.
const DECIMAL_DIGITS: usize = 65;
/// More digits behind the point than this MySQL cuts off.
const DECIMAL_SCALE: usize = 30;

/// DOUBLE tells apart all decimal numbers of so many digits.
const DOUBLE_DIGITS: usize = 15;

pub(super) fn integer(
    column: IntegerType,
    constant: &Constant<'_>,
    purpose: Purpose,
    out: &mut Vec<u8>,
) -> Found {
    match constant {
        Constant::Boolean(_) | Constant::Integer { .. } => match constant.integer() {
            Some(value) => within(column, value, out),
            None => Found::Unsure,
        },
        Constant::Decimal(text) => match Decimal::read(text) {
            Some(decimal) if decimal.fraction.is_empty() => match decimal.integer() {
                Some(value) => within(column, value, out),
                None => Found::Outside,
            },
            Some(_) => Found::Outside,
            None => Found::Unsure,
        },
        Constant::Float(value) if value.abs() < EXACT_DOUBLE => {
            if value.fract() == 0.0 {
                within(column, *value as i128, out)
            } else {
                Found::Outside
            }
        }
        // As text only plain digits: others are converted with warnings, or as DOUBLE.
        Constant::Text { .. } => match constant.text().as_deref().and_then(plain_integer) {
            Some(value) if within(column, value, out) == Found::Exact => Found::Exact,
            _ => Found::Unsure,
        },
        Constant::Bytes(bytes) => match big_endian(bytes) {
            // Beyond the signed range the rules of the comparison differ by type.
            Some(value) if purpose == Purpose::Store || i64::try_from(value).is_ok() => {
                within(column, i128::from(value), out)
            }
            _ => Found::Unsure,
        },
        _ => Found::Unsure,
    }
}

fn within(column: IntegerType, value: i128, out: &mut Vec<u8>) -> Found {
    let (least, greatest) = column.range();
    if !(least..=greatest).contains(&value) {
        return Found::Outside;
    }
    out.extend_from_slice(&(value as u64).to_le_bytes());
    Found::Exact
}

fn plain_integer(text: &str) -> Option<i128> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain =
        !digits.is_empty() && digits.len() <= 20 && digits.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

fn big_endian(bytes: &[u8]) -> Option<u64> {
    let valid = (1..=8).contains(&bytes.len());
    valid.then(|| {
        bytes
            .iter()
            .fold(0, |value, byte| value << 8 | u64::from(*byte))
    })
}

/// Years of four digits only: of fewer, MySQL makes a year of this century or the last.
pub(super) fn year(constant: &Constant<'_>, out: &mut Vec<u8>) -> Found {
    let value = match constant {
        Constant::Integer { .. } => constant.integer(),
        Constant::Text { .. } => constant
            .text()
            .filter(|text| text.len() == 4)
            .as_deref()
            .and_then(plain_integer),
        _ => None,
    };
    match value {
        Some(value @ 1901..=2155) => {
            out.extend_from_slice(&(value as u64).to_le_bytes());
            Found::Exact
        }
        _ => Found::Unsure,
    }
}

/// A DECIMAL column.
#[derive(Clone, Copy, Debug)]
pub(super) struct DecimalColumn {
    pub(super) precision: u8,
    pub(super) scale: u8,
    pub(super) unsigned: bool,
}

impl DecimalColumn {
    pub(super) fn convert(
        self,
        constant: &Constant<'_>,
        purpose: Purpose,
        out: &mut Vec<u8>,
    ) -> Found {
        match constant {
            Constant::Boolean(_) | Constant::Integer { .. } => {
                let text = constant.integer().map(|value| value.to_string());
                self.exact(text.as_deref(), out)
            }
            Constant::Decimal(text) => self.exact(Some(text), out),
            // A text is compared as DOUBLE, which tells only so many digits apart.
            Constant::Text { .. } => {
                let text = constant.text().filter(|text| {
                    let digits = text.bytes().filter(u8::is_ascii_digit).count();
                    purpose == Purpose::Store
                        || (usize::from(self.precision) <= DOUBLE_DIGITS && digits <= DOUBLE_DIGITS)
                });
                match self.exact(text.as_deref(), out) {
                    Found::Exact => Found::Exact,
                    _ => Found::Unsure,
                }
            }
            Constant::Float(value)
                if purpose == Purpose::Store
                    && value.fract() == 0.0
                    && value.abs() < EXACT_DOUBLE =>
            {
                self.exact(Some(&(*value as i64).to_string()), out)
            }
            _ => Found::Unsure,
        }
    }

    fn exact(self, text: Option<&str>, out: &mut Vec<u8>) -> Found {
        let Some(decimal) = text.and_then(Decimal::read) else {
            return Found::Unsure;
        };
        let before_point = usize::from(self.precision - self.scale);
        let fits = decimal.integer.len() <= before_point
            && decimal.fraction.len() <= usize::from(self.scale)
            && !(self.unsigned && decimal.negative);
        if !fits {
            return Found::Outside;
        }
        decimal.write(out);
        Found::Exact
    }
}

/// A decimal number: digits without zeros in front, and without zeros at the end.
struct Decimal<'a> {
    negative: bool,
    integer: &'a str,
    fraction: &'a str,
}

impl<'a> Decimal<'a> {
    /// Reads `[-]digits[.digits]` or `[-].digits`; none where MySQL would cut digits off.
    fn read(text: &'a str) -> Option<Self> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let (integer, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let plain = |digits: &str| digits.bytes().all(|b| b.is_ascii_digit());
        if !plain(integer) || !plain(fraction) || integer.len() + fraction.len() == 0 {
            return None;
        }
        if fraction.len() > DECIMAL_SCALE {
            return None;
        }
        let integer = integer.trim_start_matches('0');
        if integer.len() + fraction.len() > DECIMAL_DIGITS {
            return None;
        }
        let fraction = fraction.trim_end_matches('0');
        let zero = integer.is_empty() && fraction.is_empty();
        Some(Self {
            negative: text.starts_with('-') && !zero,
            integer,
            fraction,
        })
    }

    fn integer(&self) -> Option<i128> {
        if self.integer.is_empty() {
            return Some(0);
        }
        let value: i128 = self.integer.parse().ok()?;
        Some(if self.negative { -value } else { value })
    }

    fn write(&self, out: &mut Vec<u8>) {
        if self.negative {
            out.push(b'-');
        }
        let integer = if self.integer.is_empty() {
            "0"
        } else {
            self.integer
        };
        out.extend_from_slice(integer.as_bytes());
        if !self.fraction.is_empty() {
            out.push(b'.');
            out.extend_from_slice(self.fraction.as_bytes());
        }
    }
}
