//! A read of several physical tables: every shard streams, the merge picks, the client reads.
//!
//! A shard is read only when the merge needs its next row, so a slow client slows the shards
//! through their sockets, and what is held here is a row of each and one output buffer.

use std::sync::Arc;

use bytes::BytesMut;
use remora_merge::{Column, Format, Limit, Limits, MergeError, MergeSpec, Merger, Step};
use remora_planner::lexer::{Lexer, SqlMode};
use remora_planner::{Planned, Scatter};
use remora_protocol::{
    CapabilityFlags, EofPacket, ErrPacket, Event, OkPacket, ProtocolError, StatusFlags, decode_end,
    rename_schema,
};

use super::drain::drain;
use super::observe::{how_it_ran, of_running};
use super::over::Over;
use super::run::Route;
use super::statement_warnings::{PartNotes, of_statement, of_text};
use super::union::{admit_columns, of_parts, unions};
use super::{Cover, Unveiling};
use crate::backend::{BackendError, Described, Ended, Exchange};
use crate::failure::Failure;
use crate::frontend::Client;
use crate::names::logical;
use crate::session::{Diagnostics, Note, Reading, Session, of_branch};
use crate::world::World;

/// Rows are collected up to this size before they are written.
pub(super) const WRITE_AT: usize = 16 * 1024;
/// What the merge may hold: rows of groups that are not finished, and one row of each part.
pub(super) const LIMITS: Limits = Limits { bytes: 64 << 20 };

