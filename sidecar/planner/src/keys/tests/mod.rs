mod collations;
mod constants;
mod declared;
mod golden;
pub(crate) mod server;

use super::*;
use crate::lexer::{Lexer, SqlMode, TokenKind};

const LITERAL: Purpose = Purpose::Compare(Origin::Literal);
const PARAMETER: Purpose = Purpose::Compare(Origin::Parameter);

/// The constant that a literal with a sign maybe is, in a session of utf8mb4.
fn constant(sql: &str) -> Constant<'_> {
    let mode = SqlMode::default();
    let mut tokens: Vec<_> = Lexer::new(sql.as_bytes(), mode).collect();
    let negative = tokens[0].kind == TokenKind::Minus;
    if negative {
        tokens.remove(0);
    }
    let [token] = tokens.as_slice() else {
        return Constant::Other;
    };
    match sql {
        "NULL" => Constant::Null,
        "TRUE" => Constant::Boolean(true),
        "FALSE" => Constant::Boolean(false),
        _ => Constant::literal(
            token.kind,
            token.text(sql.as_bytes()),
            negative,
            mode,
            Charset::Utf8mb4,
        ),
    }
}

fn key_type(declared: &str) -> KeyType {
    let (declared, collation) = match declared.split_once(" collate ") {
        Some((declared, collation)) => (declared, Some(collation)),
        None => (declared, None),
    };
    KeyType::declared(declared, collation).unwrap()
}

fn convert(declared: &str, sql: &str, purpose: Purpose) -> (Conversion, Vec<u8>) {
    let mut out = Vec::new();
    let conversion = key_type(declared).convert(&constant(sql), purpose, &mut out);
    (conversion, out)
}

/// One word for the outcome, with the canonical bytes as text where they are some.
fn outcome(declared: &str, sql: &str, purpose: Purpose) -> String {
    match convert(declared, sql, purpose) {
        (Conversion::Exact, bytes) => match std::str::from_utf8(&bytes) {
            Ok(text) if !bytes.iter().any(u8::is_ascii_control) => format!("={text}"),
            _ => format!(
                "0x{}",
                bytes.iter().map(|b| format!("{b:02x}")).collect::<String>()
            ),
        },
        (Conversion::NoRow, _) => "no row".to_owned(),
        (Conversion::Null, _) => "null".to_owned(),
        (Conversion::Scatter, _) => "scatter".to_owned(),
        (Conversion::Refuse(_), _) => "refuse".to_owned(),
    }
}

#[test]
fn every_way_to_write_one_finds_bigint_one() {
    let one = 1_u64.to_le_bytes().to_vec();
    for sql in [
        "1", "'1'", "'01'", "1.0", "1.", "1e0", "10e-1", "0x01", "x'0001'", "b'1'", "TRUE", "001",
    ] {
        assert_eq!(
            convert("bigint", sql, LITERAL),
            (Conversion::Exact, one.clone()),
            "{sql}"
        );
        assert_eq!(
            convert("bigint unsigned", sql, Purpose::Store),
            (Conversion::Exact, one.clone()),
            "{sql}"
        );
    }
}

#[test]
fn equal_integers_hash_alike_in_every_integer_type() {
    for declared in [
        "tinyint",
        "smallint unsigned",
        "mediumint",
        "int(11)",
        "integer",
        "bigint(20) unsigned",
    ] {
        assert_eq!(
            convert(declared, "100", LITERAL),
            convert("bigint", "100", LITERAL),
            "{declared}"
        );
    }
}

#[test]
fn what_no_integer_equals_finds_no_row_and_is_not_stored() {
    for sql in ["1.4", "128", "-129", "1.5e0", "99999999999999999999", "1e3"] {
        assert_eq!(outcome("tinyint", sql, LITERAL), "no row", "{sql}");
        assert_eq!(outcome("tinyint", sql, PARAMETER), "scatter", "{sql}");
        assert_eq!(outcome("tinyint", sql, Purpose::Store), "refuse", "{sql}");
    }
    assert_eq!(outcome("bigint unsigned", "-1", LITERAL), "no row");
}

#[test]
fn what_is_not_compared_as_an_integer_scatters() {
    for sql in [
        "'1.0'",
        "' 1'",
        "'1x'",
        "''",
        "'1e0'",
        "'+1'",
        "9007199254740993e0",
        "x''",
        "x'010203040506070809'",
        "'99999999999999999999'",
        "-'1'",
    ] {
        assert_eq!(outcome("bigint", sql, LITERAL), "scatter", "{sql}");
        assert_eq!(outcome("bigint", sql, Purpose::Store), "refuse", "{sql}");
    }
    assert_eq!(
        outcome("varchar(9) collate utf8mb4_bin", "1", LITERAL),
        "scatter"
    );
    assert_eq!(outcome("varbinary(9)", "1", LITERAL), "scatter");
}

