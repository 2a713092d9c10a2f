//! What a statement reads and writes: its blocks, its table uses, and which of them go
//! together.

use std::ops::Range;
use std::sync::Arc;

use sqlparser::ast::{Expr, Select, Statement};

use crate::Refusal;
use crate::catalog::{Catalog, Table};
use crate::context::Context;
use crate::text::Source;

use super::conditions::Conditions;
use super::joins::{self, JoinKind, JoinNode};
use super::membership::{self, Membership};
use super::scope::{Block, TableUse, column_in};
use super::{Pins, Route, walk};

/// A place of the text that names a table use's schema, or could.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SchemaName {
    /// The use.
    pub(crate) table_use: usize,
    /// The schema's token, or the table's where no schema stands before it.
    pub(crate) token: usize,
    /// Whether `token` is a schema.
    pub(crate) qualified: bool,
}

/// A column name with a schema in front.
#[derive(Clone, Debug)]
pub(crate) struct ColumnRef {
    /// The block it stands in.
    pub(crate) block: Option<usize>,
    /// The schema's token.
    pub(crate) token: usize,
    /// The table.
    pub(crate) table: String,
}

/// Table uses whose rows are in the same place whenever they meet.
#[derive(Debug)]
pub(crate) struct Class {
    /// One of their tables: all agree in key type and slots.
    pub(crate) table: Arc<Table>,
    /// Where their rows can be.
    pub(crate) route: Route,
}

/// The number of the outermost block: the walk meets it before those within it.
const OUTERMOST: usize = 0;

/// What a statement reads and writes.
#[derive(Debug)]
pub(crate) struct Analysis {
    /// The query blocks, outer ones first.
    pub(crate) blocks: Vec<Block>,
    /// The uses of manifest tables.
    pub(crate) uses: Vec<TableUse>,
    /// The classes of sharded uses; empty if there are none.
    pub(crate) classes: Vec<Class>,
    /// Where schemas are spliced.
    pub(crate) names: Vec<SchemaName>,
    /// Whether a table that the manifest does not name is used.
    pub(crate) unsharded: bool,
    /// Why the statement is right only if one place is concerned, if that is so.
    pub(crate) single_only: Option<Refusal>,
}

/// Collects an [`Analysis`].
pub(super) struct Analyzer<'c> {
    pub(super) catalog: &'c Catalog,
    pub(super) context: &'c Context,
    pub(super) source: &'c Source<'c>,
    pub(super) pins: &'c mut Pins,
    pub(super) blocks: Vec<Block>,
    pub(super) uses: Vec<TableUse>,
    pub(super) names: Vec<SchemaName>,
    pub(super) columns: Vec<ColumnRef>,
    /// Pairs of uses whose keys are equal wherever their rows meet.
    pairs: Vec<(usize, usize)>,
    /// Subqueries that keys are looked up in.
    memberships: Vec<Membership>,
    /// For each use where its own block's conditions find rows.
    routes: Vec<Route>,
    /// The last tokens of relations' names: those the parser saw, those that blocks know.
    pub(super) seen: Vec<usize>,
    pub(super) known: Vec<usize>,
    pub(super) unsharded: bool,
    single_only: Option<Refusal>,
}

/// Analyses a SELECT, UPDATE or DELETE.
///
/// # Errors
/// If it names a manifest table where this planner does not look.
pub(crate) fn analyze(
    catalog: &Catalog,
    context: &Context,
    source: &Source<'_>,
    statement: &Statement,
    pins: &mut Pins,
) -> Result<Analysis, Refusal> {
    let mut analyzer = Analyzer {
        catalog,
        context,
        source,
        pins,
        blocks: Vec::new(),
        uses: Vec::new(),
        names: Vec::new(),
        columns: Vec::new(),
        pairs: Vec::new(),
        memberships: Vec::new(),
        routes: Vec::new(),
        seen: Vec::new(),
        known: Vec::new(),
        unsharded: false,
        single_only: None,
    };
    walk::walk(&mut analyzer, statement)?;
    analyzer.place_columns();
    let groups = analyzer.groups();
    let classes = analyzer.classes(&groups);
    let Analyzer {
        blocks,
        uses,
        names,
        unsharded,
        single_only,
        ..
    } = analyzer;
    Ok(Analysis {
        blocks,
        uses,
        classes,
        names,
        unsharded,
        single_only,
    })
}

