//! What holds for every statement.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

mod shop;

use proptest::prelude::*;
use remora_planner::fingerprint::Normalizer;
use remora_planner::{Action, BindInput, Bound, Catalog, Context, Planner, Refusal};

/// Statements with `#` where a literal goes.
const TEMPLATES: [&str; 20] = [
    "SELECT * FROM orders WHERE id = #",
    "SELECT * FROM orders WHERE id = # OR #",
    "SELECT * FROM orders WHERE id = # AND #",
    "SELECT * FROM orders WHERE id IN (#, #, #)",
    "SELECT # + id FROM orders ORDER BY #",
    "SELECT id, amount + # FROM orders GROUP BY id, amount + # ORDER BY amount + #",
    "SELECT amount + #, COUNT(*) FROM orders GROUP BY amount + # ORDER BY amount + #",
    "SELECT DISTINCT amount FROM orders WHERE amount > # LIMIT 3",
    "SELECT COUNT(*), # FROM orders WHERE customer = #",
    "SELECT id FROM orders ORDER BY id LIMIT 7",
    "SELECT * FROM account WHERE name = # AND balance = #",
    "INSERT INTO orders (id, customer) VALUES (#, #), (#, #)",
    "INSERT INTO payment (order_id, id, kind) VALUES (#, #, #), (#, #, #)",
    "REPLACE INTO account (name, balance, id) VALUES (#, #, #)",
    "UPDATE orders SET customer = # WHERE id = # OR id = #",
    "DELETE FROM payment WHERE order_id = # AND kind = #",
    "SELECT o.id FROM orders o JOIN payment p ON o.id = p.order_id WHERE p.kind = # AND o.id = #",
    "SELECT * FROM note WHERE a = # AND b = #",
    "INSERT INTO note (a, b) VALUES (#, #)",
    "SELECT /* # */ id, # FROM orders -- # \n WHERE id = # # #",
];

fn literal() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("0".to_owned()),
        Just("1".to_owned()),
        Just("2".to_owned()),
        any::<u64>().prop_map(|it| it.to_string()),
        any::<i32>().prop_map(|it| format!("'{it}'")),
        "[a-zA-Zäß ]{0,6}".prop_map(|it| format!("'{it}'")),
        Just("'it''s'".to_owned()),
        Just("1.5".to_owned()),
        Just("1e3".to_owned()),
        Just("0x31".to_owned()),
        Just("NULL".to_owned()),
        Just("TRUE".to_owned()),
        Just("-5".to_owned()),
    ]
}

fn statement() -> impl Strategy<Value = String> {
    (0..TEMPLATES.len(), proptest::collection::vec(literal(), 8)).prop_map(|(template, values)| {
        let mut values = values.into_iter().cycle();
        TEMPLATES[template]
            .chars()
            .map(|c| {
                if c == '#' {
                    values.next().unwrap_or_default()
                } else {
                    c.to_string()
                }
            })
            .collect()
    })
}

fn context() -> Context {
    Context {
        database: Some("shop".to_owned()),
        ..Context::default()
    }
}

/// What is bound, printed.
fn outcome(planner: &Planner, catalog: &Catalog, sql: &str) -> String {
    let run = || -> Result<String, Refusal> {
        let context = context();
        let sql = sql.as_bytes();
        let planned = planner.plan(catalog, &context, &mut Normalizer::default(), sql)?;
        let input = BindInput {
            generated: &[7, 8, 9],
            ..BindInput::default()
        };
        let bound: Bound<'_> = planner.bind(catalog, &context, &planned, sql, &input)?;
        Ok(format!("{bound:?}"))
    };
    run().unwrap_or_else(|refusal| refusal.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_plan_from_the_cache_binds_as_a_new_one(
        statements in proptest::collection::vec(statement(), 1..12)
    ) {
        let catalog = shop::catalog();
        let shared = Planner::new(1 << 20);
        for sql in &statements {
            let fresh = Planner::new(1 << 20);
            prop_assert_eq!(
                outcome(&shared, &catalog, sql),
                outcome(&fresh, &catalog, sql),
                "{}", sql
            );
        }
    }

    #[test]
    fn a_statement_without_manifest_tables_is_sent_byte_for_byte(
        words in proptest::collection::vec("(SELECT|FROM|note|WHERE|a|=|1|'x'|,|\\(|\\)|\\*|--|#|/\\*|`|\\?|;)", 0..12)
    ) {
        let sql = words.join(" ");
        let catalog = shop::catalog();
        let planner = Planner::new(1 << 20);
        let context = context();
        let Ok(planned) =
            planner.plan(&catalog, &context, &mut Normalizer::default(), sql.as_bytes())
        else {
            return Ok(());
        };
        let input = BindInput::default();
        let bound = planner.bind(&catalog, &context, &planned, sql.as_bytes(), &input);
        if let Ok(Bound { action: Action::Single { statement, .. }, .. }) = bound {
            prop_assert_eq!(statement.sql.as_ref(), sql.as_bytes());
        }
    }

    #[test]
    fn no_text_makes_the_planner_panic(
        words in proptest::collection::vec(
            "(SELECT|INSERT INTO|UPDATE|DELETE|FROM|orders|payment|country|shop|\\.|id|customer|WHERE|SET|VALUES|ON|JOIN|GROUP BY|ORDER BY|LIMIT|DISTINCT|COUNT|AS|=|1|0|'x'|,|\\(|\\)|\\*|CREATE TABLE|ALTER TABLE|ADD|UNIQUE|SHOW|COLUMNS|EXPLAIN|REMORA|`|\\?|OR|AND|IN|UNION|ON DUPLICATE KEY UPDATE|LAST_INSERT_ID|CONNECTION_ID)",
            0..24
        )
    ) {
        let catalog = shop::catalog();
        outcome(&Planner::new(1 << 20), &catalog, &words.join(" "));
    }
}

#[test]
fn a_long_statement_is_not_copied_for_many_places() {
    let catalog = shop::catalog();
    let planner = Planner::new(1 << 20);
    let long = |places: &str| {
        let text = "x".repeat(20 << 20);
        format!("UPDATE orders SET customer = '{text}' WHERE {places}")
    };
    assert!(outcome(&planner, &catalog, &long("amount = 1")).contains("too long"));
    assert!(!outcome(&planner, &catalog, &long("id = 1")).contains("too long"));
}

#[test]
fn a_broken_token_does_not_pass_for_a_literal() {
    let catalog = shop::catalog();
    let planner = Planner::new(1 << 20);
    outcome(&planner, &catalog, "SELECT * FROM orders WHERE id = 5");
    let kinds = (0..32_u8).map(char::from);
    for kind in kinds {
        let sql = format!("SELECT * FROM orders WHERE id = \0{kind}");
        assert!(
            !outcome(&planner, &catalog, &sql).contains("shop__"),
            "{kind:?}"
        );
    }
}
