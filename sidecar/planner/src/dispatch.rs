//! Makes a plan of a statement that is not in the cache.

use std::ops::Range;
use std::sync::Arc;

use sqlparser::ast::Statement as Tree;

use crate::Refusal;
use crate::binding::Splices;
use crate::bound::{Place, Target};
use crate::catalog::{Catalog, Table};
use crate::context::Context;
use crate::lexer::TokenKind;
use crate::names::{TableName, mentioned, schema_edit};
use crate::plan::{Plan, RowsPlan, Several, Work};
use crate::route::{Analysis, Pins, analyze};
use crate::session_functions;
use crate::text::{Edit, Source};
use crate::traits::Traits;
use crate::utility::{self, StatementKind, classify};
use crate::{ddl, parse, select, show, write};

/// A plan and what the cache must know of it.
pub(crate) struct Made {
    pub(crate) plan: Plan,
    /// The literals whose values the plan depends on.
    pub(crate) pins: Vec<usize>,
    /// Whether it is worth keeping.
    pub(crate) cacheable: bool,
}

/// What a reader of one kind of statement found.
pub(crate) struct Found {
    pub(crate) work: Work,
    /// Where the text changes, in any order.
    pub(crate) edits: Vec<Edit>,
    /// The table of each class.
    pub(crate) tables: Vec<Arc<Table>>,
    pub(crate) missing: bool,
}

impl Found {
    /// Work without edits.
    pub(crate) fn plain(work: Work) -> Self {
        Self { work, edits: Vec::new(), tables: Vec::new(), missing: false }
    }

    /// The whole text to one server.
    pub(crate) fn pass(target: Target) -> Self {
        Self::plain(Work::Pass(target))
    }
}

/// Everything that readers of statements look at.
pub(crate) struct Reading<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) context: &'a Context,
    pub(crate) source: Source<'a>,
    /// The statement from its first token to its last.
    pub(crate) body: &'a [u8],
    /// Where that begins.
    start: u32,
    pub(crate) kind: StatementKind,
    pub(crate) traits: Traits,
}

/// Inserts of more rows than this are planned anew each time: their plans are large, and the
/// number of their rows varies.
const MAX_CACHED_TOKENS: usize = 4096;

/// Plans the statement in `body` of `sql`.
///
/// # Errors
/// If it cannot be served.
pub(crate) fn plan(
    catalog: &Catalog,
    context: &Context,
    sql: &[u8],
    body: Range<usize>,
    invalid: bool,
) -> Result<Made, Refusal> {
    let source = Source::new(sql, context.sql_mode, body.start);
    let start = body.start as u32;
    let body = sql.get(body).unwrap_or_default();
    let kind = classify(body, context.sql_mode);
    let traits = Traits::of(&source, kind);
    let reading = Reading { catalog, context, source, body, start, kind, traits };
    reading.refuse_physical_schemas()?;
    if invalid && let Some(table) = reading.mentioned() {
        return Err(Refusal {
            code: 1064,
            state: *b"42000",
            message: format!(
                "You have an error in your SQL syntax: a token near {} is not valid",
                table.name
            ),
        });
    }
    let mut pins = Pins::default();
    let mut found = if invalid { Found::pass(Target::Home) } else { reading.read(&mut pins)? };
    let source = &reading.source;
    session_functions::add(source, kind, &mut found.edits);
    found.edits.sort_by_key(|edit| edit.span.start);
    let cacheable = source.len() <= MAX_CACHED_TOKENS
        && !matches!(found.work, Work::Ddl(_) | Work::Explain(_) | Work::Replace(..));
    let splices = Splices {
        edits: found.edits,
        params: source.params(),
        end: source.last_end(),
        tables: found.tables,
    };
    let bytes = size_of::<Plan>() + 64 * splices.edits.len() + 8 * splices.params.len() + 16 * source.len();
    let plan = Plan {
        kind,
        work: found.work,
        splices,
        traits,
        catalog_version: catalog.version(),
        missing: found.missing,
        bytes,
    };
    let pins = pins.into_sorted().into_iter().map(|pin| pin as usize).collect();
    Ok(Made { plan, pins, cacheable })
}

