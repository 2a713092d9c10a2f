//! DDL on all shards concerned.

use futures::future::join_all;
use remora_crds::GeneratedKeyKind;
use remora_planner::utility::{self, DdlObject, DdlVerb};
use remora_planner::{Catalog, Ddl, Statement};
use remora_protocol::{ErrPacket, OkPacket, StatusFlags};

use super::run::Route;
use crate::backend::{Backend, BackendError, Ended};
use crate::failure::Failure;
use crate::names::logical;
use crate::session::{Diagnostics, Note, Session};
use crate::world::World;

/// What happened on one shard: the first OK and its warnings, or an error and how many
/// statements had succeeded before it.
type Outcome = Result<(Ended, Vec<Note>), (ErrPacket<'static>, usize)>;

impl Session {
    /// Runs DDL on all shards at once, statements of one shard in order.
    pub(super) async fn ddl(
        &mut self,
        world: &World,
        ddl: &Ddl<'_>,
        route: &Route<'_>,
    ) -> Result<(), Failure> {
        let shards: Vec<usize> = ddl.shards.iter().map(|(s, _)| usize::from(s.0)).collect();
        for &shard in &shards {
            self.prepare_backend(world, shard).await?;
        }
        for (shard, schema) in &ddl.schemas {
            self.proxy
                .create_schema(world, usize::from(shard.0), schema)
                .await?;
        }
        // As MySQL, which asks nobody in the middle of it: shards would differ.
        self.entry.goes_on();
        let mut backends = self.backends.select(&shards);
        let running = backends.iter_mut().filter_map(|backend| {
            let own = |(shard, _): &&(remora_crds::layout::ShardIndex, _)| {
                usize::from(shard.0) == backend.shard()
            };
            let (_, statements) = ddl.shards.iter().find(own)?;
            Some(run_all(backend, statements, route))
        });
        let outcomes = join_all(running).await;
        self.proxy.reload_catalog(world).await;
        let outcomes = outcomes.into_iter().collect::<Result<Vec<_>, _>>()?;
        self.put_outcome(world, outcomes, route)
    }

    /// TRUNCATE and DROP let a table's numbers begin again, as with AUTO_INCREMENT. Blocks that
    /// other sidecars hold are used up first.
    pub(super) async fn restart_sequences(
        &mut self,
        world: &World,
        catalog: &Catalog,
        sql: &[u8],
    ) -> Result<(), Failure> {
        let Ok(ddl) = utility::ddl(sql, self.state.context.sql_mode) else {
            return Ok(());
        };
        let empties = matches!(ddl.verb, DdlVerb::Truncate | DdlVerb::Drop);
        if !empties || ddl.object != DdlObject::Table {
            return Ok(());
        }
        for name in ddl.names {
            let table = String::from_utf8_lossy(&name.name.name(sql)).into_owned();
            let generated = catalog.table(&table).and_then(|t| t.generated.as_ref());
            if generated.is_some_and(|g| g.kind == GeneratedKeyKind::Sequence) {
                self.proxy.restart_sequence(world, &table).await?;
            }
        }
        Ok(())
    }

    /// Answers with the first shard's OK, or with an error that says whether some of the
    /// physical tables changed all the same.
    fn put_outcome(
        &mut self,
        world: &World,
        outcomes: Vec<Outcome>,
        route: &Route<'_>,
    ) -> Result<(), Failure> {
        let partly = outcomes.iter().any(|o| match o {
            Ok(_) => true,
            Err((_, succeeded)) => *succeeded > 0,
        });
        let mut first = None;
        for outcome in outcomes {
            match outcome {
                Ok(done) if first.is_none() => first = Some(done),
                Ok(_) => {}
                Err((error, _)) => {
                    let mut error = logical(world, error);
                    if partly {
                        let note = b" (some shards changed; correct the cause and run it again)";
                        error.message.to_mut().extend_from_slice(note);
                    }
                    return Err(error.into());
                }
            }
        }
        let (ended, notes) = first.unwrap_or_default();
        let notes = notes
            .into_iter()
            .map(|note| note.logical(&world.names))
            .collect();
        self.state.diagnostics = Diagnostics::of_notes(notes);
        self.state.row_count = i64::try_from(ended.affected_rows).unwrap_or(-1);
        let mut status = self.state.status();
        status.set(StatusFlags::SERVER_MORE_RESULTS_EXISTS, route.more_results);
        self.client.put_ok(&OkPacket {
            affected_rows: ended.affected_rows,
            last_insert_id: 0,
            status,
            warnings: ended.warnings,
            info: &ended.info,
            session_state: b"",
        });
        Ok(())
    }
}

async fn run_all(
    backend: &mut Backend,
    statements: &[Statement<'_>],
    route: &Route<'_>,
) -> Result<Outcome, BackendError> {
    let mut first = None;
    for (succeeded, statement) in statements.iter().enumerate() {
        let call = route.call(statement);
        let finished = backend.run(&call).await?.finish().await?;
        match finished {
            Ok(ended) if first.is_none() => {
                let notes = match ended.warnings {
                    0 => Vec::new(),
                    _ => Note::fetch(backend).await?,
                };
                first = Some((ended, notes));
            }
            Ok(_) => {}
            Err(error) => return Ok(Err((error, succeeded))),
        }
    }
    Ok(Ok(first.unwrap_or_default()))
}
