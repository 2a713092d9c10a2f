//! Walks FROM: a block's tables, and how they are joined.

use std::ops::Range;
use std::sync::Arc;

use sqlparser::ast::{
    Expr, JoinConstraint, JoinOperator, ObjectName, TableAlias, TableFactor, TableWithJoins,
};

use crate::parse::token_number;

use super::analysis::SchemaName;
use super::joins::{JoinKind, JoinNode, Merge};
use super::scope::{Block, BlockTable, TableUse, identifiers};
use super::walk::Walker;

impl Walker<'_, '_> {
    /// Opens a block: its tables first, then what its conditions say of them.
    pub(super) fn block(&mut self, from: &[TableWithJoins], selection: Option<&Expr>) -> usize {
        let block = self.analyzer.blocks.len();
        let (own, outer) = match self.queries.split_last_mut() {
            Some(split) => split,
            None => (&mut None, &mut [][..]),
        };
        let parent = outer.iter().rev().flatten().next().copied();
        *own = Some(block);
        self.analyzer.blocks.push(Block {
            parent,
            tables: Vec::new(),
            merges: Vec::new(),
            outer: false,
        });
        let mut joins = Vec::new();
        let mut left = 0..0;
        for (number, tables) in from.iter().enumerate() {
            let right = self.joined(block, tables, &mut joins);
            if number > 0 {
                joins.push(JoinNode {
                    kind: JoinKind::Inner,
                    left: left.clone(),
                    right: right.clone(),
                    on: None,
                    merge: Merge::default(),
                });
            }
            left.end = right.end;
        }
        if let Some(opened) = self.analyzer.blocks.get_mut(block) {
            opened.merges = joins.iter().map(|join| join.merge.clone()).collect();
            opened.outer = joins.iter().any(|join| join.kind != JoinKind::Inner);
        }
        self.analyzer.read_conditions(block, &joins, selection);
        block
    }

    /// Notes a table and what is joined to it; gives the tables' range in the block.
    fn joined<'q>(
        &mut self,
        block: usize,
        tables: &'q TableWithJoins,
        joins: &mut Vec<JoinNode<'q>>,
    ) -> Range<usize> {
        let mut left = self.factor(block, &tables.relation, joins);
        for join in &tables.joins {
            let right = self.factor(block, &join.relation, joins);
            let (kind, constraint) = operator(&join.join_operator);
            let mut merge = Merge::default();
            let mut on = None;
            match constraint {
                Some(JoinConstraint::On(condition)) => on = Some(condition),
                Some(JoinConstraint::Using(columns)) => {
                    merge.using = columns
                        .iter()
                        .filter_map(|name| Some(identifiers(name)?.last()?.value.clone()))
                        .collect();
                }
                Some(JoinConstraint::Natural) => merge.natural = true,
                _ => {}
            }
            let node = JoinNode {
                kind,
                left: left.clone(),
                right: right.clone(),
                on,
                merge,
            };
            joins.push(node);
            left.end = right.end;
        }
        left
    }

    fn factor<'q>(
        &mut self,
        block: usize,
        factor: &'q TableFactor,
        joins: &mut Vec<JoinNode<'q>>,
    ) -> Range<usize> {
        let start = self
            .analyzer
            .blocks
            .get(block)
            .map_or(0, |block| block.tables.len());
        let alias = |alias: &Option<TableAlias>| {
            alias
                .as_ref()
                .map(|alias| alias.name.value.clone())
                .unwrap_or_default()
        };
        match factor {
            TableFactor::Table {
                name,
                alias,
                args: None,
                ..
            } => {
                self.named(block, name, alias.as_ref());
            }
            TableFactor::NestedJoin {
                table_with_joins,
                alias: None,
            } => {
                return self.joined(block, table_with_joins, joins);
            }
            TableFactor::Derived { alias: name, .. } => self.add(block, alias(name), None),
            _ => self.add(block, String::new(), None),
        }
        start..start + 1
    }

    fn add(&mut self, block: usize, name: String, table_use: Option<usize>) {
        if let Some(block) = self.analyzer.blocks.get_mut(block) {
            block.tables.push(BlockTable {
                name,
                aliased: table_use.is_none(),
                table_use,
            });
        }
    }

    /// Notes a table that FROM names.
    fn named(&mut self, block: usize, name: &ObjectName, alias: Option<&TableAlias>) {
        let parts = identifiers(name).unwrap_or_default();
        let (schema, table) = match parts.as_slice() {
            [table] => (None, *table),
            [schema, table] => (Some(*schema), *table),
            _ => {
                self.analyzer.unsharded = true;
                return self.add(block, String::new(), None);
            }
        };
        let visible = alias
            .map_or(&table.value, |alias| &alias.name.value)
            .clone();
        let is_cte = schema.is_none() && self.ctes.contains(&table.value);
        let is_dual = schema.is_none() && table.value.eq_ignore_ascii_case("dual");
        if is_cte || is_dual {
            return self.add(block, visible, None);
        }
        let database = match schema {
            Some(schema) => Some(schema.value.as_str()),
            None => self.analyzer.context.database.as_deref(),
        };
        let catalog = self.analyzer.catalog;
        let found = catalog
            .table(&table.value)
            .filter(|_| database == Some(catalog.database()));
        let Some(found) = found else {
            self.analyzer.unsharded = true;
            return self.add(block, visible, None);
        };
        let table_use = self.analyzer.uses.len();
        self.analyzer.uses.push(TableUse {
            table: Arc::clone(found),
            block,
            class: 0,
        });
        self.add(block, visible, Some(table_use));
        if let Some(added) = self
            .analyzer
            .blocks
            .get_mut(block)
            .and_then(|block| block.tables.last_mut())
        {
            added.aliased = alias.is_some();
        }
        let first = schema.unwrap_or(table);
        if let (Some(token), Some(last)) = (token_number(first.span), token_number(table.span)) {
            self.analyzer.known.push(last);
            let qualified = schema.is_some();
            self.analyzer.names.push(SchemaName {
                table_use,
                token,
                qualified,
            });
        }
    }
}

fn operator(operator: &JoinOperator) -> (JoinKind, Option<&JoinConstraint>) {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::CrossJoin(constraint)
        | JoinOperator::StraightJoin(constraint) => (JoinKind::Inner, Some(constraint)),
        JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) => {
            (JoinKind::Left, Some(constraint))
        }
        JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => {
            (JoinKind::Right, Some(constraint))
        }
        _ => (JoinKind::Other, None),
    }
}
