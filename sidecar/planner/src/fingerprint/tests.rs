use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::lexer::{SqlMode, TokenKind};

impl Weight for String {
    fn bytes(&self) -> usize {
        self.len()
    }
}

fn normalized(sql: &str) -> Vec<u8> {
    Normalizer::default()
        .normalize(sql.as_bytes(), SqlMode::default(), b"shop")
        .normalized
        .to_vec()
}

fn body(sql: &str) -> &str {
    let mut normalizer = Normalizer::default();
    &sql[normalizer
        .normalize(sql.as_bytes(), SqlMode::default(), b"")
        .body]
}

fn get(cache: &PlanCache<String>, sql: &str) -> Option<String> {
    let mut normalizer = Normalizer::default();
    let fingerprint = normalizer.normalize(sql.as_bytes(), SqlMode::default(), b"");
    cache
        .get(&fingerprint, sql.as_bytes())
        .map(|plan| (*plan).clone())
}

fn insert(cache: &PlanCache<String>, sql: &str, pinned: &[usize], plan: &str) {
    let mut normalizer = Normalizer::default();
    let fingerprint = normalizer.normalize(sql.as_bytes(), SqlMode::default(), b"");
    cache.insert(
        &fingerprint,
        sql.as_bytes(),
        pinned,
        Arc::new(plan.to_owned()),
    );
}

#[test]
fn statements_that_differ_in_a_value_only_are_the_same() {
    assert_eq!(
        normalized("SELECT * FROM t WHERE id=1"),
        normalized("SELECT * FROM t WHERE id=20000")
    );
    assert_eq!(normalized("SELECT 'a'"), normalized("SELECT 'b''c'"));
    assert_eq!(
        normalized("/* trace 1 */ SELECT 1 -- x"),
        normalized("SELECT 1;")
    );
}

#[test]
fn statements_that_differ_in_more_than_a_value_are_not_the_same() {
    let pairs = [
        ("SELECT 1", "SELECT '1'"),
        ("SELECT 1", "SELECT 1.0"),
        ("SELECT 1", "SELECT 1e0"),
        ("SELECT 1", "SELECT -1"),
        ("SELECT 1", "SELECT NULL"),
        ("SELECT TRUE", "SELECT FALSE"),
        ("SELECT 1", "SELECT ?"),
        ("SELECT x'01'", "SELECT b'01'"),
        ("SELECT 'a'", "SELECT N'a'"),
        ("SELECT _latin1'a'", "SELECT _utf8mb4'a'"),
        ("SELECT 18446744073709551615", "SELECT 18446744073709551616"),
        ("SELECT 1", "select 1"),
        ("SELECT 1+1", "SELECT 1 +1"),
        ("SELECT /*+ A */ 1", "SELECT /*+ B */ 1"),
        ("SELECT 1 /*!50000 +1 */", "SELECT 1 +1"),
        ("SELECT 1 /* a */ + 1", "SELECT 1 /* b */ + 1"),
        ("SELECT 1,1", "SELECT 1,1,1"),
    ];
    for (a, b) in pairs {
        assert_ne!(normalized(a), normalized(b), "{a} / {b}");
    }
}

#[test]
fn mode_and_context_are_part_of_the_key() {
    let mut a = Normalizer::default();
    let mut b = Normalizer::default();
    let ansi = SqlMode {
        ansi_quotes: true,
        ..SqlMode::default()
    };
    let plain = a
        .normalize(b"SELECT a", SqlMode::default(), b"x")
        .normalized;
    assert_ne!(plain, b.normalize(b"SELECT a", ansi, b"x").normalized);
    assert_ne!(
        plain,
        b.normalize(b"SELECT a", SqlMode::default(), b"y")
            .normalized
    );
}

#[test]
fn the_body_is_the_statement_without_what_surrounds_it() {
    assert_eq!(body(" /* a */ SELECT 1 /* b */ ; -- c"), "SELECT 1");
    assert_eq!(
        body("/*!40101 SET NAMES utf8 */;"),
        "/*!40101 SET NAMES utf8 */"
    );
    assert_eq!(
        body("/*!40101 SET NAMES utf8 */"),
        "/*!40101 SET NAMES utf8 */"
    );
    assert_eq!(body("SELECT 1 /*!50100 +1 */ "), "SELECT 1 /*!50100 +1 */");
    assert_eq!(
        body("SELECT 1 /*!50100 +1 */ +2 /* x */"),
        "SELECT 1 /*!50100 +1 */ +2"
    );
    assert_eq!(body(" -- x"), "");
    assert_eq!(body(";"), "");
}

