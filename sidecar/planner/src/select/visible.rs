//! The columns that the client of a SELECT sees.

use sqlparser::ast::{Expr, SelectItem, SelectItemQualifiedWildcardKind};

use crate::Refusal;
use crate::route::{Block, BlockTable, column_in};
use crate::text::Source;

use super::columns::{ColumnFacts, Text, Visible};
use super::facts::{Facts, kind_of};
use super::plan::{Planning, spanning};

/// The expression of an item that is no wildcard.
pub(super) fn expression(item: &SelectItem) -> Option<&Expr> {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    }
}

/// The columns of the select list, wildcards expanded.
pub(super) fn columns(planning: &Planning<'_>) -> Result<Vec<Visible>, Refusal> {
    let mut columns = Vec::new();
    let items = planning
        .select
        .projection
        .iter()
        .zip(&planning.clauses.items);
    for (number, (item, range)) in items.enumerate() {
        let before = columns.len();
        match item {
            SelectItem::UnnamedExpr(expr) => {
                columns.push(column(planning, expr, None, *range));
            }
            SelectItem::ExprWithAlias { expr, alias } => {
                let range = without_alias(planning.source, *range);
                columns.push(column(planning, expr, Some(alias.value.clone()), range));
            }
            SelectItem::Wildcard(_) => {
                for table in tables(planning) {
                    expand(planning, table, &mut columns)?;
                }
            }
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                let name = name.0.last().and_then(|part| part.as_ident());
                let table = name.and_then(|name| {
                    tables(planning)
                        .iter()
                        .find(|table| table.name == name.value)
                });
                expand(
                    planning,
                    table.ok_or_else(|| spanning("this wildcard"))?,
                    &mut columns,
                )?;
            }
            _ => return Err(spanning("a select item of this form")),
        }
        columns
            .iter_mut()
            .skip(before)
            .for_each(|column| column.item = number);
    }
    Ok(columns)
}

fn tables<'a>(planning: &'a Planning<'_>) -> &'a [BlockTable] {
    planning
        .analysis
        .blocks
        .first()
        .map_or(&[], |block| &block.tables)
}

/// An item's tokens without `AS alias`, or `alias` alone.
fn without_alias(source: &Source<'_>, (from, to): (usize, usize)) -> (usize, usize) {
    let last = to.saturating_sub(1);
    if source.is(last.saturating_sub(1), "AS") {
        (from, last - 1)
    } else {
        (from, last)
    }
}

fn column(
    planning: &Planning<'_>,
    expr: &Expr,
    alias: Option<String>,
    (from, to): (usize, usize),
) -> Visible {
    let Planning {
        catalog,
        source,
        analysis,
        ..
    } = planning;
    let named = column_in(expr, 0, &analysis.blocks, &analysis.uses, catalog);
    let found = named.and_then(|(table, name)| {
        let column = analysis.uses.get(table)?.table.column(name)?;
        Some((table, column))
    });
    Visible {
        text: Text::Span(source.span(from, to)),
        tokens: Some((from, to)),
        alias,
        column: found.map(|(table, column)| (table, column.name.clone())),
        kind: found.map_or_else(|| kind_of(expr), |(_, column)| Some(column.kind)),
        item: 0,
        aggregate: Facts::of(expr).aggregate,
        facts: found
            .map(|(_, column)| ColumnFacts::of(column))
            .unwrap_or_default(),
    }
}

/// The columns that a wildcard stands for in one table.
fn expand(
    planning: &Planning<'_>,
    table: &BlockTable,
    columns: &mut Vec<Visible>,
) -> Result<(), Refusal> {
    let analysis = planning.analysis;
    if analysis.blocks.first().is_some_and(Block::merges_columns) {
        return Err(spanning("* over a join with USING or NATURAL"));
    }
    let number = table
        .table_use
        .ok_or_else(|| spanning("* over a derived table"))?;
    let found = analysis
        .uses
        .get(number)
        .ok_or_else(|| spanning("this wildcard"))?;
    for column in found
        .table
        .columns
        .iter()
        .filter(|column| !column.invisible)
    {
        let quote = |name: &str| format!("`{}`", name.replace('`', "``"));
        let text = format!("{}.{}", quote(&table.name), quote(&column.name));
        columns.push(Visible {
            text: Text::Column(text.into_bytes().into_boxed_slice()),
            tokens: None,
            alias: None,
            column: Some((number, column.name.clone())),
            kind: Some(column.kind),
            item: 0,
            aggregate: false,
            facts: ColumnFacts::of(column),
        });
    }
    Ok(())
}
