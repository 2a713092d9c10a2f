//! Parts whose rows are written as MySQL's text, and a merge of them in either encoding.

use bytes::BytesMut;
use remora_merge::{
    Aggregate, Column, Format, Function, Group, Key, Limit, Limits, MergeError, MergeSpec, Merger,
    OrderKey, Step,
};
use remora_protocol::{
    BinaryRowWriter, ColumnFlags, ColumnType, TextRowWriter, binary_fields, text_fields,
};

pub(crate) const FORMATS: [Format; 2] = [Format::Text, Format::Binary];

/// A value as MySQL's text shows it.
pub(crate) type Value = Option<String>;
pub(crate) type Row = Vec<Value>;

pub(crate) fn column(kind: ColumnType) -> Column {
    let decimals = match kind {
        ColumnType::MYSQL_TYPE_FLOAT | ColumnType::MYSQL_TYPE_DOUBLE => 31,
        _ => 0,
    };
    Column {
        kind,
        flags: ColumnFlags::BINARY_FLAG,
        collation: 63,
        decimals,
    }
}

pub(crate) fn int() -> Column {
    column(ColumnType::MYSQL_TYPE_LONG)
}

pub(crate) fn bigint() -> Column {
    column(ColumnType::MYSQL_TYPE_LONGLONG)
}

pub(crate) fn unsigned() -> Column {
    Column {
        flags: ColumnFlags::UNSIGNED_FLAG,
        ..bigint()
    }
}

pub(crate) fn double() -> Column {
    column(ColumnType::MYSQL_TYPE_DOUBLE)
}

pub(crate) fn decimal(decimals: u8) -> Column {
    Column {
        decimals,
        ..column(ColumnType::MYSQL_TYPE_NEWDECIMAL)
    }
}

pub(crate) fn bytes() -> Column {
    column(ColumnType::MYSQL_TYPE_VAR_STRING)
}

pub(crate) fn text() -> Column {
    Column {
        kind: ColumnType::MYSQL_TYPE_VAR_STRING,
        flags: ColumnFlags::empty(),
        collation: 255,
        decimals: 0,
    }
}

/// A key that needs its value only.
pub(crate) fn key(value: usize) -> Key {
    Key {
        value,
        weight: None,
        collation: None,
    }
}

/// A key of text.
pub(crate) fn text_key(value: usize, weight: usize, collation: usize) -> Key {
    Key {
        value,
        weight: Some(weight),
        collation: Some(collation),
    }
}

pub(crate) fn ascending(key: Key) -> OrderKey {
    OrderKey {
        key,
        descending: false,
    }
}

pub(crate) fn descending(key: Key) -> OrderKey {
    OrderKey {
        key,
        descending: true,
    }
}

pub(crate) fn limit(offset: u64, count: u64) -> Option<Limit> {
    Some(Limit { offset, count })
}

/// A merge of rows without an order.
pub(crate) fn spec(visible: usize) -> MergeSpec {
    MergeSpec {
        visible,
        group: None,
        order: Vec::new(),
        resort: Vec::new(),
        limit: None,
    }
}

pub(crate) fn ordered(visible: usize, order: &[OrderKey]) -> MergeSpec {
    MergeSpec {
        order: order.to_vec(),
        ..spec(visible)
    }
}

/// Groups by `keys`, in their order.
pub(crate) fn grouped(visible: usize, keys: &[Key], aggregates: &[(usize, Function)]) -> MergeSpec {
    let aggregates = aggregates
        .iter()
        .map(|(column, function)| Aggregate {
            column: *column,
            function: *function,
        })
        .collect();
    MergeSpec {
        group: Some(Group {
            keys: keys.to_vec(),
            aggregates,
        }),
        order: keys.iter().copied().map(ascending).collect(),
        ..spec(visible)
    }
}

/// Rows written with `-` for NULL.
pub(crate) fn rows(rows: &[&[&str]]) -> Vec<Row> {
    rows.iter()
        .map(|row| {
            row.iter()
                .map(|value| (*value != "-").then(|| (*value).to_owned()))
                .collect()
        })
        .collect()
}

