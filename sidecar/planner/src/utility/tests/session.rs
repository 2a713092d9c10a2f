use super::super::*;
use super::{MODE, text};

#[test]
fn a_set_is_read_part_by_part() {
    let sql = "SET GLOBAL a=1, b:=f(1,2), @@c=ON, @@session . d = 'x', @`e f` = 2, LOCAL g=DEFAULT, \
               NAMES utf8mb4 COLLATE 'utf8mb4_bin', h.i=3, CHARACTER SET DEFAULT";
    let found: Vec<String> = set(sql.as_bytes(), MODE)
        .unwrap()
        .into_iter()
        .map(|assignment| match assignment {
            Assignment::Variable {
                scope,
                bare_at,
                name,
                value,
            } => {
                format!(
                    "{scope:?} {bare_at} {} {}",
                    text(sql, name),
                    text(sql, value)
                )
            }
            Assignment::User { name, value } => format!("{} {}", text(sql, name), text(sql, value)),
            Assignment::Names { charset, collation } => format!(
                "names {:?} {:?}",
                charset.map(|s| text(sql, s)),
                collation.map(|s| text(sql, s))
            ),
            Assignment::CharacterSet(charset) => {
                format!("charset {:?}", charset.map(|s| text(sql, s)))
            }
            Assignment::Transaction { .. } => unreachable!("not in the statement"),
        })
        .collect();
    insta::assert_snapshot!(found.join("\n"), @r#"
    Global false a 1
    Global false b f(1,2)
    Session true c ON
    Session false d 'x'
    @`e f` 2
    Session false g DEFAULT
    names Some("utf8mb4") Some("'utf8mb4_bin'")
    Session false h.i 3
    charset None
    "#);
}

#[test]
fn set_transaction_keeps_its_scope() {
    let read = |sql: &str| set(sql.as_bytes(), MODE);
    assert_eq!(
        read("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY"),
        Ok(vec![Assignment::Transaction {
            scope: TransactionScope::Session,
            isolation: Some(Isolation::ReadCommitted),
            access: Some(AccessMode::ReadOnly),
        }])
    );
    assert_eq!(
        read("set transaction read write;"),
        Ok(vec![Assignment::Transaction {
            scope: TransactionScope::Next,
            isolation: None,
            access: Some(AccessMode::ReadWrite),
        }])
    );
    for sql in [
        "SET",
        "SET a",
        "SET a=",
        "SET a=1,",
        "SET SESSION TRANSACTION READ ONLY, @a=1",
        "SET a=(1",
        "SET a=1; SET b=2",
        "SET a='x",
    ] {
        assert_eq!(read(sql), Err(Unparsed), "{sql}");
    }
}

#[test]
fn plain_values_of_a_set_are_decoded() {
    let value = |sql: &'static str| {
        let span = Span {
            start: 0,
            end: sql.len() as u32,
        };
        set_value(sql.as_bytes(), span, MODE)
    };
    assert_eq!(value("DEFAULT"), SetValue::Default);
    assert_eq!(value("on"), SetValue::Word(b"on".into()));
    assert_eq!(value("`utf8`"), SetValue::Word(b"utf8".into()));
    assert_eq!(value("'a''b'"), SetValue::Text(b"a'b".to_vec().into()));
    assert_eq!(value("-12"), SetValue::Integer(-12));
    assert_eq!(value("1+1"), SetValue::Expression);
    assert_eq!(value("@@x"), SetValue::Expression);
    assert_eq!(value("'a' 'b'"), SetValue::Expression);
}

#[test]
fn transactions_are_read_with_their_options() {
    let read = |sql: &str| transaction(sql.as_bytes(), MODE);
    let plain = Transaction::Begin {
        access: None,
        snapshot: false,
    };
    assert_eq!(read("begin work;"), Ok(plain));
    assert_eq!(read("START TRANSACTION"), Ok(plain));
    assert_eq!(
        read("START TRANSACTION READ ONLY, WITH CONSISTENT SNAPSHOT"),
        Ok(Transaction::Begin {
            access: Some(AccessMode::ReadOnly),
            snapshot: true
        })
    );
    let end = |chain, release| Completion { chain, release };
    assert_eq!(
        read("COMMIT AND NO CHAIN RELEASE"),
        Ok(Transaction::Commit(end(Some(false), Some(true))))
    );
    assert_eq!(
        read("ROLLBACK WORK NO RELEASE"),
        Ok(Transaction::Rollback(end(None, Some(false))))
    );
    assert_eq!(
        read("SAVEPOINT `a`"),
        Ok(Transaction::Savepoint(Span { start: 10, end: 13 }))
    );
    assert_eq!(
        read("ROLLBACK TO SAVEPOINT a"),
        Ok(Transaction::RollbackTo(Span { start: 22, end: 23 }))
    );
    assert_eq!(
        read("RELEASE SAVEPOINT a"),
        Ok(Transaction::Release(Span { start: 18, end: 19 }))
    );
    for sql in [
        "BEGIN x",
        "COMMIT AND CHAIN RELEASE",
        "START TRANSACTION READ",
        "ROLLBACK TO",
        "START TRANSACTION READ ONLY, READ WRITE",
    ] {
        assert_eq!(read(sql), Err(Unparsed), "{sql}");
    }
}

#[test]
fn use_and_prepared_statements() {
    let sql = |sql: &'static str| sql.as_bytes();
    assert_eq!(
        use_database(sql("USE `a b`"), MODE).map(|s| s.name(sql("USE `a b`")).into_owned()),
        Ok(b"a b".to_vec())
    );
    assert_eq!(use_database(sql("USE a b"), MODE), Err(Unparsed));
    let span = |start, end| Span { start, end };
    assert_eq!(
        prepared(sql("PREPARE s FROM 'select 1'"), MODE),
        Ok(Prepared::Prepare {
            name: span(8, 9),
            text: PreparedText::Literal(span(15, 25))
        })
    );
    assert_eq!(
        prepared(sql("EXECUTE s USING @a, @b"), MODE),
        Ok(Prepared::Execute {
            name: span(8, 9),
            using: vec![span(16, 18), span(20, 22)]
        })
    );
    assert_eq!(
        prepared(sql("DROP PREPARE s"), MODE),
        Ok(Prepared::Deallocate(span(13, 14)))
    );
    assert_eq!(prepared(sql("EXECUTE s USING 1"), MODE), Err(Unparsed));
}
