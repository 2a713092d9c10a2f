//! Makes a plan of a statement that is not in the cache.

use std::ops::Range;
use std::sync::Arc;

use crate::Refusal;
use crate::binding::Splices;
use crate::bound::Target;
use crate::catalog::{Catalog, Table};
use crate::context::Context;
use crate::lexer::TokenKind;
use crate::names::{TableName, find, mentioned};
use crate::plan::{Plan, Work};
use crate::route::Pins;
use crate::session_functions;
use crate::text::{Edit, Source};
use crate::traits::Traits;
use crate::utility::{self, StatementKind, classify};
use crate::{ddl, reads, show, write};

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
        Self {
            work,
            edits: Vec::new(),
            tables: Vec::new(),
            missing: false,
        }
    }

    /// A statement for a table that does not exist as far as the catalog knows. It is never
    /// run: if the catalog were old, it would find or put rows in the wrong place.
    pub(crate) fn missing(catalog: &Catalog, table: &Arc<Table>, edits: Vec<Edit>) -> Self {
        let refusal = match &table.problem {
            Some(problem) => Refusal::unsupported(problem.clone()),
            None => Refusal::no_such_table(catalog.database(), &table.name),
        };
        Self::unknown(refusal, table, edits)
    }

    /// A statement that does not fit what the catalog knows of its table.
    fn unknown(refusal: Refusal, table: &Arc<Table>, edits: Vec<Edit>) -> Self {
        let split = table.sharded().is_some_and(|sharded| sharded.slots > 1);
        Self {
            work: Work::Missing(refusal),
            edits: if split { edits } else { Vec::new() },
            tables: vec![Arc::clone(table)],
            missing: true,
        }
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
    veiled: bool,
) -> Result<Made, Refusal> {
    let source = Source::new(sql, context.sql_mode, &body);
    let start = body.start as u32;
    let body = sql.get(body).unwrap_or_default();
    let kind = classify(body, context.sql_mode);
    let traits = Traits::of(&source, kind, catalog);
    let reading = Reading {
        catalog,
        context,
        source,
        body,
        start,
        kind,
        traits,
    };
    reading.refuse_physical_schemas()?;
    reading.refuse_closed_tables()?;
    if !veiled {
        reading.refuse_unveiled()?;
    }
    let mut pins = Pins::default();
    // MySQL refuses it whatever the rest is, and says why.
    let mut found = if invalid {
        Found::pass(Target::Home)
    } else {
        reading.read(&mut pins)?
    };
    let source = &reading.source;
    let hint = reads::among(source);
    session_functions::add(source, kind, &mut found.edits);
    found.edits.sort_by_key(|edit| edit.span.start);
    let cacheable = source.len() <= MAX_CACHED_TOKENS
        && !matches!(
            found.work,
            Work::Ddl(_) | Work::Explain(_) | Work::Replace(..)
        );
    let splices = Splices {
        edits: found.edits,
        params: source.params(),
        end: source.body_end(),
        tables: found.tables,
    };
    let bytes =
        size_of::<Plan>() + 64 * splices.edits.len() + 8 * splices.params.len() + 16 * source.len();
    let plan = Plan {
        kind,
        work: found.work,
        splices,
        traits,
        hint,
        catalog_version: catalog.version(),
        missing: found.missing,
        bytes,
    };
    let pins = pins
        .into_sorted()
        .into_iter()
        .map(|pin| pin as usize)
        .collect();
    Ok(Made {
        plan,
        pins,
        cacheable,
    })
}

