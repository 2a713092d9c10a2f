//! From a planned statement to the way it is executed.

use std::time::Instant;

use remora_crds::GeneratedKeyKind;
use remora_planner::keys::Charset;
use remora_planner::lexer::{Lexer, SqlMode};
use remora_planner::utility::StatementKind;
use remora_planner::{
    Action, BindInput, ByPosition, Catalog, InsertReport, Param as KeyParam, ParamSource, Planned,
    SessionValues, Statement, Traits,
};
use remora_protocol::{Attribute, ColumnDef, ErrPacket, Param};

use super::{Cover, Withheld};
use crate::backend::{Call, Operand};
use crate::console::explain;
use crate::failure::Failure;
use crate::proxy::table_changed;
use crate::session::{HOME, Reading, Session};
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
    /// The user variables that EXECUTE names for its parameters.
    pub(crate) using: &'a [&'a [u8]],
    /// Whether another statement of the same text follows.
    pub(crate) more_results: bool,
    /// What the answer of a veiled statement needs.
    pub(crate) cover: Option<&'a Cover>,
    /// What the client says beside it.
    pub(crate) attributes: &'a [Attribute<'a>],
    /// Whether the client wants to fetch its rows by a cursor.
    pub(crate) cursor: bool,
}

/// What the ways of executing need to know besides the statement.
#[derive(Debug)]
pub(crate) struct Route<'a> {
    /// Where the client's parameters are.
    pub(crate) params: Option<&'a [Param<'a>]>,
    /// The user variables in their place, in an EXECUTE.
    pub(crate) using: &'a [&'a [u8]],
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
    /// Where it may be read.
    pub(crate) reading: Reading,
    /// What the answer of a veiled statement needs.
    pub(crate) cover: Option<&'a Cover>,
    /// What the client says beside the statement.
    pub(crate) attributes: &'a [Attribute<'a>],
    /// Whether the client wants to fetch its rows by a cursor.
    pub(crate) cursor: bool,
}