impl Session {
    /// Runs a read on all shards concerned, over these servers, and merges the answers.
    pub(super) async fn scatter_over(
        &mut self,
        world: &World,
        planned: &Planned,
        scatter: &Scatter<'_>,
        route: &Route<'_>,
        over: &Over<'_>,
    ) -> Result<(), Failure> {
        let shards: Vec<usize> = scatter
            .parts
            .iter()
            .map(|p| usize::from(p.shard.0))
            .collect();
        let on_primaries: Vec<usize> = shards
            .iter()
            .copied()
            .filter(|shard| over.of(*shard).is_none())
            .collect();
        admit_columns(scatter, self.state.context.sql_mode)?;
        self.lease_all(world, &on_primaries, !route.traits.read)
            .await?;
        for &shard in &shards {
            if over.of(shard).is_none() {
                if route.reading == Reading::Replica {
                    self.learn_mark(shard).await?;
                }
                self.lend_state(shard, &route.traits).await?;
            }
        }
        let described = self.describe(world, planned, scatter, route, over).await?;
        let client_columns: Vec<Column> = described
            .columns
            .iter()
            .map(|c| Column::read(c))
            .collect::<Result<_, _>>()?;

        let spec = self.limited(&scatter.merge)?;
        let kept = self.state.transaction.is_open() || !self.state.autocommit;
        let mut status = self.status(route.more_results);
        let servers = over.servers();
        let mut refused = None;
        let mut exchanges = Vec::with_capacity(shards.len());
        let Self {
            backends,
            replicas,
            client,
            ..
        } = self;
        let mut selected = backends.select(&on_primaries);
        selected.extend(replicas.select(&servers));
        selected.sort_by_key(|backend| backend.shard());
        for backend in selected {
            let own = |p: &&remora_planner::Part<'_>| usize::from(p.shard.0) == backend.shard();
            if let Some(part) = scatter.parts.iter().find(own) {
                match backend.run(&route.call(&part.statement)).await {
                    Ok(exchange) => exchanges.push(exchange),
                    // The others are under way, and their answers must be read.
                    Err(BackendError::Server { error, .. }) => {
                        let error = of_branch(of_parts(logical(world, error)));
                        refused = refused.or(Some(Failure::from(error)));
                    }
                    Err(lost) => return Err(lost.into()),
                }
            }
        }
        let mut parts = Vec::with_capacity(exchanges.len());
        let mut begun = StatusFlags::empty();
        for exchange in &mut exchanges {
            match columns(exchange).await? {
                Ok((columns, _)) if columns.len() != scatter.columns => {
                    // Hidden columns would be taken for the client's.
                    let column = columns.len().min(scatter.columns);
                    let changed = Failure::from(MergeError::Changed { column });
                    refused = refused.or(Some(changed));
                }
                Ok((columns, status)) => {
                    begun |= status;
                    parts.push(columns);
                }
                Err(error) => {
                    let error = Failure::from(of_branch(of_parts(logical(world, error))));
                    refused = refused.or(Some(error));
                }
            }
        }
        // What a UNION of tables says of itself is not so of the client's statement.
        let own = unions(&scatter.probe.statement.sql);
        let joined = scatter
            .parts
            .iter()
            .any(|part| unions(&part.statement.sql) > own);
        if !joined {
            status |= of_running(begun);
        }
        let mut merge = Merge {
            client,
            exchanges,
            ends: Vec::new(),
        };
        let format = match route.params {
            Some(_) => Format::Binary,
            None => Format::Text,
        };
        let outcome = match refused {
            Some(failure) => Err(failure),
            None => match Merger::new(&spec, &parts, &client_columns, format, LIMITS) {
                Ok(merger) => {
                    let unveiling = route.cover.map(Cover::unveiling);
                    merge
                        .run(merger, world, &described, status, unveiling)
                        .await
                }
                Err(error) => Err(error.into()),
            },
        };
        if matches!(outcome, Err(Failure::CutOff)) {
            return Err(Failure::CutOff);
        }
        let ends = merge.finish(kept).await?;
        // It may have begun a transaction, or an error have ended one.
        let statuses = on_primaries.iter().map(|shard| {
            let end = ends.iter().find(|(at, _)| at == shard);
            (*shard, end.map(|(_, ended)| ended.status))
        });
        self.heed_all(statuses.collect()).await?;
        let rows = outcome?;
        let warned = ends.iter().filter(|(_, ended)| ended.warnings > 0);
        let warned: Vec<usize> = warned.map(|(shard, _)| *shard).collect();
        let notes = self.warnings(world, scatter, &warned, over).await?;
        let notes = of_text(notes, described.warnings);
        let warnings = u16::try_from(notes.len()).unwrap_or(u16::MAX);
        let told = ends.iter().filter(|_| !joined);
        let ran = how_it_ran(told.map(|(_, ended)| ended));
        let status = self.status(route.more_results) | ran;
        self.client.put_end(&OkPacket {
            status,
            warnings,
            ..OkPacket::default()
        });
        self.state.row_count = -1;
        self.state.found_rows = Some(rows);
        self.state.found_rows_at = None;
        self.state.diagnostics = Diagnostics::of_notes(notes);
        if route.reading != Reading::Primary {
            over.count(world, &shards);
        }
        Ok(())
    }

    /// The merge under the session's `sql_select_limit`, which holds where a statement has no
    /// LIMIT. Every part gives its first rows then, of which the merge needs no more.
    pub(super) fn limited(&self, merge: &MergeSpec) -> Result<MergeSpec, Failure> {
        let mut merge = merge.clone();
        if let (Some(count), None) = (self.state.select_limit, merge.limit) {
            if merge.group.is_some() {
                return Err(ErrPacket::new(
                    1235,
                    *b"42000",
                    "This version of Remora doesn't yet support sql_select_limit with groups or \
                     aggregates over more than one physical table; write a LIMIT instead",
                )
                .into());
            }
            merge.limit = Some(Limit { offset: 0, count });
        }
        Ok(merge)
    }

    /// Gathers the warnings of the shards that had some.
    pub(super) async fn warnings(
        &mut self,
        world: &World,
        scatter: &Scatter<'_>,
        warned: &[usize],
        over: &Over<'_>,
    ) -> Result<Vec<Note>, Failure> {
        if warned.is_empty() {
            return Ok(Vec::new());
        }
        let mut parts = Vec::with_capacity(scatter.parts.len());
        for part in &scatter.parts {
            let shard = usize::from(part.shard.0);
            let fetched = match self.connection(shard, over) {
                Some(backend) if warned.contains(&shard) => Note::fetch(backend).await?,
                _ => Vec::new(),
            };
            let notes = fetched
                .into_iter()
                .map(|note| note.logical(&world.names))
                .collect();
            let own = unions(&scatter.probe.statement.sql);
            let branches = (unions(&part.statement.sql) + 1).saturating_sub(own);
            parts.push(PartNotes { branches, notes });
        }
        let statement = &scatter.probe.statement;
        let sql = statement.params.is_empty().then_some(&*statement.sql);
        Ok(of_statement(parts, sql))
    }

