//! SELECT, UPDATE and DELETE of tables with protected columns.

use std::ops::ControlFlow;

use sqlparser::ast::{
    AssignmentTarget, Delete, Expr, FromTable, GroupByExpr, JoinConstraint, JoinOperator, Query,
    Select, SelectItem, SetExpr, Statement, TableFactor, TableWithJoins, Update, Value, Visit,
    Visitor,
};

use crate::Refusal;
use crate::catalog::same_name;
use crate::lexer::TokenKind;
use crate::parse::{parse_from, token_number};
use crate::route::{Analysis, Pins, analyze, column_in};

use super::plan::{Atom, Part};
use super::source::{Reader, quoted, text};

/// What an answer's columns are.
#[derive(Default)]
struct Output {
    /// Whether some column is protected, as far as it is known.
    protected: bool,
    /// Names that protected columns get.
    aliases: Vec<(String, usize)>,
}

impl Reader<'_> {
    pub(super) fn rows(&mut self) -> Result<(), Refusal> {
        let source = self.source;
        let tokens = source.tokens.get(self.first..).unwrap_or_default();
        let Some(tree) = parse_from(source.sql, source.mode, tokens, self.first) else {
            // The planner refuses it too, unless it names no table after all.
            return Ok(());
        };
        if (self.first..source.len()).any(|token| source.is(token, "NATURAL")) {
            return Err(self.refused_first("NATURAL JOIN"));
        }
        // It is a `*` that no select list shows.
        if (self.first..source.len()).any(|token| source.is(token, "TABLE")) {
            return Err(self.refused_first("TABLE"));
        }
        let analysis = analyze(
            self.catalog,
            self.context,
            source,
            &tree,
            &mut Pins::default(),
        )?;
        self.refuse_nested_wildcards(&tree)?;
        self.claim_others(&analysis, &tree);
        match &tree {
            Statement::Query(query) => match (&*query.body, &query.with) {
                (SetExpr::Select(select), None) => self.select(&analysis, query, select),
                (SetExpr::Select(select), Some(_)) => self.behind_with(&analysis, query, select),
                // Nothing is claimed, and a `*` was refused.
                _ => Ok(()),
            },
            Statement::Update(update) => self.update(&analysis, update),
            Statement::Delete(delete) => self.delete(&analysis, delete),
            _ => Ok(()),
        }
    }

    fn select(
        &mut self,
        analysis: &Analysis,
        query: &Query,
        select: &Select,
    ) -> Result<(), Refusal> {
        let mut output = Output::default();
        for item in &select.projection {
            self.item(analysis, item, &mut output);
        }
        self.joins(analysis, &select.from)?;
        if let Some(condition) = &select.selection {
            self.condition(analysis, condition)?;
        }
        self.refuse_around(query, select, &output)
    }

    /// A SELECT behind WITH: names of columns may be those of the common tables, so that none is
    /// claimed, but its `*` shows columns that no word names.
    fn behind_with(
        &self,
        analysis: &Analysis,
        query: &Query,
        select: &Select,
    ) -> Result<(), Refusal> {
        let output = Output {
            protected: has_wildcard(query) && shows_sealed(analysis),
            ..Output::default()
        };
        self.refuse_around(query, select, &output)
    }

    /// What would group, order or keep envelopes in place of values.
    fn refuse_around(
        &self,
        query: &Query,
        select: &Select,
        output: &Output,
    ) -> Result<(), Refusal> {
        if !output.protected {
            return Ok(());
        }
        let refused = |what: &str| {
            Err(self.refused_first(&format!(
                "{what} beside encrypted columns in the select list"
            )))
        };
        if select.distinct.is_some() {
            return refused("DISTINCT");
        }
        let groups = match &select.group_by {
            GroupByExpr::Expressions(list, modifiers) => !list.is_empty() || !modifiers.is_empty(),
            GroupByExpr::All(_) => true,
        };
        if groups || select.having.is_some() {
            return refused("GROUP BY or HAVING");
        }
        if self
            .source
            .find(self.first, self.source.len(), &["INTO"])
            .is_some()
        {
            return refused("INTO");
        }
        let by_number = query.order_by.iter().any(|order| {
            let mut number = false;
            let _ = order.visit(&mut Numbers(&mut number));
            number
        });
        if by_number {
            return refused("ORDER BY with a number");
        }
        for (alias, token) in &output.aliases {
            let again = (self.first..self.source.len()).any(|other| {
                other != *token
                    && !self.claimed.contains(&other)
                    && self
                        .source
                        .name(other)
                        .is_some_and(|name| same_name(&name, alias))
            });
            if again {
                return refused(&format!("the use of the alias {alias}"));
            }
        }
        Ok(())
    }

    /// One item of the select list.
    fn item(&mut self, analysis: &Analysis, item: &SelectItem, output: &mut Output) {
        match item {
            SelectItem::UnnamedExpr(expr) => {
                if let Some(column) = self.used(analysis, expr) {
                    self.claimed.insert(column.last);
                    output.protected |= column.column.sealed().is_some();
                }
            }
            SelectItem::ExprWithAlias { expr, alias } => {
                if let Some(column) = self.used(analysis, expr) {
                    self.claimed.insert(column.last);
                    output.protected |= column.column.sealed().is_some();
                    if let Some(token) = token_number(alias.span) {
                        self.claimed.insert(token);
                        output.aliases.push((alias.value.clone(), token));
                    }
                }
            }
            SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) => {
                output.protected |= shows_sealed(analysis);
            }
            _ => {}
        }
    }

    fn joins(&mut self, analysis: &Analysis, from: &[TableWithJoins]) -> Result<(), Refusal> {
        for tables in from {
            self.joined_tables(analysis, tables)?;
        }
        Ok(())
    }

    fn joined_tables(
        &mut self,
        analysis: &Analysis,
        tables: &TableWithJoins,
    ) -> Result<(), Refusal> {
        self.factor(analysis, &tables.relation)?;
        for join in &tables.joins {
            self.factor(analysis, &join.relation)?;
            let (JoinOperator::Join(constraint)
            | JoinOperator::Inner(constraint)
            | JoinOperator::Left(constraint)
            | JoinOperator::LeftOuter(constraint)
            | JoinOperator::Right(constraint)
            | JoinOperator::RightOuter(constraint)
            | JoinOperator::CrossJoin(constraint)
            | JoinOperator::StraightJoin(constraint)) = &join.join_operator
            else {
                continue;
            };
            if let JoinConstraint::On(condition) = constraint {
                self.condition(analysis, condition)?;
            }
        }
        Ok(())
    }

    fn factor(&mut self, analysis: &Analysis, factor: &TableFactor) -> Result<(), Refusal> {
        match factor {
            TableFactor::NestedJoin {
                table_with_joins, ..
            } => self.joined_tables(analysis, table_with_joins),
            _ => Ok(()),
        }
    }

    fn update(&mut self, analysis: &Analysis, update: &Update) -> Result<(), Refusal> {
        self.joined_tables(analysis, &update.table)?;
        if let Some(condition) = &update.selection {
            self.condition(analysis, condition)?;
        }
        let source = self.source;
        let form = || self.refused_first("this form of SET");
        let set = source
            .find(self.first, source.len(), &["SET"])
            .ok_or_else(form)?;
        let end = source
            .find(set, source.len(), &["WHERE", "ORDER", "LIMIT"])
            .unwrap_or(source.len());
        let items = source.list(set + 1, end);
        if items.len() != update.assignments.len() {
            return Err(form());
        }
        for (assignment, (from, to)) in update.assignments.iter().zip(items) {
            let AssignmentTarget::ColumnName(name) = &assignment.target else {
                continue;
            };
            let parts: Option<Vec<_>> = name.0.iter().map(|it| it.as_ident().cloned()).collect();
            let target = match parts.as_deref() {
                Some([only]) => Expr::Identifier(only.clone()),
                Some(parts) => Expr::CompoundIdentifier(parts.to_vec()),
                None => continue,
            };
            let Some(column) = self.used(analysis, &target) else {
                if let Some(unknown) = self.unknown_target(analysis, &target) {
                    self.is_unknown(unknown);
                    return Ok(());
                }
                continue;
            };
            let equal = column.last + 1;
            if column.from != from || source.kind(equal) != Some(TokenKind::Equal) {
                return Err(self.refused_first("this form of SET"));
            }
            self.claimed.insert(column.last);
            let (table, protected) = (column.table, column.column);
            let value = (equal + 1, to);
            let companion = protected.sealed().filter(|it| it.lookup).map(|sealed| {
                let mut atoms = vec![text(", ")];
                if column.from < column.last {
                    atoms.push(Atom::Own(source.span(column.from, column.last)));
                }
                atoms.push(text(format!("{} = ", quoted(&sealed.companion))));
                atoms
            });
            let is_default = to == equal + 2 && source.is(equal + 1, "DEFAULT");
            if is_default {
                self.refuse_default(table, protected);
                if let Some(mut atoms) = companion {
                    atoms.push(text("DEFAULT"));
                    self.behind(to - 1, atoms);
                }
                continue;
            }
            let operand = self.stored(table, protected, value)?;
            let mut atoms = vec![Self::value(Part::Stored, table, protected, operand, 1)];
            if let Some(more) = companion {
                atoms.extend(more);
                atoms.push(Self::value(Part::Tag, table, protected, operand, 1));
            }
            self.replace(source.span(value.0, value.1), atoms);
        }
        Ok(())
    }

    /// MySQL's error for a column that no table has: what it is set to may be meant for a
    /// protected one.
    fn unknown_target(&self, analysis: &Analysis, target: &Expr) -> Option<Refusal> {
        let tables = &analysis.blocks.first()?.tables;
        let known = tables.iter().all(|table| table.table_use.is_some());
        let found = column_in(target, 0, &analysis.blocks, &analysis.uses, self.catalog);
        let name = match found {
            None => known.then(|| target.to_string())?,
            Some((table_use, name)) => {
                let table = &analysis.uses.get(table_use)?.table;
                match table.column(name) {
                    Some(_) => return None,
                    None => name.to_owned(),
                }
            }
        };
        let name = name.replace('`', "");
        Some(Refusal {
            code: 1054,
            state: *b"42S22",
            message: format!("Unknown column '{name}' in 'field list'"),
        })
    }

    fn delete(&mut self, analysis: &Analysis, delete: &Delete) -> Result<(), Refusal> {
        let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
        self.joins(analysis, from)?;
        if let Some(using) = &delete.using {
            self.joins(analysis, using)?;
        }
        match &delete.selection {
            Some(condition) => self.condition(analysis, condition),
            None => Ok(()),
        }
    }

    /// Columns of other tables that bear the name of a protected one, where their table is named
    /// with them. Within subqueries a name may mean another table.
    fn claim_others(&mut self, analysis: &Analysis, tree: &Statement) {
        if analysis.blocks.len() != 1 {
            return;
        }
        let mut names = Qualified(Vec::new());
        let _ = tree.visit(&mut names);
        for expr in &names.0 {
            let found = column_in(expr, 0, &analysis.blocks, &analysis.uses, self.catalog);
            let Some((table_use, name)) = found else {
                continue;
            };
            let plain = analysis
                .uses
                .get(table_use)
                .is_some_and(|it| it.table.protected(name).is_none());
            if let (true, Expr::CompoundIdentifier(parts)) = (plain, expr) {
                let last = parts.last().and_then(|it| token_number(it.span));
                self.claimed.extend(last);
            }
        }
    }

    /// `*` in a subquery shows columns that no word names; EXISTS looks at none.
    fn refuse_nested_wildcards(&self, tree: &Statement) -> Result<(), Refusal> {
        let mut wildcards = Wildcards::default();
        let _ = tree.visit(&mut wildcards);
        let own = match tree {
            Statement::Query(query) => usize::from(has_wildcard(query)),
            _ => 0,
        };
        if wildcards.found > wildcards.harmless + own {
            return Err(self.refused_first("* in a subquery, a UNION or WITH"));
        }
        Ok(())
    }
}

