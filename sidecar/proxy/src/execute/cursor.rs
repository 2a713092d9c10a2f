//! Server-side cursors: EXECUTE with one, and FETCH.
//!
//! Where a statement runs on one server, its cursor is that server's, and rows are relayed. Over
//! several tables each shard has a cursor of its own, of which some rows at a time are fetched and
//! merged; between two FETCHes the connections are free for other statements.

use std::collections::VecDeque;

use bytes::BytesMut;
use futures::future::join_all;
use remora_merge::{Column, Format, MergeError, Merger, Step};
use remora_planner::{Planned, Scatter};
use remora_protocol::{
    ColumnDef, ColumnFlags, EofPacket, ErrPacket, Event, OkPacket, StatusFlags, decode_end,
};

use super::over::Over;
use super::run::Route;
use super::scatter::{LIMITS, WRITE_AT};
use super::statement_warnings::of_text;
use super::union::{admit_columns, of_parts};
use super::{Patch, Relayed, relay};
use crate::backend::{Backend, BackendError, Described, OpenedCursor};
use crate::failure::Failure;
use crate::names::logical;
use crate::session::{Backends, Diagnostics, Session, of_branch};
use crate::world::World;

/// A cursor that the client may fetch from.
#[derive(Debug)]
pub(crate) enum Cursor {
    /// One server has it.
    Single {
        /// Where.
        place: Place,
        /// Whether the statement met physical names, which errors may show.
        named: bool,
    },
    /// Several have a part of it each.
    Merged(Box<Merged>),
}

/// A cursor of one server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    shard: usize,
    /// The connection's number there: another connection has no such cursor.
    connection: u32,
    statement: u32,
}

/// The cursors of several servers, merged.
#[derive(Debug)]
pub(crate) struct Merged {
    merger: Merger,
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    place: Place,
    /// Rows that were fetched and not yet merged.
    rows: VecDeque<Box<[u8]>>,
    /// How many rows are fetched at a time.
    batch: u32,
    ended: bool,
}

/// How many rows a part gives at first.
const FIRST_BATCH: u32 = 16;
/// How many bytes of rows a part should give at a time, and how many rows at most.
const BATCH: usize = 16 * 1024;
const MOST_ROWS: u32 = 1024;
/// How many cursors over several servers a session may have: each holds rows of all of them.
const MOST_MERGED: usize = 256;

/// What a temporary table does not keep of a column; MySQL tells of a cursor's columns as they are
/// there.
const OF_TABLES: ColumnFlags = ColumnFlags::PRI_KEY_FLAG
    .union(ColumnFlags::UNIQUE_KEY_FLAG)
    .union(ColumnFlags::MULTIPLE_KEY_FLAG)
    .union(ColumnFlags::AUTO_INCREMENT_FLAG)
    .union(ColumnFlags::ON_UPDATE_NOW_FLAG)
    .union(ColumnFlags::PART_KEY_FLAG);

impl Session {
    /// Remembers the cursor that a server opened for the statement that just ran there, or closes
    /// the statement if it opened none.
    ///
    /// # Errors
    /// If the connection is gone.
    pub(super) fn keep_cursor(
        &mut self,
        shard: usize,
        statement: u32,
        named: bool,
        relayed: &Relayed,
    ) -> Result<(), Failure> {
        let exists = relayed.ended.as_ref().is_some_and(|ended| {
            ended
                .status
                .contains(StatusFlags::SERVER_STATUS_CURSOR_EXISTS)
        });
        let Some(backend) = self.backends.get(shard) else {
            return Ok(());
        };
        backend.residue.opened_cursor();
        if !exists {
            backend.close_cursor(statement)?;
            return Ok(());
        }
        let place = place(backend, statement);
        self.opened_cursor = Some(Cursor::Single { place, named });
        Ok(())
    }

