//! What is claimed of MySQL, asked of a server. `REMORA_TEST_MYSQL` is the command of a
//! `mysql` client that can log in and create a database, words separated by blanks.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use super::{LITERAL, PARAMETER, constant, key_type};
use crate::keys::{Charset, Collation, Constant, Conversion, KeyType, Purpose};

/// The rows that the client prints for `script`; statements that fail are passed over.
fn ask(script: &str) -> Vec<Vec<String>> {
    let command =
        std::env::var("REMORA_TEST_MYSQL").expect("REMORA_TEST_MYSQL names a mysql client");
    let mut words = command.split_whitespace();
    let mut child = Command::new(words.next().expect("a program"))
        .args(words)
        .args(["--batch", "--skip-column-names", "--quick", "--force"])
        .arg("--default-character-set=utf8mb4")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the client starts");
    let mut input = child.stdin.take().expect("an input");
    let script = script.to_owned();
    let writer = std::thread::spawn(move || input.write_all(script.as_bytes()));
    let output = child.wait_with_output().expect("the client ends");
    writer
        .join()
        .expect("the writer ends")
        .expect("the client reads all");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines()
        .map(|line| line.split('\t').map(str::to_owned).collect())
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02X}")).collect()
}

fn charset(collation: Collation) -> &'static str {
    collation.name().split('_').next().expect("a name")
}

/// A database of this test alone, and a script that begins in it.
fn database(name: &str) -> String {
    format!(
        "DROP DATABASE IF EXISTS remora_{name}; CREATE DATABASE remora_{name}; USE remora_{name};"
    )
}

#[test]
#[ignore = "needs a server: REMORA_TEST_MYSQL"]
fn weights_are_the_servers_over_all_of_unicode() {
    for collation in Collation::ALL {
        if collation.name().ends_with("_bin") {
            continue;
        }
        let last = match collation.charset() {
            Charset::Ascii => 0x7f,
            Charset::Utf8mb3 => 0xffff,
            _ => 0x10_ffff,
        };
        // An x behind the character, as a space alone would be stripped.
        let rows = ask(&format!(
            "SET cte_max_recursion_depth = 2000000;
             WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {last})
             SELECT i, HEX(WEIGHT_STRING(CONCAT(c, 'x') COLLATE {name})) FROM (
               SELECT i, CONVERT(CONVERT(CHAR(i USING utf32) USING utf8mb4) USING {charset}) c,
                 CONVERT(CHAR(i USING utf32) USING utf8mb4) u
               FROM n WHERE i NOT BETWEEN 55296 AND 57343) points
             WHERE CONVERT(c USING utf8mb4) = u COLLATE utf8mb4_0900_bin;",
            name = collation.name(),
            charset = charset(collation),
        ));
        let expected = match collation.charset() {
            Charset::Ascii => 128,
            Charset::Latin1 => 256,
            Charset::Utf8mb3 => 0x1_0000 - 0x800,
            _ => 0x11_0000 - 0x800,
        };
        assert_eq!(rows.len(), expected, "{}", collation.name());
        for row in rows {
            let c = char::from_u32(row[0].parse().expect("a number")).expect("a character");
            let mut ours = Vec::new();
            collation.weights(&format!("{c}x"), &mut ours);
            assert_eq!(hex(&ours), row[1], "{} {c:?}", collation.name());
        }
    }
}

#[test]
#[ignore = "needs a server: REMORA_TEST_MYSQL"]
fn texts_are_equal_to_us_where_they_are_to_the_server() {
    let texts = [
        "",
        " ",
        "  ",
        "a",
        "A",
        "a ",
        "a  ",
        " a",
        "a\u{a0}",
        "\u{a0}",
        "ä",
        "Ä",
        "a\u{308}",
        "\u{308}a",
        "ß",
        "ss",
        "s",
        "SS",
        "æ",
        "ae",
        "a\t",
        "a\0",
        "\0",
        "\u{200d}",
        "a\u{200d}",
        "\u{ad}a",
        "é",
        "e",
        "ü",
        "y",
        "ij",
        "\u{133}",
        "ﬁ",
        "fi",
        "İ",
        "i",
        "I",
        "ı",
        "Σ",
        "σ",
        "ς",
        "\u{3000}",
        "日",
        "本",
        "日本",
        "한",
        "\u{1112}\u{1161}\u{11ab}",
        "ア",
        "ｱ",
        "あ",
        "😀",
        "😁",
        "\u{fffd}",
        "เก",
        "กเ",
        "\u{f71}\u{f72}",
        "\u{f72}\u{f71}",
        "й",
        "и\u{306}",
        "a\u{2003}",
        "1",
        "①",
        "²",
        "2",
        "€",
        "\u{80}",
        "~",
        "A\u{30a}",
        "Å",
        "\u{212b}",
        "a\n",
        "-",
        "\u{2010}",
    ];
    let mut script = database("texts");
    for collation in Collation::ALL {
        let fitting: Vec<&str> = texts
            .into_iter()
            .filter(|text| collation.charset().holds(text))
            .collect();
        write!(
            script,
            "CREATE TABLE {0} (i INT, c VARCHAR(20) CHARACTER SET {1} COLLATE {0});",
            collation.name(),
            charset(collation)
        )
        .unwrap();
        for (i, text) in fitting.iter().enumerate() {
            write!(
                script,
                "INSERT INTO {} VALUES ({i}, CONVERT(X'{}' USING utf8mb4));",
                collation.name(),
                hex(text.as_bytes())
            )
            .unwrap();
        }
        write!(
            script,
            "SELECT '{0}', a.i, b.i FROM {0} a JOIN {0} b ON a.c = b.c;",
            collation.name()
        )
        .unwrap();
    }
    let equal: HashSet<Vec<String>> = ask(&script).into_iter().collect();
    for collation in Collation::ALL {
        let fitting: Vec<&str> = texts
            .into_iter()
            .filter(|text| collation.charset().holds(text))
            .collect();
        let weights = |text: &str| {
            let mut out = Vec::new();
            collation.weights(text, &mut out);
            out
        };
        for (i, a) in fitting.iter().enumerate() {
            for (j, b) in fitting.iter().enumerate() {
                let server = equal.contains(&vec![
                    collation.name().to_owned(),
                    i.to_string(),
                    j.to_string(),
                ]);
                assert_eq!(
                    weights(a) == weights(b),
                    server,
                    "{} {a:?} {b:?}",
                    collation.name()
                );
            }
        }
    }
}

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

/// The canonical bytes of a row's value as the server shows it, in hex.
fn stored(key_type: &KeyType, value: &str) -> Vec<u8> {
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
    assert_eq!(found, Conversion::Exact, "{key_type} {constant:?}");
    out
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
    let mut values: Vec<Vec<(usize, Vec<u8>)>> = vec![Vec::new(); TYPES.len()];
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
            for parameter in [false, true] {
                let mut key = Vec::new();
                let purpose = if parameter { PARAMETER } else { LITERAL };
                let conversion = column.convert(&constant(literal), purpose, &mut key);
                for (i, value) in &values[t] {
                    let server = found.contains(&(parameter, t, l, *i));
                    let fits = match conversion {
                        Conversion::Exact => server == (*value == key),
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
                && !values[t].iter().any(|(i, value)| *i == l && *value == key)
            {
                wrong.push(format!("{declared}: {literal} is stored otherwise"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
