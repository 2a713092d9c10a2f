//! ORDER BY over parts that are each in order.

use std::cmp::Ordering;
use std::str::FromStr;

use bigdecimal::BigDecimal;
use proptest::prelude::*;
use proptest::sample::select;
use remora_merge::{Column, Key, OrderKey};
use remora_protocol::ColumnType;

use crate::parts::{
    Row, Value, ascending, bigint, bytes, column, decimal, descending, double, int, key, merge,
    ordered, rows, text, text_key, unsigned,
};

/// What a column holds, and how its values compare by MySQL's rules.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Signed,
    Unsigned,
    Decimal,
    Double,
    Year,
    Date,
    DateTime,
    Time,
    Bit,
    Bytes,
    /// With its weights in the next column, and its collation in the one after that.
    Text,
}

impl Kind {
    fn columns(self) -> Vec<Column> {
        vec![match self {
            Self::Signed => int(),
            Self::Unsigned => unsigned(),
            Self::Decimal => decimal(2),
            Self::Double => double(),
            Self::Year => column(ColumnType::MYSQL_TYPE_YEAR),
            Self::Date => column(ColumnType::MYSQL_TYPE_DATE),
            Self::DateTime => column(ColumnType::MYSQL_TYPE_DATETIME),
            Self::Time => column(ColumnType::MYSQL_TYPE_TIME),
            Self::Bit => column(ColumnType::MYSQL_TYPE_BIT),
            Self::Bytes => bytes(),
            Self::Text => return vec![text(), bytes(), text()],
        }]
    }

    fn key(self, value: usize) -> Key {
        match self {
            Self::Text => text_key(value, value + 1, value + 2),
            _ => key(value),
        }
    }

    fn value(self) -> BoxedStrategy<String> {
        match self {
            Self::Signed => prop_oneof![(-5..5_i32), any::<i32>()]
                .prop_map(|n| n.to_string())
                .boxed(),
            Self::Unsigned => prop_oneof![(0..5_u64), any::<u64>()]
                .prop_map(|n| n.to_string())
                .boxed(),
            Self::Decimal => {
                prop_oneof!["-?[0-3]\\.[0-2]0", "-?[1-9][0-9]{0,62}\\.[0-9]{2}"].boxed()
            }
            Self::Double => prop_oneof![
                (-2..3_i32).prop_map(|n| f64::from(n) / 2.0),
                any::<f64>().prop_filter("MySQL has finite numbers only", |f| f.is_finite()),
            ]
            .prop_map(|n| n.to_string())
            .boxed(),
            Self::Year => (1901..1905_u16).prop_map(|n| n.to_string()).boxed(),
            Self::Date => (0..3_u16, 0..13_u8, 0..32_u8)
                .prop_map(|(y, m, d)| format!("{:04}-{m:02}-{d:02}", y * 2024))
                .boxed(),
            Self::DateTime => (1..13_u8, 0..3_u8, 0..3_u32)
                .prop_map(|(m, h, f)| format!("2024-{m:02}-01 {h:02}:00:59.{f:06}"))
                .boxed(),
            Self::Time => (any::<bool>(), 0..839_u16, 0..60_u8, 1..9_u32)
                .prop_map(|(negative, h, m, f)| {
                    format!("{}{h:02}:{m:02}:00.{f:06}", if negative { "-" } else { "" })
                })
                .boxed(),
            Self::Bit => "[\\x00-\\x7f]{2}".boxed(),
            Self::Bytes => "[\\x00-\\x02]{0,10}".boxed(),
            // What trailing spaces do depends on the characters below and above a space.
            Self::Text => "[ \\x1f!aA]{0,10}".boxed(),
        }
    }

    /// The value's columns.
    fn shown(self, value: Option<String>) -> Vec<Value> {
        match (self, value) {
            (Self::Text, value) => {
                let weight = value.as_ref().map(|value| value.to_uppercase());
                vec![value, weight, Some("latin1_swedish_ci".to_owned())]
            }
            (_, value) => vec![value],
        }
    }

    fn compare(self, a: &str, b: &str) -> Ordering {
        fn number(text: &str) -> BigDecimal {
            BigDecimal::from_str(text).unwrap()
        }
        match self {
            Self::Signed | Self::Unsigned | Self::Decimal | Self::Double | Self::Year => {
                number(a).cmp(&number(b))
            }
            Self::Date | Self::DateTime | Self::Bytes | Self::Bit => a.cmp(b),
            Self::Time => {
                let micros = |text: &str| {
                    let sign = if text.starts_with('-') { -1_i64 } else { 1 };
                    let digits = text.trim_start_matches('-').replace([':', '.'], "");
                    sign * digits.parse::<i64>().unwrap()
                };
                micros(a).cmp(&micros(b))
            }
            Self::Text => {
                let padded = |text: &str| format!("{:<20}", text.to_uppercase());
                padded(a).cmp(&padded(b))
            }
        }
    }
}

const KINDS: [Kind; 11] = [
    Kind::Signed,
    Kind::Unsigned,
    Kind::Decimal,
    Kind::Double,
    Kind::Year,
    Kind::Date,
    Kind::DateTime,
    Kind::Time,
    Kind::Bit,
    Kind::Bytes,
    Kind::Text,
];

/// One to three keys with their directions, and parts of rows that have their values.
type Case = (Vec<(Kind, bool)>, Vec<Vec<Vec<Option<String>>>>);

fn case() -> impl Strategy<Value = Case> {
    proptest::collection::vec((select(&KINDS[..]), any::<bool>()), 1..4).prop_flat_map(|keys| {
        let row: Vec<_> = keys
            .iter()
            .map(|(kind, _)| proptest::option::weighted(0.85, kind.value()))
            .collect();
        let part = proptest::collection::vec(row, 0..12);
        (Just(keys), proptest::collection::vec(part, 1..6))
    })
}

