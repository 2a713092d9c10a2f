//! GROUP BY, DISTINCT and aggregates over several places.

use remora_merge::{Aggregate, Function, Group, Key, OrderKey};
use sqlparser::ast::{
    DuplicateTreatment, Expr, Function as Call, FunctionArg, FunctionArgExpr, FunctionArguments,
    GroupByExpr,
};

use crate::Refusal;
use crate::catalog::ColumnKind;
use crate::lexer::TokenKind;
use crate::route::{column_in, constant};

use super::columns::{Columns, Text};
use super::facts::{Facts, function_name, is_mergeable};
use super::order::{self, OrderItem, Target, expression_kind};
use super::plan::{Planning, Push, Shape, spanning};
use super::visible;

/// The expressions of GROUP BY.
fn expressions<'a>(planning: &Planning<'a>) -> Result<&'a [Expr], Refusal> {
    match &planning.select.group_by {
        GroupByExpr::Expressions(keys, modifiers)
            if modifiers.is_empty() && keys.len() == planning.clauses.group.len() =>
        {
            Ok(keys)
        }
        _ => Err(spanning("GROUP BY WITH ROLLUP")),
    }
}

/// Whether an expression is the sharding key, and never a NULL of an outer join's.
fn is_key(planning: &Planning<'_>, expr: &Expr) -> bool {
    let analysis = planning.analysis;
    let outer = analysis.blocks.first().is_none_or(|block| block.outer);
    !outer
        && column_in(expr, 0, &analysis.blocks, &analysis.uses, planning.catalog).is_some_and(
            |(table, name)| {
                analysis
                    .uses
                    .get(table)
                    .is_some_and(|found| found.table.is_key(name))
            },
        )
}

/// Whether every group is in one place, because the sharding key is among what groups.
pub(super) fn is_local(planning: &Planning<'_>, columns: &Columns) -> Result<bool, Refusal> {
    Ok(expressions(planning)?.iter().any(|expr| {
        let aliased = matches!(expr, Expr::Identifier(ident)
            if columns.visible.iter().any(|it| it.alias.as_ref() == Some(&ident.value)));
        !aliased && is_key(planning, expr)
    }))
}

/// SELECT DISTINCT: the visible columns are the keys.
pub(super) fn distinct(
    planning: &mut Planning<'_>,
    columns: &mut Columns,
) -> Result<Shape, Refusal> {
    let items = order::items(planning, columns)?;
    if items
        .iter()
        .any(|item| matches!(item.target, Target::Expression { .. }))
    {
        return Err(spanning(
            "SELECT DISTINCT with ORDER BY something that it does not select",
        ));
    }
    let no_pad = columns.visible.iter().all(|column| column.facts.no_pad);
    let key = |columns: &mut Columns, number: usize| {
        let (text, kind) = match columns.visible.get(number) {
            Some(column) => (column.text.clone(), column.kind),
            None => return Err(spanning("SELECT DISTINCT of this form")),
        };
        columns.key(&text, Some(number), kind, false)
    };
    let mut order: Vec<OrderKey> = Vec::new();
    for item in items {
        if let Target::Visible(number) = item.target {
            push_key(&mut order, key(columns, number)?, item.descending);
        }
    }
    let mut keys = Vec::with_capacity(columns.visible.len());
    for number in 0..columns.visible.len() {
        let key = key(columns, number)?;
        keys.push(key);
        push_key(&mut order, key, false);
    }
    // Text that differs in trailing blanks only is one value to MySQL, but has two weights, so
    // that a part may give it twice: then only the merge can count.
    let push = if no_pad { Push::Place } else { Push::No };
    let group = Some(Group {
        keys,
        aggregates: Vec::new(),
    });
    Ok(Shape {
        group,
        order,
        resort: Vec::new(),
        push,
    })
}

fn push_key(order: &mut Vec<OrderKey>, key: Key, descending: bool) {
    if order.iter().all(|known| known.key != key) {
        order.push(OrderKey { key, descending });
    }
}

