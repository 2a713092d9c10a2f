//! Our conversions beside the server's, see `server.rs`.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::server::{ask, database};
use super::{LITERAL, PARAMETER, constant, key_type};
use crate::keys::{Charset, Constant, Conversion, KeyType, Purpose};

const TYPES: [&str; 26] = [
    "tinyint",
    "tinyint unsigned",
    "smallint",
    "mediumint",
    "int",
    "int unsigned",
    "bigint",
    "bigint unsigned",
    "decimal(10,2)",
    "decimal(20,3) unsigned",
    "decimal(65,30)",
    "year",
    "date",
    "datetime",
    "datetime(3)",
    "char(5) collate utf8mb4_0900_ai_ci",
    "char(5) collate utf8mb4_bin",
    "varchar(20) collate utf8mb4_0900_ai_ci",
    "varchar(20) collate utf8mb4_0900_as_cs",
    "varchar(20) collate utf8mb4_0900_bin",
    "varchar(20) collate utf8mb4_general_ci",
    "varchar(20) collate latin1_swedish_ci",
    "varchar(20) collate ascii_bin",
    "binary(3)",
    "varbinary(20)",
    "varchar(20) collate utf8mb3_bin",
];

const LITERALS: [&str; 88] = [
    "0",
    "1",
    "-1",
    "2",
    "127",
    "128",
    "-128",
    "255",
    "256",
    "20",
    "2020",
    "20200101",
    "1901",
    "2155",
    "65",
    "9007199254740993",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "99999999999999999999",
    "007",
    "1.0",
    "1.4",
    "1.5",
    "-0.0",
    "1.10",
    "0.001",
    "12.345",
    ".5",
    "1.0000000000000000000000000000000000001",
    "9007199254740993.0",
    "1e0",
    "15e-1",
    "1e30",
    "9007199254740993e0",
    "0x01",
    "0x31",
    "0x",
    "x''",
    "x'61'",
    "x'6100'",
    "b'1'",
    "b'00110001'",
    "0xFFFFFFFFFFFFFFFF",
    "0x61626364656667686970",
    "TRUE",
    "FALSE",
    "NULL",
    "'1'",
    "'01'",
    "'1.0'",
    "'1.4'",
    "'1.10'",
    "' 1'",
    "'1 '",
    "'1x'",
    "''",
    "' '",
    "'-1'",
    "'+1'",
    "'1e0'",
    "'0x01'",
    "'20'",
    "'2020'",
    "'2020-01-01'",
    "'2020-1-1'",
    "'20200101'",
    "'2020-01-01 00:00:00'",
    "'2020-01-01 10:20:30'",
    "'2020-01-01 10:20:30.5'",
    "'2020-01-01 10:20:30.1234'",
    "'2020-01-01T10:20:30'",
    "'2020-02-30'",
    "'0000-00-00'",
    "'a'",
    "'A'",
    "'a '",
    "'ä'",
    "'a\\0'",
    "'a\\0\\0'",
    "'ß'",
    "'ss'",
    "'abcdefghijklmnopqrstuvwxyz'",
    "'9007199254740993'",
    "'9007199254740992'",
    "'18446744073709551616'",
    "'😀'",
    "'1\\0'",
];

/// The canonical bytes of a row's value as the server shows it, in hex; none for a value that
/// is refused when it comes through here (the year 0).
fn stored(key_type: &KeyType, value: &str) -> Option<Vec<u8>> {
    let bytes: Vec<u8> = (0..value.len() / 2)
        .map(|i| u8::from_str_radix(&value[i * 2..i * 2 + 2], 16).expect("hex"))
        .collect();
    let constant = match key_type {
        KeyType::Binary { .. } => Constant::Bytes(bytes),
        _ => Constant::Text {
            bytes: bytes.into(),
            charset: Charset::Utf8mb4,
        },
    };
    let mut out = Vec::new();
    let found = key_type.convert(&constant, Purpose::Store, &mut out);
    (found == Conversion::Exact).then_some(out)
}

