//! A write to several physical tables: all of it happens, or nothing.

use std::time::{SystemTime, UNIX_EPOCH};

use futures::future::join_all;
use remora_planner::utility::StatementKind;
use remora_planner::{Count, Statement, Writes};
use remora_protocol::{ErrPacket, OkPacket, StatusFlags};

use super::info;
use super::observe::how_it_ran;
use super::row_numbers::{in_client_rows, row_number};
use super::run::Route;
use super::statement_warnings::of_parts;
use crate::backend::{Backend, BackendError, Ended};
use crate::failure::Failure;
use crate::names::logical;
use crate::session::{Begun, Diagnostics, InsertId, Note, Session, Transaction, of_branch};
use crate::world::World;

/// What a shard's statements did: their OKs and warnings, or MySQL's refusal of one.
type Done = Result<(Vec<Ended>, Vec<Note>), Refused>;

/// MySQL's refusal of a part.
#[derive(Debug)]
struct Refused {
    error: ErrPacket<'static>,
    /// The row of the client's statement that it is about, or the part's first.
    row: Option<u32>,
}

impl Session {
    /// Runs a write on all shards concerned, in the client's transaction or in one of its own.
    pub(super) async fn writes(
        &mut self,
        world: &World,
        writes: &Writes<'_>,
        route: &Route<'_>,
    ) -> Result<(), Failure> {
        let of_its_own = !self.state.transaction.is_open() && self.state.autocommit;
        if !of_its_own {
            let done = self
                .write_parts(world, writes, route, Some(SAVEPOINT))
                .await;
            self.put_sum(world, done?, writes.count, route, Vec::new());
            return Ok(());
        }
        self.state.transaction = Transaction::Begun(Begun {
            characteristics: self.state.next_transaction.take(),
            opening: vec![b"START TRANSACTION".to_vec()],
            implicit: true,
            ..Begun::default()
        });
        let outcome = match self.write_parts(world, writes, route, None).await {
            Ok(done) => self.commit_with_notes().await.map(|notes| (done, notes)),
            Err(failure) => Err(failure),
        };
        match outcome {
            Ok((done, notes)) => {
                self.put_sum(world, done, writes.count, route, notes);
                Ok(())
            }
            // The session ends, and its connections with it.
            Err(failure @ (Failure::Last(_) | Failure::CutOff)) => Err(failure),
            Err(refused) => {
                self.give_up().await;
                Err(refused)
            }
        }
    }

    /// Runs all parts. If one fails, what ran is undone up to the savepoint, if there is one.
    async fn write_parts(
        &mut self,
        world: &World,
        writes: &Writes<'_>,
        route: &Route<'_>,
        savepoint: Option<&[u8]>,
    ) -> Result<Vec<(Vec<Ended>, Vec<Note>)>, Failure> {
        let shards: Vec<usize> = writes.shards.iter().map(|(s, _)| shard_of(s)).collect();
        self.lease_all(world, &shards, true).await?;
        for &shard in &shards {
            self.lend_state(shard, &route.traits).await?;
        }
        let instant = self.instant();
        let mut backends = self.backends.select(&shards);
        let running = backends.iter_mut().filter_map(|backend| {
            let own = |(shard, _): &&(_, _)| shard_of(shard) == backend.shard();
            let (_, statements) = writes.shards.iter().find(own)?;
            for sql in instant.as_deref().into_iter().chain(savepoint) {
                backend.queue_query(sql);
            }
            Some(run_all(backend, statements, route))
        });
        let results = join_all(running).await;
        if instant.is_some() {
            for backend in &mut backends {
                backend.queue_query(CLOCK);
            }
        }
        let mut done = Vec::with_capacity(results.len());
        let mut refused = None::<Refused>;
        for result in results {
            match result? {
                Ok(part) => done.push(part),
                // One server would have stopped at the first of the rows.
                Err(next) if refused.as_ref().is_none_or(|first| next.row < first.row) => {
                    refused = Some(next);
                }
                Err(_) => {}
            }
        }
        let Some(Refused { error, .. }) = refused else {
            let statuses = shards.iter().zip(&done).map(|(shard, (ended, _))| {
                (
                    *shard,
                    Some(ended.last().map(|ended| ended.status).unwrap_or_default()),
                )
            });
            self.heed_all(statuses.collect()).await?;
            if savepoint.is_some() {
                self.release_savepoints(&shards).await?;
            }
            return Ok(done);
        };
        let error = logical(world, of_branch(error));
        if savepoint.is_some() {
            self.undo_parts(&shards, &error).await?;
        }
        Err(error.into())
    }

    /// A statement of its own leaves no savepoint behind.
    async fn release_savepoints(&mut self, shards: &[usize]) -> Result<(), Failure> {
        let mut backends = self.backends.select(shards);
        let releasing = backends
            .iter_mut()
            .map(async |backend| backend.query(RELEASE).await?.finish().await);
        for released in join_all(releasing).await {
            // Gone if a statement committed; then there is nothing to release.
            drop(released?);
        }
        Ok(())
    }

    /// Undoes on all shards what ran before a part failed with `error`.
    async fn undo_parts(
        &mut self,
        shards: &[usize],
        error: &ErrPacket<'static>,
    ) -> Result<(), Failure> {
        let mut backends = self.backends.select(shards);
        let undoing = backends.iter_mut().map(async |backend| {
            // A deadlock rolled everything back, the savepoint too.
            let undone = backend.query(ROLLBACK_TO).await?.finish().await?;
            let done = undone.map_or_else(|undo| GONE.contains(&undo.code), |_| true);
            if !done {
                // What ran before the failure is in the client's transaction still.
                backend.abandon();
            }
            Ok::<_, BackendError>(done)
        });
        let mut all = true;
        for undone in join_all(undoing).await {
            all &= undone?;
        }
        if !all {
            return Err(Failure::Last(error.clone()));
        }
        self.heed_all(shards.iter().map(|shard| (*shard, None)).collect())
            .await
    }

