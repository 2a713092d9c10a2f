mod definition;
mod session;
mod show;

use super::*;
use crate::lexer::SqlMode;

const MODE: SqlMode = SqlMode {
    ansi_quotes: false,
    no_backslash_escapes: false,
    pipes_as_concat: false,
    high_not_precedence: false,
    ignore_space: false,
};

fn text(sql: &str, span: Span) -> &str {
    &sql[span.range()]
}

fn table(sql: &str, name: TableName) -> String {
    text(sql, name.span()).to_owned()
}

#[test]
fn statements_are_known_by_their_first_words() {
    use StatementKind as K;
    let cases = [
        ("", K::Empty),
        (" /* x */ ; ", K::Empty),
        ("select 1", K::Query),
        ("(select 1)", K::Query),
        ("TABLE t", K::Query),
        ("VALUES ROW(1)", K::Query),
        ("WITH a AS (SELECT 1) SELECT * FROM a", K::With),
        ("insert t values (1)", K::Insert),
        ("REPLACE INTO t VALUES (1)", K::Replace),
        ("UPDATE t SET a=1", K::Update),
        ("DELETE FROM t", K::Delete),
        ("LOAD DATA INFILE 'x' INTO TABLE t", K::Load),
        ("LOAD INDEX INTO CACHE t", K::Administration),
        ("CALL p()", K::Call),
        ("DO 1", K::Do),
        ("HANDLER t OPEN", K::Handler),
        ("SET a=1", K::Set),
        ("SET PASSWORD = 'x'", K::Account),
        ("SET PASSWORD FOR a@b = 'x'", K::Account),
        ("SET ROLE ALL", K::Account),
        ("SET DEFAULT ROLE a TO b", K::Account),
        ("SET password_history = 1", K::Set),
        ("SET RESOURCE GROUP a", K::Administration),
        ("USE a", K::Use),
        ("SHOW TABLES", K::Show),
        ("SHOW REMORA SHARDS", K::ShowRemora),
        ("DESC t", K::Describe),
        ("EXPLAIN SELECT 1", K::Describe),
        ("EXPLAIN remora", K::Describe),
        ("EXPLAIN REMORA SELECT 1", K::ExplainRemora),
        ("/*!40101 SET NAMES utf8 */", K::Set),
        ("BEGIN", K::Transaction),
        ("START TRANSACTION", K::Transaction),
        ("START REPLICA", K::Administration),
        ("ROLLBACK TO a", K::Transaction),
        ("RELEASE SAVEPOINT a", K::Transaction),
        ("XA START 'x'", K::Xa),
        ("KILL 1", K::Kill),
        ("LOCK TABLES t READ", K::LockTables),
        ("UNLOCK TABLES", K::UnlockTables),
        ("LOCK INSTANCE FOR BACKUP", K::LockInstance),
        ("PREPARE s FROM 'select 1'", K::Prepared),
        ("DROP PREPARE s", K::Prepared),
        ("CREATE TABLE t (a int)", K::Ddl),
        ("CREATE OR REPLACE VIEW v AS SELECT 1", K::Ddl),
        ("CREATE USER a", K::Account),
        ("DROP ROLE a", K::Account),
        ("RENAME USER a TO b", K::Account),
        ("RENAME TABLE a TO b", K::Ddl),
        ("TRUNCATE t", K::Ddl),
        ("GRANT ALL ON *.* TO a", K::Account),
        ("CREATE TABLESPACE a", K::Administration),
        ("ANALYZE TABLE t", K::Maintenance),
        ("FLUSH TABLES", K::Flush),
        ("GET DIAGNOSTICS @a = NUMBER", K::Diagnostics),
        ("SHUTDOWN", K::Administration),
        ("HELP 'x'", K::Help),
        ("FOO", K::Unknown),
        ("averyveryverylongwordthatisnokeyword", K::Unknown),
        ("'a'", K::Unknown),
    ];
    for (sql, kind) in cases {
        assert_eq!(classify(sql.as_bytes(), MODE), kind, "{sql}");
    }
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_a_parser_panic(sql: Vec<u8>) {
        read_all(&sql);
    }

    #[test]
    fn no_words_make_a_parser_panic(words in proptest::collection::vec(
        proptest::sample::select(vec![
            "SET", "INSERT", "INTO", "VALUES", "(", ")", ",", ";", "a", "`b`", ".", "@x", "@@", "=",
            "CREATE", "TABLE", "ALTER", "RENAME", "TO", "SHOW", "FROM", "LIKE", "'s'", "1", "ON",
            "DUPLICATE", "KEY", "UPDATE", "SELECT", "REFERENCES", "UNION", "NAMES", "TRANSACTION",
            "EXPLAIN", "AS", "ROW", "DROP", "INDEX", "LOCK", "TABLES", "READ", "WITH", "BEGIN",
        ]), 0..14)) {
        read_all(words.join(" ").as_bytes());
    }
}

fn read_all(sql: &[u8]) {
    let _ = classify(sql, MODE);
    let _ = set(sql, MODE);
    let _ = show(sql, MODE);
    let _ = kill(sql, MODE);
    let _ = ddl(sql, MODE);
    let _ = describe(sql, MODE);
    let _ = transaction(sql, MODE);
    let _ = prepared(sql, MODE);
    let _ = use_database(sql, MODE);
}
