//! Columns whose plain text MySQL never sees: what the manifest says of them, and what the
//! shards have stored of how they were declared.

use remora_cipher::{DigestKind, Place};
use remora_crds::{Digest, EncryptedColumn, Lookup};

use crate::keys::{Collation, KeyType};

use super::same_name;

/// What the companions of encrypted columns are called before the column's name. No client may
/// use such a name.
pub const COMPANION_PREFIX: &str = "__remora_";

/// What the comment of an encrypted column's physical column begins with; the declared type, its
/// collation and the client's own comment follow, each behind a `;`.
pub(crate) const MARK: &str = "remora 1;";

/// A column that is encrypted, or kept as a digest.
#[derive(Debug)]
pub struct Protected {
    /// The column.
    pub column: String,
    /// How.
    pub how: How,
}

/// How a column is protected.
#[derive(Debug)]
pub enum How {
    /// By an envelope.
    Sealed(Sealed),
    /// By a digest.
    Digest {
        /// Which.
        kind: DigestKind,
        /// The key of a keyed one.
        key: Option<String>,
    },
}

/// An encrypted column.
#[derive(Debug)]
pub struct Sealed {
    /// The key's name.
    pub key: String,
    /// Whether it has a companion, by which equal values are found.
    pub lookup: bool,
    /// What its envelopes are bound to.
    pub place: Place,
    /// The companion's name.
    pub companion: String,
    /// How the client declared it; `None` while the table does not exist.
    pub declared: Option<LogicalType>,
    /// The client's keys that it is in.
    pub keys: Keys,
}

/// Keys that a column is in.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Keys {
    /// A unique one of it alone.
    pub unique: bool,
    /// One that begins with it.
    pub first: bool,
    /// Any.
    pub part: bool,
}

/// A type as the client declared it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LogicalType {
    /// As in COLUMN_TYPE.
    pub column_type: String,
    /// Of text; binary strings have none.
    pub collation: Option<Collation>,
    /// Its lengths.
    pub shape: Shape,
}

/// Lengths of a string type.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Shape {
    /// CHAR and BINARY, with so many characters or bytes.
    Fixed(u32),
    /// VARCHAR and VARBINARY, likewise at most.
    Variable(u32),
    /// TEXT and BLOB of so many bytes at most.
    Blob(u32),
}

impl LogicalType {
    /// Reads a type of which values can be encrypted.
    ///
    /// # Errors
    /// With the reason, if it is none.
    pub fn declared(column_type: &str, collation: Option<&str>) -> Result<Self, String> {
        let lower = column_type.trim().to_ascii_lowercase();
        let word = lower.split(['(', ' ']).next().unwrap_or_default();
        let blob = match word {
            "tinytext" | "tinyblob" => Some(255),
            "text" | "blob" => Some(65_535),
            "mediumtext" | "mediumblob" => Some(16_777_215),
            _ => None,
        };
        let is_text = word.ends_with("text") || word.ends_with("char");
        let known = match collation.filter(|_| is_text) {
            Some(name) if name.eq_ignore_ascii_case("binary") => {
                return Err("the character set binary: use VARBINARY or BLOB".to_owned());
            }
            Some(name) => {
                let known = Collation::named(name);
                Some(known.ok_or_else(|| format!("the collation {name}"))?)
            }
            None => None,
        };
        let shape = match (
            blob,
            KeyType::declared(&lower, collation.filter(|_| is_text)),
        ) {
            (Some(_), _) if lower.contains('(') => None,
            (Some(bytes), _) => Some(Shape::Blob(bytes)),
            (
                None,
                Ok(
                    KeyType::Text {
                        variable, length, ..
                    }
                    | KeyType::Binary { variable, length },
                ),
            ) => Some(if variable {
                Shape::Variable(length)
            } else {
                Shape::Fixed(length)
            }),
            _ => None,
        };
        let shape = shape.filter(|_| known.is_some() == is_text);
        let shape = shape.ok_or_else(|| {
            format!(
                "the type {}: use CHAR, VARCHAR, TINYTEXT, TEXT, MEDIUMTEXT, BINARY, VARBINARY, \
                 TINYBLOB, BLOB or MEDIUMBLOB",
                lower.to_ascii_uppercase()
            )
        })?;
        Ok(Self {
            column_type: lower,
            collation: known,
            shape,
        })
    }