    /// The column definitions that MySQL gives to the client's own statement on one physical
    /// table. Those of the parts have hidden columns, and a UNION's types.
    pub(super) async fn describe(
        &mut self,
        world: &World,
        planned: &Planned,
        scatter: &Scatter<'_>,
        route: &Route<'_>,
        over: &Over<'_>,
    ) -> Result<Arc<Described>, Failure> {
        let version = self.state.settings.version();
        if let Some(described) = self.probes.get(planned, version) {
            return Ok(described);
        }
        let shard = usize::from(scatter.probe.shard.0);
        if over.of(shard).is_none() {
            self.prepare_backend(world, shard).await?;
        }
        let call = route.call(&scatter.probe.statement);
        let mode = self.state.context.sql_mode;
        let Some(backend) = self.connection(shard, over) else {
            return Err(Failure::CutOff);
        };
        let described = if uses_temporary_table(scatter, mode) || !call.using.is_empty() {
            backend.columns_of(&call).await?
        } else {
            backend.describe(call.sql).await?
        };
        let described = Arc::new(described.map_err(|error| logical(world, error))?);
        let newest = match over.of(shard) {
            None => true,
            Some(member) => world
                .catalogs
                .loaded_at()
                .is_some_and(|at| member.server.had_all(at)),
        };
        if newest {
            self.probes.put(planned, version, described.clone());
        }
        Ok(described)
    }
}

/// Whether MySQL may answer from a temporary table: for groups, and for joins that it sorts.
/// The columns then differ a little from what it says when it prepares the statement.
fn uses_temporary_table(scatter: &Scatter<'_>, mode: SqlMode) -> bool {
    let sql = &scatter.probe.statement.sql;
    let joins = || Lexer::new(sql, mode).any(|token| token.is_word(sql, "JOIN"));
    scatter.merge.group.is_some() || (!scatter.merge.order.is_empty() && joins())
}

/// Reads the head of a part's answer: its columns, or MySQL's error.
async fn columns(
    exchange: &mut Exchange<'_>,
) -> Result<Result<(Vec<Column>, StatusFlags), ErrPacket<'static>>, Failure> {
    exchange.surface_columns(true);
    exchange.surface_rows(true);
    let shard = exchange.shard();
    let mut expected = None;
    let mut columns = Vec::new();
    let mut status = StatusFlags::empty();
    // In the old protocol their end tells of the statement.
    let mut ended = exchange
        .capabilities()
        .contains(CapabilityFlags::CLIENT_DEPRECATE_EOF);
    while !ended || expected.is_none_or(|n| columns.len() < n) {
        let step = exchange.next(|event, payload| match event {
            Event::ResultSet { columns } => Ok(Head::Count(columns as usize)),
            Event::Column => Column::read(payload)
                .map(Head::Column)
                .map_err(Failure::from),
            Event::DefinitionsEnd => {
                let end = EofPacket::decode(payload).map_err(protocol(shard))?;
                Ok(Head::End(end.status))
            }
            Event::Err => Ok(Head::Refused(
                ErrPacket::decode(payload)
                    .map_err(protocol(shard))?
                    .into_owned(),
            )),
            _ => Err(protocol(shard)(ProtocolError::Malformed("rows were expected")).into()),
        });
        match step.await?? {
            Head::Count(count) => expected = Some(count),
            Head::Column(column) => columns.push(column),
            Head::End(told) => (ended, status) = (true, told),
            Head::Refused(error) => return Ok(Err(error)),
        }
    }
    Ok(Ok((columns, status)))
}

