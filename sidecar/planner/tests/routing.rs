//! No condition leaves out a place that holds a row it is true for.
//!
//! Random conditions are written as MySQL's precedences allow, with no parentheses that are not
//! needed, and evaluated here in three-valued logic for some rows.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

mod shop;

use std::collections::BTreeSet;

use proptest::prelude::*;
use remora_planner::fingerprint::Normalizer;
use remora_planner::{Action, BindInput, Catalog, Context, Planner, Statement, Target};

/// What the other column of every row holds.
const AMOUNT: i64 = 3;

/// A condition over `id` and `amount`.
#[derive(Clone, Debug)]
enum Condition {
    Equal(i64),
    Reversed(i64),
    NullSafe(i64),
    Row(i64, i64),
    In(Vec<i64>),
    NotIn(Vec<i64>),
    IsNull,
    Null,
    Greater(i64),
    Amount(i64),
    Constant(i64),
    And(&'static str, Box<Condition>, Box<Condition>),
    Or(&'static str, Box<Condition>, Box<Condition>),
    Xor(Box<Condition>, Box<Condition>),
    Not(Box<Condition>),
    Bang(Box<Condition>),
    IsTrue(Box<Condition>),
}

use Condition as C;

impl Condition {
    /// How tightly it binds: OR 1, XOR 2, AND 3, NOT 4, comparisons 5.
    fn level(&self) -> u8 {
        match self {
            C::Or(..) => 1,
            C::Xor(..) => 2,
            C::And(..) => 3,
            C::Not(_) => 4,
            _ => 5,
        }
    }

    fn text(&self) -> String {
        let list = |values: &[i64]| {
            let values: Vec<String> = values.iter().map(ToString::to_string).collect();
            values.join(", ")
        };
        match self {
            C::Equal(n) => format!("id = {n}"),
            C::Reversed(n) => format!("'{n}' = orders.id"),
            C::NullSafe(n) => format!("id <=> {n}"),
            C::Row(n, m) => format!("(amount, id) = ({m}, {n})"),
            C::In(values) => format!("id IN ({})", list(values)),
            C::NotIn(values) => format!("id NOT IN ({})", list(values)),
            C::IsNull => "id IS NULL".to_owned(),
            C::Null => "id = NULL".to_owned(),
            C::Greater(n) => format!("id > {n}"),
            C::Amount(n) => format!("amount = {n}"),
            C::Constant(n) => n.to_string(),
            C::And(word, a, b) => format!("{} {word} {}", a.within(3), b.within(4)),
            C::Or(word, a, b) => format!("{} {word} {}", a.within(1), b.within(2)),
            C::Xor(a, b) => format!("{} XOR {}", a.within(2), b.within(3)),
            C::Not(a) => format!("NOT {}", a.within(4)),
            C::Bang(a) => format!("!({})", a.text()),
            C::IsTrue(a) => format!("({}) IS TRUE", a.text()),
        }
    }

    fn within(&self, level: u8) -> String {
        if self.level() < level {
            format!("({})", self.text())
        } else {
            self.text()
        }
    }

    /// Whether it is true, false or NULL for a row.
    fn holds(&self, id: i64) -> Option<bool> {
        match self {
            C::Equal(n) | C::Reversed(n) | C::NullSafe(n) => Some(id == *n),
            C::Row(n, m) => Some(id == *n && AMOUNT == *m),
            C::In(values) => Some(values.contains(&id)),
            C::NotIn(values) => Some(!values.contains(&id)),
            C::IsNull => Some(false),
            C::Null => None,
            C::Greater(n) => Some(id > *n),
            C::Amount(n) => Some(AMOUNT == *n),
            C::Constant(n) => Some(*n != 0),
            C::And(_, a, b) => match (a.holds(id), b.holds(id)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            C::Or(_, a, b) => match (a.holds(id), b.holds(id)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
            C::Xor(a, b) => Some(a.holds(id)? != b.holds(id)?),
            C::Not(a) | C::Bang(a) => a.holds(id).map(|truth| !truth),
            C::IsTrue(a) => Some(a.holds(id) == Some(true)),
        }
    }
}

fn condition() -> impl Strategy<Value = Condition> {
    let id = -1_i64..12;
    let ids = proptest::collection::vec(-1_i64..12, 1..4);
    let leaf = prop_oneof![
        4 => id.clone().prop_map(C::Equal),
        2 => id.clone().prop_map(C::Reversed),
        1 => id.clone().prop_map(C::NullSafe),
        1 => (id.clone(), 2_i64..5).prop_map(|(n, m)| C::Row(n, m)),
        2 => ids.clone().prop_map(C::In),
        1 => ids.prop_map(C::NotIn),
        1 => Just(C::IsNull),
        1 => Just(C::Null),
        1 => id.prop_map(C::Greater),
        2 => (2_i64..5).prop_map(C::Amount),
        1 => (0_i64..2).prop_map(C::Constant),
    ];
    leaf.prop_recursive(5, 24, 2, |inner| {
        let pair = (
            inner.clone().prop_map(Box::new),
            inner.clone().prop_map(Box::new),
        );
        let and = prop_oneof![Just("AND"), Just("&&"), Just("and")];
        let or = prop_oneof![Just("OR"), Just("||")];
        prop_oneof![
            3 => (and, pair.clone()).prop_map(|(word, (a, b))| C::And(word, a, b)),
            3 => (or, pair.clone()).prop_map(|(word, (a, b))| C::Or(word, a, b)),
            1 => pair.prop_map(|(a, b)| C::Xor(a, b)),
            1 => inner.clone().prop_map(|a| C::Not(Box::new(a))),
            1 => inner.clone().prop_map(|a| C::Bang(Box::new(a))),
            1 => inner.prop_map(|a| C::IsTrue(Box::new(a))),
        ]
    })
}

/// The places that a SELECT is sent to, as shard and schema.
fn places(planner: &Planner, catalog: &Catalog, sql: &str) -> BTreeSet<(u16, String)> {
    let context = Context {
        database: Some("shop".to_owned()),
        ..Context::default()
    };
    let mut normalizer = Normalizer::default();
    let planned = planner
        .plan(catalog, &context, &mut normalizer, sql.as_bytes())
        .unwrap();
    let input = BindInput::default();
    let bound = planner
        .bind(catalog, &context, &planned, sql.as_bytes(), &input)
        .unwrap();
    let schemas = |shard: u16, statement: &Statement<'_>| {
        let text = String::from_utf8_lossy(&statement.sql).into_owned();
        let names = ["shop__0000", "shop__0001"];
        let named = names.into_iter().filter(move |name| text.contains(name));
        named
            .map(|name| (shard, name.to_owned()))
            .collect::<Vec<_>>()
    };
    match bound.action {
        Action::Single {
            target: Target::Shard(shard),
            statement,
        } => schemas(shard.0, &statement).into_iter().collect(),
        Action::Scatter(scatter) => {
            let parts = scatter.parts.iter();
            parts
                .flat_map(|part| schemas(part.shard.0, &part.statement))
                .collect()
        }
        Action::Single {
            target: Target::Any,
            ..
        } => BTreeSet::new(),
        other => panic!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn every_row_that_matches_is_in_a_place_that_is_asked(condition in condition()) {
        let catalog = shop::catalog();
        let planner = Planner::new(1 << 20);
        let text = condition.text();
        let asked = places(&planner, &catalog, &format!("SELECT id FROM orders WHERE {text}"));
        for id in -1..12 {
            if condition.holds(id) == Some(true) {
                let home = places(&planner, &catalog, &format!("SELECT 1 FROM orders WHERE id = {id}"));
                prop_assert!(home.is_subset(&asked), "row {} of {}", id, text);
            }
        }
    }
}

#[test]
fn what_matches_nothing_binds_to_no_shard() {
    let catalog = shop::catalog();
    let planner = Planner::new(1 << 20);
    let context = Context {
        database: Some("shop".to_owned()),
        ..Context::default()
    };
    for sql in [
        "SELECT * FROM orders WHERE id = NULL",
        "SELECT * FROM orders WHERE id = 1.5",
        "DELETE FROM orders WHERE 0",
    ] {
        let planned = planner
            .plan(
                &catalog,
                &context,
                &mut Normalizer::default(),
                sql.as_bytes(),
            )
            .unwrap();
        let input = BindInput::default();
        let bound = planner
            .bind(&catalog, &context, &planned, sql.as_bytes(), &input)
            .unwrap();
        let any = matches!(
            bound.action,
            Action::Single {
                target: Target::Any,
                ..
            }
        );
        assert!(any, "{sql}");
    }
}
