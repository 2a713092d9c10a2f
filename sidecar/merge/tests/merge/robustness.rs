//! Bytes that are no rows end the merge, and nothing else.

use bytes::BytesMut;
use proptest::prelude::*;
use proptest::sample::select;
use remora_merge::{Column, Function, Limits, Merger, Step};
use remora_protocol::{ColumnFlags, ColumnType};

use crate::parts::{FORMATS, grouped, key, text_key};

const KINDS: [ColumnType; 12] = [
    ColumnType::MYSQL_TYPE_TINY,
    ColumnType::MYSQL_TYPE_LONGLONG,
    ColumnType::MYSQL_TYPE_YEAR,
    ColumnType::MYSQL_TYPE_NEWDECIMAL,
    ColumnType::MYSQL_TYPE_DOUBLE,
    ColumnType::MYSQL_TYPE_DATE,
    ColumnType::MYSQL_TYPE_TIMESTAMP,
    ColumnType::MYSQL_TYPE_TIME,
    ColumnType::MYSQL_TYPE_BIT,
    ColumnType::MYSQL_TYPE_BLOB,
    ColumnType::MYSQL_TYPE_NULL,
    ColumnType::MYSQL_TYPE_JSON,
];

/// A row whose frame is right now and then, so that its values are looked into.
fn payload() -> impl Strategy<Value = Vec<u8>> {
    let value = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..12),
        "[-0-9.:e ]{0,12}".prop_map(String::into_bytes),
    ];
    let text = proptest::collection::vec(proptest::option::of(value), 3).prop_map(|row| {
        row.into_iter()
            .flat_map(|value| match value {
                Some(value) => [vec![value.len() as u8], value].concat(),
                None => vec![0xFB],
            })
            .collect()
    });
    let binary = proptest::collection::vec(any::<u8>(), 1..40).prop_map(|mut row| {
        row[0] = 0;
        row
    });
    prop_oneof![text, binary, proptest::collection::vec(any::<u8>(), 0..40)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn no_bytes_make_it_panic(
        kinds in proptest::collection::vec((select(&KINDS[..]), any::<bool>(), 0..3_u8), 3),
        payloads in proptest::collection::vec(payload(), 1..6),
        weighed: bool,
        sums: bool,
    ) {
        let columns: Vec<_> = kinds
            .into_iter()
            .map(|(kind, unsigned, decimals)| Column {
                kind,
                flags: if unsigned { ColumnFlags::UNSIGNED_FLAG } else { ColumnFlags::BINARY_FLAG },
                collation: 63,
                decimals,
            })
            .collect();
        let by = if weighed { text_key(0, 1, 2) } else { key(0) };
        let function = if sums { Function::Avg { sum: 1, count: 2 } } else { Function::Max(key(1)) };
        let spec = grouped(2, &[by], &[(1, function)]);
        for format in FORMATS {
            let parts = vec![columns.clone(); 2];
            let Ok(mut merger) = Merger::new(&spec, &parts, &columns[..2], format, Limits { bytes: 1000 }) else {
                continue;
            };
            let mut left = payloads.iter();
            let mut out = BytesMut::new();
            loop {
                match merger.poll(&mut out) {
                    Ok(Step::NeedRow(part)) => match left.next() {
                        Some(row) if merger.push(part, row).is_ok() => {}
                        Some(_) => break,
                        None => merger.finish(part),
                    },
                    Ok(Step::Row) => {}
                    Ok(Step::Done) | Err(_) => break,
                }
            }
        }
    }
}
