//! What a statement on protected columns needs on the way back: results are opened, and what
//! shows definitions shows those that the client declared.

use std::fmt;
use std::sync::Arc;

use bytes::BytesMut;
use remora_cipher::KeyRing;
use remora_planner::Catalog;
use remora_planner::catalog::{Protected, Shape};
use remora_planner::veil::{Shown, ShownRow};
use remora_protocol::{
    BinaryRowWriter, ColumnDef, ColumnFlags, ColumnType, ErrPacket, TextRowWriter, binary_fields,
    text_fields,
};

use crate::failure::Failure;
use crate::names::Names;
use crate::session::Note;

/// How texts of results are encoded, as MySQL tells it of one of its own.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct ResultCharset {
    /// The collation's number in column definitions.
    pub(crate) collation: u16,
}

impl ResultCharset {
    /// The most bytes of a character, where the character set is one that texts are opened in.
    fn width(self) -> Option<u32> {
        match self.collation {
            45 | 46 | 224..=247 | 255..=323 => Some(4),
            33 | 76 | 83 | 192..=215 | 223 => Some(3),
            5 | 8 | 11 | 15 | 31 | 47 | 48 | 49 | 65 | 94 => Some(1),
            _ => None,
        }
    }

    /// A text in this character set.
    fn encode(self, text: Vec<u8>) -> Option<Vec<u8>> {
        match self.width()? {
            4 => Some(text),
            // MySQL puts a question mark for what utf8mb3 lacks.
            3 => {
                let text = String::from_utf8(text).ok()?;
                let known = |c: char| if u32::from(c) > 0xffff { '?' } else { c };
                Some(text.chars().map(known).collect::<String>().into_bytes())
            }
            _ => Some(text).filter(|text| text.is_ascii()),
        }
    }
}

/// What one statement's answer needs.
pub(crate) struct Cover {
    /// The tables.
    pub(crate) catalog: Arc<Catalog>,
    /// The keys.
    pub(crate) keys: Arc<KeyRing>,
    /// What shows definitions.
    pub(crate) shown: Option<Shown>,
    /// Tags in the statement, with the texts that they stand for.
    pub(crate) tags: Vec<(Vec<u8>, Vec<u8>)>,
    /// Whether rows are those of the binary protocol.
    pub(crate) binary: bool,
    /// Whether the client's INSERT names no columns.
    pub(crate) by_position: bool,
    /// How texts are encoded; not asked for where there are no rows.
    pub(crate) results: Option<ResultCharset>,
}

impl fmt::Debug for Cover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Tags stand beside plain values.
        f.debug_struct("Cover").finish_non_exhaustive()
    }
}

/// The columns of one answer.
pub(crate) struct Unveiling<'c> {
    cover: &'c Cover,
    names: Vec<String>,
    kinds: Vec<ColumnType>,
    opened: Vec<Option<Arc<Protected>>>,
    /// Rows that show definitions, until all are there.
    held: Vec<ShownRow>,
}

