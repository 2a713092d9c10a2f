//! SELECT, UPDATE and DELETE: which tables they use, and what follows from that.

use std::sync::Arc;

use sqlparser::ast::Statement as Tree;

use crate::Refusal;
use crate::bound::Target;
use crate::dispatch::{Found, Reading};
use crate::functions::calls_unknown;
use crate::names::schema_edit;
use crate::plan::{RowsPlan, Several, Work};
use crate::route::{Analysis, Pins, analyze};
use crate::text::{Edit, Position};
use crate::utility::StatementKind;
use crate::{parse, select, write};

impl Reading<'_> {
    /// SELECT, UPDATE, DELETE.
    pub(crate) fn rows(&self, pins: &mut Pins) -> Result<Found, Refusal> {
        let source = &self.source;
        let Some(table) = self.mentioned() else {
            return self.unsharded();
        };
        if (0..source.len()).any(|token| source.is(token, "TABLE")) {
            return Err(table.unsupported("TABLE instead of SELECT * FROM"));
        }
        let tree = parse::parse(source.sql, source.mode, &source.tokens).ok_or_else(|| {
            Refusal::unsupported(format!(
                "this statement names {} and is not understood; it may be in a form that is not \
                 supported yet",
                table.name
            ))
        })?;
        let analysis = analyze(self.catalog, self.context, source, &tree, pins)?;
        self.rows_of(&tree, analysis, pins)
    }

    fn unsharded(&self) -> Result<Found, Refusal> {
        let source = &self.source;
        self.refuse_information_schema()?;
        // A FROM within parentheses may be a subquery's.
        let reads = (0..source.len()).any(|token| source.is_any(token, &["FROM", "TABLE"]));
        let home = reads || !matches!(self.kind, StatementKind::Query) || self.needs_home();
        Ok(Found::pass(if home { Target::Home } else { Target::Any }))
    }

    /// Whether a statement that every shard could answer uses what only one server has.
    fn needs_home(&self) -> bool {
        self.traits.assigns_user_variables
            || self.source.calls(&select::STATEFUL).is_some()
            || calls_unknown(&self.source)
            || self.asks_for_other_database()
    }

    /// Whether DATABASE() is asked for while it is one that only the first shard has.
    fn asks_for_other_database(&self) -> bool {
        let current = self.context.database.as_deref();
        current.is_some_and(|name| name != self.catalog.database())
            && self.source.calls(&["DATABASE", "SCHEMA"]).is_some()
    }

    /// Plans a statement whose tree is known.
    pub(crate) fn rows_of(
        &self,
        tree: &Tree,
        analysis: Analysis,
        pins: &mut Pins,
    ) -> Result<Found, Refusal> {
        let is_split = |table_use: usize| {
            let sharded = analysis
                .uses
                .get(table_use)
                .and_then(|it| it.table.sharded());
            sharded.is_some_and(|sharded| sharded.slots > 1)
        };
        let mut edits: Vec<Edit> = analysis
            .names
            .iter()
            .filter(|name| is_split(name.table_use))
            .map(|name| {
                let class = analysis.uses.get(name.table_use).map_or(0, |it| it.class);
                schema_edit(&self.source, name.token, name.qualified, class)
            })
            .collect();
        if let Tree::Query(query) = tree {
            let places: Vec<Position> = edits.iter().map(|edit| edit.span.start).collect();
            edits.extend(select::aliases(&self.source, query, &places));
        }
        if let Some(missing) = analysis.uses.iter().find(|it| it.table.is_missing()) {
            let mut found = Found::missing(self.catalog, &missing.table, edits);
            found.tables = vec![Arc::clone(&missing.table); analysis.uses.len()];
            return Ok(found);
        }
        if analysis.classes.is_empty() {
            return self.broadcast(&analysis);
        }
        if analysis.unsharded {
            return Err(Refusal::unsupported(
                "a sharded table and a table that the manifest does not name cannot be used in \
                 one statement yet; read them one after the other, or declare the latter \
                 broadcast",
            ));
        }
        if self.asks_for_other_database() {
            return Err(Refusal::unsupported(
                "DATABASE() beside sharded tables is only supported in their own database; USE \
                 it, or ask for DATABASE() alone",
            ));
        }
        let several = self.several(tree, &analysis, pins)?;
        let tables = analysis
            .classes
            .iter()
            .map(|class| Arc::clone(&class.table))
            .collect();
        let routes = analysis
            .classes
            .into_iter()
            .map(|class| class.route)
            .collect();
        let plan = RowsPlan {
            routes,
            single_only: analysis.single_only,
            several,
        };
        Ok(Found {
            work: Work::Rows(plan),
            edits,
            tables,
            missing: false,
        })
    }

    /// Broadcast tables, perhaps beside unsharded ones.
    fn broadcast(&self, analysis: &Analysis) -> Result<Found, Refusal> {
        if !self.traits.writes {
            let home = analysis.unsharded || self.traits.locks || self.needs_home();
            return Ok(Found::pass(if home { Target::Home } else { Target::Any }));
        }
        let Some(table) = analysis.uses.first().map(|it| &it.table) else {
            return Ok(Found::pass(Target::Home));
        };
        if analysis.unsharded {
            return Err(table.unsupported("a write that reads a table of one shard"));
        }
        let source = &self.source;
        if source.find(0, source.len(), &["LIMIT"]).is_some() {
            return Err(table.unsupported("UPDATE or DELETE with LIMIT"));
        }
        if source.assigns_variable() {
            return Err(table.unsupported("an assignment to a variable in a write"));
        }
        if let Some(function) = self.source.calls(&write::VARYING) {
            let what = format!("{function}(), which differs from shard to shard,");
            return Err(table.unsupported(&what));
        }
        Ok(Found::plain(Work::Everywhere))
    }

    fn several(
        &self,
        tree: &Tree,
        analysis: &Analysis,
        pins: &mut Pins,
    ) -> Result<Several, Refusal> {
        let refuse = |what: &str| Several::Refused(select::spanning(what));
        Ok(match tree {
            Tree::Query(query) => {
                match select::plan(self.catalog, &self.source, analysis, query, pins) {
                    Ok(plan) => Several::Read(Box::new(plan)),
                    Err(refusal) => Several::Refused(refusal),
                }
            }
            Tree::Update(update) => {
                write::check_update(analysis, update)?;
                if !update.order_by.is_empty() || update.limit.is_some() {
                    refuse("UPDATE with ORDER BY or LIMIT")
                } else {
                    self.several_writes()
                }
            }
            Tree::Delete(delete) => {
                write::check_delete(analysis, delete)?;
                if !delete.order_by.is_empty() || delete.limit.is_some() {
                    refuse("DELETE with ORDER BY or LIMIT")
                } else {
                    self.several_writes()
                }
            }
            _ => refuse("a statement of this form"),
        })
    }

    fn several_writes(&self) -> Several {
        let assigns = self.traits.assigns_user_variables;
        match self.source.calls(&["LAST_INSERT_ID"]) {
            Some(_) => Several::Refused(select::spanning("LAST_INSERT_ID() in a write")),
            None if assigns => Several::Refused(select::spanning("an assignment to a variable")),
            None => Several::Write,
        }
    }
}
