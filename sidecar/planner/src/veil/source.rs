//! Reads a statement that may concern protected columns, and makes sure that nothing of it is
//! left unread.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use crate::Refusal;
use crate::catalog::{COMPANION_PREFIX, Catalog, Protected, Table};
use crate::context::Context;
use crate::lexer::TokenKind;
use crate::names::TableName;
use crate::reads;
use crate::route::Operand;
use crate::text::{Source, Span};
use crate::utility::{StatementKind, classify};

use super::plan::{Atom, Part, Value, VeilEdit, VeilPlan};
use super::refused;

/// Whether a text names a table with protected columns.
pub(super) fn concerned(
    catalog: &Catalog,
    context: &Context,
    sql: &[u8],
    body: &Range<usize>,
) -> bool {
    let source = Source::new(sql, context.sql_mode, body);
    !tables(catalog, context, &source).is_empty()
}

/// The tables with protected columns that some word may name; fails closed.
fn tables<'c>(catalog: &'c Catalog, context: &Context, source: &Source<'_>) -> Vec<&'c Arc<Table>> {
    let default = context.database.as_deref() == Some(catalog.database());
    let mut found: Vec<&Arc<Table>> = Vec::new();
    for token in 0..source.len() {
        let Some(table) = source.name(token).and_then(|name| catalog.table(&name)) else {
            continue;
        };
        let schema = token
            .checked_sub(2)
            .filter(|_| source.kind(token - 1) == Some(TokenKind::Dot))
            .and_then(|schema| source.name(schema));
        let here = match schema {
            Some(schema) => schema == catalog.database(),
            // SHOW COLUMNS FROM t FROM shop names the database behind.
            None => true,
        };
        let new = !found.iter().any(|it| Arc::ptr_eq(it, table));
        if here && new && !table.protected.is_empty() {
            found.push(table);
        }
    }
    let named = (0..source.len()).any(|token| {
        source
            .name(token)
            .is_some_and(|name| name == catalog.database())
    });
    if !default && !named {
        found.clear();
    }
    found
}

/// Reads one statement.
pub(super) struct Reader<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) context: &'a Context,
    pub(super) source: &'a Source<'a>,
    pub(super) tables: Vec<&'a Arc<Table>>,
    pub(super) edits: Vec<VeilEdit>,
    /// The tokens that name protected columns where that is understood.
    pub(super) claimed: BTreeSet<usize>,
    /// The first token: another than 0 behind EXPLAIN.
    pub(super) first: usize,
    /// What MySQL refuses when the statement runs.
    pub(super) late: Option<Refusal>,
    /// Whether the catalog may be old.
    pub(super) unknown: bool,
}

/// Reads `body` of `sql`.
pub(super) fn read(
    catalog: &Catalog,
    context: &Context,
    sql: &[u8],
    body: Range<usize>,
) -> Result<VeilPlan, Refusal> {
    let source = Source::new(sql, context.sql_mode, &body);
    let tables = tables(catalog, context, &source);
    let mut plan = VeilPlan {
        catalog_version: catalog.version(),
        bytes: size_of::<VeilPlan>(),
        ..VeilPlan::default()
    };
    if tables.is_empty() {
        return Ok(plan);
    }
    plan.concerned = true;
    let mut reader = Reader {
        catalog,
        context,
        source: &source,
        tables,
        edits: Vec::new(),
        claimed: BTreeSet::new(),
        first: 0,
        late: None,
        unknown: false,
    };
    reader.refuse_companions()?;
    if source.version_comment {
        return Err(reader.refused_first("a version comment (/*! … */) with code in it"));
    }
    let body = sql.get(body).unwrap_or_default();
    reader.kind(classify(body, context.sql_mode), body, &mut plan)?;
    reader.refuse_unclaimed()?;
    plan.late = reader.late;
    plan.unknown = reader.unknown;
    let mut edits = reader.edits;
    edits.sort_by_key(|edit| edit.span.start);
    plan.edits = edits;
    plan.params = source.params();
    plan.hint = reads::among(&source);
    plan.end = source.body_end();
    plan.bytes += 192 * plan.edits.len() + 8 * plan.params.len();
    Ok(plan)
}

