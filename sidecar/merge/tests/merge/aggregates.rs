//! COUNT, SUM, MIN, MAX and AVG over parts.

use std::collections::BTreeMap;
use std::str::FromStr;

use bigdecimal::{BigDecimal, RoundingMode};
use proptest::prelude::*;
use remora_merge::{Function, MergeError, MergeSpec};
use remora_protocol::{ColumnFlags, ColumnType};

use crate::parts::{
    Row, Value, ascending, bigint, bytes, column, decimal, descending, double, grouped, int, key,
    limit, merge, rows, text, text_key,
};

const AVG: Function = Function::Avg { sum: 5, count: 6 };

proptest! {
    /// `SELECT g, COUNT(x), SUM(x), MIN(x), MAX(x), AVG(x) … GROUP BY g` of a DECIMAL(20,2),
    /// where each part gives its own groups, and the naive answer over all values.
    #[test]
    fn aggregates_are_those_of_all_values(parts in proptest::collection::vec(
        proptest::collection::vec(
            (proptest::option::of(0..4_i32), proptest::option::weighted(0.8, -9_999_999_999_i64..9_999_999_999)),
            0..12,
        ),
        1..5,
    )) {
        let columns = [int(), bigint(), decimal(2), decimal(2), decimal(2), decimal(2), bigint(), decimal(6)];
        // AVG is the last visible column; its sum and count are those that are shown anyway.
        let spec = grouped(8, &[key(0)], &[
            (1, Function::Count), (2, Function::Sum), (3, Function::Min(key(3))),
            (4, Function::Max(key(4))), (5, Function::Sum), (6, Function::Count), (7, AVG),
        ]);
        let encoded: Vec<Vec<Row>> = parts.iter().map(|part| answer(part)).collect();
        prop_assert_eq!(merge(&spec, &columns, &encoded).unwrap(), answer(&parts.concat()));
    }
}

/// What MySQL answers over these rows.
fn answer(rows: &[(Option<i32>, Option<i64>)]) -> Vec<Row> {
    let mut groups: BTreeMap<Option<i32>, Vec<BigDecimal>> = BTreeMap::new();
    for (group, value) in rows {
        let values = groups.entry(*group).or_default();
        values.extend(value.map(|cents| BigDecimal::new(cents.into(), 2)));
    }
    groups
        .into_iter()
        .map(|(group, values)| {
            let count = values.len();
            let sum = (count > 0).then(|| values.iter().sum::<BigDecimal>());
            let average = sum.as_ref().map(|sum| {
                (sum / BigDecimal::from(count as u64)).with_scale_round(6, RoundingMode::HalfUp)
            });
            let shown = |value: Option<BigDecimal>| value.map(|value| value.to_plain_string());
            vec![
                group.map(|group| group.to_string()),
                Some(count.to_string()),
                shown(sum.clone()),
                shown(values.iter().min().cloned()),
                shown(values.iter().max().cloned()),
                shown(sum),
                Some(count.to_string()),
                shown(average),
            ]
        })
        .collect()
}

fn scalar(aggregates: &[(usize, Function)]) -> MergeSpec {
    grouped(aggregates.len(), &[], aggregates)
}

#[test]
fn an_aggregate_without_groups_is_one_row_however_many_the_parts_give() {
    let spec = scalar(&[(0, Function::Count), (1, Function::Sum)]);
    let columns = [bigint(), decimal(0)];
    let parts = [rows(&[&["2", "3"], &["1", "-"]]), rows(&[&["0", "-"]])];
    assert_eq!(
        merge(&spec, &columns, &parts).unwrap(),
        rows(&[&["3", "3"]])
    );
    let empty = [rows(&[&["0", "-"]]), rows(&[&["0", "-"]])];
    assert_eq!(
        merge(&spec, &columns, &empty).unwrap(),
        rows(&[&["0", "-"]])
    );
}