/// Aggregates, with or without GROUP BY.
pub(super) fn aggregated(
    planning: &mut Planning<'_>,
    columns: &mut Columns,
) -> Result<Shape, Refusal> {
    let keys = group_keys(planning, columns)?;
    let mut aggregates = Vec::new();
    for number in 0..columns.visible.len() {
        if let Some(aggregate) = visible_aggregate(planning, columns, number)? {
            aggregates.push(aggregate);
        }
    }
    if keys.is_empty() {
        if columns.grouped {
            return Err(spanning("GROUP BY a constant"));
        }
        let group = Some(Group { keys, aggregates });
        return Ok(Shape {
            group,
            order: Vec::new(),
            resort: Vec::new(),
            push: Push::No,
        });
    }
    let mut wanted = Vec::new();
    for item in order::items(planning, columns)? {
        if let Some(key) = order_key(planning, columns, &mut aggregates, &item)? {
            wanted.push(OrderKey {
                key,
                descending: item.descending,
            });
        }
    }
    let streams = wanted.iter().all(|order| keys.contains(&order.key));
    let mut order = Vec::new();
    if streams {
        wanted
            .iter()
            .for_each(|it| push_key(&mut order, it.key, it.descending));
    }
    keys.iter()
        .for_each(|key| push_key(&mut order, *key, false));
    let group = Some(Group { keys, aggregates });
    if streams {
        Ok(Shape {
            group,
            order,
            resort: Vec::new(),
            push: Push::Place,
        })
    } else {
        Ok(Shape {
            group,
            order,
            resort: wanted,
            push: Push::No,
        })
    }
}

fn group_keys(planning: &mut Planning<'_>, columns: &mut Columns) -> Result<Vec<Key>, Refusal> {
    let mut keys = Vec::new();
    if !columns.grouped {
        return Ok(keys);
    }
    let ranges = planning.clauses.group.clone();
    for (expr, range) in expressions(planning)?.iter().zip(ranges) {
        let facts = Facts::of(expr);
        if facts.subquery || facts.volatile {
            return Err(spanning("GROUP BY an expression of this kind"));
        }
        let key = match order::target(planning, columns, expr, range, true)? {
            Target::Constant => continue,
            Target::Visible(number) => match columns.visible.get(number) {
                Some(column) if !column.aggregate => {
                    let (text, kind) = (column.text.clone(), column.kind);
                    columns.key(&text, Some(number), kind, false)?
                }
                _ => return Err(spanning("GROUP BY an aggregate")),
            },
            Target::Expression { from, to } => {
                let text = Text::Span(planning.source.span(from, to));
                columns.key(&text, None, expression_kind(planning, expr), false)?
            }
        };
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    Ok(keys)
}

/// How a visible column's values of several parts become one; `None`: any of them will do.
fn visible_aggregate(
    planning: &Planning<'_>,
    columns: &mut Columns,
    number: usize,
) -> Result<Option<Aggregate>, Refusal> {
    let Some(column) = columns.visible.get(number) else {
        return Ok(None);
    };
    let (tokens, item) = (column.tokens, column.item);
    let expr = planning
        .select
        .projection
        .get(item)
        .and_then(visible::expression);
    let (Some(expr), Some(tokens)) = (expr, tokens) else {
        return if columns.grouped {
            Ok(None)
        } else {
            Err(spanning("* beside aggregates"))
        };
    };
    let facts = Facts::of(expr);
    if facts.subquery {
        return Err(spanning("a subquery beside aggregates"));
    }
    if facts.aggregate {
        return aggregate(planning, columns, expr, tokens, number).map(Some);
    }
    if columns.grouped || constant(planning.source, expr).is_some() {
        return Ok(None);
    }
    Err(spanning(
        "a column that is not aggregated, without GROUP BY,",
    ))
}

/// How the values of an aggregate in `column` become one.
fn aggregate(
    planning: &Planning<'_>,
    columns: &mut Columns,
    expr: &Expr,
    (from, to): (usize, usize),
    column: usize,
) -> Result<Aggregate, Refusal> {
    let source = planning.source;
    let (call, argument) = simple_call(expr)?;
    let name = function_name(call);
    let opens = source.kind(from + 1) == Some(TokenKind::LeftParen);
    if !opens || source.closing(from + 1) != to.checked_sub(1) {
        return Err(spanning("an aggregate of this form"));
    }
    if is_distinct(call) {
        let counts_keys = argument.is_some_and(|argument| is_key(planning, argument));
        let harmless = matches!(name.as_str(), "MIN" | "MAX");
        if !(harmless || name == "COUNT" && counts_keys) {
            return Err(spanning(&format!("{name}(DISTINCT …)")));
        }
    }
    let text = Text::Span(source.span(from, to));
    let inner = Text::Span(source.span(from + 2, to.saturating_sub(1)));
    let function = match name.as_str() {
        "COUNT" => Function::Count,
        "SUM" => Function::Sum,
        "AVG" => Function::Avg {
            sum: columns.hide("SUM(", &inner, ")"),
            count: columns.hide("COUNT(", &inner, ")"),
        },
        _ => {
            let kind = argument.and_then(|argument| expression_kind(planning, argument));
            // The value itself is what the client gets, so it is what must be compared.
            let kind = match kind {
                Some(ColumnKind::Float) => Some(ColumnKind::Text),
                kind => kind,
            };
            let key = columns.key(&text, Some(column), kind, true)?;
            if name == "MIN" {
                Function::Min(key)
            } else {
                Function::Max(key)
            }
        }
    };
    Ok(Aggregate { column, function })
}

/// An aggregate alone, and its only argument.
fn simple_call(expr: &Expr) -> Result<(&Call, Option<&Expr>), Refusal> {
    let refused = || {
        spanning(
            "an expression around aggregates, or an aggregate other than COUNT, SUM, MIN, MAX and AVG,",
        )
    };
    let Expr::Function(call) = expr else {
        return Err(refused());
    };
    let FunctionArguments::List(list) = &call.args else {
        return Err(refused());
    };
    let plain = call.over.is_none()
        && call.filter.is_none()
        && call.within_group.is_empty()
        && list.clauses.is_empty()
        && is_mergeable(&function_name(call));
    match (plain, list.args.as_slice()) {
        (true, [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))]) => {
            Ok((call, Some(argument)))
        }
        (true, [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)]) => Ok((call, None)),
        _ => Err(refused()),
    }
}

