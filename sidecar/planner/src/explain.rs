//! EXPLAIN REMORA: what would be sent where, and how it would be put together.

use remora_merge::{Function, MergeSpec};

use crate::bound::{Action, Bound, Count, ExplainRow, Statement, Target};

/// The rows of EXPLAIN REMORA for a bound statement.
pub(crate) fn explain(bound: &Bound<'_>) -> Vec<ExplainRow> {
    match &bound.action {
        Action::Single { target, statement } => {
            vec![row(
                target_name(*target),
                1,
                statement,
                "none: the answer is relayed",
            )]
        }
        Action::Scatter(scatter) => {
            let merge = describe(&scatter.merge);
            let rows = scatter.parts.iter().map(|part| {
                row(
                    part.shard.0.to_string(),
                    part.branches,
                    &part.statement,
                    &merge,
                )
            });
            rows.collect()
        }
        Action::Writes(writes) => {
            let merge = match writes.count {
                Count::Sum => "affected rows are summed; all shards commit or none",
                Count::First => "the first shard's answer; all shards commit or none",
            };
            statements(&writes.shards, merge)
        }
        Action::Ddl(ddl) => statements(&ddl.shards, "none: the first answer is relayed"),
        Action::Utility(_) => vec![ExplainRow {
            shard: "session".to_owned(),
            slots: 0,
            sql: String::new(),
            merge: "none: the session answers".to_owned(),
        }],
        Action::Explain(rows) => rows.clone(),
    }
}

fn statements(
    shards: &[(remora_crds::layout::ShardIndex, Vec<Statement<'_>>)],
    merge: &str,
) -> Vec<ExplainRow> {
    shards
        .iter()
        .flat_map(|(shard, statements)| {
            statements
                .iter()
                .map(|statement| row(shard.0.to_string(), 1, statement, merge))
        })
        .collect()
}

fn row(shard: String, slots: usize, statement: &Statement<'_>, merge: &str) -> ExplainRow {
    let sql = String::from_utf8_lossy(&statement.sql).into_owned();
    ExplainRow {
        shard,
        slots,
        sql,
        merge: merge.to_owned(),
    }
}

fn target_name(target: Target) -> String {
    match target {
        Target::Shard(shard) => shard.0.to_string(),
        Target::Home => "home".to_owned(),
        Target::Any => "any".to_owned(),
    }
}

/// A merge in a line of text.
fn describe(merge: &MergeSpec) -> String {
    let mut steps = Vec::new();
    if !merge.order.is_empty() {
        let keys: Vec<String> = merge
            .order
            .iter()
            .map(|key| order(key.key.value, key.descending))
            .collect();
        steps.push(format!("merge by {}", keys.join(", ")));
    } else {
        steps.push("concatenate".to_owned());
    }
    if let Some(group) = &merge.group {
        let keys: Vec<String> = group.keys.iter().map(|key| column(key.value)).collect();
        let functions: Vec<String> = group
            .aggregates
            .iter()
            .map(|it| format!("{} {}", function(it.function), column(it.column)))
            .collect();
        let by = if keys.is_empty() {
            String::new()
        } else {
            format!(" by {}", keys.join(", "))
        };
        let of = if functions.is_empty() {
            String::new()
        } else {
            format!(": {}", functions.join(", "))
        };
        steps.push(format!("group{by}{of}"));
    }
    if !merge.resort.is_empty() {
        let keys: Vec<String> = merge
            .resort
            .iter()
            .map(|key| order(key.key.value, key.descending))
            .collect();
        steps.push(format!("sort by {}", keys.join(", ")));
    }
    if let Some(limit) = merge.limit {
        steps.push(format!("skip {}, give {}", limit.offset, limit.count));
    }
    steps.push(format!("show {} columns", merge.visible));
    steps.join("; ")
}

fn order(value: usize, descending: bool) -> String {
    format!(
        "{}{}",
        column(value),
        if descending { " descending" } else { "" }
    )
}

fn column(number: usize) -> String {
    format!("column {}", number + 1)
}

fn function(function: Function) -> &'static str {
    match function {
        Function::Count => "count",
        Function::Sum => "sum",
        Function::Min(_) => "lowest",
        Function::Max(_) => "highest",
        Function::Avg { .. } => "average",
    }
}
