//! Which rows are asked for and when, LIMIT, and how much is held.

use bytes::BytesMut;
use remora_merge::{Format, Limits, MergeError, MergeSpec, Merger, Step};

use crate::parts::{
    Row, ascending, bigint, encode, grouped, int, key, limit, merge, merge_in, ordered, rows, spec,
    text,
};

fn merger(spec: &MergeSpec, parts: usize, bytes: usize) -> Merger {
    let columns = vec![vec![int()]; parts];
    Merger::new(spec, &columns, &[int()], Format::Text, Limits { bytes }).unwrap()
}

fn row(number: i32) -> BytesMut {
    encode(Format::Text, &[int()], &[Some(number.to_string())])
}

#[test]
fn without_an_order_rows_come_in_the_order_of_the_parts() {
    let parts = [rows(&[&["3"], &["1"]]), rows(&[]), rows(&[&["2"]])];
    assert_eq!(
        merge(&spec(1), &[int()], &parts).unwrap(),
        rows(&[&["3"], &["1"], &["2"]])
    );
}

/// Mycat #1018: LIMIT without ORDER BY gave other rows each time.
#[test]
fn a_limit_without_an_order_leaves_later_parts_unread() {
    let spec = MergeSpec {
        limit: limit(1, 1),
        ..spec(1)
    };
    let mut merger = merger(&spec, 2, 1000);
    let mut out = BytesMut::new();
    assert_eq!(merger.poll(&mut out), Ok(Step::NeedRow(0)));
    merger.push(0, &row(1)).unwrap();
    assert_eq!(merger.poll(&mut out), Ok(Step::NeedRow(0)));
    merger.push(0, &row(2)).unwrap();
    assert_eq!(merger.poll(&mut out), Ok(Step::Row));
    assert_eq!(out, row(2));
    assert_eq!(merger.poll(&mut out), Ok(Step::Done));
    assert_eq!(merger.poll(&mut out), Ok(Step::Done));
}

#[test]
fn a_part_is_asked_only_after_its_row_was_taken() {
    let mut merger = merger(&ordered(1, &[ascending(key(0))]), 3, 1000);
    let mut out = BytesMut::new();
    for (part, number) in [(0, 5), (1, 1), (2, 3)] {
        assert_eq!(merger.poll(&mut out), Ok(Step::NeedRow(part)));
        merger.push(part, &row(number)).unwrap();
    }
    assert_eq!(merger.poll(&mut out), Ok(Step::Row));
    assert_eq!(out.split(), row(1));
    assert_eq!(merger.poll(&mut out), Ok(Step::NeedRow(1)));
    assert_eq!(merger.poll(&mut out), Ok(Step::NeedRow(1)));
    merger.push(1, &row(9)).unwrap();
    assert_eq!(
        merger.push(1, &row(10)),
        Err(MergeError::Unasked { part: 1 })
    );
    assert_eq!(merger.poll(&mut out), Ok(Step::Row));
    assert_eq!(out.split(), row(3));
    assert_eq!(merger.poll(&mut out), Ok(Step::NeedRow(2)));
    merger.finish(2);
    assert_eq!(merger.poll(&mut out), Ok(Step::Row));
    assert_eq!(out.split(), row(5));
    assert_eq!(merger.poll(&mut out), Ok(Step::NeedRow(0)));
    merger.finish(0);
    assert_eq!(merger.poll(&mut out), Ok(Step::Row));
    assert_eq!(merger.poll(&mut out), Ok(Step::NeedRow(1)));
    merger.finish(1);
    assert_eq!(merger.poll(&mut out), Ok(Step::Done));
}

#[test]
fn limit_and_offset_count_merged_rows() {
    let parts = [rows(&[&["1"], &["4"]]), rows(&[&["2"], &["3"]]), rows(&[])];
    let with = |offset, count| {
        let spec = MergeSpec {
            limit: limit(offset, count),
            ..ordered(1, &[ascending(key(0))])
        };
        merge(&spec, &[int()], &parts)
            .unwrap()
            .concat()
            .into_iter()
            .flatten()
            .collect::<String>()
    };
    assert_eq!(with(0, 2), "12");
    assert_eq!(with(1, 2), "23");
    assert_eq!(with(3, 100), "4");
    assert_eq!(with(4, 1), "");
    assert_eq!(with(u64::MAX, u64::MAX), "");
    assert_eq!(with(0, u64::MAX), "1234");
}

