//! What a merge must know of a column, and which columns may stand for each other.

use remora_protocol::{ColumnDef, ColumnFlags, ColumnType};

use crate::error::MergeError;

/// The number of the collation `binary`, which marks what is not text.
const BINARY: u16 = 63;

/// `decimals` of a FLOAT or DOUBLE that prints as many digits as it needs.
pub(crate) const NOT_FIXED: u8 = 31;

/// The two encodings of rows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Format {
    /// Answers to COM_QUERY: every value is text.
    Text,
    /// Answers to COM_STMT_EXECUTE: values are encoded by type.
    Binary,
}

/// The part of a column definition on which comparing and encoding depend.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Column {
    /// The type on the wire.
    pub kind: ColumnType,
    /// Of which UNSIGNED, BINARY, ENUM and SET matter.
    pub flags: ColumnFlags,
    /// 63 for all that is not text; for text `character_set_results`.
    pub collation: u16,
    /// Digits after the point; 31 where a FLOAT or DOUBLE has no fixed number.
    pub decimals: u8,
}

/// Types that hold the same kind of value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Class {
    Null,
    Integer,
    Year,
    Decimal,
    Float,
    Double,
    Date,
    DateTime,
    Timestamp,
    Time,
    Bit,
    Bytes,
    Text,
    /// JSON, geometries and vectors, of which MySQL alone knows the order.
    Opaque(ColumnType),
}

impl Column {
    /// Reads the payload of a column definition.
    pub fn read(definition: &[u8]) -> Result<Self, MergeError> {
        let definition = ColumnDef::decode(definition)?;
        Ok(Self {
            kind: definition.kind,
            flags: definition.flags,
            collation: definition.collation,
            decimals: definition.decimals,
        })
    }

    pub(crate) fn class(&self) -> Class {
        match self.kind {
            ColumnType::MYSQL_TYPE_NULL => Class::Null,
            ColumnType::MYSQL_TYPE_TINY
            | ColumnType::MYSQL_TYPE_SHORT
            | ColumnType::MYSQL_TYPE_INT24
            | ColumnType::MYSQL_TYPE_LONG
            | ColumnType::MYSQL_TYPE_LONGLONG => Class::Integer,
            ColumnType::MYSQL_TYPE_YEAR => Class::Year,
            ColumnType::MYSQL_TYPE_DECIMAL | ColumnType::MYSQL_TYPE_NEWDECIMAL => Class::Decimal,
            ColumnType::MYSQL_TYPE_FLOAT => Class::Float,
            ColumnType::MYSQL_TYPE_DOUBLE => Class::Double,
            ColumnType::MYSQL_TYPE_DATE | ColumnType::MYSQL_TYPE_NEWDATE => Class::Date,
            ColumnType::MYSQL_TYPE_DATETIME | ColumnType::MYSQL_TYPE_DATETIME2 => Class::DateTime,
            ColumnType::MYSQL_TYPE_TIMESTAMP | ColumnType::MYSQL_TYPE_TIMESTAMP2 => {
                Class::Timestamp
            }
            ColumnType::MYSQL_TYPE_TIME | ColumnType::MYSQL_TYPE_TIME2 => Class::Time,
            ColumnType::MYSQL_TYPE_BIT => Class::Bit,
            ColumnType::MYSQL_TYPE_VARCHAR
            | ColumnType::MYSQL_TYPE_VAR_STRING
            | ColumnType::MYSQL_TYPE_STRING
            | ColumnType::MYSQL_TYPE_ENUM
            | ColumnType::MYSQL_TYPE_SET
            | ColumnType::MYSQL_TYPE_TINY_BLOB
            | ColumnType::MYSQL_TYPE_MEDIUM_BLOB
            | ColumnType::MYSQL_TYPE_LONG_BLOB
            | ColumnType::MYSQL_TYPE_BLOB => {
                if self.collation == BINARY {
                    Class::Bytes
                } else {
                    Class::Text
                }
            }
            opaque => Class::Opaque(opaque),
        }
    }

    pub(crate) fn unsigned(&self) -> bool {
        self.flags.contains(ColumnFlags::UNSIGNED_FLAG)
    }

    /// ENUM and SET travel as strings with a flag.
    pub(crate) fn indexed(&self) -> bool {
        self.flags
            .intersects(ColumnFlags::ENUM_FLAG | ColumnFlags::SET_FLAG)
            || matches!(
                self.kind,
                ColumnType::MYSQL_TYPE_ENUM | ColumnType::MYSQL_TYPE_SET
            )
    }

    /// Whether values of both are encoded and compared alike. A part that is a UNION of slots
    /// and one that is a plain SELECT differ in what does not matter: kinds of strings (a user
    /// variable even becomes text), the decimals of strings, key flags, and the type of a bare
    /// NULL. Whether strings compare alike is up to the collations that come with their keys.
    pub(crate) fn agrees(&self, other: &Self) -> bool {
        self.stands_for(other)
            && (!self.whole()
                || !other.whole()
                || (self.kind == other.kind && self.unsigned() == other.unsigned()))
    }

