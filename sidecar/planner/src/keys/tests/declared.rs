//! Which types and collations a key may have.

use super::key_type;
use crate::keys::KeyType;

#[test]
fn types_are_read_as_mysql_shows_them() {
    let shown = [
        ("BIGINT(20) UNSIGNED", "bigint unsigned"),
        ("int(5) unsigned zerofill", "int unsigned"),
        ("int zerofill", "int unsigned"),
        ("BOOL", "tinyint"),
        ("decimal", "decimal(10,0)"),
        ("NUMERIC(5)", "decimal(5,0)"),
        ("datetime(3)", "datetime(3)"),
        ("year(4)", "year"),
        ("binary", "binary(1)"),
        ("varbinary(16)", "varbinary(16)"),
    ];
    for (declared, text) in shown {
        assert_eq!(key_type(declared).to_string(), text);
    }
    assert_eq!(
        key_type("character varying(9) collate utf8mb4_bin").to_string(),
        "varchar(9)"
    );
    assert_eq!(key_type("char(3) collate binary").to_string(), "binary(3)");
    assert_eq!(
        key_type("char collate UTF8_general_ci").to_string(),
        "char(1)"
    );
}

#[test]
fn other_types_and_collations_are_refused_by_name() {
    let refused = |declared: &str, collation: Option<&str>| {
        KeyType::declared(declared, collation)
            .unwrap_err()
            .to_string()
    };
    for declared in [
        "double",
        "float(5)",
        "timestamp",
        "json",
        "text",
        "enum('a,b','(')",
        "bit(8)",
        "varchar",
        "decimal(70,2)",
        "",
    ] {
        assert!(
            refused(declared, Some("utf8mb4_bin")).contains("cannot be a sharding key"),
            "{declared}"
        );
    }
    insta::assert_snapshot!(refused("varchar(9)", Some("utf8mb4_unicode_ci")), @"a column with collation utf8mb4_unicode_ci cannot be a sharding key: use one of ascii_bin, ascii_general_ci, latin1_bin, latin1_swedish_ci, utf8mb3_bin, utf8mb3_general_ci, utf8mb4_bin, utf8mb4_general_ci, utf8mb4_0900_bin, utf8mb4_0900_ai_ci, utf8mb4_0900_as_ci, utf8mb4_0900_as_cs");
    insta::assert_snapshot!(refused("timestamp(3)", None), @"a column of type TIMESTAMP(3) cannot be a sharding key: use an integer, DECIMAL, YEAR, DATE, DATETIME, CHAR, VARCHAR, BINARY or VARBINARY");
}
