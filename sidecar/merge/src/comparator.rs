//! How the values of one key compare, by their type.

use std::cmp::Ordering;

use remora_protocol::ColumnFlags;

use crate::column::{Class, Column, Format, NOT_FIXED};
use crate::error::{MergeError, malformed};
use crate::key::Datum;
use crate::number;
use crate::pad::Pad;
use crate::row::{Row, Shape};
use crate::spec::Key;
use crate::{decimal, temporal};

/// What values are compared for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Purpose {
    /// To order or to group rows.
    Order,
    /// To find the lowest or highest, where ENUM and SET are text.
    Extreme,
}

#[derive(Debug)]
pub(crate) struct Comparator {
    column: usize,
    /// The column's type, to read numbers by.
    shape: Column,
    format: Format,
    rule: Rule,
}

/// How a value is read and compared.
#[derive(Debug)]
enum Rule {
    Null,
    Integer,
    Real,
    Decimal,
    Date,
    Time,
    Bit,
    Bytes,
    Text {
        weight: usize,
        collation: usize,
        /// The collation of the first row, which all others must have, and its pad.
        pad: Option<(Vec<u8>, Pad)>,
    },
}

impl Comparator {
    pub(crate) fn new(
        key: Key,
        purpose: Purpose,
        shape: &Shape,
        client: &[Column],
    ) -> Result<Self, MergeError> {
        let columns = &shape.columns;
        for column in [Some(key.value), key.weight, key.collation]
            .into_iter()
            .flatten()
        {
            if column >= columns.len() {
                return Err(MergeError::Changed { column });
            }
        }
        let column = columns[key.value];
        let indexed = column.indexed() || client.get(key.value).is_some_and(Column::indexed);
        if indexed && purpose == Purpose::Order {
            return Err(MergeError::Unsupported(
                "ordering by an ENUM or SET without its index",
            ));
        }
        let rule = match (column.class(), key.weight, key.collation) {
            (Class::Null, ..) => Rule::Null,
            (Class::Integer | Class::Year, ..) => Rule::Integer,
            (Class::Float, ..)
                if shape.format == Format::Text
                    && column.decimals == NOT_FIXED
                    && purpose == Purpose::Order =>
            {
                // Its text has six digits, so different values look the same.
                return Err(MergeError::Unsupported("ordering or grouping by a FLOAT"));
            }
            (Class::Float | Class::Double, ..) => Rule::Real,
            (Class::Decimal, ..) => Rule::Decimal,
            (Class::Date | Class::DateTime | Class::Timestamp, ..) => Rule::Date,
            (Class::Time, ..) => Rule::Time,
            (Class::Bit, ..) => Rule::Bit,
            (Class::Text | Class::Bytes, Some(weight), Some(collation)) => Rule::Text {
                weight,
                collation,
                pad: None,
            },
            // `SET NAMES binary` gives text this collation too, but not the flag.
            (Class::Bytes, ..) if column.flags.contains(ColumnFlags::BINARY_FLAG) => Rule::Bytes,
            (Class::Text | Class::Bytes, ..) => {
                return Err(MergeError::Unsupported("comparing text without its weight"));
            }
            (Class::Opaque(_), ..) => {
                return Err(MergeError::Unsupported(
                    "comparing JSON, geometries or vectors",
                ));
            }
        };
        Ok(Self {
            column: key.value,
            shape: column,
            format: shape.format,
            rule,
        })
    }

    /// Whether [`front`](Self::front) is all there is to compare.
    pub(crate) fn front_is_all(&self) -> bool {
        !matches!(self.rule, Rule::Decimal | Rule::Bytes | Rule::Text { .. })
    }

