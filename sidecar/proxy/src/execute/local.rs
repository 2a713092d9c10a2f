//! Result sets with MySQL's own metadata that are made here.

use remora_protocol::{
    ColumnDef, ColumnFlags, ColumnType, EofPacket, OkPacket, StatusFlags, TextRowWriter, put_lenenc,
};

use crate::frontend::Client;

/// A column of text as SHOW gives it.
pub(crate) fn text_column(name: &str, characters: u32) -> ColumnDef<'_> {
    ColumnDef {
        collation: UTF8MB4,
        length: characters * 4,
        kind: ColumnType::MYSQL_TYPE_VAR_STRING,
        flags: ColumnFlags::NOT_NULL_FLAG,
        decimals: NOT_FIXED,
        ..plain(name)
    }
}

/// A column of whole numbers as SHOW gives it.
pub(crate) fn number_column(
    name: &str,
    kind: ColumnType,
    length: u32,
    flags: ColumnFlags,
) -> ColumnDef<'_> {
    let flags = flags | ColumnFlags::UNSIGNED_FLAG | ColumnFlags::BINARY_FLAG;
    ColumnDef { length, kind, flags, ..plain(name) }
}

fn plain(name: &str) -> ColumnDef<'_> {
    ColumnDef {
        catalog: b"def",
        schema: b"",
        table: b"",
        org_table: b"",
        name: name.as_bytes(),
        org_name: b"",
        collation: BINARY,
        length: 0,
        kind: ColumnType::MYSQL_TYPE_LONGLONG,
        flags: ColumnFlags::empty(),
        decimals: 0,
        default: None,
    }
}

/// Adds a result set of text rows.
pub(crate) fn put_table(
    client: &mut Client,
    columns: &[ColumnDef<'_>],
    rows: &[Vec<Vec<u8>>],
    status: StatusFlags,
) {
    client.put_with(|out| put_lenenc(columns.len() as u64, out));
    for column in columns {
        client.put_with(|out| column.encode(out));
    }
    client.put_columns_end(&EofPacket { warnings: 0, status });
    for row in rows {
        client.put_with(|out| {
            let mut writer = TextRowWriter::new(out);
            for value in row {
                writer.value(value);
            }
        });
    }
    client.put_end(&OkPacket { status, ..OkPacket::default() });
}

/// utf8mb4_0900_ai_ci.
const UTF8MB4: u16 = 255;
const BINARY: u16 = 63;
/// MySQL's mark of values without a fixed number of decimals.
const NOT_FIXED: u8 = 31;