#[test]
fn null_is_null_to_every_type() {
    for declared in [
        "int",
        "decimal(5,2)",
        "year",
        "date",
        "datetime",
        "binary(2)",
        "char(2) collate ascii_bin",
    ] {
        for purpose in [LITERAL, PARAMETER, Purpose::Store] {
            assert_eq!(outcome(declared, "NULL", purpose), "null");
        }
    }
}

#[test]
fn decimals_are_the_shortest_text() {
    for sql in ["12.5", "012.50", "'12.50'", "12.500"] {
        assert_eq!(outcome("decimal(10,2)", sql, LITERAL), "=12.5", "{sql}");
    }
    assert_eq!(outcome("decimal(10,2)", "-0.0", LITERAL), "=0");
    assert_eq!(outcome("decimal(10,2)", ".5", LITERAL), "=0.5");
    assert_eq!(outcome("decimal(10,2)", "1.005", LITERAL), "no row");
    assert_eq!(outcome("decimal(10,2)", "1.005", Purpose::Store), "refuse");
    assert_eq!(outcome("decimal(10,2) unsigned", "-1", LITERAL), "no row");
    assert_eq!(outcome("decimal(10,2)", "1e0", LITERAL), "scatter");
    assert_eq!(outcome("decimal(20,2)", "'1.5'", LITERAL), "scatter");
    assert_eq!(outcome("decimal(20,2)", "'1.5'", Purpose::Store), "=1.5");
    assert_eq!(outcome("decimal(3,0)", "1000", LITERAL), "no row");
}

#[test]
fn years_dates_and_times_are_known_in_their_complete_form_only() {
    assert_eq!(
        convert("year", "'2020'", LITERAL),
        convert("int", "2020", LITERAL)
    );
    assert_eq!(outcome("year", "20", LITERAL), "scatter");
    assert_eq!(outcome("year", "'0'", Purpose::Store), "refuse");
    assert_eq!(outcome("date", "'2020-02-29'", LITERAL), "=2020-02-29");
    for sql in [
        "'2021-02-29'",
        "'2020-2-9'",
        "20200229",
        "'0000-00-00'",
        "'2020-02-29 01:00:00'",
        "'20200229'",
    ] {
        assert_eq!(outcome("date", sql, LITERAL), "scatter", "{sql}");
        assert_eq!(outcome("date", sql, Purpose::Store), "refuse", "{sql}");
    }
    assert_eq!(
        outcome("datetime(3)", "'2020-01-02 03:04:05.1200'", LITERAL),
        "=2020-01-02 03:04:05.12"
    );
    assert_eq!(
        outcome("datetime(3)", "'2020-01-02'", LITERAL),
        "=2020-01-02 00:00:00"
    );
    for sql in [
        "'2020-01-02 03:04:05.1234'",
        "'2020-01-02T03:04:05'",
        "'2020-01-02 24:00:00'",
        "'2020-01-02 03:04:05+01:00'",
    ] {
        assert_eq!(outcome("datetime(3)", sql, LITERAL), "scatter", "{sql}");
    }
}

#[test]
fn texts_are_equal_by_their_collation() {
    let same = |collation: &str, a: &str, b: &str| {
        let declared = format!("varchar(20) collate {collation}");
        let bytes = |text: &str| convert(&declared, &format!("'{text}'"), LITERAL);
        assert_eq!(bytes(a).0, Conversion::Exact);
        bytes(a) == bytes(b)
    };
    assert!(same("utf8mb4_0900_ai_ci", "Äpfel", "apfel"));
    assert!(!same("utf8mb4_0900_as_ci", "Äpfel", "apfel"));
    assert!(same("utf8mb4_0900_as_ci", "Äpfel", "äPFEL"));
    assert!(!same("utf8mb4_0900_as_cs", "Äpfel", "äpfel"));
    assert!(same("utf8mb4_0900_as_cs", "ä", "a\u{308}"));
    assert!(same("utf8mb4_0900_ai_ci", "ß", "ss"));
    assert!(!same("utf8mb4_0900_ai_ci", "a ", "a"));
    assert!(same("utf8mb4_general_ci", "Äpfel  ", "apfel"));
    assert!(!same("utf8mb4_general_ci", "ß", "ss"));
    assert!(same("latin1_swedish_ci", "Ü", "y"));
    assert!(same("ascii_general_ci", "ab ", "AB"));
    assert!(same("utf8mb4_bin", "a ", "a"));
    assert!(!same("utf8mb4_bin", "a", "A"));
    assert!(!same("utf8mb4_0900_bin", "a ", "a"));
}

