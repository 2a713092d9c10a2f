//! What a constant means to a column.

use super::constant::Constant;
use super::declared::KeyType;
use super::{number, temporal, text};

/// What a constant is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Purpose {
    /// `column = constant`, and the like.
    Compare(Origin),
    /// The constant becomes the column's value.
    Store,
}

/// Where a constant that is compared stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Origin {
    /// In the statement's text.
    Literal,
    /// In a parameter of a prepared statement, whose type MySQL derives from the column: what
    /// would match no row as a literal may match one after that conversion.
    Parameter,
}

/// What becomes of a constant.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Conversion {
    /// The canonical bytes were written; rows that match have these.
    Exact,
    /// No value of the column equals the constant.
    NoRow,
    /// NULL: nothing equals it, and NULL would be stored.
    Null,
    /// MySQL does not compare by the column's own rules, or it is not sure that it does.
    Scatter,
    /// The constant is not stored as it is; the reason is for the client.
    Refuse(&'static str),
}

impl KeyType {
    /// Converts `constant` for `purpose` and appends its canonical bytes to `out`; nothing is
    /// appended unless the outcome is [`Conversion::Exact`].
    pub fn convert(
        &self,
        constant: &Constant<'_>,
        purpose: Purpose,
        out: &mut Vec<u8>,
    ) -> Conversion {
        if *constant == Constant::Null {
            return Conversion::Null;
        }
        let length = out.len();
        let found = match self {
            Self::Integer(integer) => number::integer(*integer, constant, purpose, out),
            Self::Year => number::year(constant, out),
            Self::Decimal {
                precision,
                scale,
                unsigned,
            } => {
                let column = number::DecimalColumn {
                    precision: *precision,
                    scale: *scale,
                    unsigned: *unsigned,
                };
                column.convert(constant, purpose, out)
            }
            Self::Date => temporal::date(constant, out),
            Self::DateTime { fsp } => temporal::datetime(*fsp, constant, out),
            Self::Text {
                variable,
                length,
                collation,
            } => {
                let column = text::TextColumn {
                    variable: *variable,
                    length: *length,
                    collation: *collation,
                };
                column.convert(constant, purpose, out)
            }
            Self::Binary { variable, length } => {
                text::binary(*variable, *length, constant, purpose, out)
            }
        };
        let conversion = found.conversion(purpose);
        if conversion != Conversion::Exact {
            out.truncate(length);
        }
        conversion
    }
}

/// What a type's own conversion found, before the purpose is weighed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Found {
    /// The canonical bytes were written.
    Exact,
    /// No value of the column equals it; stored it would be cut or refused.
    Outside,
    /// Its conversion is not known well enough.
    Unsure,
}

impl Found {
    fn conversion(self, purpose: Purpose) -> Conversion {
        match (self, purpose) {
            (Self::Exact, _) => Conversion::Exact,
            (Self::Outside, Purpose::Compare(Origin::Literal)) => Conversion::NoRow,
            (_, Purpose::Compare(_)) => Conversion::Scatter,
            (Self::Outside, Purpose::Store) => {
                Conversion::Refuse("the sharding key's column cannot hold the value exactly")
            }
            (Self::Unsure, Purpose::Store) => {
                Conversion::Refuse("write the sharding key's value in the column's own type")
            }
        }
    }
}