impl<'a> Reading<'a> {
    /// A manifest table that some word names.
    pub(crate) fn mentioned(&self) -> Option<&'a Arc<Table>> {
        mentioned(self.catalog, self.context, &self.source, 0)
    }

    /// The token that begins where a span of the body does.
    pub(crate) fn token_at(&self, span: utility::Span) -> Option<usize> {
        self.source.token_at(self.start + span.start)
    }

    fn read(&self, pins: &mut Pins) -> Result<Found, Refusal> {
        use StatementKind as K;
        match self.kind {
            K::Empty => Ok(Found::pass(Target::Any)),
            K::Query | K::With | K::Update | K::Delete => self.rows(pins),
            K::Insert | K::Replace => self.insert(),
            K::Ddl => ddl::plan(self),
            K::Show => show::show(self),
            K::Describe => show::describe(self, pins),
            K::ExplainRemora => self.explain(),
            K::Set | K::Use | K::Transaction | K::Kill | K::ShowRemora | K::UnlockTables => {
                self.nothing_mentioned("a subquery in this statement")?;
                Ok(Found::plain(Work::Utility))
            }
            K::Prepared => Ok(Found::plain(Work::Utility)),
            K::Load => self.home("LOAD DATA"),
            K::Call => self.home("CALL"),
            K::Do => self.home("DO"),
            K::Handler => self.home("HANDLER"),
            K::LockTables => self.home("LOCK TABLES"),
            K::Maintenance => self.home("ANALYZE, OPTIMIZE, CHECK, REPAIR or CHECKSUM TABLE"),
            K::Flush | K::Diagnostics | K::Help | K::Unknown => self.home("this statement"),
            K::Xa => Err(Refusal::unsupported(
                "XA statements are not supported yet; use BEGIN and COMMIT",
            )),
            K::Account => Err(Refusal::unsupported(
                "accounts are not managed through Remora yet; name users in the manifest's \
                 spec.users",
            )),
            K::LockInstance | K::Administration => Err(Refusal::unsupported(
                "this statement administers one server; connect to that server and run it there",
            )),
        }
    }

    /// A statement that knows nothing of sharding: to the first shard, unless it names a table
    /// of the manifest.
    fn home(&self, what: &str) -> Result<Found, Refusal> {
        self.nothing_mentioned(what)?;
        Ok(Found::pass(Target::Home))
    }

    fn nothing_mentioned(&self, what: &str) -> Result<(), Refusal> {
        match self.mentioned() {
            Some(table) => Err(self.unsupported(table, what)),
            None => Ok(()),
        }
    }

    /// The refusal of a statement for a table of the manifest.
    pub(crate) fn unsupported(&self, table: &Table, what: &str) -> Refusal {
        let spread = if table.sharded().is_some() { "sharded" } else { "on every shard" };
        Refusal::unsupported(format!(
            "{what} is not supported for {}, which is {spread}",
            table.name
        ))
    }

    /// Physical schemas do not exist for clients.
    fn refuse_physical_schemas(&self) -> Result<(), Refusal> {
        if !self.catalog.has_physical_schemas() {
            return Ok(());
        }
        let source = &self.source;
        let named = (0..source.len()).find_map(|token| {
            let name = source.name(token)?;
            let is_schema = source.kind(token + 1) == Some(TokenKind::Dot)
                || token.checked_sub(1).is_some_and(|before| {
                    source.is_any(before, &["USE", "FROM", "IN", "DATABASE", "SCHEMA", "EXISTS"])
                });
            (is_schema && self.catalog.is_physical_schema(&name)).then_some(name)
        });
        match named {
            Some(name) => Err(Refusal {
                code: 1049,
                state: *b"42000",
                message: format!("Unknown database '{name}'"),
            }),
            None => Ok(()),
        }
    }

    /// EXPLAIN REMORA statement.
    fn explain(&self) -> Result<Found, Refusal> {
        let inner = self.source.tokens.get(2).ok_or_else(|| {
            Refusal::unsupported("EXPLAIN REMORA needs a statement behind it")
        })?;
        Ok(Found::plain(Work::Explain(inner.start as usize)))
    }

    fn insert(&self) -> Result<Found, Refusal> {
        let source = &self.source;
        let mut token = 1;
        let modifiers = ["LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "IGNORE", "INTO"];
        while source.is_any(token, &modifiers) || source.kind(token) == Some(TokenKind::Hint) {
            token += 1;
        }
        let name = TableName::at(source, token);
        let Some((name, table)) = name
            .as_ref()
            .and_then(|name| Some((name, name.find(self.catalog, self.context)?)))
        else {
            return self.home("INSERT or REPLACE … SELECT from another table");
        };
        if table.is_missing() {
            return Ok(self.missing(table, vec![name.edit(source, 0)]));
        }
        let mut plan = write::plan_insert(self.context, source, name, table)?;
        Ok(Found {
            edits: plan.take_edits(),
            work: Work::Insert(plan),
            tables: vec![Arc::clone(table)],
            missing: false,
        })
    }

    /// A table that does not exist as far as the catalog knows: MySQL says so.
    pub(crate) fn missing(&self, table: &Arc<Table>, edits: Vec<Edit>) -> Found {
        let split = table.sharded().is_some_and(|sharded| sharded.slots > 1);
        let edits = if split { edits } else { Vec::new() };
        let work = Work::Fixed(Place::FIRST);
        Found { work, edits, tables: vec![Arc::clone(table)], missing: true }
    }

    /// SELECT, UPDATE, DELETE.
    fn rows(&self, pins: &mut Pins) -> Result<Found, Refusal> {
        let source = &self.source;
        let Some(table) = self.mentioned() else { return self.unsharded() };
        if (0..source.len()).any(|token| source.is(token, "TABLE")) {
            return Err(self.unsupported(table, "TABLE instead of SELECT * FROM"));
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
        let home = source.find(0, source.len(), &["FROM"]).is_some()
            || !matches!(self.kind, StatementKind::Query)
            || self.traits.assigns_user_variables
            || source.calls(&select::STATEFUL).is_some();
        Ok(Found::pass(if home { Target::Home } else { Target::Any }))
    }

    /// INFORMATION_SCHEMA of the first shard knows the split tables by their physical schemas
    /// only.
    fn refuse_information_schema(&self) -> Result<(), Refusal> {
        const NAME: &str = "information_schema";
        if !self.catalog.has_physical_schemas() {
            return Ok(());
        }
        let source = &self.source;
        let is = |name: String| name.eq_ignore_ascii_case(NAME);
        let current = self.context.database.clone().is_some_and(is);
        let reads = source.find(0, source.len(), &["FROM"]).is_some();
        let table = (0..source.len())
            .find(|token| {
                source.name(*token).is_some_and(is) && source.kind(token + 1) == Some(TokenKind::Dot)
            })
            .and_then(|token| source.name(token + 2));
        let harmless = ["CHARACTER_SETS", "COLLATIONS", "ENGINES", "KEYWORDS", "PLUGINS"];
        match table {
            Some(table) if harmless.iter().any(|name| table.eq_ignore_ascii_case(name)) => Ok(()),
            None if !(current && reads) => Ok(()),
            _ => Err(Refusal::unsupported(
                "INFORMATION_SCHEMA is not supported yet beside tables that are split within \
                 their shard; use SHOW or DESCRIBE",
            )),
        }
    }

    pub(crate) fn rows_of(
        &self,
        tree: &Tree,
        analysis: Analysis,
        pins: &mut Pins,
    ) -> Result<Found, Refusal> {
        let is_split = |table_use: usize| {
            let sharded = analysis.uses.get(table_use).and_then(|it| it.table.sharded());
            sharded.is_some_and(|sharded| sharded.slots > 1)
        };
        let edits: Vec<Edit> = analysis
            .names
            .iter()
            .filter(|name| is_split(name.table_use))
            .map(|name| {
                let class = analysis.uses.get(name.table_use).map_or(0, |it| it.class);
                schema_edit(&self.source, name.token, name.qualified, class)
            })
            .collect();
        if let Some(missing) = analysis.uses.iter().find(|it| it.table.is_missing()) {
            let mut found = self.missing(&missing.table, edits);
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
        let several = self.several(tree, &analysis, pins)?;
        let tables = analysis.classes.iter().map(|class| Arc::clone(&class.table)).collect();
        let routes = analysis.classes.into_iter().map(|class| class.route).collect();
        let plan = RowsPlan { routes, single_only: analysis.single_only, several };
        Ok(Found { work: Work::Rows(plan), edits, tables, missing: false })
    }

    /// Broadcast tables, perhaps beside unsharded ones.
    fn broadcast(&self, analysis: &Analysis) -> Result<Found, Refusal> {
        if !self.traits.writes {
            let home = analysis.unsharded
                || self.traits.locks
                || self.traits.assigns_user_variables
                || self.source.calls(&select::STATEFUL).is_some();
            return Ok(Found::pass(if home { Target::Home } else { Target::Any }));
        }
        let Some(table) = analysis.uses.first().map(|it| &it.table) else {
            return Ok(Found::pass(Target::Home));
        };
        if analysis.unsharded {
            return Err(self.unsupported(table, "a write that reads a table of one shard"));
        }
        if let Some(function) = self.source.calls(&write::VARYING) {
            let what = format!("{function}(), which differs from shard to shard,");
            return Err(self.unsupported(table, &what));
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
