//! From a client's constant to what stands for it in MySQL.

use remora_cipher::{Key, KeyRing, Nonce};

use crate::Refusal;
use crate::catalog::{How, LogicalType, Protected, Sealed, Shape};
use crate::keys::{Charset, Constant, Conversion, Origin, Purpose, Unstorable, stored};
use crate::route::Operand;
use crate::values::Values;

use super::plan::{Part, Value};
use super::refused;

/// What stands in a veiled statement.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Made {
    Null,
    /// Bytes of an envelope or a tag.
    Bytes(Vec<u8>),
    /// A digest's digits.
    Text(String),
}

/// What no tag is: it finds nothing.
const NOTHING: &[u8] = &[0];

impl Value {
    /// Makes it. `shown` gets each tag with the text that it stands for.
    pub(super) fn make(
        &self,
        values: &Values<'_>,
        ring: &KeyRing,
        shown: &mut Vec<(Vec<u8>, Vec<u8>)>,
    ) -> Result<Made, Refusal> {
        let constant = values.constant(self.operand);
        let constant = constant.ok_or_else(|| self.refused("a value that is missing"))?;
        if constant == Constant::Null {
            return self.null();
        }
        match &self.column.how {
            How::Digest { kind, key } => {
                let key = match key {
                    Some(name) => Some(find(ring, name, &self.column)?),
                    None => None,
                };
                let text = self.text(&constant)?;
                let digest = kind.of(text.as_bytes(), key);
                digest
                    .map(Made::Text)
                    .ok_or_else(|| self.refused("a digest without its key"))
            }
            How::Sealed(sealed) => {
                let key = find(ring, &sealed.key, &self.column)?;
                let declared = sealed
                    .declared
                    .as_ref()
                    .ok_or_else(|| Refusal::no_such_table("", &self.table.name))?;
                match self.part {
                    Part::Compared => self.compared(&constant, key, declared, shown),
                    Part::Stored | Part::Tag => {
                        let plain = self.plain(&constant, declared)?;
                        self.sealed(&plain, key, sealed, declared, shown)
                    }
                }
            }
        }
    }

    fn null(&self) -> Result<Made, Refusal> {
        let column = self.table.column(&self.column.column);
        // Not every sql_mode refuses it: an empty string would be stored, which is no envelope.
        if self.part == Part::Stored && column.is_some_and(|column| !column.nullable) {
            return Err(Refusal::null_column(&self.column.column));
        }
        Ok(Made::Null)
    }

    /// The text that a digest is of, in UTF-8.
    fn text(&self, constant: &Constant<'_>) -> Result<String, Refusal> {
        let bytes = stored(
            constant,
            Some(crate::keys::Collation::Utf8mb4Bin),
            false,
            u32::MAX,
        );
        let text = bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let number = matches!(constant, Constant::Integer { .. } | Constant::Boolean(_));
        // Compared with a number, MySQL would take the digest for one.
        if self.part == Part::Compared && number {
            return Err(self.refused("a comparison with a number"));
        }
        text.ok_or_else(|| self.refused("a value that is no text in the session's character set"))
    }

    fn plain(&self, constant: &Constant<'_>, declared: &LogicalType) -> Result<Vec<u8>, Refusal> {
        let (fixed, most) = match declared.shape {
            Shape::Fixed(length) => (true, length),
            Shape::Variable(length) => (false, length),
            Shape::Blob(_) => (false, u32::MAX),
        };
        let plain = stored(constant, declared.collation, fixed, most);
        let error = match (plain, declared.shape) {
            (Ok(plain), Shape::Blob(most)) if plain.len() > most as usize => Unstorable::TooLong,
            (Ok(plain), _) => return Ok(plain),
            (Err(error), _) => error,
        };
        let (column, row) = (&self.column.column, self.row);
        Err(match error {
            Unstorable::TooLong => Refusal {
                code: 1406,
                state: *b"22001",
                message: format!("Data too long for column '{column}' at row {row}"),
            },
            // MySQL shows the bytes, which end up in logs.
            Unstorable::Characters => Refusal {
                code: 1366,
                state: *b"HY000",
                message: format!("Incorrect string value for column '{column}' at row {row}"),
            },
            Unstorable::Kind => {
                self.refused("a value that is no string, binary string or whole number")
            }
        })
    }

    fn sealed(
        &self,
        plain: &[u8],
        key: &Key,
        sealed: &Sealed,
        declared: &LogicalType,
        shown: &mut Vec<(Vec<u8>, Vec<u8>)>,
    ) -> Result<Made, Refusal> {
        if self.part == Part::Stored {
            // Where equality shows anyway, equal bytes let MySQL see what does not change.
            let nonce = if sealed.lookup {
                Nonce::Synthetic
            } else {
                Nonce::Random
            };
            let envelope = key.seal(&sealed.place, nonce, plain);
            return envelope
                .map(Made::Bytes)
                .map_err(|error| self.refused(&error.to_string()));
        }
        let charset = match declared.collation {
            Some(_) => Charset::Utf8mb4,
            None => Charset::Binary,
        };
        let constant = Constant::Text {
            bytes: plain.into(),
            charset,
        };
        let mut canonical = Vec::new();
        match declared
            .key_type()
            .convert(&constant, Purpose::Store, &mut canonical)
        {
            Conversion::Exact => {
                let tag = key.tag(&canonical).to_vec();
                shown.push((tag.clone(), plain.to_vec()));
                Ok(Made::Bytes(tag))
            }
            _ => Err(self.refused("a value that its collation does not know")),
        }
    }

    fn compared(
        &self,
        constant: &Constant<'_>,
        key: &Key,
        declared: &LogicalType,
        shown: &mut Vec<(Vec<u8>, Vec<u8>)>,
    ) -> Result<Made, Refusal> {
        let origin = match self.operand {
            Operand::Param(_) => Origin::Parameter,
            _ => Origin::Literal,
        };
        let mut canonical = Vec::new();
        let purpose = Purpose::Compare(origin);
        match declared
            .key_type()
            .convert(constant, purpose, &mut canonical)
        {
            Conversion::Exact => {
                let tag = key.tag(&canonical).to_vec();
                if let Constant::Text { bytes, .. } = constant {
                    shown.push((tag.clone(), bytes.to_vec()));
                }
                Ok(Made::Bytes(tag))
            }
            Conversion::NoRow => Ok(Made::Bytes(NOTHING.to_vec())),
            Conversion::Null => Ok(Made::Null),
            Conversion::Scatter | Conversion::Refuse(_) => Err(self.refused(
                "a comparison with anything but a string of its own kind and character set",
            )),
        }
    }

    fn refused(&self, what: &str) -> Refusal {
        refused(&self.table, &self.column, what)
    }
}

fn find<'r>(ring: &'r KeyRing, name: &str, column: &Protected) -> Result<&'r Key, Refusal> {
    let key = ring.get(name).map(|key| &**key);
    key.ok_or_else(|| {
        Refusal::unsupported(format!(
            "column {} needs the key {name}, which this sidecar was not given: spec.access[].keys \
             of the manifest decides who gets it",
            column.column
        ))
    })
}