impl Cover {
    /// Begins an answer.
    pub(crate) fn unveiling(&self) -> Unveiling<'_> {
        Unveiling {
            cover: self,
            names: Vec::new(),
            kinds: Vec::new(),
            opened: Vec::new(),
            held: Vec::new(),
        }
    }

    /// The encrypted column that a definition is of.
    fn sealed(&self, names: &Names, column: &ColumnDef<'_>) -> Option<(&str, &Arc<Protected>)> {
        let database = self.catalog.database();
        let own = column.schema == database.as_bytes() || names.logical(column.schema).is_some();
        let table = std::str::from_utf8(column.org_table).ok().filter(|_| own)?;
        let table = self.catalog.table(table)?;
        let column = table.protected(std::str::from_utf8(column.org_name).ok()?)?;
        column.sealed()?;
        Some((&table.name, column))
    }

    /// Adds a definition as the client declared the column, under its logical schema. Gives the
    /// column if it is an encrypted one.
    ///
    /// # Errors
    /// If it is malformed, or its character set is not one that texts are opened in.
    pub(crate) fn define(
        &self,
        names: &Names,
        payload: &[u8],
        out: &mut BytesMut,
    ) -> Result<Option<Arc<Protected>>, Failure> {
        let mut column = ColumnDef::decode(payload)?;
        let sealed = self.sealed(names, &column).map(|(_, it)| Arc::clone(it));
        if let Some(logical) = names.logical(column.schema) {
            column.schema = logical;
        }
        if let Some(declared) = sealed
            .as_ref()
            .and_then(|it| it.sealed()?.declared.as_ref())
        {
            let (width, id) = match (declared.collation, self.results) {
                (None, _) => (1, BINARY),
                (Some(_), Some(results)) => match results.width() {
                    Some(width) => (width, results.collation),
                    None => return Err(no_charset()),
                },
                (Some(_), None) => return Err(no_charset()),
            };
            let (kind, length) = match declared.shape {
                Shape::Fixed(length) => (ColumnType::MYSQL_TYPE_STRING, length),
                Shape::Variable(length) => (ColumnType::MYSQL_TYPE_VAR_STRING, length),
                Shape::Blob(length) => (ColumnType::MYSQL_TYPE_BLOB, length),
            };
            column.collation = id;
            column.kind = kind;
            column.length = length.saturating_mul(width);
            let blob = matches!(declared.shape, Shape::Blob(_));
            column.flags.set(ColumnFlags::BLOB_FLAG, blob);
            column.flags.set(ColumnFlags::BINARY_FLAG, id == BINARY);
            let keys = sealed.as_ref().and_then(|it| it.sealed()).map(|it| it.keys);
            let keys = keys.unwrap_or_default();
            column.flags.set(ColumnFlags::UNIQUE_KEY_FLAG, keys.unique);
            column.flags.set(ColumnFlags::MULTIPLE_KEY_FLAG, keys.first);
            column.flags.set(ColumnFlags::PART_KEY_FLAG, keys.part);
        }
        column.encode(out);
        Ok(sealed)
    }

    /// A parameter's definition as MySQL gives it for a text.
    ///
    /// # Errors
    /// If it is malformed, or texts are not opened in the session's character set.
    pub(crate) fn parameter(&self, payload: &[u8]) -> Result<Box<[u8]>, Failure> {
        let mut column = ColumnDef::decode(payload)?;
        let results = self.results.ok_or_else(no_charset)?;
        let width = results.width().ok_or_else(no_charset)?;
        column.collation = results.collation;
        column.length = column.length / width * width;
        column.flags.remove(ColumnFlags::BINARY_FLAG);
        let mut out = BytesMut::new();
        column.encode(&mut out);
        Ok(out[..].into())
    }

    /// MySQL's text with values in place of tags, and without names of companions.
    pub(crate) fn in_text(&self, text: &[u8]) -> Vec<u8> {
        let mut shown = text.to_vec();
        for (tag, value) in &self.tags {
            let escaped = escaped(tag);
            if let Some(at) = memchr::memmem::find(&shown, &escaped) {
                shown.splice(at..at + escaped.len(), value.iter().copied());
            }
        }
        without_tags(&shown)
    }

    /// Warnings of MySQL's likewise.
    pub(crate) fn in_notes(&self, notes: Vec<Note>) -> Vec<Note> {
        let shown = |note: Note| Note {
            message: self.in_text(&note.message),
            ..note
        };
        notes.into_iter().map(shown).collect()
    }

    /// An error of MySQL's likewise.
    pub(crate) fn in_error(&self, mut error: ErrPacket<'static>) -> ErrPacket<'static> {
        error.message = self.in_text(&error.message).into();
        error
    }
}

/// The collation `binary`.
const BINARY: u16 = 63;

