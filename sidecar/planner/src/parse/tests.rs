use sqlparser::ast::{Expr, InTarget, SetExpr, Statement as Tree};

use crate::lexer::{Lexer, SqlMode};

use super::parse;

/// An expression with a pair of brackets around every operation.
fn bracketed(expr: &Expr) -> String {
    match expr {
        Expr::BinaryOp { left, op, right } => {
            format!("[{} {op} {}]", bracketed(left), bracketed(right))
        }
        Expr::UnaryOp { op, expr } => format!("[{op} {}]", bracketed(expr)),
        Expr::Nested(inner) => format!("({})", bracketed(inner)),
        Expr::Between {
            expr, low, high, ..
        } => {
            format!(
                "[{} BETWEEN {} AND {}]",
                bracketed(expr),
                bracketed(low),
                bracketed(high)
            )
        }
        Expr::In {
            expr,
            target: InTarget::List(_),
            ..
        } => format!("[{} IN]", bracketed(expr)),
        Expr::Like { expr, .. } => format!("[{} LIKE]", bracketed(expr)),
        other => other.to_string(),
    }
}

fn condition_in(text: &str, mode: SqlMode) -> Option<String> {
    let sql = format!("SELECT 1 FROM t WHERE {text}");
    let tokens: Vec<_> = Lexer::new(sql.as_bytes(), mode).collect();
    let Tree::Query(query) = parse(sql.as_bytes(), mode, &tokens)? else {
        return None;
    };
    let SetExpr::Select(select) = *query.body else {
        return None;
    };
    select.selection.as_ref().map(bracketed)
}

fn condition(text: &str) -> String {
    condition_in(text, SqlMode::default()).unwrap_or_else(|| "not parsed".to_owned())
}

#[test]
fn conditions_bind_as_mysql_binds_them() {
    let cases = [
        ("id = 1 AND a || b", "[[[id = 1] AND a] OR b]"),
        (
            "id = 1 AND x = 2 || y = 3",
            "[[[id = 1] AND [x = 2]] OR [y = 3]]",
        ),
        ("id = 1 AND a XOR b", "[[[id = 1] AND a] XOR b]"),
        ("a OR b XOR c AND d", "[a OR [b XOR [c AND d]]]"),
        ("! id = 5", "[[! id] = 5]"),
        ("NOT id = 5", "[NOT [id = 5]]"),
        ("id = 1 && x", "[[id = 1] AND x]"),
        ("id = 1 ^ 2 * 3", "[id = [[1 ^ 2] * 3]]"),
        ("id = 1 | 2", "[id = [1 | 2]]"),
        ("@x := 5 AND id = 1", "[@x := [5 AND [id = 1]]]"),
        ("BINARY s = 'x' AND id = 1", "[[[! s] = 'x'] AND [id = 1]]"),
        ("s = BINARY 'x' AND id = 1", "[[s = [! 'x']] AND [id = 1]]"),
        ("id = 5 MOD 2 AND b", "[[id = [5 % 2]] AND b]"),
        ("id = 5 DIV 2 AND b", "[[id = [5 DIV 2]] AND b]"),
        (
            "a BETWEEN 1 AND 2 AND id = 3",
            "[[a BETWEEN 1 AND 2] AND [id = 3]]",
        ),
        ("a = 1 --x\n", "[a = [1 - [- x]]]"),
        ("id = 1 /*! AND a = 2 */", "[[id = 1] AND [a = 2]]"),
        ("id = 1 /*!99999 AND a = 2 */", "[id = 1]"),
        ("a SOUNDS LIKE 'z' AND id = 1", "[[a LIKE] AND [id = 1]]"),
    ];
    for (text, expected) in cases {
        assert_eq!(condition(text), expected, "{text}");
    }
}

#[test]
fn two_pipes_join_strings_where_the_mode_says_so() {
    let mode = SqlMode {
        pipes_as_concat: true,
        ..SqlMode::default()
    };
    let found = condition_in("id = 1 AND s = 'a' || 'b'", mode).unwrap();
    assert_eq!(found, "[[id = 1] AND [s = ['a' || 'b']]]");
}

#[test]
fn not_binds_tight_where_the_mode_says_so() {
    let mode = SqlMode {
        high_not_precedence: true,
        ..SqlMode::default()
    };
    let found = condition_in("NOT id = 5 AND a IS NOT NULL", mode).unwrap();
    assert_eq!(found, "[[[! id] = 5] AND a IS NOT NULL]");
}

#[test]
fn what_follows_end_is_not_dropped() {
    for text in [
        "SELECT a c END FROM t",
        "SELECT 1 end",
        "COMMIT END",
        "SELECT a FROM t END DELETE FROM x",
    ] {
        let tokens: Vec<_> = Lexer::new(text.as_bytes(), SqlMode::default()).collect();
        assert!(
            parse(text.as_bytes(), SqlMode::default(), &tokens).is_none(),
            "{text}"
        );
    }
}

#[test]
fn a_chain_that_would_overflow_the_stack_is_not_parsed() {
    let sql = format!("SELECT 1 FROM t WHERE a{}", " OR a".repeat(60_000));
    let tokens: Vec<_> = Lexer::new(sql.as_bytes(), SqlMode::default()).collect();
    assert!(parse(sql.as_bytes(), SqlMode::default(), &tokens).is_none());
}

#[test]
fn what_sqlparser_cannot_read_is_read_anyway() {
    let texts = [
        "SELECT a FROM t WHERE id = 1 LOCK IN SHARE MODE",
        "SELECT CAST(a AS CHAR CHARACTER SET utf8mb4) FROM t",
        "SELECT DATE_SUB(NOW(), INTERVAL '1:30' MINUTE_SECOND) FROM t",
        "SELECT EXTRACT(YEAR_MONTH FROM d) FROM t",
        "DELETE LOW_PRIORITY QUICK IGNORE FROM t WHERE id = 1",
        "UPDATE IGNORE t SET a = 1 WHERE id = 1",
        "SELECT `a``b`, @`x` FROM t",
    ];
    for text in texts {
        let tokens: Vec<_> = Lexer::new(text.as_bytes(), SqlMode::default()).collect();
        assert!(
            parse(text.as_bytes(), SqlMode::default(), &tokens).is_some(),
            "{text}"
        );
    }
}