    /// How its values compare.
    #[must_use]
    pub fn key_type(&self) -> KeyType {
        let (variable, length) = match self.shape {
            Shape::Fixed(length) => (false, length),
            Shape::Variable(length) => (true, length),
            Shape::Blob(_) => (true, u32::MAX),
        };
        match self.collation {
            Some(collation) => KeyType::Text {
                variable,
                length,
                collation,
            },
            None => KeyType::Binary { variable, length },
        }
    }

    /// The most bytes of a value in UTF-8, in which envelopes hold text.
    #[must_use]
    pub fn most_bytes(&self) -> u64 {
        let character = if self.collation.is_some() { 4 } else { 1 };
        match self.shape {
            Shape::Fixed(length) | Shape::Variable(length) => u64::from(length) * character,
            // Latin1 text of so many bytes may take twice as many.
            Shape::Blob(bytes) => u64::from(bytes) * character.min(2),
        }
    }

    /// The physical column's type.
    pub(crate) fn physical(&self) -> String {
        match self.most_bytes() + remora_cipher::OVERHEAD as u64 {
            // A row takes 65,535 bytes of such columns together; BLOBs count 12 each.
            bytes @ 0..=2048 => format!("VARBINARY({bytes})"),
            0..=65_535 => "BLOB".to_owned(),
            65_536..=16_777_215 => "MEDIUMBLOB".to_owned(),
            _ => "LONGBLOB".to_owned(),
        }
    }

    /// What the physical column's comment says of it, before the client's own.
    pub(crate) fn mark(&self) -> String {
        let collation = self.collation.map_or("", Collation::name);
        format!("{MARK}{};{collation};", self.column_type)
    }

    /// Reads a physical column's comment; with the client's own.
    #[must_use]
    pub fn marked(comment: &str) -> Option<(Self, &str)> {
        let mut parts = comment.strip_prefix(MARK)?.splitn(3, ';');
        let (column_type, collation) = (parts.next()?, parts.next()?);
        let collation = Some(collation).filter(|it| !it.is_empty());
        Some((Self::declared(column_type, collation).ok()?, parts.next()?))
    }
}

impl Protected {
    /// What the manifest says of a column.
    pub(super) fn of(database: &str, table: &str, column: &EncryptedColumn) -> Self {
        let how = match column.digest {
            Some(digest) => How::Digest {
                kind: match digest {
                    Digest::Md5 => DigestKind::Md5,
                    Digest::Sha256 => DigestKind::Sha256,
                    Digest::HmacSha256 => DigestKind::HmacSha256,
                },
                key: column.key.clone(),
            },
            None => How::Sealed(Sealed {
                key: column.key.clone().unwrap_or_default(),
                lookup: column.lookup == Some(Lookup::Equality),
                place: Place::new(database, table, &column.column),
                companion: format!("{COMPANION_PREFIX}{}", column.column.to_ascii_lowercase()),
                declared: None,
                keys: Keys::default(),
            }),
        };
        Self {
            column: column.column.clone(),
            how,
        }
    }

    /// Whether this is the column's name.
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        same_name(&self.column, name)
    }

    /// The envelope's part, if it has one.
    #[must_use]
    pub fn sealed(&self) -> Option<&Sealed> {
        match &self.how {
            How::Sealed(sealed) => Some(sealed),
            How::Digest { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_comes_back_from_its_mark() {
        for (column_type, collation) in [
            ("varchar(64)", Some("utf8mb4_0900_ai_ci")),
            ("char(64)", Some("ascii_bin")),
            ("text", Some("utf8mb4_bin")),
            ("varbinary(20)", None),
            ("blob", None),
        ] {
            let declared = LogicalType::declared(column_type, collation).unwrap();
            let comment = format!("{}the client's; own", declared.mark());
            assert_eq!(
                LogicalType::marked(&comment),
                Some((declared, "the client's; own"))
            );
        }
        assert_eq!(LogicalType::marked("remora 1;json;;"), None);
        assert_eq!(LogicalType::marked("of the client"), None);
    }

    #[test]
    fn what_cannot_be_encrypted_is_named() {
        for (column_type, collation, named) in [
            ("json", None, "JSON"),
            ("bigint", None, "BIGINT"),
            (
                "varchar(10)",
                Some("utf8mb4_de_pb_0900_ai_ci"),
                "utf8mb4_de_pb_0900_ai_ci",
            ),
            ("text(10)", Some("utf8mb4_bin"), "TEXT(10)"),
        ] {
            let refused = LogicalType::declared(column_type, collation).unwrap_err();
            assert!(refused.contains(named), "{refused}");
        }
    }
}
