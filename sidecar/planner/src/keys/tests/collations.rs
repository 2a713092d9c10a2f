//! Our collations beside the server's, see `server.rs`.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::server::{ask, charset, database, hex};
use crate::keys::{Charset, Collation};

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