    /// Takes the value out of a row.
    pub(crate) fn decode(&mut self, row: &Row) -> Result<Datum, MergeError> {
        let Some((start, end)) = row.range(self.column) else {
            return Ok(Datum::Null);
        };
        let value = &row.bytes[start as usize..end as usize];
        let date = match (&mut self.rule, self.format) {
            (Rule::Null, _) => return Err(malformed("a value in a column that is NULL")),
            (Rule::Integer, Format::Text) if self.shape.unsigned() => {
                return number::unsigned(value).map(Datum::Uint);
            }
            (Rule::Integer, Format::Text) => return number::signed(value).map(Datum::Int),
            (Rule::Integer, Format::Binary) if self.shape.unsigned() => {
                return Ok(Datum::Uint(number::little_endian(value)));
            }
            (Rule::Integer, Format::Binary) => {
                return Ok(Datum::Int(number::sign_extended(value)));
            }
            (Rule::Real, format) => {
                // Adding zero makes minus zero plain zero, which it equals.
                return number::real(value, format).map(|real| Datum::Real(real + 0.0));
            }
            (Rule::Decimal, _) if decimal::is_decimal(value) => {
                return Ok(Datum::Decimal(start, end));
            }
            (Rule::Decimal, _) => return Err(malformed("not a DECIMAL")),
            (Rule::Bit, _) if value.len() <= 8 => {
                return Ok(Datum::Uint(
                    value
                        .iter()
                        .fold(0, |bits, byte| bits << 8 | u64::from(*byte)),
                ));
            }
            (Rule::Bit, _) => return Err(malformed("a BIT of more than 64 bits")),
            (Rule::Bytes, _) => return Ok(Datum::Bytes(start, end)),
            (
                Rule::Text {
                    weight,
                    collation,
                    pad,
                },
                _,
            ) => {
                let name = row.value(*collation).unwrap_or_default();
                match pad {
                    Some((known, _)) if known == name => {}
                    Some(_) => {
                        return Err(MergeError::Changed {
                            column: self.column,
                        });
                    }
                    None => {
                        let of = Pad::of(name).ok_or_else(|| {
                            MergeError::Collation(String::from_utf8_lossy(name).into_owned())
                        })?;
                        *pad = Some((name.to_vec(), of));
                    }
                }
                return match row.range(*weight) {
                    Some((start, end)) => Ok(Datum::Bytes(start, end)),
                    None => Err(MergeError::Unsupported("keys whose weight is too long")),
                };
            }
            (Rule::Date, Format::Text) => temporal::date_of_text(value),
            (Rule::Date, Format::Binary) => temporal::date_of_binary(value),
            (Rule::Time, Format::Text) => temporal::time_of_text(value),
            (Rule::Time, Format::Binary) => temporal::time_of_binary(value),
        };
        date.map(Datum::Int).ok_or(malformed("not a date or time"))
    }

    /// A number that orders as the values do, where it differs.
    pub(crate) fn front(&self, datum: Datum, row: &Row) -> u64 {
        match datum {
            Datum::Null => 0,
            Datum::Int(int) => ordered(int),
            Datum::Uint(uint) => uint,
            Datum::Real(real) => {
                let bits = real.to_bits();
                if real.is_sign_negative() {
                    !bits
                } else {
                    bits | 1 << 63
                }
            }
            Datum::Decimal(start, end) => {
                ordered(decimal::front(&row.bytes[start as usize..end as usize]))
            }
            Datum::Bytes(start, end) => self.pad().front(&row.bytes[start as usize..end as usize]),
        }
    }

    /// Compares two values, NULL lowest.
    pub(crate) fn compare(&self, a: Datum, a_row: &Row, b: Datum, b_row: &Row) -> Ordering {
        let range = |start: u32, end: u32| start as usize..end as usize;
        match (a, b) {
            (Datum::Int(a), Datum::Int(b)) => a.cmp(&b),
            (Datum::Uint(a), Datum::Uint(b)) => a.cmp(&b),
            (Datum::Real(a), Datum::Real(b)) => a.total_cmp(&b),
            (Datum::Decimal(a, a_end), Datum::Decimal(b, b_end)) => {
                decimal::compare(&a_row.bytes[range(a, a_end)], &b_row.bytes[range(b, b_end)])
            }
            (Datum::Bytes(a, a_end), Datum::Bytes(b, b_end)) => self
                .pad()
                .compare(&a_row.bytes[range(a, a_end)], &b_row.bytes[range(b, b_end)]),
            // One key has one rule, so what differs here is NULL.
            (a, b) => matches!(b, Datum::Null).cmp(&matches!(a, Datum::Null)),
        }
    }

    fn pad(&self) -> Pad {
        match self.rule {
            Rule::Text {
                pad: Some((_, pad)),
                ..
            } => pad,
            _ => Pad::NONE,
        }
    }
}

/// Signed integers as unsigned ones of the same order.
fn ordered(int: i64) -> u64 {
    int.cast_unsigned() ^ 1 << 63
}