/// What stands before the value in MySQL's text about a duplicate.
const DUPLICATE: &[u8] = b"Duplicate entry '";

/// Leaves the value out of a text about a duplicate where it holds the tag of some other value:
/// the first byte of each is one that MySQL escapes.
fn without_tags(text: &[u8]) -> Vec<u8> {
    let start = memchr::memmem::find(text, DUPLICATE).map(|at| at + DUPLICATE.len());
    let end = memchr::memmem::rfind(text, b"' for key");
    match (start, end) {
        (Some(start), Some(end))
            if text
                .get(start..end)
                .is_some_and(|entry| memchr::memmem::find(entry, b"\\x").is_some()) =>
        {
            let (head, tail) = (&text[..start], &text[end..]);
            [head, "…".as_bytes(), tail].concat()
        }
        _ => text.to_vec(),
    }
}

/// A tag as MySQL writes binary strings in errors.
fn escaped(tag: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for byte in tag {
        match byte {
            0x20..=0x7e => out.push(*byte),
            _ => out.extend(format!("\\x{byte:02X}").into_bytes()),
        }
    }
    out
}

fn no_charset() -> Failure {
    ErrPacket::new(
        1235,
        *b"42000",
        "This version of Remora doesn't yet support reading encrypted texts in this character \
         set; SET NAMES utf8mb4",
    )
    .into()
}

impl Unveiling<'_> {
    /// Adds a column's definition.
    ///
    /// # Errors
    /// As [`Cover::define`].
    pub(crate) fn column(
        &mut self,
        names: &Names,
        payload: &[u8],
        out: &mut BytesMut,
    ) -> Result<(), Failure> {
        let column = ColumnDef::decode(payload)?;
        self.names
            .push(String::from_utf8_lossy(column.name).into_owned());
        self.kinds.push(column.kind);
        self.opened.push(self.cover.define(names, payload, out)?);
        Ok(())
    }

    /// Adds a row with its values opened; one that shows definitions is kept until the end.
    ///
    /// # Errors
    /// If a value does not open. It never becomes something else.
    pub(crate) fn row(&mut self, payload: &[u8], out: &mut BytesMut) -> Result<bool, Failure> {
        if self.cover.shown.is_some() {
            let row = self.fields(payload)?;
            self.held.push(row);
            return Ok(false);
        }
        if self.opened.iter().all(Option::is_none) {
            out.extend_from_slice(payload);
            return Ok(true);
        }
        if self.cover.binary {
            let mut writer = BinaryRowWriter::new(out, self.kinds.len());
            for (field, column) in binary_fields(payload, &self.kinds)?.zip(&self.opened) {
                let field = field?;
                match (field.value, column) {
                    (None, _) => writer.null(),
                    (Some(_), None) => writer.encoded(field.encoded),
                    (Some(value), Some(column)) => writer.bytes(&self.open(column, value)?),
                }
            }
        } else {
            let mut writer = TextRowWriter::new(out);
            for (field, column) in text_fields(payload).zip(&self.opened) {
                let field = field?;
                match (field.value, column) {
                    (None, _) => writer.null(),
                    (Some(_), None) => writer.encoded(field.encoded),
                    (Some(value), Some(column)) => writer.value(&self.open(column, value)?),
                }
            }
        }
        Ok(true)
    }

    /// The rows that were kept, each as the client should see it.
    pub(crate) fn take_held(&mut self) -> Vec<BytesMut> {
        let Some(shown) = &self.cover.shown else {
            return Vec::new();
        };
        let rows = shown.rows(&self.names, std::mem::take(&mut self.held));
        rows.iter().map(|row| self.encoded(row)).collect()
    }

    fn encoded(&self, row: &ShownRow) -> BytesMut {
        let mut out = BytesMut::new();
        if self.cover.binary {
            let mut writer = BinaryRowWriter::new(&mut out, self.kinds.len());
            for (value, kind) in row.iter().zip(&self.kinds) {
                match value {
                    None => writer.null(),
                    Some(value) if is_string(*kind) => writer.bytes(value),
                    Some(value) => writer.encoded(value),
                }
            }
        } else {
            let mut writer = TextRowWriter::new(&mut out);
            for value in row {
                match value {
                    None => writer.null(),
                    Some(value) => writer.value(value),
                }
            }
        }
        out
    }

    fn fields(&self, payload: &[u8]) -> Result<ShownRow, Failure> {
        let mut row = ShownRow::new();
        if self.cover.binary {
            for (field, kind) in binary_fields(payload, &self.kinds)?.zip(&self.kinds) {
                let field = field?;
                let bytes = match is_string(*kind) {
                    true => field.value.map(<[u8]>::to_vec),
                    false => field.value.map(|_| field.encoded.to_vec()),
                };
                row.push(bytes);
            }
        } else {
            for field in text_fields(payload) {
                row.push(field?.value.map(<[u8]>::to_vec));
            }
        }
        Ok(row)
    }

    fn open(&self, column: &Protected, stored: &[u8]) -> Result<Vec<u8>, Failure> {
        let refused = |code, reason: &str| {
            let message = format!("Column {}: {reason}", column.column);
            Failure::from(ErrPacket::new(code, *b"HY000", message))
        };
        let Some(sealed) = column.sealed() else {
            return Err(refused(1105, "it is not encrypted"));
        };
        let key = self.cover.keys.get(&sealed.key).ok_or_else(|| {
            let reason = format!(
                "this sidecar was not given the key {}: spec.access[].keys of the manifest decides \
                 who gets it",
                sealed.key
            );
            refused(1235, &reason)
        })?;
        let plain = key
            .open(&sealed.place, stored)
            .map_err(|error| refused(1105, &error.to_string()))?;
        let is_text = sealed
            .declared
            .as_ref()
            .is_some_and(|it| it.collation.is_some());
        match (is_text, self.cover.results) {
            (false, _) => Ok(plain),
            (true, Some(results)) => results.encode(plain).ok_or_else(no_charset),
            (true, None) => Err(no_charset()),
        }
    }
}