fn is_distinct(call: &Call) -> bool {
    matches!(&call.args, FunctionArguments::List(list)
        if list.duplicate_treatment == Some(DuplicateTreatment::Distinct))
}

/// What one key of ORDER BY compares groups by; `None` for a constant.
fn order_key(
    planning: &Planning<'_>,
    columns: &mut Columns,
    aggregates: &mut Vec<Aggregate>,
    item: &OrderItem<'_>,
) -> Result<Option<Key>, Refusal> {
    match item.target {
        Target::Constant => Ok(None),
        Target::Visible(number) => {
            let found = aggregates
                .iter()
                .find(|aggregate| aggregate.column == number);
            if let Some(aggregate) = found {
                return Ok(Some(aggregate_key(aggregate)));
            }
            let Some(column) = columns.visible.get(number) else {
                return Ok(None);
            };
            let (text, kind) = (column.text.clone(), column.kind);
            columns.key(&text, Some(number), kind, false).map(Some)
        }
        Target::Expression { from, to } => {
            let facts = Facts::of(item.expr);
            let text = Text::Span(planning.source.span(from, to));
            if facts.volatile || facts.subquery || facts.window {
                return Err(spanning("ORDER BY an expression of this kind"));
            }
            if !facts.aggregate {
                let kind = expression_kind(planning, item.expr);
                return columns.key(&text, None, kind, false).map(Some);
            }
            let column = columns.hide("", &text, "");
            let aggregate = aggregate(planning, columns, item.expr, (from, to), column)?;
            aggregates.push(aggregate);
            Ok(Some(aggregate_key(&aggregate)))
        }
    }
}

fn aggregate_key(aggregate: &Aggregate) -> Key {
    match aggregate.function {
        Function::Min(key) | Function::Max(key) => key,
        _ => Key {
            value: aggregate.column,
            weight: None,
            collation: None,
        },
    }
}
