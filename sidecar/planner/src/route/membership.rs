//! `key IN (SELECT key FROM …)`: the subquery's rows that matter to a row are where the row is.

use sqlparser::ast::{Expr, GroupByExpr, InTarget, Query, Select, SelectItem, SetExpr};

use crate::parse::token_number;

use super::analysis::Analyzer;
use super::conditions::{conjuncts, unnested};

/// A subquery that the key of a table use is looked up in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Membership {
    /// The table use.
    table_use: usize,
    /// The subquery's SELECT.
    select: usize,
    /// NOT IN.
    negated: bool,
}

/// The subqueries that keys are looked up in, in the conditions that must hold for every row
/// of a block. NOT IN only counts where no outer join makes a key NULL: its truth would depend
/// on whether the subquery has any row at all.
pub(super) fn memberships(
    analyzer: &Analyzer<'_>,
    block: usize,
    condition: Option<&Expr>,
    outer_joins: bool,
) -> Vec<Membership> {
    let parts = condition.map(conjuncts).unwrap_or_default();
    parts
        .into_iter()
        .filter_map(|part| match part {
            Expr::In {
                expr,
                target: InTarget::Subquery(query),
                negated,
                ..
            } if !(*negated && outer_joins) => Some(Membership {
                table_use: analyzer.key_of(unnested(expr), block)?,
                select: token_number(plain(query)?.select_token.0.span)?,
                negated: *negated,
            }),
            _ => None,
        })
        .collect()
}

/// The SELECT of a subquery whose rows are rows of its tables, one for one.
fn plain(query: &Query) -> Option<&Select> {
    let SetExpr::Select(select) = &*query.body else {
        return None;
    };
    let ungrouped =
        matches!(&select.group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty());
    let plain = query.with.is_none()
        && query.limit_clause.is_none()
        && ungrouped
        && select.having.is_none();
    plain.then_some(select)
}

/// The table uses whose keys are equal because `select`, which `block` is, gives the keys that
/// one of them is looked up in.
pub(super) fn pairs(
    analyzer: &Analyzer<'_>,
    block: usize,
    select: &Select,
    known: &[Membership],
) -> Vec<(usize, usize)> {
    let [SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }] =
        select.projection.as_slice()
    else {
        return Vec::new();
    };
    let (Some(inner), Some(token)) = (
        analyzer.key_of(unnested(expr), block),
        token_number(select.select_token.0.span),
    ) else {
        return Vec::new();
    };
    // A NULL among the keys makes every NOT IN unknown, in all places.
    let nulls = analyzer.blocks.get(block).is_none_or(|block| block.outer);
    known
        .iter()
        .filter(|membership| membership.select == token && !(membership.negated && nulls))
        .map(|membership| (membership.table_use, inner))
        .collect()
}
