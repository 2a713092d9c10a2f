//! What is an error, because MySQL's answer cannot be had from the parts.

use remora_merge::{Column, Format, Limits, MergeError, MergeSpec, Merger};
use remora_protocol::{ColumnFlags, ColumnType};

use crate::parts::{
    FORMATS, ascending, bigint, bytes, column, decimal, grouped, int, key, merge, ordered, rows,
    spec, text, text_key,
};

fn build(
    spec: &MergeSpec,
    parts: &[Vec<Column>],
    client: &[Column],
    format: Format,
) -> Result<(), MergeError> {
    Merger::new(spec, parts, client, format, Limits { bytes: 1000 }).map(drop)
}

fn by(value: Column) -> impl Fn(Format) -> Result<(), MergeError> {
    move |format| {
        build(
            &ordered(1, &[ascending(key(0))]),
            &[vec![value]],
            &[value],
            format,
        )
    }
}

#[test]
fn parts_of_different_columns_are_never_merged() {
    let spec = ordered(1, &[ascending(key(0))]);
    for other in [
        bigint(),
        decimal(0),
        text(),
        column(ColumnType::MYSQL_TYPE_DOUBLE),
    ] {
        for format in FORMATS {
            let error = build(&spec, &[vec![int()], vec![other]], &[int()], format).unwrap_err();
            assert_eq!(error, MergeError::Changed { column: 0 });
            assert_eq!((error.code(), error.sql_state()), (1412, *b"HY000"));
        }
    }
    let more = build(
        &spec,
        &[vec![int()], vec![int(), int()]],
        &[int()],
        Format::Text,
    );
    assert_eq!(more, Err(MergeError::Changed { column: 1 }));
}

#[test]
fn hidden_columns_must_agree_too() {
    let parts = [vec![int(), int()], vec![int(), text()]];
    assert!(build(&spec(1), &parts, &[int()], Format::Text).is_err());
}

#[test]
fn what_the_client_was_told_is_what_it_gets() {
    for format in FORMATS {
        assert!(build(&spec(1), &[vec![decimal(2)]], &[decimal(3)], format).is_err());
        assert!(build(&spec(1), &[vec![int()]], &[text()], format).is_err());
        assert!(build(&spec(1), &[vec![int()]], &[int(), int()], format).is_err());
        assert!(build(&spec(2), &[vec![int()]], &[int(), int()], format).is_err());
        assert!(build(&spec(1), &[vec![int()]], &[bigint()], format).is_ok());
    }
}

#[test]
fn a_key_beyond_the_columns_is_an_error() {
    let spec = ordered(1, &[ascending(key(7))]);
    assert_eq!(
        build(&spec, &[vec![int()]], &[int()], Format::Text),
        Err(MergeError::Changed { column: 7 })
    );
}

#[test]
fn json_geometries_and_vectors_have_no_order_here() {
    for kind in [
        ColumnType::MYSQL_TYPE_JSON,
        ColumnType::MYSQL_TYPE_GEOMETRY,
        ColumnType::MYSQL_TYPE_VECTOR,
    ] {
        for format in FORMATS {
            let error = by(column(kind))(format).unwrap_err();
            assert_eq!((error.code(), error.sql_state()), (1235, *b"42000"));
        }
    }
}

#[test]
fn text_without_its_weight_is_not_guessed() {
    for format in FORMATS {
        assert!(by(text())(format).is_err());
        // Under SET NAMES binary, text has the collation of bytes, but not their flag.
        assert!(
            by(Column {
                collation: 63,
                ..text()
            })(format)
            .is_err()
        );
        assert!(by(bytes())(format).is_ok());
    }
}

#[test]
fn text_in_one_part_makes_a_key_of_bytes_text() {
    let spec = ordered(1, &[ascending(key(0))]);
    for parts in [[vec![bytes()], vec![text()]], [vec![text()], vec![bytes()]]] {
        assert!(build(&spec, &parts, &[bytes()], Format::Text).is_err());
    }
}

#[test]
fn enum_and_set_order_by_their_index_or_not_at_all() {
    for flag in [ColumnFlags::ENUM_FLAG, ColumnFlags::SET_FLAG] {
        let choice = Column {
            flags: flag,
            ..text()
        };
        let spec = ordered(1, &[ascending(text_key(0, 1, 2))]);
        let plain = vec![text(), bytes(), text()];
        // A UNION shows it as text; the client's definition, or another part's, tells.
        for (part, client) in [(text(), choice), (choice, text())] {
            let parts = [plain.clone(), vec![part, bytes(), text()]];
            assert!(build(&spec, &parts, &[client], Format::Text).is_err());
        }
        assert!(build(&spec, &[plain], &[text()], Format::Text).is_ok());
    }
}

#[test]
fn a_float_is_no_key_where_its_text_hides_digits() {
    let float = column(ColumnType::MYSQL_TYPE_FLOAT);
    assert!(by(float)(Format::Text).is_err());
    assert!(by(float)(Format::Binary).is_ok());
    assert!(
        by(Column {
            decimals: 2,
            ..float
        })(Format::Text)
        .is_ok()
    );
}

#[test]
fn collations_of_several_levels_are_refused() {
    let spec = ordered(1, &[ascending(text_key(0, 1, 2))]);
    let columns = [text(), bytes(), text()];
    let error = merge(&spec, &columns, &[rows(&[&["a", "A", "latin2_czech_cs"]])]).unwrap_err();
    assert_eq!(error, MergeError::Collation("latin2_czech_cs".to_owned()));
    assert_eq!(error.code(), 1235);
}

#[test]
fn parts_of_different_collations_are_never_merged() {
    let spec = ordered(1, &[ascending(text_key(0, 1, 2))]);
    let columns = [text(), bytes(), text()];
    let parts = [
        rows(&[&["a", "A", "latin1_swedish_ci"]]),
        rows(&[&["b", "B", "utf8mb4_general_ci"]]),
    ];
    assert_eq!(
        merge(&spec, &columns, &parts),
        Err(MergeError::Changed { column: 0 })
    );
}

#[test]
fn a_part_out_of_order_is_an_error_and_no_wrong_answer() {
    let parts = [rows(&[&["1"], &["3"], &["2"]]), rows(&[&["5"]])];
    let error = merge(&ordered(1, &[ascending(key(0))]), &[int()], &parts).unwrap_err();
    assert_eq!(error, MergeError::OutOfOrder { part: 0 });
}

#[test]
fn groups_that_do_not_come_together_are_refused() {
    let mut spec = grouped(2, &[key(0)], &[]);
    spec.order = vec![ascending(key(1)), ascending(key(0))];
    assert!(build(&spec, &[vec![int(), int()]], &[int(), int()], Format::Text).is_err());
    spec.order.clear();
    assert!(build(&spec, &[vec![int(), int()]], &[int(), int()], Format::Text).is_err());
    spec.order = vec![ascending(key(0)), ascending(key(0)), ascending(key(1))];
    assert!(build(&spec, &[vec![int(), int()]], &[int(), int()], Format::Text).is_ok());
}
