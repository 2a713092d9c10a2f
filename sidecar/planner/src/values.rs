//! The values of one statement: its literals and the client's parameters.

use crate::bound::Param;
use crate::keys::{Charset, Constant, Conversion, KeyType, Origin, Purpose, hash};
use crate::lexer::{SqlMode, integer_literal};
use crate::route::Operand;
use crate::text::Frame;

/// The values that a statement is bound to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Values<'a> {
    pub(crate) frame: Frame<'a>,
    pub(crate) mode: SqlMode,
    /// How literals are encoded.
    pub(crate) charset: Charset,
    /// How the parameters are encoded.
    pub(crate) param_charset: Charset,
    /// The client's parameters; `None` in the text protocol.
    pub(crate) params: Option<&'a [Param<'a>]>,
}

/// Where a key's value leads.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Hashed {
    /// To the rows of this hash.
    At(u64),
    /// Nowhere: it is NULL.
    Null,
    /// Nowhere: no value of the key's type equals it.
    Never,
    /// To any place: MySQL compares it in a way that a hash does not follow.
    Unknown,
}

/// What storing a value as a key does.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Stored {
    /// The row belongs to this hash.
    At(u64),
    /// It is NULL.
    Null,
    /// What is stored is not known for certain, and why.
    Refused(&'static str),
}

impl<'a> Values<'a> {
    /// Whether the client sent parameters.
    pub(crate) fn prepared(&self) -> bool {
        self.params.is_some()
    }

    /// Where rows are whose key equals a value.
    pub(crate) fn hash(&self, operand: Operand, key: &KeyType) -> Hashed {
        let Some(constant) = self.constant(operand) else {
            return Hashed::Unknown;
        };
        let origin = match operand {
            Operand::Param(_) => Origin::Parameter,
            _ => Origin::Literal,
        };
        let mut canonical = Vec::with_capacity(16);
        match key.convert(&constant, Purpose::Compare(origin), &mut canonical) {
            Conversion::Exact => Hashed::At(hash(&canonical)),
            Conversion::Null => Hashed::Null,
            Conversion::NoRow => Hashed::Never,
            Conversion::Scatter | Conversion::Refuse(_) => Hashed::Unknown,
        }
    }

    /// Where a row goes whose key is given as this value.
    pub(crate) fn store(&self, operand: Operand, key: &KeyType) -> Stored {
        match self.constant(operand) {
            Some(constant) => store(&constant, key),
            None => Stored::Refused("its value is missing"),
        }
    }

    /// A value as an unsigned number: what LIMIT takes.
    pub(crate) fn unsigned(&self, operand: Operand) -> Option<u64> {
        match operand {
            Operand::Literal {
                index,
                negative: false,
            } => {
                let token = self.frame.literals.get(index as usize)?;
                integer_literal(token.text(self.frame.sql))
            }
            Operand::Param(number) => match self.params?.get(number as usize)? {
                Param::UInt(number) => Some(*number),
                Param::Int(number) => u64::try_from(*number).ok(),
                Param::Bytes(text) => integer_literal(text),
                _ => None,
            },
            _ => None,
        }
    }

    /// A value as an integer, if it is one or text of one: what a generated column is given.
    pub(crate) fn integer(&self, operand: Operand) -> Option<i128> {
        let digits = |text: &[u8]| std::str::from_utf8(text).ok()?.trim().parse::<i128>().ok();
        match operand {
            Operand::Bool(truth) => Some(i128::from(truth)),
            Operand::Null => None,
            Operand::Param(number) => match self.params?.get(number as usize)? {
                Param::Int(number) => Some(i128::from(*number)),
                Param::UInt(number) => Some(i128::from(*number)),
                Param::Bytes(text) => digits(text),
                Param::Decimal(text) => digits(text.as_bytes()),
                Param::Double(number) if number.fract() == 0.0 && number.abs() < 9e15 => {
                    Some(*number as i128)
                }
                _ => None,
            },
            Operand::Literal { .. } => match self.constant(operand)? {
                Constant::Integer {
                    negative,
                    magnitude,
                } => {
                    let magnitude = i128::from(magnitude);
                    Some(if negative { -magnitude } else { magnitude })
                }
                Constant::Text { bytes, .. } => digits(&bytes),
                _ => None,
            },
        }
    }

    /// Whether a value is NULL.
    pub(crate) fn is_null(&self, operand: Operand) -> bool {
        match operand {
            Operand::Null => true,
            Operand::Param(number) => self
                .params
                .and_then(|params| params.get(number as usize))
                .is_some_and(|param| *param == Param::Null),
            _ => false,
        }
    }

    pub(crate) fn constant(&self, operand: Operand) -> Option<Constant<'a>> {
        Some(match operand {
            Operand::Null => Constant::Null,
            Operand::Bool(truth) => Constant::Boolean(truth),
            Operand::Literal { index, negative } => {
                let token = self.frame.literals.get(index as usize)?;
                let text = self.frame.sql.get(token.range())?;
                Constant::literal(token.kind, text, negative, self.mode, self.charset)
            }
            Operand::Param(number) => match *self.params?.get(number as usize)? {
                Param::Null => Constant::Null,
                Param::Int(number) => Constant::signed(number),
                Param::UInt(magnitude) => Constant::Integer {
                    negative: false,
                    magnitude,
                },
                Param::Double(number) => Constant::Float(number),
                Param::Bytes(bytes) => Constant::Text {
                    bytes: bytes.into(),
                    charset: self.param_charset,
                },
                // A string to MySQL, unlike a hex literal, which numbers read as a number.
                Param::Binary(bytes) => Constant::Text {
                    bytes: bytes.into(),
                    charset: Charset::Binary,
                },
                Param::Decimal(text) => Constant::Decimal(text.into()),
                Param::Moment(moment) => Constant::Moment(moment),
                Param::Other => Constant::Other,
            },
        })
    }
}

/// Where a row goes whose key is a number of ours.
pub(crate) fn store_number(magnitude: u64, key: &KeyType) -> Stored {
    let constant = Constant::Integer {
        negative: false,
        magnitude,
    };
    store(&constant, key)
}

fn store(constant: &Constant<'_>, key: &KeyType) -> Stored {
    let mut canonical = Vec::with_capacity(16);
    match key.convert(constant, Purpose::Store, &mut canonical) {
        Conversion::Exact => Stored::At(hash(&canonical)),
        Conversion::Null => Stored::Null,
        Conversion::Refuse(reason) => Stored::Refused(reason),
        Conversion::NoRow | Conversion::Scatter => {
            Stored::Refused("MySQL would change it when it stores it")
        }
    }
}
