//! ORDER BY over several places.

use remora_merge::OrderKey;
use sqlparser::ast::{Expr, OrderByKind, Value};

use crate::Refusal;
use crate::catalog::{ColumnKind, same_name};
use crate::lexer::integer_literal;
use crate::parse::token_number;
use crate::route::{column_in, constant, unnested};

use super::columns::{Columns, Text};
use super::facts::{Facts, kind_of, names_one_of};
use super::plan::{Planning, Push, Shape, spanning};

/// What one key of ORDER BY or GROUP BY stands for.
pub(super) enum Target {
    /// A column that the client sees.
    Visible(usize),
    /// Another expression, by its tokens.
    Expression { from: usize, to: usize },
    /// A constant: it orders nothing.
    Constant,
}

/// One key of ORDER BY.
pub(super) struct OrderItem<'a> {
    pub(super) expr: &'a Expr,
    pub(super) target: Target,
    pub(super) descending: bool,
}

/// Rows of parts stay rows of the result.
pub(super) fn rows(planning: &mut Planning<'_>, columns: &mut Columns) -> Result<Shape, Refusal> {
    let mut order = Vec::new();
    for item in items(planning, columns)? {
        let facts = Facts::of(item.expr);
        let key = match item.target {
            Target::Constant => continue,
            Target::Visible(number) => {
                let column = &columns.visible[number];
                let (text, kind, aggregate) = (column.text.clone(), column.kind, column.aggregate);
                columns.key(&text, Some(number), kind, aggregate)?
            }
            Target::Expression { .. } if facts.volatile || facts.window || facts.subquery => {
                return Err(spanning("ORDER BY an expression of this kind"));
            }
            Target::Expression { from, to } => {
                let text = Text::Span(planning.source.span(from, to));
                let kind = expression_kind(planning, item.expr);
                columns.key(&text, None, kind, facts.aggregate)?
            }
        };
        order.push(OrderKey {
            key,
            descending: item.descending,
        });
    }
    Ok(Shape {
        group: None,
        order,
        resort: Vec::new(),
        push: Push::Shard,
    })
}

/// How an expression that the select list does not hold compares.
pub(super) fn expression_kind(planning: &Planning<'_>, expr: &Expr) -> Option<ColumnKind> {
    let analysis = planning.analysis;
    column_in(expr, 0, &analysis.blocks, &analysis.uses, planning.catalog)
        .and_then(|(table, name)| analysis.uses.get(table)?.table.column(name))
        .map_or_else(|| kind_of(expr), |column| Some(column.kind))
}

/// The keys of ORDER BY.
pub(super) fn items<'a>(
    planning: &mut Planning<'a>,
    columns: &Columns,
) -> Result<Vec<OrderItem<'a>>, Refusal> {
    let Some(order_by) = &planning.query.order_by else {
        return Ok(Vec::new());
    };
    let OrderByKind::Expressions(keys) = &order_by.kind else {
        return Err(spanning("ORDER BY of this form"));
    };
    if keys.len() != planning.clauses.order.len() {
        return Err(spanning("ORDER BY of this form"));
    }
    let ranges = planning.clauses.order.clone();
    let mut items = Vec::with_capacity(keys.len());
    for (key, (from, to)) in keys.iter().zip(ranges) {
        let last = to.saturating_sub(1);
        let directed = planning.source.is_any(last, &["ASC", "DESC"]);
        let to = if directed { last } else { to };
        let target = target(planning, columns, &key.expr, (from, to), false)?;
        let descending = directed && planning.source.is(last, "DESC");
        items.push(OrderItem {
            expr: &key.expr,
            target,
            descending,
        });
    }
    Ok(items)
}

/// What a key of ORDER BY, or of GROUP BY (`columns_first`), stands for.
pub(super) fn target(
    planning: &mut Planning<'_>,
    columns: &Columns,
    expr: &Expr,
    (from, to): (usize, usize),
    columns_first: bool,
) -> Result<Target, Refusal> {
    if let Expr::Value(value) = expr
        && matches!(value.value, Value::Number(..))
    {
        return position(planning, columns, expr, columns_first);
    }
    if constant(planning.source, expr).is_some() {
        return Ok(Target::Constant);
    }
    let analysis = planning.analysis;
    let named = column_in(expr, 0, &analysis.blocks, &analysis.uses, planning.catalog)
        .map(|(table, name)| (table, name.to_owned()));
    let plain = columns.visible.iter().position(|visible| {
        visible
            .column
            .as_ref()
            .zip(named.as_ref())
            .is_some_and(|(visible, named)| visible.0 == named.0 && same_name(&visible.1, &named.1))
    });
    if let Expr::Identifier(ident) = unnested(expr) {
        let aliased: Vec<usize> = (0..columns.visible.len())
            .filter(|number| {
                columns.visible[*number]
                    .alias
                    .as_ref()
                    .is_some_and(|alias| same_name(alias, &ident.value))
            })
            .collect();
        match aliased.as_slice() {
            [only] if !(columns_first && named.is_some()) => return Ok(Target::Visible(*only)),
            [_, _, ..] => return Err(ambiguous(&ident.value, columns_first)),
            _ => {}
        }
    } else {
        let aliases: Vec<&str> = columns
            .visible
            .iter()
            .filter_map(|visible| visible.alias.as_deref())
            .collect();
        if named.is_none() && names_one_of(expr, &aliases) {
            return Err(spanning("ORDER BY or GROUP BY an expression over an alias"));
        }
    }
    let same_text = || {
        columns.visible.iter().position(|visible| {
            visible.tokens.is_some_and(|(start, end)| {
                planning.source.slice(start, end) == planning.source.slice(from, to)
            })
        })
    };
    if let Some(number) = plain {
        return Ok(Target::Visible(number));
    }
    let Some(number) = same_text() else {
        return Ok(Target::Expression { from, to });
    };
    // They are the same only as long as their literals are.
    let literals = (from..to).filter_map(|token| planning.source.literal(token));
    literals.for_each(|literal| planning.pins.pin(literal));
    Ok(Target::Visible(number))
}

/// `ORDER BY 2`.
fn position(
    planning: &mut Planning<'_>,
    columns: &Columns,
    expr: &Expr,
    grouping: bool,
) -> Result<Target, Refusal> {
    let Expr::Value(value) = expr else {
        return Ok(Target::Constant);
    };
    let Some(token) = token_number(value.span) else {
        return Ok(Target::Constant);
    };
    if let Some(literal) = planning.source.literal(token) {
        planning.pins.pin(literal);
    }
    let Some(number) = integer_literal(planning.source.text(token)) else {
        return Ok(Target::Constant);
    };
    usize::try_from(number)
        .ok()
        .and_then(|number| number.checked_sub(1))
        .filter(|number| *number < columns.visible.len())
        .map(Target::Visible)
        .ok_or_else(|| Refusal {
            code: 1054,
            state: *b"42S22",
            message: format!("Unknown column '{number}' in '{}'", clause(grouping)),
        })
}

fn ambiguous(name: &str, grouping: bool) -> Refusal {
    Refusal {
        code: 1052,
        state: *b"23000",
        message: format!("Column '{name}' in {} is ambiguous", clause(grouping)),
    }
}

fn clause(grouping: bool) -> &'static str {
    if grouping {
        "group statement"
    } else {
        "order clause"
    }
}