enum Head {
    Count(usize),
    Column(Column),
    End(StatusFlags),
    Refused(ErrPacket<'static>),
}

fn protocol(shard: usize) -> impl Fn(ProtocolError) -> BackendError {
    move |source| BackendError::Protocol { shard, source }
}

/// Adds the columns' count and definitions, with logical names.
fn put_columns(
    client: &mut Client,
    world: &World,
    described: &Described,
    status: StatusFlags,
    mut unveiling: Option<&mut Unveiling<'_>>,
) -> Result<(), Failure> {
    client.put_head(described.columns.len() as u64);
    let bare = client.has_bare_results();
    for column in &described.columns {
        if let Some(unveiling) = &mut unveiling {
            let mut opened = BytesMut::new();
            unveiling.column(&world.names, column, &mut opened)?;
            if !bare {
                client.put(&opened);
            }
            continue;
        }
        if bare {
            continue;
        }
        let mut renamed = Ok(());
        client.put_with(|out| {
            renamed = rename_schema(column, |schema| world.names.logical(schema), out);
        });
        renamed?;
    }
    client.put_columns_end(&EofPacket {
        warnings: 0,
        status,
    });
    Ok(())
}

struct Merge<'a> {
    client: &'a mut Client,
    exchanges: Vec<Exchange<'a>>,
    /// What the ends of the answers say, with the shard.
    ends: Vec<(usize, Ended)>,
}

impl Merge<'_> {
    /// Streams columns and rows until the merge is done. Gives the number of rows.
    async fn run(
        &mut self,
        mut merger: Merger,
        world: &World,
        described: &Described,
        status: StatusFlags,
        mut unveiling: Option<Unveiling<'_>>,
    ) -> Result<u64, Failure> {
        put_columns(self.client, world, described, status, unveiling.as_mut())?;
        let mut row = BytesMut::new();
        let mut rows = 0;
        loop {
            match merger.poll(&mut row)? {
                Step::NeedRow(part) => self.feed(&mut merger, part, world).await?,
                Step::Row => {
                    match &mut unveiling {
                        None => self.client.put(&row),
                        Some(unveiling) => {
                            let mut opened = BytesMut::new();
                            if unveiling.row(&row, &mut opened)? {
                                self.client.put(&opened);
                            }
                        }
                    }
                    row.clear();
                    rows += 1;
                    if self.client.pending() >= WRITE_AT {
                        self.client.flush().await?;
                    }
                }
                Step::Done => return Ok(rows),
            }
        }
    }

    /// Reads what is left of the answers. Gives what their ends say.
    async fn finish(mut self, kept: bool) -> Result<Vec<(usize, Ended)>, Failure> {
        let mut lost = None;
        for exchange in self.exchanges {
            let shard = exchange.shard();
            match drain(exchange, kept).await {
                Ok(Some(ended)) => self.ends.push((shard, ended)),
                Ok(None) => {}
                Err(error) => lost = lost.or(Some(error)),
            }
        }
        lost.map_or(Ok(self.ends), |error| Err(error.into()))
    }

    async fn feed(
        &mut self,
        merger: &mut Merger,
        part: usize,
        world: &World,
    ) -> Result<(), Failure> {
        let Some(exchange) = self.exchanges.get_mut(part) else {
            return Err(Failure::CutOff);
        };
        let shard = exchange.shard();
        let capabilities = exchange.capabilities();
        let ends = &mut self.ends;
        let step = exchange.next(|event, payload| -> Result<(), Failure> {
            match event {
                Event::Row => merger.push(part, payload)?,
                Event::End { .. } => {
                    let end = decode_end(payload, capabilities).map_err(protocol(shard))?;
                    merger.finish(part);
                    ends.push((shard, Ended::from(&end)));
                }
                Event::Err => {
                    let error = ErrPacket::decode(payload).map_err(protocol(shard))?;
                    return Err(logical(world, error.into_owned()).into());
                }
                _ => {}
            }
            Ok(())
        });
        step.await?
    }
}
