//! From a planned statement to the way it is executed.

use std::time::Instant;

use remora_planner::keys::Charset;
use remora_planner::lexer::{Lexer, SqlMode};
use remora_planner::utility::StatementKind;
use remora_planner::{
    Action, BindInput, Catalog, InsertReport, Param as KeyParam, ParamSource, Planned,
    SessionValues, Statement, Traits,
};
use remora_protocol::Param;

use crate::backend::Call;
use crate::console::explain;
use crate::failure::Failure;
use crate::session::Session;
use crate::telemetry::Way;
use crate::world::World;

/// One statement of the client, however it came.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    /// Its text.
    pub(crate) sql: &'a [u8],
    /// Its parameters; `None` in the text protocol.
    pub(crate) params: Option<&'a [Param<'a>]>,
    /// The same as the planner sees them.
    pub(crate) keys: Option<&'a [KeyParam<'a>]>,
    /// What the strings among the parameters are encoded in; `None`: as literals are.
    pub(crate) charset: Option<Charset>,
    /// Whether another statement of the same text follows.
    pub(crate) more_results: bool,
}

/// What the ways of executing need to know besides the statement.
#[derive(Debug)]
pub(crate) struct Route<'a> {
    /// Where the client's parameters are.
    pub(crate) params: Option<&'a [Param<'a>]>,
    /// What the statement is.
    pub(crate) kind: StatementKind,
    /// What the session must know of it.
    pub(crate) traits: Traits,
    /// What it does to a generated key.
    pub(crate) insert: Option<InsertReport>,
    /// Whether another statement of the same text follows.
    pub(crate) more_results: bool,
    /// INSERT IGNORE.
    pub(crate) ignores: bool,
}

impl<'a> Route<'a> {
    /// A statement as a server gets it.
    pub(crate) fn call<'b>(&'b self, statement: &'b Statement<'_>) -> Call<'b> {
        let params = self.params.map(|params| {
            let feed = |source: &ParamSource| match source {
                ParamSource::Client(index) => params
                    .get(*index as usize)
                    .copied()
                    .unwrap_or_else(Param::null),
                ParamSource::Number(number) => Param::uint(*number),
            };
            statement.params.iter().map(feed).collect()
        });
        Call {
            sql: &statement.sql,
            params,
        }
    }
}

/// Words that may stand before IGNORE.
const BEFORE_IGNORE: usize = 3;

/// Whether an INSERT is an INSERT IGNORE.
fn ignores(sql: &[u8], mode: SqlMode) -> bool {
    Lexer::new(sql, mode)
        .take(BEFORE_IGNORE)
        .any(|token| token.is_word(sql, "IGNORE"))
}

impl Session {
    /// Runs a planned statement and adds its answer, or part of it, to the client's output.
    pub(crate) async fn run(
        &mut self,
        world: &World,
        catalog: &Catalog,
        planned: &Planned,
        request: &Request<'_>,
    ) -> Result<(), Failure> {
        let started = Instant::now();
        let proxy = self.proxy.clone();
        let context = self.state.context.clone();
        let (kind, traits) = (planned.plan().kind(), planned.plan().traits());
        if traits.implicit_commit {
            self.commit_implicitly().await?;
        }
        let mut input = BindInput {
            params: request.keys,
            generated: &[],
            charset: request.charset,
            session: SessionValues {
                connection_id: Some(self.id),
                ..SessionValues::default()
            },
        };
        if traits.uses_row_count {
            input.session.row_count = Some(self.state.row_count);
        }
        if traits.uses_found_rows {
            input.session.found_rows = self.state.found_rows;
        }
        let needed = proxy
            .planner
            .generated_values_needed(&context, planned, request.sql, &input);
        let generated = match needed {
            Some(needed) => proxy.generate(world, &needed).await?,
            None => Vec::new(),
        };
        input.generated = &generated;
        let bound = proxy
            .planner
            .bind(catalog, &context, planned, request.sql, &input)?;
        if let Some(report) = &bound.insert
            && let Some(highest) = report.highest_explicit
        {
            proxy.pass_sequence(world, &report.table, highest).await?;
        }
        let route = Route {
            params: request.params,
            kind,
            traits,
            insert: bound.insert,
            more_results: request.more_results,
            ignores: kind == StatementKind::Insert && ignores(request.sql, context.sql_mode),
        };
        let (way, outcome) = match bound.action {
            Action::Single { target, statement } => (
                Way::Single,
                self.single(world, target, &statement, &route).await,
            ),
            Action::Scatter(scatter) => (
                Way::Scatter,
                self.scatter(world, planned, &scatter, &route).await,
            ),
            Action::Writes(writes) => (Way::Write, self.writes(world, &writes, &route).await),
            Action::Ddl(ddl) => {
                let mut outcome = self.ddl(world, &ddl, &route).await;
                if outcome.is_ok() {
                    outcome = self.restart_sequences(world, catalog, request.sql).await;
                }
                (Way::Ddl, outcome)
            }
            Action::Utility(kind) => (Way::Local, self.utility(world, kind, request).await),
            Action::Explain(rows) => (
                Way::Local,
                self.put_console(explain(&rows), request.more_results).await,
            ),
        };
        self.proxy.metrics.statement(way, started.elapsed());
        outcome
    }
}