    /// Opens a cursor over several physical tables.
    pub(super) async fn scatter_cursor(
        &mut self,
        world: &World,
        planned: &Planned,
        scatter: &Scatter<'_>,
        route: &Route<'_>,
    ) -> Result<(), Failure> {
        if self.prepared.merged_cursors() >= MOST_MERGED {
            return Err(ErrPacket::new(
                1235,
                *b"42000",
                format!(
                    "This version of Remora doesn't yet support more than {MOST_MERGED} cursors of \
                     a session over several physical tables; close some"
                ),
            )
            .into());
        }
        let shards: Vec<usize> = scatter
            .parts
            .iter()
            .map(|part| usize::from(part.shard.0))
            .collect();
        admit_columns(scatter, self.state.context.sql_mode)?;
        self.lease_all(world, &shards, !route.traits.read).await?;
        for &shard in &shards {
            self.lend_state(shard, &route.traits).await?;
        }
        let over = Over::default();
        let described = self.describe(world, planned, scatter, route, &over).await?;
        let client_columns = columns(&described.columns)?;
        let spec = self.limited(&scatter.merge)?;

        let mut selected = self.backends.select(&shards);
        let opening = selected.iter_mut().filter_map(|backend| {
            let own =
                |part: &&remora_planner::Part<'_>| usize::from(part.shard.0) == backend.shard();
            let part = scatter.parts.iter().find(own)?;
            Some(async {
                let opened = backend.open_cursor(&route.call(&part.statement)).await?;
                let opened = opened.map(|opened| (place(backend, opened.statement), opened));
                Ok::<_, BackendError>(opened)
            })
        });
        let mut opened = Vec::with_capacity(shards.len());
        let mut refused = None;
        for outcome in join_all(opening).await {
            match outcome? {
                Ok(cursor) => opened.push(cursor),
                Err(error) => {
                    let error = of_branch(of_parts(logical(world, error)));
                    refused = refused.or(Some(Failure::from(error)));
                }
            }
        }
        let statuses = shards.iter().map(|shard| {
            let own = opened.iter().find(|(place, _)| place.shard == *shard);
            (*shard, own.map(|(_, opened)| opened.ended.status))
        });
        let statuses = statuses.collect();
        self.heed_all(statuses).await?;
        let merger = match refused {
            Some(failure) => Err(failure),
            None => merger(&spec, scatter, &opened, &client_columns),
        };
        let merger = match merger {
            Ok(merger) => merger,
            Err(failure) => {
                for (place, _) in opened {
                    self.close_place(place)?;
                }
                return Err(failure);
            }
        };
        let warned = opened
            .iter()
            .filter(|(_, opened)| opened.ended.warnings > 0);
        let warned: Vec<usize> = warned.map(|(place, _)| place.shard).collect();
        let notes = self.warnings(world, scatter, &warned, &over).await?;
        let notes = of_text(notes, described.warnings);
        self.put_cursor(
            world,
            &described,
            u16::try_from(notes.len()).unwrap_or(u16::MAX),
        )?;
        self.state.row_count = -1;
        self.state.found_rows = None;
        self.state.diagnostics = Diagnostics::of_notes(notes);
        let part = |(place, _)| Part {
            place,
            rows: VecDeque::new(),
            batch: FIRST_BATCH,
            ended: false,
        };
        let parts = opened.into_iter().map(part).collect();
        self.opened_cursor = Some(Cursor::Merged(Box::new(Merged { merger, parts })));
        Ok(())
    }

    /// Answers with the columns of a cursor.
    fn put_cursor(
        &mut self,
        world: &World,
        described: &Described,
        warnings: u16,
    ) -> Result<(), Failure> {
        let bare = self.client.has_bare_results();
        self.client.put_head(described.columns.len() as u64);
        for definition in described.columns.iter().filter(|_| !bare) {
            let mut column = ColumnDef::decode(definition)?;
            column.flags.remove(OF_TABLES);
            if let Some(logical) = world.names.logical(column.schema) {
                column.schema = logical;
            }
            self.client.put_with(|out| column.encode(out));
        }
        let status = self.status(false) | StatusFlags::SERVER_STATUS_CURSOR_EXISTS;
        if self.client.expects_eofs() {
            self.client.put_columns_end(&EofPacket { warnings, status });
        } else {
            self.client.put_end(&OkPacket {
                status,
                warnings,
                ..OkPacket::default()
            });
        }
        Ok(())
    }

    /// COM_STMT_FETCH.
    pub(crate) async fn fetch(&mut self, id: u32, rows: u32) -> Result<(), Failure> {
        let mut cursor = self.prepared.take_cursor(id)?;
        let outcome = match &mut cursor {
            Cursor::Single { place, named } => self.fetch_from(*place, *named, rows).await,
            Cursor::Merged(merged) => self.fetch_merged(merged, rows).await,
        };
        match outcome {
            Ok(true) => self.prepared.put_cursor(id, cursor),
            Ok(false) => self.close_cursor(cursor)?,
            Err(failure) => {
                self.close_cursor(cursor)?;
                return Err(failure);
            }
        }
        Ok(())
    }

    /// Whether there may be more.
    async fn fetch_from(&mut self, place: Place, named: bool, rows: u32) -> Result<bool, Failure> {
        let world = self.proxy.world();
        let in_branch = self.state.transaction.is_spread();
        let Place {
            shard, statement, ..
        } = place;
        self.drop_if_gone(shard)?;
        let Self {
            backends, client, ..
        } = self;
        let exchange = at(backends, place)?.fetch(statement, rows).await?;
        let patch = Patch {
            names: named.then_some(&world.names),
            in_branch,
            ..Patch::default()
        };
        let relayed = relay(client, exchange, &patch).await?;
        let Some(ended) = &relayed.ended else {
            self.state.failed_on(shard);
            self.ask_transaction(shard).await?;
            return Ok(false);
        };
        self.heed(shard, ended.status).await;
        self.state.diagnostics = match ended.warnings {
            0 => Diagnostics::Clean,
            _ => Diagnostics::On(shard),
        };
        Ok(!ended
            .status
            .contains(StatusFlags::SERVER_STATUS_LAST_ROW_SENT))
    }