/// Whether some table of a statement has encrypted columns.
fn shows_sealed(analysis: &Analysis) -> bool {
    let mut columns = analysis.uses.iter().flat_map(|it| &it.table.protected);
    columns.any(|column| column.sealed().is_some())
}

fn has_wildcard(query: &Query) -> bool {
    let SetExpr::Select(select) = &*query.body else {
        return false;
    };
    select.projection.iter().any(|item| {
        matches!(
            item,
            SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)
        )
    })
}

/// Counts SELECTs with a `*`.
#[derive(Default)]
struct Wildcards {
    found: usize,
    harmless: usize,
}

impl Visitor for Wildcards {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let wildcard = select.projection.iter().any(|item| {
            matches!(
                item,
                SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)
            )
        });
        self.found += usize::from(wildcard);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::Exists { subquery, .. } = expr {
            self.harmless += usize::from(has_wildcard(subquery));
        }
        ControlFlow::Continue(())
    }
}

/// Collects qualified names.
struct Qualified(Vec<Expr>);

impl Visitor for Qualified {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(_) = expr {
            self.0.push(expr.clone());
        }
        ControlFlow::Continue(())
    }
}

/// Whether an ORDER BY sorts by the number of a column.
struct Numbers<'n>(&'n mut bool);

impl Visitor for Numbers<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::Value(value) = expr {
            *self.0 |= matches!(value.value, Value::Number(..));
        }
        ControlFlow::Continue(())
    }
}