/// Vitess #18477: an aggregate beside a literal over nothing.
#[test]
fn an_aggregate_over_no_rows_at_all_is_still_one_row() {
    let spec = scalar(&[
        (0, Function::Count),
        (1, Function::Sum),
        (2, Function::Max(key(2))),
    ]);
    let columns = [bigint(), decimal(0), int()];
    let nothing: [Vec<Row>; 2] = [Vec::new(), Vec::new()];
    assert_eq!(
        merge(&spec, &columns, &nothing).unwrap(),
        rows(&[&["0", "-", "-"]])
    );
    assert_eq!(
        merge(&grouped(1, &[key(0)], &[]), &[int()], &nothing).unwrap(),
        Vec::<Row>::new()
    );
}

/// Vitess #15625: AVG grouped by a column that is not selected gave the SUM.
#[test]
fn avg_divides_though_its_group_is_hidden() {
    let spec = MergeSpec {
        visible: 1,
        ..grouped(1, &[key(3)], &[(0, Function::Avg { sum: 1, count: 2 })])
    };
    let columns = [decimal(4), decimal(0), bigint(), int()];
    let parts = [
        rows(&[&["2.0000", "4", "2", "1"]]),
        rows(&[&["1.0000", "1", "1", "1"], &["-", "-", "0", "2"]]),
    ];
    assert_eq!(
        merge(&spec, &columns, &parts).unwrap(),
        rows(&[&["1.6667"], &["-"]])
    );
}

/// Vitess #13179: the second of two equal counts was wrong.
#[test]
fn an_aggregate_may_stand_twice() {
    let spec = scalar(&[(0, Function::Count), (1, Function::Count)]);
    let parts = [rows(&[&["2", "2"]]), rows(&[&["3", "3"]])];
    assert_eq!(
        merge(&spec, &[bigint(), bigint()], &parts).unwrap(),
        rows(&[&["5", "5"]])
    );
}

/// Vitess #16262, ShardingSphere #39574: the best groups of each shard are not the best of all.
#[test]
fn groups_are_ordered_by_their_merged_aggregate() {
    let spec = MergeSpec {
        resort: vec![descending(key(1)), ascending(key(0))],
        limit: limit(0, 2),
        ..grouped(2, &[key(0)], &[(1, Function::Count)])
    };
    let parts = [
        rows(&[&["1", "10"], &["2", "9"], &["3", "1"]]),
        rows(&[&["2", "9"], &["3", "9"], &["4", "10"]]),
    ];
    assert_eq!(
        merge(&spec, &[int(), bigint()], &parts).unwrap(),
        rows(&[&["2", "18"], &["1", "10"]])
    );
}

#[test]
fn groups_may_be_ordered_by_an_aggregate_that_is_not_shown() {
    // SELECT g … GROUP BY g ORDER BY MIN(name) DESC: the weight goes with the lowest name.
    let weighed = text_key(1, 2, 3);
    let spec = MergeSpec {
        resort: vec![descending(weighed)],
        ..grouped(1, &[key(0)], &[(1, Function::Min(weighed))])
    };
    let columns = [int(), text(), bytes(), text()];
    let collation = "utf8mb4_general_ci";
    let parts = [
        rows(&[&["1", "c", "C", collation], &["2", "b", "B", collation]]),
        rows(&[&["1", "A", "A", collation], &["3", "-", "-", collation]]),
    ];
    assert_eq!(
        merge(&spec, &columns, &parts).unwrap(),
        rows(&[&["2"], &["1"], &["3"]])
    );
}

#[test]
fn resorting_many_groups_keeps_only_what_the_limit_needs() {
    let spec = MergeSpec {
        resort: vec![descending(key(0))],
        limit: limit(1, 2),
        ..grouped(1, &[key(0)], &[])
    };
    let part: Vec<Row> = (0..5000).map(|n| vec![Some(n.to_string())]).collect();
    assert_eq!(
        merge(&spec, &[int()], &[part]).unwrap(),
        rows(&[&["4998"], &["4997"]])
    );
}