impl<'a> Route<'a> {
    /// The error that must not reach the client before it is known whether it would meet MySQL's
    /// own AUTO_INCREMENT too.
    pub(crate) fn withheld(&self) -> Withheld {
        let made = self.insert.as_ref().and_then(|i| i.first_generated);
        made.map_or(Withheld::None, |_| Withheld::Number(DUPLICATE))
    }

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
        let operand = |source: &ParamSource| match source {
            ParamSource::Client(index) => {
                Operand::Variable(self.using.get(*index as usize).copied().unwrap_or(b"NULL"))
            }
            ParamSource::Number(number) => Operand::Number(*number),
        };
        let using = match self.using {
            [] => Vec::new(),
            _ => statement.params.iter().map(operand).collect(),
        };
        Call {
            sql: &statement.sql,
            params,
            using,
            attributes: self.attributes,
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

/// How an attempt at a statement ended without an error for the client.
enum Attempt {
    /// It is answered.
    Done,
    /// Nothing ran: the table's columns are not in the catalog's order any more.
    Reordered,
    /// Nothing is left of it: a key that was made for it is there already.
    Taken {
        table: String,
        lowest: u64,
        error: ErrPacket<'static>,
    },
}

/// MySQL's numbers for errors at which it may roll a whole transaction back.
const ROLLING_BACK: [u16; 2] = [1205, 1213];
/// MySQL's number for a text that it does not understand.
const PARSE_ERROR: u16 = 1064;
/// MySQL's number for a key that is there already.
const DUPLICATE: u16 = 1062;

impl Session {
    /// Runs a planned statement and adds its answer, or part of it, to the client's output.
    ///
    /// An INSERT has a second attempt where the first one found that it was made from what is
    /// not so any more: another sidecar, or someone at MySQL itself, changed the table.
    pub(crate) async fn run(
        &mut self,
        world: &World,
        catalog: &Catalog,
        planned: &Planned,
        request: &Request<'_>,
    ) -> Result<(), Failure> {
        let outcome = self.run_planned(world, catalog, planned, request).await;
        if let Err(Failure::Answer(error)) = &outcome
            && ROLLING_BACK.contains(&error.code)
        {
            // Whichever of the sidecar's own questions met it.
            self.ask_all().await?;
        }
        outcome
    }

    async fn run_planned(
        &mut self,
        world: &World,
        catalog: &Catalog,
        planned: &Planned,
        request: &Request<'_>,
    ) -> Result<(), Failure> {
        let first = self.attempt(world, catalog, planned, request).await?;
        match first {
            Attempt::Done => return Ok(()),
            Attempt::Reordered => self.proxy.read_catalog(world).await?,
            Attempt::Taken {
                table,
                lowest,
                error,
            } => {
                let was_behind = self.catch_up(world, &table, lowest).await?;
                // The new key's shard may be another than the one that the transaction is on now.
                let in_transaction = self.state.transaction.is_open() || !self.state.autocommit;
                if in_transaction || !was_behind {
                    return Err(error.into());
                }
            }
        }
        let catalog = world.catalogs.load();
        let planned = match request.cover {
            Some(_) if planned.plan().catalog_version() != catalog.version() => {
                // It was veiled for columns that may be others now.
                return Err(ErrPacket::new(
                    1235,
                    *b"42000",
                    "The columns of a table with encrypted ones were changed meanwhile; run the \
                     statement again",
                )
                .into());
            }
            Some(_) => self.plan_veiled(&catalog, request.sql)?,
            None => self.plan_with(&catalog, request.sql)?,
        };
        let second = self.attempt(world, &catalog, &planned, request).await?;
        match second {
            Attempt::Done => Ok(()),
            Attempt::Taken { error, .. } => Err(error.into()),
            Attempt::Reordered => Err(table_changed().into()),
        }
    }

    /// The statement once.
    async fn attempt(
        &mut self,
        world: &World,
        catalog: &Catalog,
        planned: &Planned,
        request: &Request<'_>,
    ) -> Result<Attempt, Failure> {
        let started = Instant::now();
        let proxy = self.proxy.clone();
        let context = self.state.context.clone();
        let (kind, traits) = (planned.plan().kind(), planned.plan().traits());
        let reading = match request.using {
            // A cursor stays on its server between FETCHes, which a replica may not.
            [] if !request.cursor => self.reading(world, planned),
            // Its variables are on primaries.
            _ => Reading::Primary,
        };
        let answered = self.replicas.take_answered();
        if traits.uses_found_rows {
            match answered {
                Some(answered) => self.fetch_found_rows(&answered).await,
                None => self.learn_found_rows().await?,
            }
        }
        if traits.leaves_state() {
            self.replicas.pin();
        }
        if traits.implicit_commit {
            self.commit_before(world, kind, request).await?;
        }
        let mut input = BindInput {
            params: request.keys,
            generated: &[],
            charset: request.charset,
            session: SessionValues {
                connection_id: Some(self.id),
                ..SessionValues::default()
            },
            by_position: request.cover.is_some_and(|cover| cover.by_position),
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
        let generated = match &needed {
            Some(needed) => self.made_keys(world, needed).await?,
            None => Vec::new(),
        };
        input.generated = &generated;
        let bound = proxy
            .planner
            .bind(catalog, &context, planned, request.sql, &input)?;
        if let Some(assumed) = &bound.by_position
            && !self.is_in_order(world, assumed).await?
        {
            return Ok(Attempt::Reordered);
        }
        if let Some(report) = &bound.insert
            && let Some(highest) = report.highest_explicit
        {
            self.pass_key(world, &report.table, highest).await?;
        }
        let route = Route {
            params: request.params,
            using: request.using,
            kind,
            traits,
            insert: bound.insert,
            more_results: request.more_results,
            cover: request.cover,
            attributes: request.attributes,
            cursor: request.cursor,
            ignores: kind == StatementKind::Insert && ignores(request.sql, context.sql_mode),
            reading,
        };
        let (way, outcome) = match bound.action {
            Action::Single { target, statement } => (
                Way::Single,
                self.single(world, target, &statement, &route).await,
            ),
            Action::Scatter(scatter) => (
                Way::Scatter,
                match route.cursor {
                    true => self.scatter_cursor(world, planned, &scatter, &route).await,
                    false => self.scatter(world, planned, &scatter, &route).await,
                },
            ),
            Action::Utility(_) | Action::Explain(_) if route.cursor => {
                (Way::Local, Err(no_cursor_here().into()))
            }
            Action::Writes(writes) => (Way::Write, self.writes(world, &writes, &route).await),
            Action::Ddl(ddl) => {
                let mut outcome = self.ddl(world, &ddl, &route).await;
                if outcome.is_ok() {
                    outcome = self.restart_sequences(world, catalog, request.sql).await;
                }
                (Way::Ddl, outcome)
            }
            Action::Utility(kind) => (
                Way::Local,
                self.utility(world, kind, traits.leaves_state(), request)
                    .await,
            ),
            Action::Explain(rows) => (
                Way::Local,
                self.put_console(explain(&rows), request.more_results).await,
            ),
        };
        self.proxy.metrics.statement(way, started.elapsed());
        match (outcome, needed) {
            (Err(Failure::Answer(error)), Some(needed))
                if needed.kind == GeneratedKeyKind::Sequence
                    && error.code == DUPLICATE
                    && names_one_of(&error.message, &generated) =>
            {
                Ok(Attempt::Taken {
                    table: needed.table,
                    lowest: generated.first().copied().unwrap_or_default(),
                    error,
                })
            }
            (outcome, _) => outcome.map(|()| Attempt::Done),
        }
    }

    /// Ends the transaction before a statement that MySQL commits at: not before a text that it does
    /// not understand, which PREPARE tells.
    async fn commit_before(
        &mut self,
        world: &World,
        kind: StatementKind,
        request: &Request<'_>,
    ) -> Result<(), Failure> {
        if kind == StatementKind::Ddl && self.state.transaction.is_open() {
            self.prepare_backend(world, HOME).await?;
            let Some(home) = self.backends.get(HOME) else {
                return Err(Failure::CutOff);
            };
            if let Err(error) = home.look_at(request.sql).await?
                && error.code == PARSE_ERROR
            {
                return Err(error.into());
            }
        }
        self.commit_implicitly().await
    }

    /// Whether a table's columns are in the order that an INSERT without a list of columns takes
    /// for granted. MySQL prepares a query of it, which begins no transaction.
    async fn is_in_order(&mut self, world: &World, assumed: &ByPosition) -> Result<bool, Failure> {
        let shard = usize::from(assumed.shard.0);
        self.prepare_backend(world, shard).await?;
        let Some(backend) = self.backends.get(shard) else {
            return Err(Failure::CutOff);
        };
        let Ok(described) = backend.look_at(&assumed.probe).await? else {
            // The account may insert but not read, or the table is gone: what the system account
            // sees must do, and the statement itself tells the rest.
            let before = world.catalogs.load().version();
            self.proxy.read_catalog(world).await?;
            return Ok(world.catalogs.load().version() == before);
        };
        let mut columns = assumed.columns.iter();
        for definition in &described.columns {
            let name = ColumnDef::decode(definition)?.name;
            // Other names are in the character set of the session's results.
            let differs =
                |known: &String| known.as_bytes() != name && (known.is_ascii() || name.is_ascii());
            if columns.next().is_none_or(differs) {
                return Ok(false);
            }
        }
        Ok(columns.next().is_none())
    }
}

/// The refusal of a cursor over an answer that is made here. Connector/J (`useCursorFetch`) takes the
/// packet behind the columns for the cursor's status without looking at it, so that rows in its
/// place would lose one.
fn no_cursor_here() -> ErrPacket<'static> {
    ErrPacket::new(
        1235,
        *b"42000",
        "This version of Remora doesn't yet support a cursor over this statement; execute it \
         without one",
    )
}

/// Whether MySQL's text about a duplicate (`Duplicate entry '7-500' for key 'ticket.PRIMARY'`)
/// names one of these values: the columns of a key are joined by `-`.
fn names_one_of(message: &[u8], values: &[u64]) -> bool {
    let text = String::from_utf8_lossy(message);
    let entry = text
        .split_once('\'')
        .and_then(|(_, rest)| Some(rest.rsplit_once("' for key ")?.0));
    entry.is_some_and(|entry| {
        let mut parts = entry.split('-').filter_map(|part| part.parse().ok());
        parts.any(|part: u64| values.contains(&part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duplicate_is_of_a_made_key_if_it_names_one() {
        let of = |entry: &str| {
            let text = format!("Duplicate entry '{entry}' for key 'ticket.PRIMARY'");
            names_one_of(text.as_bytes(), &[500, 501])
        };
        assert!(of("500") && of("7-501") && of("it's-501"));
        assert!(!of("50") && !of("1500") && !of("bob") && !of(""));
        assert!(!names_one_of(b"another text with 500", &[500]));
    }
}
