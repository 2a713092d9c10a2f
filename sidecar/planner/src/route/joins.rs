//! Whether a join can be done place by place.
//!
//! It can if rows that it brings together have equal sharding keys: then every row of the
//! result arises in exactly one place, outer joins included, because a row's partner is where
//! the row is or nowhere.

use std::ops::Range;

use sqlparser::ast::{BinaryOperator, Expr};

use crate::catalog::same_name;

use super::analysis::Analyzer;
use super::conditions::{conjuncts, unnested};

/// What a join does with rows that find no partner.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum JoinKind {
    /// Drops them.
    Inner,
    /// Keeps those of the left side.
    Left,
    /// Keeps those of the right side.
    Right,
    /// Not known to this planner.
    Other,
}

/// The columns of a join that are one column of its result.
#[derive(Clone, Debug, Default)]
pub(super) struct Merge {
    /// USING's columns.
    pub(super) using: Vec<String>,
    /// NATURAL: every column that both sides have.
    pub(super) natural: bool,
}

impl Merge {
    /// Whether the columns of this name are one.
    pub(super) fn covers(&self, column: &str) -> bool {
        self.natural || self.using.iter().any(|name| same_name(name, column))
    }
}

/// A join: the tables left and right of it, by their place in the block, and its condition.
#[derive(Debug)]
pub(super) struct JoinNode<'q> {
    pub(super) kind: JoinKind,
    pub(super) left: Range<usize>,
    pub(super) right: Range<usize>,
    pub(super) on: Option<&'q Expr>,
    pub(super) merge: Merge,
}

/// Pairs of table uses whose keys a condition makes equal.
pub(super) fn equal_keys(
    analyzer: &Analyzer<'_>,
    block: usize,
    condition: Option<&Expr>,
) -> Vec<(usize, usize)> {
    let Some(condition) = condition else {
        return Vec::new();
    };
    conjuncts(condition)
        .into_iter()
        .filter_map(|part| match part {
            Expr::BinaryOp {
                left,
                op: BinaryOperator::Eq,
                right,
            } => {
                let left = analyzer.key_of(unnested(left), block)?;
                let right = analyzer.key_of(unnested(right), block)?;
                Some((left, right))
            }
            _ => None,
        })
        .collect()
}

/// Pairs of table uses whose keys a join's own condition makes equal.
pub(super) fn join_pairs(
    analyzer: &Analyzer<'_>,
    block: usize,
    join: &JoinNode<'_>,
) -> Vec<(usize, usize)> {
    let mut pairs = equal_keys(analyzer, block, join.on);
    if !join.merge.natural && join.merge.using.is_empty() {
        return pairs;
    }
    let merged = |table: &usize| {
        analyzer.uses.get(*table).is_some_and(|found| {
            found
                .table
                .sharded()
                .is_some_and(|sharded| join.merge.covers(&sharded.key))
        })
    };
    for left in analyzer
        .uses_in(block, &join.left)
        .into_iter()
        .filter(merged)
    {
        for right in analyzer
            .uses_in(block, &join.right)
            .into_iter()
            .filter(merged)
        {
            let same = match (analyzer.uses.get(left), analyzer.uses.get(right)) {
                (Some(left), Some(right)) => match (left.table.sharded(), right.table.sharded()) {
                    (Some(left), Some(right)) => same_name(&left.key, &right.key),
                    _ => false,
                },
                _ => false,
            };
            if same {
                pairs.push((left, right));
            }
        }
    }
    pairs
}