impl<'a> Reader<'a> {
    fn kind(
        &mut self,
        kind: StatementKind,
        body: &[u8],
        plan: &mut VeilPlan,
    ) -> Result<(), Refusal> {
        use StatementKind as K;
        let rows = matches!(
            kind,
            K::Query | K::With | K::Update | K::Delete | K::Insert | K::Replace
        );
        if rows && let Some(table) = self.tables.iter().find(|table| table.is_missing()) {
            let refusal = match &table.problem {
                Some(problem) => Refusal::unsupported(problem.clone()),
                None => Refusal::no_such_table(self.catalog.database(), &table.name),
            };
            self.is_unknown(refusal);
            return Ok(());
        }
        match kind {
            K::Query | K::With | K::Update | K::Delete => self.rows(),
            K::Insert | K::Replace => {
                plan.by_position = self.insert()?;
                Ok(())
            }
            K::Ddl => self.definition(body),
            K::Show => {
                plan.shown = self.show(body);
                Ok(())
            }
            K::Describe => self.describe(body, plan),
            K::ExplainRemora if self.first == 0 => {
                self.first = 2;
                let inner = self.source.tokens.get(2).map_or(0, |it| it.start as usize);
                let inner = self.source.sql.get(inner..).unwrap_or_default();
                self.kind(classify(inner, self.context.sql_mode), inner, plan)
            }
            // The planner refuses all that would touch rows of a manifest table.
            _ => Ok(()),
        }
    }

    /// The statement does not fit what the catalog knows. It is never sent: which of its values
    /// are protected is not known.
    pub(super) fn is_unknown(&mut self, refusal: Refusal) {
        self.claimed.extend(0..self.source.len());
        self.late = Some(refusal);
        self.unknown = true;
    }

    /// The companions do not exist for clients.
    fn refuse_companions(&self) -> Result<(), Refusal> {
        let source = self.source;
        let named = (0..source.len()).find_map(|token| {
            let name = source.name(token)?;
            let hidden = name
                .get(..COMPANION_PREFIX.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(COMPANION_PREFIX));
            hidden.then_some(name)
        });
        match named {
            Some(name) => Err(Refusal {
                code: 1054,
                state: *b"42S22",
                message: format!("Unknown column '{name}' in 'field list'"),
            }),
            None => Ok(()),
        }
    }

    /// Whatever could be a protected column and was not understood is one.
    fn refuse_unclaimed(&self) -> Result<(), Refusal> {
        let source = self.source;
        for token in self.first..source.len() {
            if self.claimed.contains(&token) {
                continue;
            }
            let Some(name) = source.name(token) else {
                continue;
            };
            for table in &self.tables {
                if let Some(column) = table.protected(&name) {
                    return Err(refused(
                        table,
                        column,
                        "anything but reading and writing it, and =, <>, <=>, IN and IS NULL with \
                         constants in WHERE or ON,",
                    ));
                }
            }
        }
        Ok(())
    }

    /// The refusal of something for a whole statement.
    pub(super) fn refused_first(&self, what: &str) -> Refusal {
        let table = self.tables.first().map_or("", |table| &table.name);
        Refusal::unsupported(format!(
            "{what} is not supported in a statement that names {table}, which has encrypted \
             columns"
        ))
    }

    /// The name of a table at a token, if it is one with protected columns.
    pub(super) fn named(&self, token: usize) -> Option<(TableName, &'a Arc<Table>)> {
        let name = TableName::at(self.source, token)?;
        let table = name.find(self.catalog, self.context)?;
        let table = self.tables.iter().find(|it| Arc::ptr_eq(it, table))?;
        Some((name, table))
    }

    pub(super) fn replace(&mut self, span: Span, atoms: Vec<Atom>) {
        self.edits.push(VeilEdit { span, atoms });
    }

    /// Inserts behind a token.
    pub(super) fn behind(&mut self, token: usize, atoms: Vec<Atom>) {
        let at = self.source.end(token);
        self.replace(Span { start: at, end: at }, atoms);
    }

    pub(super) fn value(
        part: Part,
        table: &Arc<Table>,
        column: &Arc<Protected>,
        operand: Operand,
        row: usize,
    ) -> Atom {
        Atom::Value(Value {
            part,
            table: Arc::clone(table),
            column: Arc::clone(column),
            operand,
            row,
        })
    }
}

pub(super) fn text(text: impl Into<String>) -> Atom {
    Atom::Text(text.into())
}

pub(super) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}