impl Analyzer<'_> {
    /// Notes what the conditions of a block say, once its tables are known.
    pub(super) fn read_conditions(
        &mut self,
        block: usize,
        joins: &[JoinNode<'_>],
        selection: Option<&Expr>,
    ) {
        let pairs = self.block_pairs(block, joins, selection);
        self.pairs.extend(pairs);
        let inner = joins.iter().all(|join| join.kind == JoinKind::Inner);
        let looked_up = membership::memberships(self, block, selection, !inner);
        self.memberships.extend(looked_up);
        let on = joins.iter().filter(|_| inner).filter_map(|join| join.on);
        let conditions: Vec<&Expr> = selection.into_iter().chain(on).collect();
        self.routes.resize_with(self.uses.len(), || Route::All);
        let tables = self.blocks.get(block).map_or(0, |scope| scope.tables.len());
        for table_use in self.uses_in(block, &(0..tables)) {
            let mut found = Pins::default();
            let mut reader = Conditions {
                source: self.source,
                pins: &mut found,
            };
            let is_key = |expr: &Expr| self.key_of(expr, block) == Some(table_use);
            let routes: Vec<Route> = conditions
                .iter()
                .map(|it| reader.route(it, &is_key))
                .collect();
            self.pins.extend(found);
            if let Some(route) = self.routes.get_mut(table_use) {
                *route = match <[Route; 1]>::try_from(routes) {
                    Ok([only]) => only,
                    Err(routes) => Route::And(routes),
                };
            }
        }
    }

    /// Notes what the select list of a block says.
    pub(super) fn read_select(&mut self, block: usize, select: &Select) {
        let pairs = membership::pairs(self, block, select, &self.memberships);
        self.pairs.extend(pairs);
    }

    /// The sharded uses among some tables of a block.
    pub(super) fn uses_in(&self, block: usize, tables: &Range<usize>) -> Vec<usize> {
        let tables = self
            .blocks
            .get(block)
            .and_then(|block| block.tables.get(tables.clone()));
        tables
            .unwrap_or_default()
            .iter()
            .filter_map(|table| table.table_use)
            .filter(|table| self.is_sharded(*table))
            .collect()
    }

    fn is_sharded(&self, table_use: usize) -> bool {
        self.uses
            .get(table_use)
            .is_some_and(|found| found.table.sharded().is_some())
    }

    /// The sharded use whose key an expression is.
    pub(super) fn key_of(&self, expr: &Expr, block: usize) -> Option<usize> {
        let (table, column) = column_in(expr, block, &self.blocks, &self.uses, self.catalog)?;
        self.uses.get(table)?.table.is_key(column).then_some(table)
    }

    /// The statement is right only in one place.
    pub(super) fn only_single(&mut self, reason: &str) {
        if self.single_only.is_none() {
            self.single_only = Some(Refusal::unsupported(format!(
                "{reason}; give every sharded table's key as a constant, so that one shard has \
                 all rows"
            )));
        }
    }

    /// Finds the table use that each schema-qualified column belongs to.
    fn place_columns(&mut self) {
        for column in std::mem::take(&mut self.columns) {
            let mut block = column.block;
            while let Some(scope) = block.and_then(|block| self.blocks.get(block)) {
                let found = scope
                    .tables
                    .iter()
                    .find(|table| table.name == column.table && !table.aliased)
                    .and_then(|table| table.table_use);
                if let Some(table_use) = found {
                    let token = column.token;
                    self.names.push(SchemaName {
                        table_use,
                        token,
                        qualified: true,
                    });
                    break;
                }
                block = scope.parent;
            }
        }
    }

    /// Groups the uses whose keys are equal: gives each use's group.
    fn groups(&self) -> Vec<usize> {
        let mut groups: Vec<usize> = (0..self.uses.len()).collect();
        for (left, right) in &self.pairs {
            if let (true, Some(from), Some(to)) = (
                self.compatible(*left, *right),
                groups.get(*left),
                groups.get(*right),
            ) {
                let (from, to) = (*from, *to);
                groups
                    .iter_mut()
                    .filter(|group| **group == from)
                    .for_each(|group| *group = to);
            }
        }
        groups
    }

    fn compatible(&self, left: usize, right: usize) -> bool {
        let sharded = |table: usize| self.uses.get(table).and_then(|found| found.table.sharded());
        match (sharded(left), sharded(right)) {
            (Some(left), Some(right)) => left.is_colocated_with(right),
            _ => false,
        }
    }

    /// The pairs of uses with equal keys in one block, as far as they hold for every row of
    /// its result.
    fn block_pairs(
        &mut self,
        block: usize,
        joins: &[JoinNode<'_>],
        selection: Option<&Expr>,
    ) -> Vec<(usize, usize)> {
        let mut pairs = joins::equal_keys(self, block, selection);
        let mut own = Vec::new();
        let (mut all_inner, mut all_linked, mut preserved) = (true, true, true);
        for join in joins {
            let found = joins::join_pairs(self, block, join);
            let left = self.uses_in(block, &join.left);
            let right = self.uses_in(block, &join.right);
            all_inner &= join.kind == JoinKind::Inner;
            if !left.is_empty() && !right.is_empty() {
                all_linked &= pairs.iter().chain(&found).any(|(a, b)| {
                    self.compatible(*a, *b)
                        && (left.contains(a) && right.contains(b)
                            || left.contains(b) && right.contains(a))
                });
            }
            preserved &= match join.kind {
                JoinKind::Inner => true,
                JoinKind::Left => !left.is_empty() || right.is_empty(),
                JoinKind::Right => !right.is_empty() || left.is_empty(),
                JoinKind::Other => false,
            };
            own.extend(found);
        }
        if all_inner || all_linked {
            pairs.extend(own);
        }
        if !preserved {
            self.only_single("an outer join keeps rows of a table that is on every shard");
        } else if !all_inner && !all_linked {
            self.only_single("an outer join of sharded tables is not on their sharding keys");
        }
        pairs
    }

    /// Numbers the classes, gives each use its class, and routes each class by the conditions
    /// of its outermost block, which every row of the result fulfils.
    fn classes(&mut self, groups: &[usize]) -> Vec<Class> {
        let mut numbers: Vec<usize> = Vec::new();
        let mut classes: Vec<Class> = Vec::new();
        let mut roots: Vec<usize> = Vec::new();
        for (number, group) in groups.iter().enumerate() {
            if !self.is_sharded(number) {
                continue;
            }
            let Some(found) = self.uses.get_mut(number) else {
                continue;
            };
            let class = numbers
                .iter()
                .position(|known| known == group)
                .unwrap_or_else(|| {
                    numbers.push(*group);
                    roots.push(found.block);
                    let table = Arc::clone(&found.table);
                    classes.push(Class {
                        table,
                        route: Route::And(Vec::new()),
                    });
                    numbers.len() - 1
                });
            found.class = class;
            // Blocks are numbered from the outside in, so the first use's is the outermost.
            if roots.get(class) == Some(&found.block)
                && let Some(Class {
                    route: Route::And(routes),
                    ..
                }) = classes.get_mut(class)
                && let Some(route) = self.routes.get_mut(number)
            {
                routes.push(std::mem::replace(route, Route::All));
            }
        }
        for class in &mut classes {
            if let Route::And(routes) = &mut class.route
                && routes.len() == 1
            {
                class.route = routes.remove(0);
            }
        }
        if roots.iter().any(|block| *block != OUTERMOST) {
            self.only_single(
                "a derived table, a subquery or an arm of UNION reads sharded rows by itself",
            );
        }
        if classes.len() > 1 {
            self.only_single(
                "the sharded tables are not joined on their sharding keys, or not colocated",
            );
        }
        classes
    }
}
