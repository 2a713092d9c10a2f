//! The hashes that rows on disk were placed by. A change here moves rows: it must never be.

use remora_crds::layout::{ShardMap, slot};

use super::{LITERAL, convert};
use crate::keys::{Conversion, hash};

const VALUES: [(&str, &[&str]); 21] = [
    (
        "bigint",
        &[
            "0",
            "1",
            "-1",
            "2",
            "1000000",
            "9223372036854775807",
            "-9223372036854775808",
        ],
    ),
    ("bigint unsigned", &["0", "1", "18446744073709551615"]),
    ("tinyint", &["-128", "127"]),
    ("int", &["1", "2147483647"]),
    ("year", &["1901", "2155"]),
    (
        "decimal(20,6)",
        &["0", "1", "-12.5", "12345678901234.000001"],
    ),
    ("date", &["'1970-01-01'", "'9999-12-31'"]),
    (
        "datetime(6)",
        &["'1970-01-01'", "'2026-07-28 12:34:56.789'"],
    ),
    ("binary(4)", &["x'00000000'", "'abcd'"]),
    ("varbinary(64)", &["''", "'a'", "x'ff00'"]),
    ("varchar(64) collate ascii_bin", &["'abc'", "'ABC '"]),
    ("varchar(64) collate ascii_general_ci", &["'abc'"]),
    ("varchar(64) collate latin1_bin", &["'naïve €'"]),
    (
        "varchar(64) collate latin1_swedish_ci",
        &["'naïve €'", "'Ü'"],
    ),
    ("varchar(64) collate utf8mb3_bin", &["'日本'"]),
    ("varchar(64) collate utf8mb4_bin", &["''", "'日本😀'"]),
    (
        "varchar(64) collate utf8mb4_general_ci",
        &["'Straße 日本😀'"],
    ),
    (
        "varchar(64) collate utf8mb4_0900_bin",
        &["'a '", "'日本😀'"],
    ),
    (
        "varchar(64) collate utf8mb4_0900_ai_ci",
        &["''", "'Straße 日本😀'", "'한글 ไทย'", "'𠀀'"],
    ),
    (
        "varchar(64) collate utf8mb4_0900_as_ci",
        &["'Straße 日本😀'", "'a\u{301}'"],
    ),
    (
        "char(64) collate utf8mb4_0900_as_cs",
        &["'Straße 日本😀'", "'a\u{301}'"],
    ),
];

fn line(hash: u64) -> String {
    let shard = |shards| ShardMap::equal(shards).shard(hash).0;
    format!(
        "{hash:016x}  2:{} 4:{} 8:{}  16:{} 1024:{}",
        shard(2),
        shard(4),
        shard(8),
        slot(hash, 16).0,
        slot(hash, 1024).0
    )
}

#[test]
fn keys_hash_as_they_always_did() {
    let mut lines = vec!["hash  shard of 2, 4, 8  slot of 16, 1024".to_owned()];
    for (declared, values) in VALUES {
        for value in values {
            let (conversion, canonical) = convert(declared, value, LITERAL);
            assert_eq!(conversion, Conversion::Exact, "{declared} {value}");
            lines.push(format!("{}  {declared} {value}", line(hash(&canonical))));
        }
    }
    insta::assert_snapshot!(lines.join("\n"));
}