fn is_string(kind: ColumnType) -> bool {
    use ColumnType as T;
    matches!(
        kind,
        T::MYSQL_TYPE_VARCHAR
            | T::MYSQL_TYPE_VAR_STRING
            | T::MYSQL_TYPE_STRING
            | T::MYSQL_TYPE_ENUM
            | T::MYSQL_TYPE_SET
            | T::MYSQL_TYPE_JSON
            | T::MYSQL_TYPE_TINY_BLOB
            | T::MYSQL_TYPE_MEDIUM_BLOB
            | T::MYSQL_TYPE_LONG_BLOB
            | T::MYSQL_TYPE_BLOB
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_tag_is_left_in_a_text_about_a_duplicate() {
        let text = br"Duplicate entry '7-\xE3\x01ab' for key 't.uk'";
        assert_eq!(
            without_tags(text),
            "Duplicate entry '…' for key 't.uk'".as_bytes()
        );
        let other = b"Duplicate entry '7-ab' for key 't.uk'";
        assert_eq!(without_tags(other), other);
    }

    #[test]
    fn a_tag_is_written_as_mysql_does() {
        assert_eq!(escaped(&[0xE3, 0x41, 0x00, 0x7f]), br"\xE3A\x00\x7F");
    }

    #[test]
    fn texts_come_in_the_character_set_of_results() {
        let of = |collation, text: &str| ResultCharset { collation }.encode(text.into());
        assert_eq!(of(255, "ü😀"), Some("ü😀".into()));
        assert_eq!(of(33, "ü😀"), Some("ü?".into()));
        assert_eq!(of(8, "ab"), Some("ab".into()));
        assert_eq!(of(8, "ü"), None);
        assert_eq!(of(28, "ab"), None);
    }
}
