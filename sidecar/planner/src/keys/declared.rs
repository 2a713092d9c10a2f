//! The type of a sharding column, as CREATE TABLE or INFORMATION_SCHEMA.COLUMNS says it.

use std::fmt;

use super::collation::Collation;

/// The type of a sharding column. Displays as MySQL's COLUMN_TYPE.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum KeyType {
    /// TINYINT to BIGINT.
    Integer(IntegerType),
    /// DECIMAL.
    Decimal {
        /// Digits in all.
        precision: u8,
        /// Digits behind the point.
        scale: u8,
        /// UNSIGNED.
        unsigned: bool,
    },
    /// YEAR.
    Year,
    /// DATE.
    Date,
    /// DATETIME.
    DateTime {
        /// Digits of the second's fraction.
        fsp: u8,
    },
    /// CHAR or VARCHAR.
    Text {
        /// VARCHAR.
        variable: bool,
        /// The most characters.
        length: u32,
        /// How texts compare.
        collation: Collation,
    },
    /// BINARY or VARBINARY.
    Binary {
        /// VARBINARY.
        variable: bool,
        /// The most bytes.
        length: u32,
    },
}

/// An integer type.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct IntegerType {
    /// Bytes that a value takes: 1, 2, 3, 4 or 8.
    pub bytes: u8,
    /// UNSIGNED.
    pub unsigned: bool,
}

impl IntegerType {
    /// The least and the greatest value.
    #[must_use]
    pub fn range(self) -> (i128, i128) {
        let values = 1_i128 << (8 * u32::from(self.bytes));
        if self.unsigned {
            (0, values - 1)
        } else {
            (-values / 2, values / 2 - 1)
        }
    }
}

/// A column cannot be a sharding key.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum KeyTypeError {
    /// Its type.
    #[error(
        "a column of type {0} cannot be a sharding key: use an integer, DECIMAL, YEAR, DATE, DATETIME, CHAR, VARCHAR, BINARY or VARBINARY"
    )]
    Type(String),
    /// Its collation.
    #[error(
        "a column with collation {0} cannot be a sharding key: use one of {list}",
        list = Collation::names()
    )]
    Collation(String),
}

impl KeyType {
    /// Reads a type: `bigint unsigned`, `varchar(64)`, `decimal(20,0)`, `datetime(3)`. A text
    /// type needs its collation, the table's or the database's where the column names none.
    ///
    /// # Errors
    /// Where the type or the collation is not one of a sharding key.
    pub fn declared(column_type: &str, collation: Option<&str>) -> Result<Self, KeyTypeError> {
        let refused = || KeyTypeError::Type(column_type.trim().to_ascii_uppercase());
        let declared = Declared::read(column_type).ok_or_else(refused)?;
        let unsigned = declared.has("unsigned") || declared.has("zerofill");
        let integer = |bytes| Ok(Self::Integer(IntegerType { bytes, unsigned }));
        match declared.name.as_str() {
            "tinyint" | "bool" | "boolean" | "int1" => integer(1),
            "smallint" | "int2" => integer(2),
            "mediumint" | "middleint" | "int3" => integer(3),
            "int" | "integer" | "int4" => integer(4),
            "bigint" | "int8" => integer(8),
            "serial" => Ok(Self::Integer(IntegerType {
                bytes: 8,
                unsigned: true,
            })),
            "decimal" | "dec" | "numeric" | "fixed" => {
                let precision = declared.number(0).unwrap_or(10);
                let scale = declared.number(1).unwrap_or(0);
                if precision == 0 || precision > 65 || scale > 30 || scale > precision {
                    return Err(refused());
                }
                Ok(Self::Decimal {
                    precision: precision as u8,
                    scale: scale as u8,
                    unsigned,
                })
            }
            "year" => Ok(Self::Year),
            "date" => Ok(Self::Date),
            "datetime" => match declared.number(0).unwrap_or(0) {
                fsp @ 0..=6 => Ok(Self::DateTime { fsp: fsp as u8 }),
                _ => Err(refused()),
            },
            name @ ("char" | "character" | "varchar") => {
                let variable = name == "varchar" || declared.has("varying");
                let length = length(&declared, variable).ok_or_else(refused)?;
                let name =
                    collation.ok_or_else(|| KeyTypeError::Collation("unknown".to_owned()))?;
                if name.eq_ignore_ascii_case("binary") {
                    return Ok(Self::Binary { variable, length });
                }
                let collation = Collation::named(name)
                    .ok_or_else(|| KeyTypeError::Collation(name.to_ascii_lowercase()))?;
                Ok(Self::Text {
                    variable,
                    length,
                    collation,
                })
            }
            name @ ("binary" | "varbinary") => {
                let variable = name == "varbinary";
                let length = length(&declared, variable).ok_or_else(refused)?;
                Ok(Self::Binary { variable, length })
            }
            _ => Err(refused()),
        }
    }
}

/// CHAR and BINARY have the length 1 where none is said.
fn length(declared: &Declared, variable: bool) -> Option<u32> {
    match declared.number(0) {
        Some(length) if length <= 65_535 => Some(length),
        None if !variable => Some(1),
        _ => None,
    }
}

/// A type taken apart: its name, the numbers in parentheses, the words behind.
struct Declared {
    name: String,
    numbers: Vec<u32>,
    words: Vec<String>,
}

impl Declared {
    fn read(text: &str) -> Option<Self> {
        let lower = text.trim().to_ascii_lowercase();
        let (before, numbers, after) = match lower.split_once('(') {
            None => (lower.as_str(), Vec::new(), ""),
            Some((before, rest)) => {
                let (inside, after) = rest.split_once(')')?;
                let numbers: Option<Vec<u32>> = inside
                    .split(',')
                    .map(|number| number.trim().parse().ok())
                    .collect();
                (before, numbers?, after)
            }
        };
        let mut words = before
            .split_whitespace()
            .chain(after.split_whitespace())
            .map(str::to_owned);
        let name = words.next()?;
        Some(Self {
            name,
            numbers,
            words: words.collect(),
        })
    }

    fn has(&self, word: &str) -> bool {
        self.words.iter().any(|found| found == word)
    }

    fn number(&self, index: usize) -> Option<u32> {
        self.numbers.get(index).copied()
    }
}

impl fmt::Display for KeyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unsigned = |unsigned: bool| if unsigned { " unsigned" } else { "" };
        match self {
            Self::Integer(integer) => {
                let name = match integer.bytes {
                    1 => "tinyint",
                    2 => "smallint",
                    3 => "mediumint",
                    4 => "int",
                    _ => "bigint",
                };
                write!(f, "{name}{}", unsigned(integer.unsigned))
            }
            Self::Decimal {
                precision,
                scale,
                unsigned: u,
            } => {
                write!(f, "decimal({precision},{scale}){}", unsigned(*u))
            }
            Self::Year => f.write_str("year"),
            Self::Date => f.write_str("date"),
            Self::DateTime { fsp: 0 } => f.write_str("datetime"),
            Self::DateTime { fsp } => write!(f, "datetime({fsp})"),
            Self::Text {
                variable, length, ..
            } => {
                write!(f, "{}char({length})", if *variable { "var" } else { "" })
            }
            Self::Binary { variable, length } => {
                write!(f, "{}binary({length})", if *variable { "var" } else { "" })
            }
        }
    }
}