/// Pisanix took MIN and MAX for unsigned integers.
#[test]
fn lowest_and_highest_are_by_the_columns_type() {
    let extremes = |column, parts: &[Vec<Row>]| {
        let spec = scalar(&[(0, Function::Min(key(0))), (1, Function::Max(key(1)))]);
        merge(&spec, &[column, column], parts).unwrap()
    };
    assert_eq!(
        extremes(
            int(),
            &[
                rows(&[&["-5", "-1"]]),
                rows(&[&["-10", "-9"]]),
                rows(&[&["-", "-"]])
            ]
        ),
        rows(&[&["-10", "-1"]])
    );
    assert_eq!(
        extremes(
            decimal(1),
            &[rows(&[&["-0.5", "10.0"]]), rows(&[&["-0.4", "9.0"]])]
        ),
        rows(&[&["-0.5", "10.0"]])
    );
    assert_eq!(
        extremes(
            column(ColumnType::MYSQL_TYPE_DATE),
            &[
                rows(&[&["2024-01-09", "2024-01-10"]]),
                rows(&[&["1999-12-31", "2024-01-02"]])
            ]
        ),
        rows(&[&["1999-12-31", "2024-01-10"]])
    );
    assert_eq!(
        extremes(
            column(ColumnType::MYSQL_TYPE_FLOAT),
            &[rows(&[&["1.5", "9.5"]]), rows(&[&["-1.5", "10"]])]
        ),
        rows(&[&["-1.5", "10"]])
    );
}

#[test]
fn the_lowest_enum_is_the_lowest_text() {
    let choice = remora_merge::Column {
        flags: ColumnFlags::ENUM_FLAG,
        ..text()
    };
    let spec = grouped(1, &[], &[(0, Function::Min(text_key(0, 1, 2)))]);
    let parts = [
        rows(&[&["m", "M", "utf8mb4_general_ci"]]),
        rows(&[&["b", "B", "utf8mb4_general_ci"]]),
    ];
    assert_eq!(
        merge(&spec, &[choice, bytes(), text()], &parts).unwrap(),
        rows(&[&["b"]])
    );
}

#[test]
fn sums_of_doubles_are_written_as_mysql_writes_them() {
    let spec = grouped(
        2,
        &[],
        &[(0, Function::Sum), (1, Function::Avg { sum: 0, count: 2 })],
    );
    let columns = [double(), double(), bigint()];
    let parts = [rows(&[&["0.1", "0.1", "1"]]), rows(&[&["0.2", "0.2", "1"]])];
    assert_eq!(
        merge(&spec, &columns, &parts).unwrap(),
        rows(&[&["0.30000000000000004", "0.15000000000000002"]])
    );
}

#[test]
fn a_sum_beyond_its_type_is_an_error() {
    let largest = i64::MAX.to_string();
    let parts = [rows(&[&[&largest]]), rows(&[&["1"]])];
    let error = merge(&scalar(&[(0, Function::Count)]), &[bigint()], &parts).unwrap_err();
    assert_eq!(error, MergeError::OutOfRange("BIGINT"));
    let parts = [rows(&[&["1.7e308"]]), rows(&[&["1.7e308"]])];
    let error = merge(&scalar(&[(0, Function::Sum)]), &[double()], &parts).unwrap_err();
    assert_eq!((error.code(), error.sql_state()), (1690, *b"22003"));
}

#[test]
fn sums_of_the_longest_decimals_are_exact() {
    let nines: Value = Some("9".repeat(65));
    let parts = [vec![vec![nines.clone()]], vec![vec![nines.clone()]]];
    let merged = merge(&scalar(&[(0, Function::Sum)]), &[decimal(0)], &parts).unwrap();
    let expected = BigDecimal::from_str(&"9".repeat(65)).unwrap().double();
    assert_eq!(merged, [[Some(expected.to_plain_string())]]);
}