/// Merges the parts in one encoding, and gives the rows back as text.
pub(crate) fn merge_in(
    format: Format,
    spec: &MergeSpec,
    columns: &[Column],
    parts: &[Vec<Row>],
) -> Result<Vec<Row>, MergeError> {
    let definitions = vec![columns.to_vec(); parts.len()];
    let client = &columns[..spec.visible];
    let limits = Limits { bytes: 1 << 20 };
    let merger = Merger::new(spec, &definitions, client, format, limits)?;
    drive(merger, format, columns, client, parts)
}

/// Merges the parts in both encodings, which must agree.
pub(crate) fn merge(
    spec: &MergeSpec,
    columns: &[Column],
    parts: &[Vec<Row>],
) -> Result<Vec<Row>, MergeError> {
    let [text, binary] = FORMATS.map(|format| merge_in(format, spec, columns, parts));
    assert_eq!(text, binary);
    text
}

pub(crate) fn drive(
    mut merger: Merger,
    format: Format,
    columns: &[Column],
    client: &[Column],
    parts: &[Vec<Row>],
) -> Result<Vec<Row>, MergeError> {
    let mut left: Vec<_> = parts.iter().map(|rows| rows.iter()).collect();
    let mut given = Vec::new();
    let mut out = BytesMut::new();
    loop {
        match merger.poll(&mut out)? {
            Step::NeedRow(part) => match left[part].next() {
                Some(row) => merger.push(part, &encode(format, columns, row))?,
                None => merger.finish(part),
            },
            Step::Row => given.push(decode(format, client, &out.split())),
            Step::Done => {
                assert!(out.is_empty());
                return Ok(given);
            }
        }
    }
}

pub(crate) fn encode(format: Format, columns: &[Column], row: &[Value]) -> BytesMut {
    assert_eq!(columns.len(), row.len());
    let mut out = BytesMut::new();
    match format {
        Format::Text => {
            let mut writer = TextRowWriter::new(&mut out);
            for value in row {
                match value {
                    Some(value) => writer.value(value.as_bytes()),
                    None => writer.null(),
                }
            }
        }
        Format::Binary => {
            let mut writer = BinaryRowWriter::new(&mut out, columns.len());
            for (column, value) in columns.iter().zip(row) {
                match value {
                    Some(value) => binary(&mut writer, column, value),
                    None => writer.null(),
                }
            }
        }
    }
    out
}

fn binary(writer: &mut BinaryRowWriter<'_>, column: &Column, value: &str) {
    let integer = || value.parse::<i128>().unwrap().to_le_bytes();
    match column.kind {
        ColumnType::MYSQL_TYPE_TINY => writer.encoded(&integer()[..1]),
        ColumnType::MYSQL_TYPE_YEAR => writer.encoded(&integer()[..2]),
        ColumnType::MYSQL_TYPE_LONG => writer.encoded(&integer()[..4]),
        ColumnType::MYSQL_TYPE_LONGLONG => writer.encoded(&integer()[..8]),
        ColumnType::MYSQL_TYPE_DOUBLE => {
            writer.encoded(&value.parse::<f64>().unwrap().to_le_bytes());
        }
        ColumnType::MYSQL_TYPE_FLOAT => {
            writer.encoded(&value.parse::<f32>().unwrap().to_le_bytes());
        }
        ColumnType::MYSQL_TYPE_DATE | ColumnType::MYSQL_TYPE_DATETIME => {
            let numbers = numbers(value);
            let mut bytes = vec![
                4,
                numbers[0] as u8,
                (numbers[0] / 256) as u8,
                numbers[1] as u8,
                numbers[2] as u8,
            ];
            if let [_, _, _, hour, minute, second, micros] = numbers[..] {
                bytes[0] = 11;
                bytes.extend([hour as u8, minute as u8, second as u8]);
                bytes.extend(micros.to_le_bytes());
            }
            writer.encoded(&bytes);
        }
        ColumnType::MYSQL_TYPE_TIME => {
            let [hours, minutes, seconds, micros] = numbers(value)[..] else {
                panic!("{value}")
            };
            let mut bytes = vec![12, u8::from(value.starts_with('-'))];
            bytes.extend((hours / 24).to_le_bytes());
            bytes.extend([(hours % 24) as u8, minutes as u8, seconds as u8]);
            bytes.extend(micros.to_le_bytes());
            writer.encoded(&bytes);
        }
        _ => writer.bytes(value.as_bytes()),
    }
}

