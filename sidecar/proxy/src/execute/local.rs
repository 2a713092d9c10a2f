//! Result sets with MySQL's own metadata that are made here.

use remora_protocol::{
    BinaryRowWriter, ColumnDef, ColumnFlags, ColumnType, EofPacket, OkPacket, StatusFlags,
    TextRowWriter,
};

use crate::frontend::Client;

/// A column of text as SHOW gives it, in one of the collations of utf8mb4.
pub(crate) fn text_column(name: &str, characters: u32, collation: u8) -> ColumnDef<'_> {
    ColumnDef {
        collation: u16::from(collation),
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
    ColumnDef {
        length,
        kind,
        flags,
        ..plain(name)
    }
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

/// A value of a row that is made here.
#[derive(Clone, Debug)]
pub(crate) enum Cell {
    /// NULL.
    Null,
    /// Text.
    Text(Vec<u8>),
    /// A number of a LONG column.
    Long(u32),
    /// A number of a LONGLONG column.
    LongLong(u64),
}

/// Adds a result set, with text or binary rows.
pub(crate) fn put_table(
    client: &mut Client,
    columns: &[ColumnDef<'_>],
    rows: &[Vec<Cell>],
    binary: bool,
    status: StatusFlags,
) {
    client.put_head(columns.len() as u64);
    let shown = if client.has_bare_results() {
        &[]
    } else {
        columns
    };
    for column in shown {
        client.put_with(|out| column.encode(out));
    }
    client.put_columns_end(&EofPacket {
        warnings: 0,
        status,
    });
    for row in rows {
        client.put_with(|out| {
            if binary {
                let mut writer = BinaryRowWriter::new(out, row.len());
                for cell in row {
                    match cell {
                        Cell::Null => writer.null(),
                        Cell::Text(text) => writer.bytes(text),
                        Cell::Long(number) => writer.encoded(&number.to_le_bytes()),
                        Cell::LongLong(number) => writer.encoded(&number.to_le_bytes()),
                    }
                }
            } else {
                let mut writer = TextRowWriter::new(out);
                for cell in row {
                    match cell {
                        Cell::Null => writer.null(),
                        Cell::Text(text) => writer.value(text),
                        Cell::Long(number) => writer.value(number.to_string().as_bytes()),
                        Cell::LongLong(number) => writer.value(number.to_string().as_bytes()),
                    }
                }
            }
        });
    }
    client.put_end(&OkPacket {
        status,
        ..OkPacket::default()
    });
}

const BINARY: u16 = 63;
/// MySQL's mark of values without a fixed number of decimals.
const NOT_FIXED: u8 = 31;