#[test]
fn limit_zero_reads_nothing() {
    let spec = MergeSpec {
        limit: limit(0, 0),
        ..ordered(1, &[ascending(key(0))])
    };
    assert_eq!(
        merger(&spec, 2, 1000).poll(&mut BytesMut::new()),
        Ok(Step::Done)
    );
}

/// ShardingSphere #10806: LIMIT counted rows where it should count groups.
#[test]
fn limit_counts_groups_not_their_rows() {
    let parts = [
        rows(&[&["1"], &["1"], &["2"]]),
        rows(&[&["1"], &["2"], &["3"]]),
    ];
    let spec = MergeSpec {
        limit: limit(1, 1),
        ..grouped(1, &[key(0)], &[])
    };
    assert_eq!(merge(&spec, &[int()], &parts).unwrap(), rows(&[&["2"]]));
}

#[test]
fn rows_beyond_the_byte_limit_are_an_error() {
    let mut merger = merger(&ordered(1, &[ascending(key(0))]), 2, 8);
    let mut out = BytesMut::new();
    assert_eq!(merger.poll(&mut out), Ok(Step::NeedRow(0)));
    merger.push(0, &row(12345)).unwrap();
    assert_eq!(merger.poll(&mut out), Ok(Step::NeedRow(1)));
    let error = merger.push(1, &row(12345)).unwrap_err();
    assert_eq!(error, MergeError::TooLarge { limit: 8 });
    assert_eq!((error.code(), error.sql_state()), (1038, *b"HY001"));
}

#[test]
fn groups_that_must_be_sorted_are_held_within_the_limit() {
    let groups: Vec<Row> = (0..1000).map(|n| vec![Some(n.to_string())]).collect();
    let by_itself = [remora_merge::OrderKey {
        key: key(0),
        descending: true,
    }];
    let spec = MergeSpec {
        resort: by_itself.to_vec(),
        ..grouped(1, &[key(0)], &[])
    };
    let run = |bytes: usize| {
        let columns = [vec![int()]];
        let merger =
            Merger::new(&spec, &columns, &[int()], Format::Text, Limits { bytes }).unwrap();
        crate::parts::drive(
            merger,
            Format::Text,
            &[int()],
            &[int()],
            std::slice::from_ref(&groups),
        )
    };
    assert_eq!(run(10_000), Err(MergeError::TooLarge { limit: 10_000 }));
    let mut expected = groups.clone();
    expected.reverse();
    assert_eq!(run(1_000_000).unwrap(), expected);
}

#[test]
fn a_merge_holds_no_more_than_its_heads_however_many_rows_pass() {
    let part = |from: i32| {
        (0..2000)
            .map(|n| vec![Some((n * 2 + from).to_string())])
            .collect::<Vec<Row>>()
    };
    let parts = [part(0), part(1)];
    let columns = vec![vec![int()]; 2];
    let spec = ordered(1, &[ascending(key(0))]);
    let merger = Merger::new(
        &spec,
        &columns,
        &[int()],
        Format::Text,
        Limits { bytes: 32 },
    )
    .unwrap();
    let merged = crate::parts::drive(merger, Format::Text, &[int()], &[int()], &parts).unwrap();
    assert_eq!(merged.len(), 4000);
}

#[test]
fn hidden_columns_do_not_reach_the_client() {
    let columns = [text(), bigint(), text(), int()];
    let parts = [
        rows(&[&["a", "1", "hidden", "3"], &["-", "2", "-", "-"]]),
        rows(&[&["b", "-", "hidden", "1"]]),
    ];
    let order = ordered(
        2,
        &[remora_merge::OrderKey {
            key: key(3),
            descending: true,
        }],
    );
    assert_eq!(
        merge(&order, &columns, &parts).unwrap(),
        rows(&[&["a", "1"], &["b", "-"], &["-", "2"]])
    );
}

#[test]
fn one_part_passes_as_it_is() {
    let parts = [rows(&[&["2"], &["5"], &["5"]])];
    assert_eq!(
        merge(&ordered(1, &[ascending(key(0))]), &[int()], &parts).unwrap(),
        parts[0]
    );
    let nothing: [Vec<Row>; 1] = [Vec::new()];
    for format in crate::parts::FORMATS {
        assert_eq!(
            merge_in(format, &spec(1), &[int()], &nothing).unwrap(),
            Vec::<Row>::new()
        );
    }
}
