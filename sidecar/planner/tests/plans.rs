//! Golden plans: what is sent where for the statements in `plans/*.sql`, one a line.
//!
//! `-- params: 1, 'x', NULL` behind a statement makes it a prepared one with these values.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

mod shop;

use std::fmt::Write;

use remora_planner::fingerprint::Normalizer;
use remora_planner::{
    Action, BindInput, Bound, Catalog, Context, Count, Param, ParamSource, Part, Planner, Refusal,
    SessionValues, Statement, Target,
};

/// What stands for generated values.
const GENERATED: [u64; 4] = [1001, 1002, 1003, 1004];

#[test]
fn reads_are_planned_as_ever() {
    check(
        "reads",
        &Context {
            database: Some("shop".to_owned()),
            ..Context::default()
        },
    );
}

#[test]
fn scatters_are_planned_as_ever() {
    check(
        "scatters",
        &Context {
            database: Some("shop".to_owned()),
            ..Context::default()
        },
    );
}

#[test]
fn joins_are_planned_as_ever() {
    check(
        "joins",
        &Context {
            database: Some("shop".to_owned()),
            ..Context::default()
        },
    );
}

#[test]
fn inserts_are_planned_as_ever() {
    check(
        "inserts",
        &Context {
            database: Some("shop".to_owned()),
            ..Context::default()
        },
    );
}

#[test]
fn updates_and_deletes_are_planned_as_ever() {
    check(
        "writes",
        &Context {
            database: Some("shop".to_owned()),
            ..Context::default()
        },
    );
}

#[test]
fn data_definition_is_planned_as_ever() {
    check(
        "definition",
        &Context {
            database: Some("shop".to_owned()),
            ..Context::default()
        },
    );
}

#[test]
fn other_statements_are_planned_as_ever() {
    check(
        "others",
        &Context {
            database: Some("shop".to_owned()),
            ..Context::default()
        },
    );
}

#[test]
fn names_with_a_database_need_no_current_one() {
    check("qualified", &Context::default());
}

#[test]
fn another_current_database_is_the_first_shards() {
    let context = Context {
        database: Some("other".to_owned()),
        ..Context::default()
    };
    check("elsewhere", &context);
}

fn check(name: &str, context: &Context) {
    let catalog = shop::catalog();
    let planner = Planner::new(1 << 20);
    let path = format!("{}/tests/plans/{name}.sql", env!("CARGO_MANIFEST_DIR"));
    let corpus = std::fs::read_to_string(path).unwrap();
    let mut out = String::new();
    for line in corpus.lines().filter(|line| !line.is_empty()) {
        if line.starts_with("## ") {
            writeln!(out, "{line}\n").unwrap();
            continue;
        }
        let first = planned(&planner, &catalog, context, line);
        let again = planned(&planner, &catalog, context, line);
        assert_eq!(first, again, "the cache gives another plan for {line}");
        writeln!(out, "{line}\n{first}").unwrap();
    }
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, out);
    });
}

/// The bound statement in text, or the refusal.
fn planned(planner: &Planner, catalog: &Catalog, context: &Context, line: &str) -> String {
    let (sql, params) = match line.split_once(" -- params: ") {
        Some((sql, params)) => (sql, Some(params.split(", ").map(param).collect::<Vec<_>>())),
        None => (line, None),
    };
    let outcome = (|| -> Result<String, Refusal> {
        let sql = sql.as_bytes();
        let planned = planner.plan(catalog, context, &mut Normalizer::default(), sql)?;
        let session = SessionValues {
            connection_id: Some(77),
            ..SessionValues::default()
        };
        let mut input = BindInput {
            params: params.as_deref(),
            generated: &[],
            session,
            ..BindInput::default()
        };
        let needed = planner.generated_values_needed(context, &planned, sql, &input);
        input.generated = &GENERATED[..needed.map_or(0, |needed| needed.count)];
        let bound = planner.bind(catalog, context, &planned, sql, &input)?;
        let stale = if planned.plan().is_stale() {
            "  (stale)\n"
        } else {
            ""
        };
        Ok(format!("{stale}{}", show(&bound)))
    })();
    outcome.unwrap_or_else(|refusal| format!("  {refusal}\n"))
}