#[test]
fn what_mysql_refuses_and_what_follows_is_told() {
    let mut normalizer = Normalizer::default();
    let mut flags = |sql: &str| {
        let found = normalizer.normalize(sql.as_bytes(), SqlMode::default(), b"");
        (found.invalid, found.unread, found.several)
    };
    assert_eq!(flags("SELECT 1;;"), (false, false, false));
    assert_eq!(flags("SELECT 'a"), (true, false, false));
    assert_eq!(flags("SELECT 1--/* */1"), (true, true, false));
    assert_eq!(flags("SELECT 1; SELECT 2"), (false, false, true));
    assert_eq!(flags("/*!50000 SELECT 1; */"), (true, true, false));
    assert_eq!(flags("/*!50000 SELECT 1"), (true, false, false));
    let program = "CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; END";
    assert_eq!(flags(program), (false, false, false));
    assert_eq!(flags(&format!("{program}; SELECT 3")), (false, false, true));
    let dumped = "/*!50003 CREATE*/ /*!50003 TRIGGER g AFTER INSERT ON t FOR EACH ROW BEGIN SET @a = 1; END */";
    assert_eq!(flags(dumped), (false, false, false));
}

#[test]
fn literals_are_told_in_order() {
    let sql = b"SELECT 1, 'a', x'01', -2.5";
    let mut normalizer = Normalizer::default();
    let found = normalizer.normalize(sql, SqlMode::default(), b"");
    let kinds: Vec<_> = found.literals.iter().map(|t| t.kind).collect();
    assert_eq!(
        kinds,
        [
            TokenKind::Integer,
            TokenKind::String,
            TokenKind::Hex,
            TokenKind::Decimal
        ]
    );
    assert_eq!(found.literals[3].text(sql), b"2.5");
}

#[test]
fn a_plan_without_pins_serves_every_value() {
    let cache = PlanCache::new(1 << 20);
    assert_eq!(get(&cache, "SELECT 1"), None);
    insert(&cache, "SELECT 1", &[], "plan");
    assert_eq!(get(&cache, "SELECT 22").as_deref(), Some("plan"));
    assert_eq!(get(&cache, "SELECT  22"), None);
}

#[test]
fn a_pinned_literal_is_part_of_the_key() {
    let cache = PlanCache::new(1 << 20);
    insert(&cache, "SELECT 1, 2", &[1], "two");
    assert_eq!(get(&cache, "SELECT 9, 2").as_deref(), Some("two"));
    assert_eq!(get(&cache, "SELECT 1, 3"), None);
    insert(&cache, "SELECT 1, 3", &[1], "three");
    assert_eq!(get(&cache, "SELECT 8, 3").as_deref(), Some("three"));
    assert_eq!(get(&cache, "SELECT 9, 2").as_deref(), Some("two"));
}

#[test]
fn pins_grow_with_the_plans() {
    let cache = PlanCache::new(1 << 20);
    insert(&cache, "SELECT 1, 2", &[1], "a");
    insert(&cache, "SELECT 1, 3", &[0, 1], "b");
    assert_eq!(get(&cache, "SELECT 1, 3").as_deref(), Some("b"));
    assert_eq!(get(&cache, "SELECT 2, 3"), None);
    assert_eq!(
        get(&cache, "SELECT 1, 2"),
        None,
        "found again once it is planned again"
    );
    insert(&cache, "SELECT 1, 2", &[1], "a");
    assert_eq!(get(&cache, "SELECT 1, 2").as_deref(), Some("a"));
}

#[test]
fn the_cache_is_bounded_in_bytes() {
    let cache = PlanCache::new(64 << 10);
    for i in 0..1000 {
        insert(&cache, &format!("SELECT a{i}"), &[], &"x".repeat(1000));
    }
    let kept = (0..1000)
        .filter(|i| get(&cache, &format!("SELECT a{i}")).is_some())
        .count();
    assert!((10..=64).contains(&kept), "{kept}");
}

proptest! {
    /// The normalised bytes, the literals left out, say where each literal stood.
    #[test]
    fn equal_normalized_bytes_mean_equal_text_besides_literals(
        a in r#"[ a1x'".`@/*!;0\x00-]{0,12}"#, b in r#"[ a1x'".`@/*!;0\x00-]{0,12}"#,
    ) {
        let (mut first, mut second) = (Normalizer::default(), Normalizer::default());
        let first = first.normalize(a.as_bytes(), SqlMode::default(), b"");
        let second = second.normalize(b.as_bytes(), SqlMode::default(), b"");
        if first.normalized == second.normalized && !first.invalid && !second.invalid {
            prop_assert_eq!(besides(a.as_bytes(), &first), besides(b.as_bytes(), &second));
        }
    }

    #[test]
    fn any_bytes_are_normalized(sql: Vec<u8>, context: Vec<u8>) {
        let mut normalizer = Normalizer::default();
        let found = normalizer.normalize(&sql, SqlMode::default(), &context);
        prop_assert!(found.body.start <= found.body.end && found.body.end <= sql.len());
        for token in found.literals {
            prop_assert!(token.start as usize >= found.body.start && token.end as usize <= found.body.end);
        }
    }
}

fn besides<'a>(sql: &'a [u8], fingerprint: &Fingerprint<'_>) -> Vec<&'a [u8]> {
    let mut at = fingerprint.body.start;
    let mut parts = Vec::new();
    for token in fingerprint.literals {
        parts.push(&sql[at..token.start as usize]);
        at = token.end as usize;
    }
    parts.push(&sql[at..fingerprint.body.end]);
    parts
}