    async fn fetch_merged(&mut self, merged: &mut Merged, rows: u32) -> Result<bool, Failure> {
        let mut row = BytesMut::new();
        let mut sent = 0;
        let mut more = true;
        while more && sent < rows {
            match merged.merger.poll(&mut row)? {
                Step::NeedRow(part) => self.feed(merged, part).await?,
                Step::Row => {
                    self.client.put(&row);
                    row.clear();
                    sent += 1;
                    if self.client.pending() >= WRITE_AT {
                        self.client.flush().await?;
                    }
                }
                Step::Done => more = false,
            }
        }
        let flag = match more {
            true => StatusFlags::SERVER_STATUS_CURSOR_EXISTS,
            false => StatusFlags::SERVER_STATUS_LAST_ROW_SENT,
        };
        let status = self.status(false) | flag;
        self.client.put_end(&OkPacket {
            status,
            ..OkPacket::default()
        });
        self.state.diagnostics = Diagnostics::Clean;
        Ok(more)
    }

    /// Gives the merge the next row of a part, or its end.
    async fn feed(&mut self, merged: &mut Merged, number: usize) -> Result<(), Failure> {
        let Some(part) = merged.parts.get_mut(number) else {
            return Err(Failure::CutOff);
        };
        if part.rows.is_empty() && !part.ended {
            self.fill(part).await?;
        }
        match part.rows.pop_front() {
            Some(row) => merged.merger.push(number, &row)?,
            None if part.ended => merged.merger.finish(number),
            None => {}
        }
        Ok(())
    }

    /// Fetches rows of a part.
    async fn fill(&mut self, part: &mut Part) -> Result<(), Failure> {
        let Place {
            shard, statement, ..
        } = part.place;
        let world = self.proxy.world();
        self.drop_if_gone(shard)?;
        let backend = at(&mut self.backends, part.place)?;
        let capabilities = backend.identity().capabilities;
        let protocol = |source| BackendError::Protocol { shard, source };
        let mut exchange = backend.fetch(statement, part.batch).await?;
        exchange.surface_rows(true);
        let mut bytes = 0;
        let mut refused = None;
        while !exchange.is_done() {
            let step = exchange.next(|event, payload| -> Result<(), Failure> {
                match event {
                    Event::Row => {
                        bytes += payload.len();
                        if bytes > LIMITS.bytes {
                            let limit = LIMITS.bytes;
                            return Err(MergeError::TooLarge { limit }.into());
                        }
                        part.rows.push_back(payload.into());
                    }
                    Event::End { .. } => {
                        let end = decode_end(payload, capabilities).map_err(protocol)?;
                        part.ended = end
                            .status
                            .contains(StatusFlags::SERVER_STATUS_LAST_ROW_SENT);
                    }
                    Event::Err => {
                        let error = ErrPacket::decode(payload).map_err(protocol)?;
                        refused = Some(error.into_owned());
                    }
                    _ => {}
                }
                Ok(())
            });
            step.await??;
        }
        if let Some(error) = refused {
            return Err(of_branch(logical(&world, error)).into());
        }
        let each = (bytes / part.rows.len().max(1)).max(1);
        part.batch = u32::try_from(BATCH / each).map_or(MOST_ROWS, |n| n.clamp(1, MOST_ROWS));
        Ok(())
    }

    /// Lets the servers close a cursor.
    pub(crate) fn close_cursor(&mut self, cursor: Cursor) -> Result<(), Failure> {
        match cursor {
            Cursor::Single { place, .. } => self.close_place(place),
            Cursor::Merged(merged) => merged
                .parts
                .iter()
                .try_for_each(|part| self.close_place(part.place)),
        }
    }

    fn close_place(&mut self, place: Place) -> Result<(), Failure> {
        // Where the connection is gone there is nothing to close.
        if let Ok(backend) = at(&mut self.backends, place) {
            backend.close_cursor(place.statement)?;
        }
        Ok(())
    }
}

/// The connection that has a cursor.
fn at(backends: &mut Backends, place: Place) -> Result<&mut Backend, BackendError> {
    backends
        .get(place.shard)
        .filter(|backend| backend.identity().connection_id == place.connection)
        .ok_or_else(|| BackendError::gone(place.shard))
}

fn place(backend: &Backend, statement: u32) -> Place {
    Place {
        shard: backend.shard(),
        connection: backend.identity().connection_id,
        statement,
    }
}

fn columns(definitions: &[Box<[u8]>]) -> Result<Vec<Column>, Failure> {
    let columns = definitions.iter().map(|it| Column::read(it));
    Ok(columns.collect::<Result<_, _>>()?)
}

fn merger(
    spec: &remora_merge::MergeSpec,
    scatter: &Scatter<'_>,
    opened: &[(Place, OpenedCursor)],
    client_columns: &[Column],
) -> Result<Merger, Failure> {
    let mut parts = Vec::with_capacity(opened.len());
    for (_, cursor) in opened {
        let part = columns(&cursor.columns)?;
        if part.len() != scatter.columns {
            // Hidden columns would be taken for the client's.
            let column = part.len().min(scatter.columns);
            return Err(MergeError::Changed { column }.into());
        }
        parts.push(part);
    }
    let format = Format::Binary;
    Ok(Merger::new(spec, &parts, client_columns, format, LIMITS)?)
}
