//! DISTINCT, and GROUP BY without aggregates: equal rows become one.

use remora_merge::MergeSpec;

use crate::parts::{
    Row, ascending, bytes, decimal, grouped, int, key, limit, merge, rows, text, text_key,
};

fn words(collation: &str, values: &[&str]) -> Vec<Row> {
    let row = |value: &&str| {
        vec![
            Some((*value).to_owned()),
            Some(value.to_uppercase()),
            Some(collation.to_owned()),
        ]
    };
    values.iter().map(row).collect()
}

/// ShardingSphere #2687, #26688: strings equal by their collation were two groups.
#[test]
fn texts_that_their_collation_holds_equal_are_one() {
    let parts = [
        words("utf8mb4_general_ci", &["apple", "Pear"]),
        words("utf8mb4_general_ci", &["APPLE", "pear", "plum"]),
    ];
    let spec = grouped(1, &[text_key(0, 1, 2)], &[]);
    assert_eq!(
        merge(&spec, &[text(), bytes(), text()], &parts).unwrap(),
        rows(&[&["apple"], &["Pear"], &["plum"]])
    );
}

#[test]
fn trailing_spaces_make_a_difference_only_where_nothing_pads() {
    let spec = grouped(1, &[text_key(0, 1, 2)], &[]);
    let columns = [text(), bytes(), text()];
    let merged = |collation: &str| {
        let parts = [
            words(collation, &["a", "b  "]),
            words(collation, &["a ", "b"]),
        ];
        merge(&spec, &columns, &parts).unwrap().len()
    };
    assert_eq!(merged("latin1_swedish_ci"), 2);
    let parts = [
        words("utf8mb4_0900_ai_ci", &["a", "b  "]),
        words("utf8mb4_0900_ai_ci", &["a ", "b"]),
    ];
    assert_eq!(merge(&spec, &columns, &parts).unwrap().len(), 4);
}

/// ShardingSphere #22170: NULL keys made wrong groups.
#[test]
fn null_keys_are_one_group() {
    let parts = [rows(&[&["-"], &["-"], &["1"]]), rows(&[&["-"], &["1"]])];
    assert_eq!(
        merge(&grouped(1, &[key(0)], &[]), &[int()], &parts).unwrap(),
        rows(&[&["-"], &["1"]])
    );
}

/// ShardingSphere #37857: rows distinct on each shard were given twice.
#[test]
fn rows_of_several_columns_are_distinct_over_all_parts() {
    let parts = [
        rows(&[&["1", "1.50"], &["1", "2.00"], &["2", "-"]]),
        rows(&[&["1", "1.50"], &["2", "-"], &["2", "0.00"]]),
    ];
    let spec = MergeSpec {
        limit: limit(0, 3),
        ..grouped(2, &[key(0), key(1)], &[])
    };
    assert_eq!(
        merge(&spec, &[int(), decimal(2)], &parts).unwrap(),
        rows(&[&["1", "1.50"], &["1", "2.00"], &["2", "-"]])
    );
}

/// ShardingSphere #20081: GROUP BY was lost when DISTINCT had an ORDER BY of its own.
#[test]
fn the_order_may_name_the_keys_in_another_sequence() {
    let parts = [
        rows(&[&["2", "1"], &["1", "2"]]),
        rows(&[&["1", "1"], &["1", "2"], &["2", "2"]]),
    ];
    let spec = MergeSpec {
        order: vec![ascending(key(1)), ascending(key(0))],
        ..grouped(2, &[key(0), key(1)], &[])
    };
    assert_eq!(
        merge(&spec, &[int(), int()], &parts).unwrap(),
        rows(&[&["1", "1"], &["2", "1"], &["1", "2"], &["2", "2"]])
    );
}
