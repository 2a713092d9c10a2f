//! A write to several physical tables: all of it happens, or nothing.

use std::time::{SystemTime, UNIX_EPOCH};

use futures::future::join_all;
use remora_planner::utility::StatementKind;
use remora_planner::{Count, Statement, Writes};
use remora_protocol::{ErrPacket, OkPacket, StatusFlags};

use super::info;
use super::row_numbers::{in_client_rows, row_number};
use super::run::Route;
use crate::backend::{Backend, BackendError, Ended};
use crate::failure::Failure;
use crate::names::logical;
use crate::session::{Diagnostics, InsertId, Note, Session, second_shard};
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
    /// Runs a write on all shards concerned.
    ///
    /// Each shard has a transaction. They commit one after the other was seen to work
    /// everywhere, so only a crash between two commits can leave a part undone.
    pub(super) async fn writes(
        &mut self,
        world: &World,
        writes: &Writes<'_>,
        route: &Route<'_>,
    ) -> Result<(), Failure> {
        if self.state.transaction.is_open() || !self.state.autocommit {
            return self.writes_in_transaction(world, writes, route).await;
        }
        let shards: Vec<usize> = writes
            .shards
            .iter()
            .map(|(s, _)| usize::from(s.0))
            .collect();
        for &shard in &shards {
            self.prepare_backend(world, shard).await?;
            self.lend_state(shard, &route.traits).await?;
        }
        let characteristics = self.state.next_transaction.take();
        let instant = self.instant();
        let mut backends = self.backends.select(&shards);
        for backend in &mut backends {
            for sql in characteristics.iter().chain(&instant) {
                backend.queue_query(sql);
            }
        }
        let running = backends.iter_mut().filter_map(|backend| {
            let own = |(shard, _): &&(_, _)| shard_of(shard) == backend.shard();
            let (_, statements) = writes.shards.iter().find(own)?;
            Some(run_all(backend, b"START TRANSACTION", statements, route))
        });
        let results = join_all(running).await;
        let failed = results.iter().any(|r| !matches!(r, Ok(Ok(_))));
        let end: &[u8] = if failed { b"ROLLBACK" } else { b"COMMIT" };
        let ends = join_all(backends.iter_mut().map(|b| end_transaction(b, end))).await;
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
        if let Some(Refused { error, .. }) = refused {
            return Err(logical(world, error).into());
        }
        for end in ends {
            end?;
        }
        self.put_sum(world, done, writes.count, route);
        Ok(())
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

    /// The same inside the client's transaction, which then must be on the one shard that the
    /// write needs. A savepoint undoes what ran before a statement that fails.
    async fn writes_in_transaction(
        &mut self,
        world: &World,
        writes: &Writes<'_>,
        route: &Route<'_>,
    ) -> Result<(), Failure> {
        let [(shard, statements)] = &writes.shards[..] else {
            return Err(second_shard().into());
        };
        let shard = shard_of(shard);
        self.lease(world, shard).await?;
        self.lend_state(shard, &route.traits).await?;
        let instant = self.instant();
        let Some(backend) = self.backends.get(shard) else {
            return Err(Failure::CutOff);
        };
        if let Some(sql) = &instant {
            backend.queue_query(sql);
        }
        let done = run_all(backend, SAVEPOINT, statements, route).await?;
        if instant.is_some() {
            backend.queue_query(CLOCK);
        }
        match done {
            Ok(done) => {
                // The last status tells that the transaction is open.
                let status = done.0.last().map(|ended| ended.status).unwrap_or_default();
                let release = backend.query(RELEASE).await?.finish().await?;
                self.state.transaction.observe(shard, status);
                // Gone if a statement committed; then there is nothing to release.
                drop(release);
                self.put_sum(world, vec![done], writes.count, route);
                Ok(())
            }
            Err(Refused { error, .. }) => {
                // A deadlock rolled everything back, the savepoint too; the error is what counts.
                let undone = backend.query(ROLLBACK_TO).await?.finish().await?;
                if undone.is_err_and(|undo| undo.code != NO_SAVEPOINT) {
                    // What ran before the failure is in the client's transaction still.
                    backend.abandon();
                    return Err(Failure::Last(logical(world, error)));
                }
                self.ask_transaction(shard).await?;
                Err(logical(world, error).into())
            }
        }
    }

    /// Answers with one OK for all parts.
    fn put_sum(
        &mut self,
        world: &World,
        done: Vec<(Vec<Ended>, Vec<Note>)>,
        count: Count,
        route: &Route<'_>,
    ) {
        let counted = match count {
            Count::Sum => done.len(),
            Count::First => 1,
        };
        let (ended, notes): (Vec<_>, Vec<_>) = done.into_iter().take(counted).unzip();
        let ended: Vec<Ended> = ended.into_iter().flatten().collect();
        let mut notes: Vec<Note> = notes
            .into_iter()
            .flatten()
            .map(|note| note.logical(&world.names))
            .collect();
        notes.sort_by_key(|note| row_number(&note.message));
        let affected_rows = ended.iter().map(|e| e.affected_rows).sum();
        let warnings = ended
            .iter()
            .fold(0_u16, |sum, e| sum.saturating_add(e.warnings));
        let is_insert = matches!(route.kind, StatementKind::Insert | StatementKind::Replace);
        let info = info::sum(&ended, is_insert, route.ignores);
        let explicit = ended.iter().map(|e| e.last_insert_id).rfind(|id| *id != 0);
        let generated = route.insert.as_ref().and_then(|i| i.first_generated);
        if let Some(id) = generated {
            self.state.insert_id = InsertId::Known(id);
        }
        self.state.row_count = i64::try_from(affected_rows).unwrap_or(-1);
        self.state.found_rows = None;
        self.state.diagnostics = Diagnostics::of_notes(notes);
        let mut status = self.state.status();
        status.set(StatusFlags::SERVER_MORE_RESULTS_EXISTS, route.more_results);
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
/// MySQL's number for a savepoint that is not there.
const NO_SAVEPOINT: u16 = 1305;
const ROLLBACK_TO: &[u8] = b"ROLLBACK TO SAVEPOINT remora_statement";

fn shard_of(shard: &remora_crds::layout::ShardIndex) -> usize {
    usize::from(shard.0)
}

/// Runs a shard's statements in order behind `opening`, and fetches their warnings, which the
/// next statement would wipe out.
async fn run_all(
    backend: &mut Backend,
    opening: &[u8],
    statements: &[Statement<'_>],
    route: &Route<'_>,
) -> Result<Done, BackendError> {
    let mut ended = Vec::with_capacity(statements.len());
    let mut notes = Vec::new();
    backend.queue_query(opening);
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

async fn end_transaction(backend: &mut Backend, end: &[u8]) -> Result<(), BackendError> {
    if backend.is_broken() {
        // Its server rolls back by itself.
        return Ok(());
    }
    let shard = backend.shard();
    let ended = backend.query(end).await?.finish().await?;
    ended.map(drop).map_err(|error| {
        // The transaction may be open still: the next statement must not run in it.
        backend.abandon();
        BackendError::Server { shard, error }
    })
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;
    use remora_protocol::{CapabilityFlags, PacketCodec};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::UnixStream;

    use super::*;

    /// Ends a transaction on a server that gives this answer.
    async fn end_with(answer: impl FnOnce(&mut BytesMut)) -> (bool, bool) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut backend = Backend::to_test(ours);
        let server = async {
            // A head, COM_QUERY, and ROLLBACK.
            let mut command = [0; 4 + 1 + 8];
            theirs.read_exact(&mut command).await.unwrap();
            let mut codec = PacketCodec::new(1 << 20);
            codec.set_sequence(1);
            let mut out = BytesMut::new();
            codec.encode_with(&mut out, answer);
            theirs.write_all(&out).await.unwrap();
        };
        let (ended, ()) = tokio::join!(end_transaction(&mut backend, b"ROLLBACK"), server);
        (ended.is_ok(), backend.is_broken())
    }

    #[tokio::test]
    async fn a_connection_that_refuses_to_end_a_transaction_is_given_up() {
        let refused = ErrPacket::new(1105, *b"HY000", "no");
        assert_eq!(end_with(|out| refused.encode(out)).await, (false, true));
        let capabilities = CapabilityFlags::CLIENT_PROTOCOL_41;
        let ok = OkPacket::default();
        assert_eq!(
            end_with(|out| ok.encode(capabilities, out)).await,
            (true, false)
        );
    }
}