#[test]
fn texts_outside_the_columns_character_set_scatter() {
    assert_eq!(
        outcome("varchar(9) collate ascii_general_ci", "'ä'", LITERAL),
        "scatter"
    );
    assert_eq!(
        outcome("varchar(9) collate latin1_bin", "'ł'", LITERAL),
        "scatter"
    );
    assert_eq!(
        outcome("varchar(9) collate latin1_bin", "'€'", LITERAL),
        "=€"
    );
    assert_eq!(
        outcome("varchar(9) collate utf8mb3_bin", "'😀'", Purpose::Store),
        "refuse"
    );
    let text = |charset| Constant::Text {
        bytes: b"\xe4".as_slice().into(),
        charset,
    };
    let mut out = Vec::new();
    let column = key_type("varchar(9) collate utf8mb4_bin");
    assert_eq!(
        column.convert(&text(Charset::Latin1), LITERAL, &mut out),
        Conversion::Exact
    );
    assert_eq!(out, "ä".as_bytes());
    for charset in [Charset::Utf8mb4, Charset::Other, Charset::Binary] {
        assert_eq!(
            column.convert(&text(charset), LITERAL, &mut out),
            Conversion::Scatter
        );
    }
    assert_eq!(out, "ä".as_bytes(), "nothing is appended");
}

#[test]
fn a_binary_string_is_a_key_of_binary_columns_only() {
    let blob = Constant::Text {
        bytes: b"1".as_slice().into(),
        charset: Charset::Binary,
    };
    let mut out = Vec::new();
    for declared in [
        "bigint",
        "decimal(9,0)",
        "date",
        "varchar(9) collate utf8mb4_bin",
    ] {
        let found = key_type(declared).convert(&blob, PARAMETER, &mut out);
        assert_eq!(found, Conversion::Scatter, "{declared}");
    }
    assert_eq!(
        key_type("varbinary(9)").convert(&blob, PARAMETER, &mut out),
        Conversion::Exact
    );
    assert_eq!(out, b"1");
}

#[test]
fn stored_texts_fit_their_column() {
    assert_eq!(
        outcome("char(3) collate utf8mb4_0900_bin", "'a  '", Purpose::Store),
        "=a"
    );
    assert_eq!(
        outcome("char(3) collate utf8mb4_0900_bin", "'a  '", LITERAL),
        "=a  "
    );
    assert_eq!(
        outcome("varchar(3) collate utf8mb4_bin", "'abcd'", Purpose::Store),
        "refuse"
    );
    assert_eq!(
        outcome("varchar(3) collate utf8mb4_bin", "-12", Purpose::Store),
        "=-12"
    );
    assert_eq!(
        outcome("varchar(3) collate utf8mb4_bin", "1.5", Purpose::Store),
        "refuse"
    );
    assert_eq!(outcome("binary(3)", "'a'", Purpose::Store), "0x610000");
    assert_eq!(outcome("binary(3)", "'a'", LITERAL), "=a");
    assert_eq!(outcome("varbinary(3)", "x'6100'", Purpose::Store), "0x6100");
    assert_eq!(outcome("varbinary(1)", "x'6100'", Purpose::Store), "refuse");
}

proptest::proptest! {
    #[test]
    fn no_constant_makes_a_conversion_panic(
        number: f64, magnitude: u64, negative: bool, bytes: Vec<u8>, digits in "-?[0-9]{0,70}\\.?[0-9]{0,40}",
        year: u16, month: u8, hour: u8, micros: u32,
    ) {
        let types = ["tinyint", "bigint unsigned", "decimal(65,30)", "year", "date", "datetime(6)",
            "char(3) collate utf8mb4_0900_as_cs", "varchar(3) collate utf8mb4_general_ci",
            "varchar(3) collate latin1_swedish_ci", "binary(3)", "varbinary(3)"];
        let constants = [
            Constant::Float(number),
            Constant::Integer { negative, magnitude },
            Constant::Bytes(bytes.clone()),
            Constant::Decimal(digits.clone().into()),
            Constant::Text { bytes: bytes.clone().into(), charset: Charset::Latin1 },
            Constant::Text { bytes: digits.into_bytes().into(), charset: Charset::Utf8mb4 },
            Constant::Moment(Moment { year, month, day: month, hour, minute: hour, second: month, micros }),
        ];
        for declared in types {
            for constant in &constants {
                for purpose in [LITERAL, PARAMETER, Purpose::Store] {
                    let mut out = Vec::new();
                    let found = key_type(declared).convert(constant, purpose, &mut out);
                    proptest::prop_assert!(found == Conversion::Exact || out.is_empty());
                    let stores = purpose == Purpose::Store;
                    proptest::prop_assert!(!stores || !matches!(found, Conversion::Scatter | Conversion::NoRow));
                    proptest::prop_assert!(stores || !matches!(found, Conversion::Refuse(_)));
                }
            }
        }
    }

    #[test]
    fn signed_integers_are_their_own_bytes(value: i64) {
        let mut out = Vec::new();
        let found = key_type("bigint").convert(&Constant::signed(value), PARAMETER, &mut out);
        proptest::prop_assert_eq!(found, Conversion::Exact);
        proptest::prop_assert_eq!(out, value.to_le_bytes());
    }
}
