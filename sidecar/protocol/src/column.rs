//! Column definitions: the metadata of an answer.

use bytes::{BufMut, BytesMut};

use crate::capability::{ColumnFlags, ColumnType};
use crate::error::{ProtocolError, Result};
use crate::wire::{Input, put_lenenc_bytes};

/// One column of an answer, or one parameter of a prepared statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnDef<'a> {
    /// Always `def`.
    pub catalog: &'a [u8],
    /// The schema of the column's table.
    pub schema: &'a [u8],
    /// The table's name or alias in the statement.
    pub table: &'a [u8],
    /// The table's own name.
    pub org_table: &'a [u8],
    /// The column's name or alias in the statement.
    pub name: &'a [u8],
    /// The column's own name.
    pub org_name: &'a [u8],
    /// The collation's id; 63 is `binary`.
    pub collation: u16,
    /// The largest length of a value, in bytes.
    pub length: u32,
    /// The type.
    pub kind: ColumnType,
    /// NOT NULL, UNSIGNED, keys and so on.
    pub flags: ColumnFlags,
    /// Digits after the point; 31 where there is no fixed number.
    pub decimals: u8,
    /// The default value, which only FIELD_LIST's answer has: `None` is no
    /// field, `Some(None)` is NULL.
    pub default: Option<Option<&'a [u8]>>,
}

/// The length of the fixed fields behind the six strings.
const FIXED: u64 = 12;

impl<'a> ColumnDef<'a> {
    /// Reads a definition.
    pub fn decode(payload: &'a [u8]) -> Result<Self> {
        let mut input = Input(payload);
        let catalog = input.lenenc_bytes()?;
        let schema = input.lenenc_bytes()?;
        let table = input.lenenc_bytes()?;
        let org_table = input.lenenc_bytes()?;
        let name = input.lenenc_bytes()?;
        let org_name = input.lenenc_bytes()?;
        if input.lenenc()? < FIXED {
            return Err(ProtocolError::Malformed("a column definition is too short"));
        }
        let collation = input.u16()?;
        let length = input.u32()?;
        let kind = ColumnType::try_from(input.u8()?)
            .map_err(|_| ProtocolError::Malformed("a column of an unknown type"))?;
        let flags = ColumnFlags::from_bits_retain(input.u16()?);
        let decimals = input.u8()?;
        input.u16()?;
        let default = match input.0 {
            [] => None,
            [0xFB, ..] => Some(None),
            _ => Some(Some(input.lenenc_bytes()?)),
        };
        Ok(Self {
            catalog,
            schema,
            table,
            org_table,
            name,
            org_name,
            collation,
            length,
            kind,
            flags,
            decimals,
            default,
        })
    }

    /// Appends the definition.
    pub fn encode(&self, out: &mut BytesMut) {
        for text in [
            self.catalog,
            self.schema,
            self.table,
            self.org_table,
            self.name,
            self.org_name,
        ] {
            put_lenenc_bytes(text, out);
        }
        out.put_u8(FIXED as u8);
        out.put_u16_le(self.collation);
        out.put_u32_le(self.length);
        out.put_u8(self.kind as u8);
        out.put_u16_le(self.flags.bits());
        out.put_u8(self.decimals);
        out.put_u16_le(0);
        match self.default {
            None => {}
            Some(None) => out.put_u8(0xFB),
            Some(Some(value)) => put_lenenc_bytes(value, out),
        }
    }
}

/// Appends the definition in `payload` with its schema replaced by what `rename`
/// gives for it, if anything. No other byte changes.
pub fn rename_schema<'n>(
    payload: &[u8],
    rename: impl FnOnce(&[u8]) -> Option<&'n [u8]>,
    out: &mut BytesMut,
) -> Result<()> {
    let mut input = Input(payload);
    input.lenenc_bytes()?;
    let before = payload.len() - input.0.len();
    match rename(input.lenenc_bytes()?) {
        None => out.put_slice(payload),
        Some(schema) => {
            out.put_slice(&payload[..before]);
            put_lenenc_bytes(schema, out);
            out.put_slice(input.rest());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn column() -> ColumnDef<'static> {
        ColumnDef {
            catalog: b"def",
            schema: b"shop__0017",
            table: b"p",
            org_table: b"pressure_test",
            name: b"n",
            org_name: b"name",
            collation: 255,
            length: 1020,
            kind: ColumnType::MYSQL_TYPE_VAR_STRING,
            flags: ColumnFlags::NOT_NULL_FLAG | ColumnFlags::NO_DEFAULT_VALUE_FLAG,
            decimals: 0,
            default: None,
        }
    }

    fn encoded(column: &ColumnDef<'_>) -> BytesMut {
        let mut out = BytesMut::new();
        column.encode(&mut out);
        out
    }

    #[test]
    fn a_definition_has_mysqls_bytes() {
        assert_eq!(
            &encoded(&column())[..],
            b"\x03def\x0ashop__0017\x01p\x0dpressure_test\x01n\x04name\
              \x0c\xff\0\xfc\x03\0\0\xfd\x01\x10\0\0\0"
        );
    }

    #[test]
    fn a_definition_comes_back_with_and_without_a_default() {
        for default in [None, Some(None), Some(Some(&b"7"[..]))] {
            let sent = ColumnDef {
                default,
                ..column()
            };
            assert_eq!(ColumnDef::decode(&encoded(&sent)), Ok(sent));
        }
    }

    #[test]
    fn renaming_touches_the_schema_alone() {
        let mut out = BytesMut::new();
        rename_schema(&encoded(&column()), |_| Some(b"shop"), &mut out).unwrap();
        assert_eq!(
            out,
            encoded(&ColumnDef {
                schema: b"shop",
                ..column()
            })
        );
        out.clear();
        rename_schema(&encoded(&column()), |_| None, &mut out).unwrap();
        assert_eq!(out, encoded(&column()));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>, cut in 0usize..60) {
            let _ = ColumnDef::decode(&bytes);
            let whole = encoded(&column());
            let _ = ColumnDef::decode(&whole[..cut.min(whole.len())]);
            let _ = rename_schema(&bytes, |_| Some(b"shop"), &mut BytesMut::new());
        }
    }
}
