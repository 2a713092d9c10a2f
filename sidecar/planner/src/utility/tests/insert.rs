use super::super::*;
use super::{MODE, table, text};

fn insert_line(sql: &str) -> Option<String> {
    let i = insert(sql.as_bytes(), MODE).ok()?;
    let source = match &i.source {
        InsertSource::Rows { rows, values, .. } => rows
            .iter()
            .map(|row| {
                let values: Vec<_> = row.values(values).iter().map(|s| text(sql, *s)).collect();
                format!("{} {values:?}", text(sql, row.span))
            })
            .collect::<Vec<_>>()
            .join(" | "),
        InsertSource::Assignments(all) => all
            .iter()
            .map(|(name, value)| format!("{}: {}", text(sql, *name), text(sql, *value)))
            .collect::<Vec<_>>()
            .join(" | "),
        InsertSource::Query(query) => format!("query {}", text(sql, *query)),
    };
    Some(format!(
        "{}{} {:?} {source} {:?} {:?}",
        if i.replace { "replace " } else { "" },
        table(sql, i.table),
        i.columns
            .map(|all| all.into_iter().map(|s| text(sql, s)).collect::<Vec<_>>()),
        i.alias.map(|s| text(sql, s)),
        i.on_duplicate.map(|s| text(sql, s)),
    ))
}

#[test]
fn inserts_are_split_into_rows_and_values() {
    let sqls = [
        "INSERT INTO t VALUES (1,'a,b',f(1,2)),( 2 , NULL , (3) )",
        "INSERT INTO shop.t (a, t.b, `c`) VALUES (1,2,3);",
        "insert ignore t() value ()",
        "INSERT INTO t VALUES ROW(1,2), ROW(3,4)",
        "INSERT INTO t (a) VALUES (1) AS new(x) ON DUPLICATE KEY UPDATE a=new.x, b=VALUES(b)",
        "REPLACE LOW_PRIORITY INTO t SET a=1, t.b := 2+3",
        "INSERT INTO t SET a=1 AS n ON DUPLICATE KEY UPDATE a=n.a",
        "INSERT INTO t (a) SELECT b FROM u JOIN v ON u.a=v.a ON DUPLICATE KEY UPDATE a=1",
        "INSERT INTO t (SELECT 1)",
        "INSERT INTO t (a) (SELECT 1)",
        "INSERT INTO t TABLE u",
        "INSERT INTO t WITH x AS (SELECT 1) SELECT * FROM x",
        "INSERT /*+ SET_VAR(a=1) */ INTO t PARTITION (p) (a) VALUES (DEFAULT)",
    ];
    let found: Vec<String> = sqls
        .iter()
        .map(|sql| insert_line(sql).unwrap_or_else(|| format!("? {sql}")))
        .collect();
    insta::assert_snapshot!(found.join("\n"));
    for sql in [
        "INSERT INTO t",
        "INSERT INTO t (a,) VALUES (1)",
        "INSERT INTO t VALUES (1,)",
        "INSERT INTO t VALUES (1) (2)",
        "INSERT INTO t VALUES ROW(1) LIMIT 1",
        "INSERT INTO t VALUES (1); SELECT 1",
        "INSERT INTO t VALUES ((1)",
        "INSERT INTO t VALUES ('a",
        "REPLACE INTO t VALUES (1) ON DUPLICATE KEY UPDATE a=1",
    ] {
        assert_eq!(insert_line(sql), None, "{sql}");
    }
}