    /// What gives all parts of a write the same NOW(): they are one statement, and rows of a
    /// broadcast table must not differ from shard to shard. Nothing where the session has set
    /// its own.
    fn instant(&self) -> Option<Vec<u8>> {
        if self.state.settings.has(b"timestamp") {
            return None;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        let (seconds, micros) = (now.as_secs(), now.subsec_micros());
        Some(format!("SET timestamp = {seconds}.{micros:06}").into_bytes())
    }

    /// Answers with one OK for all parts.
    fn put_sum(
        &mut self,
        world: &World,
        done: Vec<(Vec<Ended>, Vec<Note>)>,
        count: Count,
        route: &Route<'_>,
        late: Vec<Note>,
    ) {
        let counted = match count {
            Count::Sum => done.len(),
            Count::First => 1,
        };
        let (ended, notes): (Vec<_>, Vec<_>) = done.into_iter().take(counted).unzip();
        let ended: Vec<Ended> = ended.into_iter().flatten().collect();
        let notes: Vec<Note> = notes
            .into_iter()
            .flatten()
            .map(|note| note.logical(&world.names))
            .collect();
        let (mut notes, again) = of_parts(&notes, ended.len());
        notes.sort_by_key(|note| row_number(&note.message));
        let added = u16::try_from(late.len()).unwrap_or(u16::MAX);
        notes.extend(late);
        let affected_rows = ended.iter().map(|e| e.affected_rows).sum();
        let warnings = ended
            .iter()
            .fold(added, |sum, e| sum.saturating_add(e.warnings))
            .saturating_sub(again);
        let is_insert = matches!(route.kind, StatementKind::Insert | StatementKind::Replace);
        let info = info::sum(&ended, is_insert, route.ignores, again);
        let explicit = ended.iter().map(|e| e.last_insert_id).rfind(|id| *id != 0);
        let generated = route.insert.as_ref().and_then(|i| i.first_generated);
        if let Some(id) = generated {
            self.state.insert_id = InsertId::Known(id);
        }
        self.state.row_count = i64::try_from(affected_rows).unwrap_or(-1);
        if let Some(matched) = info::matched(&info) {
            // An INSERT or DELETE leaves FOUND_ROWS() alone.
            self.state.found_rows = Some(matched);
            self.state.found_rows_at = None;
        }
        self.state.diagnostics = Diagnostics::of_notes(notes);
        let mut status = self.state.status();
        status.set(StatusFlags::SERVER_MORE_RESULTS_EXISTS, route.more_results);
        status |= how_it_ran(ended.iter());
        self.client.put_ok(&OkPacket {
            affected_rows,
            last_insert_id: generated.or(explicit).unwrap_or_default(),
            status,
            warnings,
            info: &info,
            session_state: b"",
        });
    }
}

impl Refused {
    fn of(error: ErrPacket<'static>, statement: &Statement<'_>) -> Self {
        match in_client_rows(&error.message, &statement.rows) {
            Some((message, row)) => Self {
                error: ErrPacket {
                    message: message.into(),
                    ..error
                },
                row: Some(row),
            },
            None => Self {
                error,
                row: statement.rows.first().copied(),
            },
        }
    }
}

fn with_client_row(note: Note, statement: &Statement<'_>) -> Note {
    match in_client_rows(&note.message, &statement.rows) {
        Some((message, _)) => Note { message, ..note },
        None => note,
    }
}

/// Lets NOW() go on.
const CLOCK: &[u8] = b"SET timestamp = DEFAULT";
const SAVEPOINT: &[u8] = b"SAVEPOINT remora_statement";
const RELEASE: &[u8] = b"RELEASE SAVEPOINT remora_statement";
/// MySQL's numbers for a savepoint that is not there, and for a branch that a deadlock ended.
const GONE: [u16; 2] = [1305, 1614];
const ROLLBACK_TO: &[u8] = b"ROLLBACK TO SAVEPOINT remora_statement";

fn shard_of(shard: &remora_crds::layout::ShardIndex) -> usize {
    usize::from(shard.0)
}

/// Runs a shard's statements in order, and fetches their warnings, which the next statement would
/// wipe out.
async fn run_all(
    backend: &mut Backend,
    statements: &[Statement<'_>],
    route: &Route<'_>,
) -> Result<Done, BackendError> {
    let mut ended = Vec::with_capacity(statements.len());
    let mut notes = Vec::new();
    for statement in statements {
        let call = route.call(statement);
        let finished = match backend.run(&call).await {
            Ok(exchange) => exchange.finish().await?,
            // It could not be prepared; what ran before it must be undone all the same.
            Err(BackendError::Server { error, .. }) => Err(error),
            Err(lost) => return Err(lost),
        };
        match finished {
            Ok(done) => {
                if done.warnings > 0 {
                    let fetched = Note::fetch(backend).await?;
                    notes.extend(
                        fetched
                            .into_iter()
                            .map(|note| with_client_row(note, statement)),
                    );
                }
                ended.push(done);
            }
            Err(error) => return Ok(Err(Refused::of(error, statement))),
        }
    }
    Ok(Ok((ended, notes)))
}
