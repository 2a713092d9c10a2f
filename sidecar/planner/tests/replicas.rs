//! Golden: which statements of `plans/replicas.sql`, one a line, a replica may answer, and which
//! leave something behind in their session.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

mod shop;

use std::fmt::Write;

use remora_planner::fingerprint::Normalizer;
use remora_planner::{Context, Planner, ReadHint};

#[test]
fn what_a_replica_may_answer_is_as_ever() {
    let catalog = shop::catalog();
    let planner = Planner::new(1 << 20);
    let context = Context {
        database: Some("shop".to_owned()),
        ..Context::default()
    };
    let mut out = String::new();
    for sql in include_str!("plans/replicas.sql").lines() {
        if sql.is_empty() || sql.starts_with("--") {
            writeln!(out, "{sql}").unwrap();
            continue;
        }
        let mut normalizer = Normalizer::default();
        let planned = planner.plan(&catalog, &context, &mut normalizer, sql.as_bytes());
        let verdict = match &planned {
            Err(_) => "refused".to_owned(),
            Ok(planned) => {
                let traits = planned.plan().traits();
                let place = if traits.read { "replica" } else { "primary" };
                let state = if traits.leaves_state() {
                    ", leaves state"
                } else {
                    ""
                };
                let hint = match planned.hint() {
                    ReadHint::None => "",
                    ReadHint::Primary => ", hint: primary",
                    ReadHint::Replica => ", hint: replica",
                };
                format!("{place}{state}{hint}")
            }
        };
        writeln!(out, "{verdict:24} | {sql}").unwrap();
    }
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("replicas", out);
    });
}