fn param(text: &str) -> Param<'_> {
    if text == "NULL" {
        Param::Null
    } else if let Some(text) = text.strip_prefix('\'') {
        Param::Bytes(text.trim_end_matches('\'').as_bytes())
    } else {
        Param::Int(text.parse().unwrap())
    }
}

fn show(bound: &Bound<'_>) -> String {
    let mut out = String::new();
    match &bound.action {
        Action::Single { target, statement } => {
            let target = match target {
                Target::Shard(shard) => format!("shard {}", shard.0),
                Target::Home => "home".to_owned(),
                Target::Any => "any".to_owned(),
            };
            writeln!(out, "  {target}: {}", text(statement)).unwrap();
        }
        Action::Scatter(scatter) => {
            for Part {
                shard, statement, ..
            } in &scatter.parts
            {
                writeln!(out, "  shard {}: {}", shard.0, text(statement)).unwrap();
            }
            writeln!(
                out,
                "  probe {}: {}",
                scatter.probe.shard.0,
                text(&scatter.probe.statement)
            )
            .unwrap();
            writeln!(out, "  merge: {}", merge(&scatter.merge)).unwrap();
        }
        Action::Writes(writes) => {
            let count = match writes.count {
                Count::Sum => "sum",
                Count::First => "first",
            };
            for (shard, statements) in &writes.shards {
                for statement in statements {
                    writeln!(out, "  shard {} ({count}): {}", shard.0, text(statement)).unwrap();
                }
            }
        }
        Action::Ddl(ddl) => {
            for (shard, schema) in &ddl.schemas {
                writeln!(out, "  shard {}: schema {schema}", shard.0).unwrap();
            }
            for (shard, statements) in &ddl.shards {
                for statement in statements {
                    writeln!(out, "  shard {}: {}", shard.0, text(statement)).unwrap();
                }
            }
            if !ddl.restarts.is_empty() {
                writeln!(out, "  restarts {}", ddl.restarts.join(", ")).unwrap();
            }
        }
        Action::Utility(kind) => writeln!(out, "  session: {kind:?}").unwrap(),
        Action::Explain(rows) => {
            for row in rows {
                writeln!(
                    out,
                    "  {} | {} | {} | {}",
                    row.shard, row.slots, row.sql, row.merge
                )
                .unwrap();
            }
        }
    }
    if let Some(insert) = &bound.insert {
        writeln!(
            out,
            "  {}: first generated {:?}, highest explicit {:?}",
            insert.table, insert.first_generated, insert.highest_explicit
        )
        .unwrap();
    }
    out
}

fn text(statement: &Statement<'_>) -> String {
    let mut text = String::from_utf8_lossy(&statement.sql).into_owned();
    if !statement.params.is_empty() {
        let params: Vec<String> = statement
            .params
            .iter()
            .map(|param| match param {
                ParamSource::Client(number) => format!("?{number}"),
                ParamSource::Number(number) => number.to_string(),
            })
            .collect();
        write!(text, "  [{}]", params.join(", ")).unwrap();
    }
    text
}

fn merge(merge: &remora_merge::MergeSpec) -> String {
    let key = |key: &remora_merge::Key| match (key.weight, key.collation) {
        (Some(weight), Some(collation)) => format!("{} by {weight} in {collation}", key.value),
        _ => key.value.to_string(),
    };
    let order = |order: &[remora_merge::OrderKey]| {
        let keys: Vec<String> = order
            .iter()
            .map(|order| {
                format!(
                    "{}{}",
                    key(&order.key),
                    if order.descending { " desc" } else { "" }
                )
            })
            .collect();
        keys.join(", ")
    };
    let mut out = format!("{} visible", merge.visible);
    if !merge.order.is_empty() {
        write!(out, "; order {}", order(&merge.order)).unwrap();
    }
    if let Some(group) = &merge.group {
        let keys: Vec<String> = group.keys.iter().map(key).collect();
        write!(out, "; group [{}]", keys.join(", ")).unwrap();
        for aggregate in &group.aggregates {
            write!(out, "; {} {:?}", aggregate.column, aggregate.function).unwrap();
        }
    }
    if !merge.resort.is_empty() {
        write!(out, "; resort {}", order(&merge.resort)).unwrap();
    }
    if let Some(limit) = merge.limit {
        write!(out, "; limit {} from {}", limit.count, limit.offset).unwrap();
    }
    out
}
