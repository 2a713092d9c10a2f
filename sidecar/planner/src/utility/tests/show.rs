use super::super::*;
use super::{MODE, table, text};

#[test]
fn shows_are_read_with_object_and_filter() {
    let read = |sql: &str| {
        let show = show(sql.as_bytes(), MODE).ok()?;
        let filter = match show.filter {
            Some(Filter::Like(s) | Filter::Where(s)) => text(sql, s),
            None => "",
        };
        Some(format!(
            "{:?} {}{} {} {} {filter}",
            show.kind,
            if show.full { "full" } else { "" },
            if show.global { "global" } else { "" },
            show.object.map_or(String::new(), |name| table(sql, name)),
            show.database.map_or("", |s| text(sql, s)),
        ))
    };
    let sqls = [
        "SHOW TABLES",
        "SHOW FULL TABLES FROM shop LIKE 'a%'",
        "SHOW TABLES IN `shop` WHERE Tables_in_shop = 'a'",
        "SHOW TABLE STATUS LIKE 't'",
        "SHOW COLUMNS FROM t FROM shop",
        "SHOW FULL FIELDS IN shop.t LIKE 'a'",
        "SHOW INDEX FROM t WHERE Key_name = 'a'",
        "SHOW CREATE TABLE shop.t",
        "SHOW CREATE DATABASE IF NOT EXISTS shop",
        "SHOW CREATE USER a@b",
        "SHOW GLOBAL VARIABLES LIKE 'a'",
        "SHOW STATUS",
        "SHOW WARNINGS LIMIT 5",
        "SHOW COUNT(*) WARNINGS",
        "SHOW FULL PROCESSLIST",
        "SHOW ENGINE INNODB STATUS",
        "SHOW REPLICA STATUS",
        "SHOW COLLATION WHERE Charset='latin1'",
        "SHOW GRANTS FOR a@b",
        "SHOW DATABASES LIKE 'x'",
        "SHOW REMORA SHARDS",
        "SHOW REMORA CONNECTIONS",
        "show remora instances;",
    ];
    let found: Vec<String> = sqls
        .iter()
        .map(|sql| read(sql).unwrap_or_else(|| format!("? {sql}")))
        .collect();
    insta::assert_snapshot!(found.join("\n"));
    for sql in [
        "SHOW",
        "SHOW TABLES x",
        "SHOW GLOBAL TABLES",
        "SHOW REMORA",
        "SHOW REMORA SHARDS x",
        "SHOW COLUMNS",
        "SHOW FOO",
    ] {
        assert_eq!(read(sql), None, "{sql}");
    }
}

#[test]
fn describe_tells_tables_from_statements() {
    let read = |sql: &str| {
        describe(sql.as_bytes(), MODE)
            .ok()
            .map(|found| match found {
                Described::Table {
                    table: name,
                    column,
                } => {
                    format!(
                        "table {} {}",
                        table(sql, name),
                        column.map_or("", |s| text(sql, s))
                    )
                }
                Described::Statement { analyze, statement } => {
                    format!("{analyze} {}", text(sql, statement))
                }
                Described::Connection(id) => format!("connection {}", text(sql, id)),
                Described::Remora(statement) => format!("remora {}", text(sql, statement)),
            })
    };
    assert_eq!(read("DESC t").as_deref(), Some("table t "));
    assert_eq!(
        read("DESCRIBE shop.t 'a%'").as_deref(),
        Some("table shop.t 'a%'")
    );
    assert_eq!(read("EXPLAIN analyze").as_deref(), Some("table analyze "));
    assert_eq!(read("EXPLAIN SELECT 1").as_deref(), Some("false SELECT 1"));
    assert_eq!(
        read("EXPLAIN ANALYZE FORMAT=TREE DELETE FROM t").as_deref(),
        Some("true DELETE FROM t")
    );
    assert_eq!(
        read("EXPLAIN FORMAT=JSON (SELECT 1)").as_deref(),
        Some("false (SELECT 1)")
    );
    assert_eq!(
        read("EXPLAIN FOR CONNECTION 5").as_deref(),
        Some("connection 5")
    );
    assert_eq!(
        read("EXPLAIN REMORA UPDATE t SET a=1;").as_deref(),
        Some("remora UPDATE t SET a=1")
    );
    assert_eq!(read("EXPLAIN FORMAT=JSON t"), None);
    assert_eq!(read("EXPLAIN"), None);
}