/// The numbers in a date or time; tests write fractions with six digits.
fn numbers(value: &str) -> Vec<u32> {
    value
        .split(['-', ' ', ':', '.'])
        .filter(|part| !part.is_empty())
        .map(|part| part.parse().unwrap())
        .collect()
}

pub(crate) fn decode(format: Format, columns: &[Column], row: &[u8]) -> Row {
    let plain = |value: &[u8]| String::from_utf8(value.to_vec()).unwrap();
    match format {
        Format::Text => {
            let row: Row = text_fields(row)
                .map(|field| field.unwrap().value.map(plain))
                .collect();
            assert_eq!(row.len(), columns.len());
            row
        }
        Format::Binary => {
            let kinds: Vec<_> = columns.iter().map(|column| column.kind).collect();
            let fields = binary_fields(row, &kinds)
                .unwrap()
                .map(Result::unwrap)
                .collect::<Vec<_>>();
            let end = fields
                .last()
                .map_or(row.len(), |last| last.offset + last.encoded.len());
            assert_eq!(end, row.len());
            let value = |(field, column): (&remora_protocol::Field<'_>, &Column)| {
                field.value.map(|value| shown(column, value))
            };
            fields.iter().zip(columns).map(value).collect()
        }
    }
}

/// A binary value as text would show it.
fn shown(column: &Column, value: &[u8]) -> String {
    let mut wide = [0; 8];
    let take = value.len().min(8);
    wide[..take].copy_from_slice(&value[..take]);
    let integer = u64::from_le_bytes(wide);
    let signed = !column.flags.contains(ColumnFlags::UNSIGNED_FLAG);
    let number = |at: usize| value.get(at).copied().map_or(0, u32::from);
    let micros = |at: usize| {
        (0..4)
            .map(|byte| number(at + byte) << (8 * byte))
            .sum::<u32>()
    };
    match column.kind {
        ColumnType::MYSQL_TYPE_TINY if signed => (integer as i8).to_string(),
        ColumnType::MYSQL_TYPE_LONG if signed => (integer as i32).to_string(),
        ColumnType::MYSQL_TYPE_LONGLONG if signed => (integer as i64).to_string(),
        ColumnType::MYSQL_TYPE_TINY
        | ColumnType::MYSQL_TYPE_YEAR
        | ColumnType::MYSQL_TYPE_LONG
        | ColumnType::MYSQL_TYPE_LONGLONG => integer.to_string(),
        ColumnType::MYSQL_TYPE_DOUBLE => f64::from_bits(integer).to_string(),
        ColumnType::MYSQL_TYPE_FLOAT => f32::from_bits(integer as u32).to_string(),
        ColumnType::MYSQL_TYPE_DATE => {
            format!(
                "{:04}-{:02}-{:02}",
                number(0) + 256 * number(1),
                number(2),
                number(3)
            )
        }
        ColumnType::MYSQL_TYPE_DATETIME => format!(
            "{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:06}",
            number(0) + 256 * number(1),
            number(2),
            number(3),
            number(4),
            number(5),
            number(6),
            micros(7)
        ),
        ColumnType::MYSQL_TYPE_TIME => format!(
            "{}{:02}:{:02}:{:02}.{:06}",
            if number(0) == 1 { "-" } else { "" },
            number(1) * 24 + number(5),
            number(6),
            number(7),
            micros(8)
        ),
        _ => String::from_utf8(value.to_vec()).unwrap(),
    }
}