impl<'a> Reading<'a> {
    /// A manifest table that some word names.
    pub(crate) fn mentioned(&self) -> Option<&'a Arc<Table>> {
        mentioned(self.catalog, self.context, &self.source, 0)
    }

    /// Whatever the statement would do with a closed table, it would do to the wrong rows.
    fn refuse_closed_tables(&self) -> Result<(), Refusal> {
        if !self.catalog.has_closed_tables() {
            return Ok(());
        }
        let Some(from) = self.tables_from() else {
            return Ok(());
        };
        let closed = |name: &str| {
            let reason = self.catalog.closed(name)?;
            let database = self.catalog.database();
            Some(format!("table {database}.{name} is not served: {reason}"))
        };
        match find(self.catalog, self.context, &self.source, from, closed) {
            Some(sentence) => Err(Refusal::unsupported(sentence)),
            None => Ok(()),
        }
    }

    /// A statement on a table with protected columns has to come from a veiler. Whoever forgets
    /// it must not send plain values.
    fn refuse_unveiled(&self) -> Result<(), Refusal> {
        if !self.catalog.has_protected() {
            return Ok(());
        }
        let Some(from) = self.tables_from() else {
            return Ok(());
        };
        let look = |name: &str| {
            let table = self.catalog.table(name)?;
            (!table.protected.is_empty()).then_some(table)
        };
        match find(self.catalog, self.context, &self.source, from, look) {
            Some(table) => {
                Err(table.unsupported("this way of running a statement on encrypted columns"))
            }
            None => Ok(()),
        }
    }

    /// The first token that may be a table's name; words of other statements mean other things.
    fn tables_from(&self) -> Option<usize> {
        use StatementKind as K;
        match self.kind {
            K::Use
            | K::Transaction
            | K::ShowRemora
            | K::UnlockTables
            | K::Prepared
            | K::Diagnostics
            | K::Help => None,
            K::Set | K::Kill | K::Call | K::Do => self.subquery(),
            _ => Some(self.head()),
        }
    }

    /// Where a subquery may begin in a statement that reads tables in subqueries only.
    fn subquery(&self) -> Option<usize> {
        let source = &self.source;
        (0..source.len()).find(|token| source.is_any(*token, &["SELECT", "TABLE"]))
    }

    /// The token that begins where a span of the body does.
    pub(crate) fn token_at(&self, span: utility::Span) -> Option<usize> {
        self.source.token_at(self.start + span.start)
    }

    /// Plans the statement.
    fn read(&self, pins: &mut Pins) -> Result<Found, Refusal> {
        use StatementKind as K;
        match self.kind {
            K::Empty => Ok(Found::pass(Target::Any)),
            K::Query | K::With | K::Update | K::Delete => self.rows(pins),
            K::Insert | K::Replace => self.insert(),
            K::Ddl => ddl::plan(self),
            K::Show => show::show(self, pins),
            K::Describe => show::describe(self, pins),
            K::ExplainRemora => self.explain(),
            K::Set | K::Kill => {
                self.no_subquery("a subquery in this statement")?;
                Ok(Found::plain(Work::Utility))
            }
            K::Use | K::Transaction | K::ShowRemora | K::UnlockTables | K::Prepared => {
                Ok(Found::plain(Work::Utility))
            }
            K::Load => self.home("LOAD DATA"),
            K::Call | K::Do => {
                self.no_subquery("a subquery in CALL or DO")?;
                Ok(Found::pass(Target::Home))
            }
            K::Handler => self.home("HANDLER"),
            K::LockTables => self.home("LOCK TABLES"),
            K::Maintenance => self.home("ANALYZE, OPTIMIZE, CHECK, REPAIR or CHECKSUM TABLE"),
            K::Diagnostics if self.source.is(0, "GET") => Ok(Found::plain(Work::Utility)),
            // They name no table, whatever their words are.
            K::Diagnostics | K::Help => Ok(Found::pass(Target::Home)),
            K::Flush | K::Unknown => self.home("this statement"),
            K::Xa | K::Account | K::LockInstance | K::Administration
                if self.catalog.is_one_server() =>
            {
                Ok(Found::pass(Target::Home))
            }
            K::Xa => Err(Refusal::unsupported(
                "XA statements are not supported over several shards; use BEGIN and COMMIT",
            )),
            K::Account => Err(Refusal::unsupported(
                "accounts of several shards are not managed by SQL; name users in the manifest's \
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

    /// Of statements that read tables in subqueries only: words outside of one are names of
    /// variables, columns and the like.
    fn no_subquery(&self, what: &str) -> Result<(), Refusal> {
        let from = self.subquery();
        match from.and_then(|from| mentioned(self.catalog, self.context, &self.source, from)) {
            Some(table) => Err(table.unsupported(what)),
            None => Ok(()),
        }
    }

    fn nothing_mentioned(&self, what: &str) -> Result<(), Refusal> {
        let table = mentioned(self.catalog, self.context, &self.source, self.head());
        match table {
            Some(table) => Err(table.unsupported(what)),
            None => Ok(()),
        }
    }

    /// How many tokens stand before the first that may name a table, in statements about tables:
    /// a table may be called `tables`, `status` or `local`.
    fn head(&self) -> usize {
        use StatementKind as K;
        let modifiers = ["LOCAL", "NO_WRITE_TO_BINLOG"];
        match self.kind {
            K::Flush | K::Maintenance if self.source.is_any(1, &modifiers) => 3,
            K::LockTables | K::Flush | K::Maintenance => 2,
            _ => 1,
        }
    }

    /// EXPLAIN REMORA statement.
    fn explain(&self) -> Result<Found, Refusal> {
        let inner =
            self.source.tokens.get(2).ok_or_else(|| {
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
            self.no_subquery("INSERT or REPLACE … SELECT from another table")?;
            return Ok(Found::pass(Target::Home));
        };
        if table.is_missing() {
            return Ok(Found::missing(
                self.catalog,
                table,
                vec![name.edit(source, 0)],
            ));
        }
        let mut plan = match write::plan_insert(self.context, source, name, table) {
            Err(refusal) if refusal.code == write::COUNT_DIFFERS => {
                let edits = vec![name.edit(source, 0)];
                return Ok(Found::unknown(refusal, table, edits));
            }
            plan => plan?,
        };
        Ok(Found {
            edits: plan.take_edits(),
            work: Work::Insert(plan),
            tables: vec![Arc::clone(table)],
            missing: false,
        })
    }
}
