//! Walks a statement's tree once and notes its blocks and tables.

use std::ops::ControlFlow;

use sqlparser::ast::{
    AssignmentTarget, Delete, Expr, FromTable, Ident, ObjectName, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, Statement, TableFactor, Update, Visit, Visitor,
};

use crate::Refusal;
use crate::parse::token_number;

use super::analysis::{Analyzer, ColumnRef, SchemaName};
use super::scope::identifiers;

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

pub(super) struct Walker<'a, 'c> {
    pub(super) analyzer: &'a mut Analyzer<'c>,
    /// For each query that the visitor is inside of its block, once it was opened; the first
    /// is the statement itself. ORDER BY stands behind its SELECT, and belongs to its block.
    pub(super) queries: Vec<Option<usize>>,
    /// The names of common table expressions.
    pub(super) ctes: Vec<String>,
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