#[test]
#[ignore = "needs a server: REMORA_TEST_MYSQL"]
fn constants_find_the_rows_that_the_server_finds() {
    let mut script = database("constants");
    script.push_str("SET sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE';");
    for (t, declared) in TYPES.into_iter().enumerate() {
        let mut column = declared.to_owned();
        if let Some((text, collation)) = declared.split_once(" collate ") {
            let charset = collation.split('_').next().unwrap();
            column = format!("{text} character set {charset} collate {collation}");
        }
        write!(
            script,
            "CREATE TABLE t{t} (i INT, c {column}, d {column}, KEY (d));"
        )
        .unwrap();
        for (i, literal) in LITERALS.into_iter().enumerate() {
            write!(
                script,
                "INSERT INTO t{t} VALUES ({i}, {literal}, {literal});"
            )
            .unwrap();
        }
        let shown = if declared.contains("binary") {
            "c"
        } else {
            "CONVERT(CAST(c AS CHAR) USING utf8mb4)"
        };
        write!(
            script,
            "SELECT 'row', {t}, i, HEX({shown}) FROM t{t} WHERE c IS NOT NULL;"
        )
        .unwrap();
        for (l, literal) in LITERALS.into_iter().enumerate() {
            for column in ["c", "d"] {
                write!(
                    script,
                    "SELECT 'literal', {t}, {l}, i FROM t{t} WHERE {column} = {literal};"
                )
                .unwrap();
                write!(script, "PREPARE s FROM 'SELECT ''parameter'', {t}, {l}, i FROM t{t} WHERE {column} = ?'; SET @p = {literal}; EXECUTE s USING @p;").unwrap();
            }
        }
    }
    let rows = ask(&script);
    assert!(rows.len() > 1000, "the server answered");
    let mut values: Vec<Vec<(usize, Option<Vec<u8>>)>> = vec![Vec::new(); TYPES.len()];
    let mut found: HashSet<(bool, usize, usize, usize)> = HashSet::new();
    for row in rows {
        let number = |at: usize| row[at].parse::<usize>().expect("a number");
        match row[0].as_str() {
            "row" => {
                let value = row.get(3).map_or("", String::as_str);
                values[number(1)].push((number(2), stored(&key_type(TYPES[number(1)]), value)));
            }
            kind => {
                found.insert((kind == "parameter", number(1), number(2), number(3)));
            }
        }
    }
    let mut wrong = Vec::new();
    for (t, declared) in TYPES.into_iter().enumerate() {
        let column = key_type(declared);
        for (l, literal) in LITERALS.into_iter().enumerate() {
            // No parameter is a hex literal: in a variable it is a string.
            let hex = matches!(constant(literal), Constant::Bytes(_));
            for parameter in [false, true]
                .into_iter()
                .filter(|parameter| !(*parameter && hex))
            {
                let mut key = Vec::new();
                let purpose = if parameter { PARAMETER } else { LITERAL };
                let conversion = column.convert(&constant(literal), purpose, &mut key);
                for (i, value) in &values[t] {
                    let server = found.contains(&(parameter, t, l, *i));
                    let fits = match conversion {
                        Conversion::Exact => server == (value.as_ref() == Some(&key)),
                        Conversion::NoRow | Conversion::Null => !server,
                        _ => true,
                    };
                    if !fits {
                        wrong.push(format!(
                            "{declared} = {literal} ({purpose:?}): row {} {server}",
                            LITERALS[*i]
                        ));
                    }
                }
            }
            let mut key = Vec::new();
            if column.convert(&constant(literal), Purpose::Store, &mut key) == Conversion::Exact
                && !values[t]
                    .iter()
                    .any(|(i, value)| *i == l && value.as_ref() == Some(&key))
            {
                wrong.push(format!("{declared}: {literal} is stored otherwise"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