fn compare(keys: &[(Kind, bool)], a: &[Option<String>], b: &[Option<String>]) -> Ordering {
    for ((kind, descending), (a, b)) in keys.iter().zip(a.iter().zip(b)) {
        let ordering = match (a, b) {
            (Some(a), Some(b)) => kind.compare(a, b),
            (a, b) => a.is_some().cmp(&b.is_some()),
        };
        if ordering.is_ne() {
            return if *descending {
                ordering.reverse()
            } else {
                ordering
            };
        }
    }
    Ordering::Equal
}

proptest! {
    #[test]
    fn merging_sorted_parts_is_sorting_all_their_rows((keys, mut parts) in case()) {
        // The visible column numbers the rows; the keys are hidden.
        let mut columns = vec![bigint()];
        let mut order: Vec<OrderKey> = Vec::new();
        for (kind, down) in &keys {
            let key = kind.key(columns.len());
            order.push(if *down { descending(key) } else { ascending(key) });
            columns.extend(kind.columns());
        }
        let mut all = Vec::new();
        let mut encoded: Vec<Vec<Row>> = Vec::new();
        for part in &mut parts {
            part.sort_by(|a, b| compare(&keys, a, b));
            let mut rows = Vec::new();
            for row in part.iter() {
                let mut shown = vec![Some(all.len().to_string())];
                for ((kind, _), value) in keys.iter().zip(row) {
                    shown.extend(kind.shown(value.clone()));
                }
                rows.push(shown);
                all.push(row.clone());
            }
            encoded.push(rows);
        }
        let mut expected: Vec<_> = (0..all.len()).collect();
        expected.sort_by(|a, b| compare(&keys, &all[*a], &all[*b]));
        let expected: Vec<_> = expected.iter().map(|row| vec![Some(row.to_string())]).collect();
        prop_assert_eq!(merge(&ordered(1, &order), &columns, &encoded).unwrap(), expected);
    }
}

#[test]
fn null_is_first_when_ascending_and_last_when_descending() {
    let up = [rows(&[&["-"], &["-1"]]), rows(&[&["-"], &["0"]])];
    assert_eq!(
        merge(&ordered(1, &[ascending(key(0))]), &[int()], &up).unwrap(),
        rows(&[&["-"], &["-"], &["-1"], &["0"]])
    );
    let down = [rows(&[&["-1"], &["-"]]), rows(&[&["0"], &["-"]])];
    assert_eq!(
        merge(&ordered(1, &[descending(key(0))]), &[int()], &down).unwrap(),
        rows(&[&["0"], &["-1"], &["-"], &["-"]])
    );
}

/// Vitess #12541: strings that differ behind their third character came in the wrong order.
#[test]
fn long_texts_are_compared_to_their_end() {
    let order = ordered(1, &[ascending(text_key(0, 1, 2))]);
    let columns = [text(), bytes(), text()];
    let row = |value: &str| {
        let weight: String = value.chars().flat_map(|c| ['\x1c', c]).collect();
        vec![
            Some(value.to_owned()),
            Some(weight),
            Some("utf8mb4_0900_ai_ci".to_owned()),
        ]
    };
    let parts = [
        vec![row("abcdefgha"), row("abcdefghc")],
        vec![row("abcdefgh"), row("abcdefghb")],
    ];
    let merged = merge(&order, &columns, &parts).unwrap();
    assert_eq!(
        merged.concat().into_iter().flatten().collect::<Vec<_>>(),
        ["abcdefgh", "abcdefgha", "abcdefghb", "abcdefghc"]
    );
}

/// ShardingSphere #38699: ORDER BY of a VARBINARY failed.
#[test]
fn binary_strings_order_by_their_bytes_and_length() {
    let parts = [rows(&[&["a\0"], &["b"]]), rows(&[&["a"], &["a\0\0"]])];
    assert_eq!(
        merge(&ordered(1, &[ascending(key(0))]), &[bytes()], &parts).unwrap(),
        rows(&[&["a"], &["a\0"], &["a\0\0"], &["b"]])
    );
}

/// Mycat #1161: descending order was ignored once there was enough data.
#[test]
fn a_descending_merge_of_many_rows_stays_descending() {
    let part = |from: i32| {
        (0..500)
            .map(|n| vec![Some((10_000 - n * 2 - from).to_string())])
            .collect::<Vec<Row>>()
    };
    let merged = merge(
        &ordered(1, &[descending(key(0))]),
        &[int()],
        &[part(0), part(1)],
    )
    .unwrap();
    let expected: Vec<Row> = (0..1000)
        .map(|n| vec![Some((10_000 - n).to_string())])
        .collect();
    assert_eq!(merged, expected);
}

/// ShardingSphere #28414: a DATETIME's fraction was lost.
#[test]
fn fractions_of_seconds_order_and_survive() {
    let datetime = Column {
        decimals: 6,
        ..column(ColumnType::MYSQL_TYPE_DATETIME)
    };
    let parts = [
        rows(&[&["2024-07-08 00:00:00.000002"]]),
        rows(&[
            &["2024-07-08 00:00:00.000001"],
            &["2024-07-08 00:00:00.000003"],
        ]),
    ];
    assert_eq!(
        merge(&ordered(1, &[ascending(key(0))]), &[datetime], &parts).unwrap(),
        rows(&[
            &["2024-07-08 00:00:00.000001"],
            &["2024-07-08 00:00:00.000002"],
            &["2024-07-08 00:00:00.000003"],
        ])
    );
}
