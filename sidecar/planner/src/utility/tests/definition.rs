use super::super::*;
use super::{MODE, table};

#[test]
fn definitions_give_their_names() {
    let sqls = [
        "CREATE TABLE IF NOT EXISTS shop.t (a int REFERENCES u(a), FOREIGN KEY (a) REFERENCES shop.v (a)) ENGINE=InnoDB",
        "CREATE TEMPORARY TABLE t (LIKE u)",
        "CREATE TABLE t LIKE shop.u",
        "CREATE TABLE t (a int) AS SELECT 1",
        "CREATE TABLE t (SELECT a FROM u)",
        "CREATE TABLE t (a int) PARTITION BY RANGE (a) (PARTITION p VALUES LESS THAN (1))",
        "CREATE TABLE t (a int) UNION=(x, y)",
        "ALTER TABLE t ADD a int, RENAME TO shop.u, ADD CONSTRAINT FOREIGN KEY (a) REFERENCES v(a)",
        "ALTER TABLE t RENAME COLUMN a TO b, RENAME INDEX c TO d",
        "ALTER TABLE t EXCHANGE PARTITION p WITH TABLE u",
        "DROP TABLE IF EXISTS a, b.c CASCADE",
        "DROP TEMPORARY TABLE a",
        "TRUNCATE TABLE t",
        "TRUNCATE shop.t",
        "RENAME TABLE a TO b, c.d TO e",
        "CREATE UNIQUE INDEX i USING BTREE ON shop.t (a)",
        "DROP INDEX i ON t ALGORITHM=INPLACE",
        "CREATE OR REPLACE ALGORITHM=MERGE DEFINER='a'@'%' SQL SECURITY INVOKER VIEW shop.v (a) AS SELECT 1",
        "ALTER VIEW v AS SELECT 2",
        "DROP VIEW v, w",
        "CREATE DATABASE IF NOT EXISTS a CHARACTER SET utf8mb4",
        "ALTER DATABASE COLLATE utf8mb4_bin",
        "DROP SCHEMA a",
        "CREATE DEFINER=CURRENT_USER() PROCEDURE shop.p() BEGIN SELECT 1; END",
        "CREATE TRIGGER r BEFORE INSERT ON shop.t FOR EACH ROW SET NEW.a=1",
        "DROP TRIGGER IF EXISTS r",
        "CREATE FUNCTION f RETURNS STRING SONAME 'x'",
    ];
    let names = |sql: &str, names: &[TableName]| -> Vec<String> {
        names.iter().map(|name| table(sql, *name)).collect()
    };
    let mut lines = String::new();
    for sql in sqls {
        let d = ddl(sql.as_bytes(), MODE).unwrap_or_else(|_| panic!("{sql}"));
        lines += &format!(
            "{sql}\n  {:?} {:?} temporary={} conditional={} names={:?} new={:?} on={:?} like={:?} references={:?} others={:?} query={:?}\n",
            d.verb,
            d.object,
            d.temporary,
            d.conditional,
            names(sql, &d.names),
            names(sql, &d.new_names),
            d.on.map(|n| table(sql, n)),
            d.like.map(|n| table(sql, n)),
            names(sql, &d.references),
            names(sql, &d.others),
            d.query.map(|at| &sql[at as usize..]),
        );
    }
    insta::assert_snapshot!(lines);
    for sql in [
        "CREATE TABLE",
        "DROP TABLE",
        "RENAME TABLE a",
        "ALTER TABLE t ADD (a int",
        "DROP TABLE a; DROP TABLE b",
        "CREATE OR REPLACE TABLE t (a int)",
        "CREATE FOO x",
    ] {
        assert_eq!(
            ddl(sql.as_bytes(), MODE).map(|_| ()),
            Err(Unparsed),
            "{sql}"
        );
    }
}