    /// Whether it holds whole numbers.
    pub(crate) fn whole(&self) -> bool {
        matches!(self.class(), Class::Integer | Class::Year)
    }

    /// Whether both hold whole numbers, of which those with a sign and those without are apart.
    /// A server that groups in a temporary table makes integers wider and years integers, and
    /// whether it does depends on its rows.
    pub(crate) fn differs_in_width(&self, other: &Self) -> bool {
        self.whole()
            && other.whole()
            && (self.unsigned() == other.unsigned() || self.class() != other.class())
    }

    /// Whether a value of this column can be given as one of `other`, if need be after an exact
    /// change of an integer's width.
    pub(crate) fn stands_for(&self, other: &Self) -> bool {
        let (mine, theirs) = (self.class(), other.class());
        if mine == Class::Null || theirs == Class::Null {
            return true;
        }
        let strings = matches!(mine, Class::Bytes | Class::Text)
            && matches!(theirs, Class::Bytes | Class::Text);
        strings
            || (self.whole() && other.whole())
            || mine == theirs
                && match mine {
                    Class::Decimal
                    | Class::Float
                    | Class::Double
                    | Class::DateTime
                    | Class::Timestamp
                    | Class::Time => self.decimals == other.decimals,
                    _ => true,
                }
    }

    /// How many bytes an integer takes in a binary row.
    pub(crate) fn integer_width(&self) -> usize {
        match self.kind {
            ColumnType::MYSQL_TYPE_TINY => 1,
            ColumnType::MYSQL_TYPE_SHORT | ColumnType::MYSQL_TYPE_YEAR => 2,
            ColumnType::MYSQL_TYPE_INT24 | ColumnType::MYSQL_TYPE_LONG => 4,
            _ => 8,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A column of a type that is not text.
    pub(crate) fn column(kind: ColumnType) -> Column {
        let decimals = match kind {
            ColumnType::MYSQL_TYPE_FLOAT | ColumnType::MYSQL_TYPE_DOUBLE => NOT_FIXED,
            _ => 0,
        };
        Column {
            kind,
            flags: ColumnFlags::BINARY_FLAG,
            collation: BINARY,
            decimals,
        }
    }

    /// A VARCHAR, as a client of utf8mb4 sees it.
    pub(crate) fn text() -> Column {
        Column {
            kind: ColumnType::MYSQL_TYPE_VAR_STRING,
            flags: ColumnFlags::empty(),
            collation: 255,
            decimals: 0,
        }
    }

    #[test]
    fn a_union_of_slots_agrees_with_a_plain_select() {
        let literal = Column {
            decimals: NOT_FIXED,
            flags: ColumnFlags::NOT_NULL_FLAG,
            ..text()
        };
        let long = Column {
            kind: ColumnType::MYSQL_TYPE_BLOB,
            ..text()
        };
        let choice = Column {
            kind: ColumnType::MYSQL_TYPE_STRING,
            flags: ColumnFlags::ENUM_FLAG,
            ..text()
        };
        let variable = column(ColumnType::MYSQL_TYPE_VAR_STRING);
        for other in [literal, long, choice, variable] {
            assert!(text().agrees(&other) && other.agrees(&text()));
        }
        let null = column(ColumnType::MYSQL_TYPE_NULL);
        let null_of_union = column(ColumnType::MYSQL_TYPE_VAR_STRING);
        assert!(null.agrees(&null_of_union) && null_of_union.agrees(&null));
    }

    #[test]
    fn a_column_that_is_being_altered_agrees_with_nothing_but_itself() {
        let int = column(ColumnType::MYSQL_TYPE_LONG);
        let big = column(ColumnType::MYSQL_TYPE_LONGLONG);
        let unsigned = Column {
            flags: ColumnFlags::UNSIGNED_FLAG,
            ..int
        };
        let decimal = column(ColumnType::MYSQL_TYPE_NEWDECIMAL);
        let cents = Column {
            decimals: 2,
            ..decimal
        };
        let all = [
            int,
            big,
            unsigned,
            decimal,
            cents,
            text(),
            column(ColumnType::MYSQL_TYPE_DATETIME),
            column(ColumnType::MYSQL_TYPE_TIMESTAMP),
            Column {
                decimals: 3,
                ..column(ColumnType::MYSQL_TYPE_DATETIME)
            },
            column(ColumnType::MYSQL_TYPE_FLOAT),
            column(ColumnType::MYSQL_TYPE_DOUBLE),
            column(ColumnType::MYSQL_TYPE_JSON),
            column(ColumnType::MYSQL_TYPE_GEOMETRY),
        ];
        for (i, a) in all.iter().enumerate() {
            for (j, b) in all.iter().enumerate() {
                assert_eq!(a.agrees(b), i == j, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn an_integer_may_stand_for_one_of_another_width() {
        let int = column(ColumnType::MYSQL_TYPE_LONG);
        let big = column(ColumnType::MYSQL_TYPE_LONGLONG);
        assert!(int.stands_for(&big) && big.stands_for(&int));
        assert!(!int.stands_for(&column(ColumnType::MYSQL_TYPE_NEWDECIMAL)));
    }
}
