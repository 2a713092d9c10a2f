//! Walks a statement's tree once and notes its blocks and tables.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use sqlparser::ast::{
    AssignmentTarget, Delete, Expr, FromTable, Ident, JoinConstraint, JoinOperator, ObjectName,
    Query, Select, SelectItem, SelectItemQualifiedWildcardKind, Statement, TableAlias, TableFactor,
    TableWithJoins, Update, Visit, Visitor,
};

use crate::Refusal;
use crate::parse::token_number;

use super::analysis::{Analyzer, ColumnRef, SchemaName};
use super::joins::{JoinKind, JoinNode, Merge};
use super::scope::{Block, BlockTable, TableUse, identifiers};

/// Notes the blocks and tables of `statement`.
pub(super) fn walk(analyzer: &mut Analyzer<'_>, statement: &Statement) -> Result<(), Refusal> {
    let mut walker = Walker {
        analyzer,
        queries: vec![None],
        ctes: Vec::new(),
    };
    let outcome = match statement {
        Statement::Update(update) => walker.update(update),
        Statement::Delete(delete) => walker.delete(delete),
        _ => Ok(()),
    };
    outcome?;
    if let ControlFlow::Break(refusal) = statement.visit(&mut walker) {
        return Err(*refusal);
    }
    walker.all_known()
}

struct Walker<'a, 'c> {
    analyzer: &'a mut Analyzer<'c>,
    /// For each query that the visitor is inside of its block, once it was opened; the first
    /// is the statement itself. ORDER BY stands behind its SELECT, and belongs to its block.
    queries: Vec<Option<usize>>,
    /// The names of common table expressions.
    ctes: Vec<String>,
}

impl Visitor for Walker<'_, '_> {
    type Break = Box<Refusal>;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Self::Break> {
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            let name = &cte.alias.name.value;
            if self.analyzer.catalog.table(name).is_some() {
                return ControlFlow::Break(Box::new(Refusal::unsupported(format!(
                    "a common table expression is called {name}, as a table of the manifest is; \
                     give it another name"
                ))));
            }
            self.ctes.push(name.clone());
        }
        self.queries.push(None);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<Self::Break> {
        self.queries.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Self::Break> {
        let block = self.block(&select.from, select.selection.as_ref());
        self.analyzer.read_select(block, select);
        for item in &select.projection {
            if let SelectItem::QualifiedWildcard(
                SelectItemQualifiedWildcardKind::ObjectName(name),
                _,
            ) = item
                && let Some([schema, table]) = identifiers(name).as_deref()
            {
                self.column(schema, table);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<Self::Break> {
        let last = identifiers(relation).and_then(|parts| parts.last().copied().cloned());
        match last.and_then(|ident| token_number(ident.span)) {
            Some(token) => self.analyzer.seen.push(token),
            None => self.analyzer.unsharded = true,
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Self::Break> {
        match expr {
            Expr::CompoundIdentifier(parts) => {
                if let [schema, table, _] = parts.as_slice() {
                    self.column(schema, table);
                }
            }
            Expr::QualifiedWildcard(name, _) => {
                if let Some([schema, table]) = identifiers(name).as_deref() {
                    self.column(schema, table);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

impl Walker<'_, '_> {
    fn update(&mut self, update: &Update) -> Result<(), Refusal> {
        self.block(
            std::slice::from_ref(&update.table),
            update.selection.as_ref(),
        );
        for assignment in &update.assignments {
            let names = match &assignment.target {
                AssignmentTarget::ColumnName(name) => std::slice::from_ref(name),
                AssignmentTarget::Tuple(names) => names,
            };
            for name in names {
                if let Some([schema, table, _]) = identifiers(name).as_deref() {
                    self.column(schema, table);
                }
            }
        }
        Ok(())
    }

    fn delete(&mut self, delete: &Delete) -> Result<(), Refusal> {
        let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
        let from = delete.using.as_ref().unwrap_or(from);
        let block = self.block(from, delete.selection.as_ref());
        let (FromTable::WithFromKeyword(listed) | FromTable::WithoutKeyword(listed)) = &delete.from;
        let named = listed
            .iter()
            .filter(|_| delete.using.is_some())
            .filter_map(|listed| match &listed.relation {
                TableFactor::Table { name, .. } => Some(name),
                _ => None,
            });
        for target in delete.tables.iter().chain(named) {
            self.delete_target(block, target)?;
        }
        Ok(())
    }

    /// `DELETE t FROM t …`: the first `t` must have the schema of the second, unless it is an
    /// alias.
    fn delete_target(&mut self, block: usize, target: &ObjectName) -> Result<(), Refusal> {
        let parts = identifiers(target).unwrap_or_default();
        let (Some(first), Some(last)) = (parts.first(), parts.last()) else {
            return Ok(());
        };
        let tables = self
            .analyzer
            .blocks
            .get(block)
            .map_or(&[][..], |block| &block.tables);
        let Some(found) = tables.iter().find(|table| table.name == last.value) else {
            return Err(Refusal::unsupported(format!(
                "DELETE names {}, which FROM does not; name the table as FROM does",
                last.value
            )));
        };
        let (aliased, table_use) = (found.aliased, found.table_use);
        if let Some(token) = token_number(last.span) {
            self.analyzer.known.push(token);
        }
        if let (false, Some(table_use), Some(token)) =
            (aliased, table_use, token_number(first.span))
        {
            let qualified = parts.len() > 1;
            self.analyzer.names.push(SchemaName {
                table_use,
                token,
                qualified,
            });
        }
        Ok(())
    }

    /// Opens a block: its tables first, then what its conditions say of them.
    fn block(&mut self, from: &[TableWithJoins], selection: Option<&Expr>) -> usize {
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

    /// Notes a column or wildcard with a schema in front.
    fn column(&mut self, schema: &Ident, table: &Ident) {
        if schema.value == self.analyzer.catalog.database()
            && let Some(token) = token_number(schema.span)
        {
            let block = self.queries.iter().rev().flatten().next().copied();
            self.analyzer.columns.push(ColumnRef {
                block,
                token,
                table: table.value.clone(),
            });
        }
    }

    /// Fails if the parser saw a manifest table that no block knows.
    fn all_known(&self) -> Result<(), Refusal> {
        let unknown = self.analyzer.seen.iter().find(|token| {
            let name = self.analyzer.source.name(**token);
            !self.analyzer.known.contains(token)
                && name.is_some_and(|name| self.analyzer.catalog.table(&name).is_some())
                && self.is_database(**token)
        });
        match unknown.and_then(|token| self.analyzer.source.name(*token)) {
            Some(table) => Err(Refusal::unsupported(format!(
                "{table} is sharded or broadcast and is used here in a way that is not supported"
            ))),
            None => Ok(()),
        }
    }

    /// Whether the table named at `token` would be one of the manifest's database.
    fn is_database(&self, token: usize) -> bool {
        let catalog = self.analyzer.catalog;
        let source = self.analyzer.source;
        let dot = token.checked_sub(1).map(|dot| source.text(dot));
        if dot == Some(&b"."[..]) {
            return token
                .checked_sub(2)
                .and_then(|schema| source.name(schema))
                .as_deref()
                == Some(catalog.database());
        }
        self.analyzer.context.database.as_deref() == Some(catalog.database())
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
