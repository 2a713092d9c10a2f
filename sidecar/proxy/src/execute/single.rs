//! One server runs the statement, and its answer is relayed.

use remora_planner::utility::StatementKind;
use remora_planner::{Statement, Target};
use remora_protocol::ErrPacket;

use super::read::count_primary_read;
use super::run::Route;
use super::{Patch, relay};
use crate::backend::BackendError;
use crate::failure::Failure;
use crate::names::logical;
use crate::session::{HOME, InsertId, Reading, Session};
use crate::world::World;

/// Whether a statement may change LAST_INSERT_ID() on its server.
fn makes_ids(kind: StatementKind) -> bool {
    use StatementKind as K;
    matches!(kind, K::Insert | K::Replace | K::Load | K::Call)
}

impl Session {
    /// Runs a statement on one server.
    pub(super) async fn single(
        &mut self,
        world: &World,
        target: Target,
        statement: &Statement<'_>,
        route: &Route<'_>,
    ) -> Result<(), Failure> {
        let shard = match target {
            Target::Shard(shard) => usize::from(shard.0),
            Target::Home => HOME,
            Target::Any => self.any_shard(),
        };
        if route.kind == StatementKind::Call && self.state.transaction.is_spread() {
            return Err(ErrPacket::new(
                1235,
                *b"42000",
                "This version of Remora doesn't yet support CALL in a transaction over several \
                 shards, which the procedure could commit on one; COMMIT first",
            )
            .into());
        }
        if route.reading != Reading::Primary
            && self.read_on_replica(world, shard, statement, route).await?
        {
            return Ok(());
        }
        self.lease(world, shard, !route.traits.read).await?;
        if route.reading == Reading::Replica {
            self.learn_mark(shard).await?;
        }
        let residue = self.backends.get(shard).map(|b| b.residue.clone());
        self.lend_state(shard, &route.traits).await?;
        if route.insert.is_none() && makes_ids(route.kind) {
            // So that whatever the server says afterwards is the session's.
            self.lend_insert_id(shard).await?;
        }
        let Some(backend) = self.backends.get(shard) else {
            return Err(Failure::CutOff);
        };
        let residue = residue.unwrap_or_default();
        if backend.residue != residue
            && let Err(error) = backend.ready(&route.call(statement)).await
        {
            // What cannot even be prepared leaves nothing.
            backend.residue = residue;
            return Err(error.into());
        }
        if route.reading != Reading::Primary {
            count_primary_read(world, shard);
        }
        let call = route.call(statement);
        let mut cursor = None;
        let run = async {
            match route.cursor {
                true => backend.run_with_cursor(&call, &mut cursor).await,
                false => backend.run(&call).await,
            }
        };
        let exchange = match run.await {
            Ok(exchange) => exchange,
            Err(BackendError::Server { error, .. }) => {
                return Err(logical(world, error).into());
            }
            Err(error) => return Err(error.into()),
        };
        let named = route.cover.is_some() || world.names.mentioned(&statement.sql);
        let patch = Patch {
            names: named.then_some(&world.names),
            insert_id: route.insert.as_ref().and_then(|i| i.first_generated),
            more_results: route.more_results,
            withheld: route.withheld(),
            in_branch: self.state.transaction.is_spread(),
            cover: route.cover,
        };
        let relayed = relay(&mut self.client, exchange, &patch).await?;
        self.note_residue(shard, residue, statement, route, relayed.ended.is_some())
            .await?;
        if let Some(error) = relayed.withheld {
            self.ask_transaction(shard).await?;
            return Err(logical(world, error).into());
        }
        if let Some(of) = cursor {
            self.keep_cursor(shard, of, named, &relayed)?;
        }
        self.observe(world, shard, &relayed, route).await
    }

    /// The shard for a statement that any could run: the transaction's own, or the one that
    /// knows what the statement may ask for, or one that is connected.
    pub(crate) fn any_shard(&self) -> usize {
        let known = match self.state.insert_id {
            InsertId::Ask { shard, .. } => Some(shard),
            InsertId::Known(_) => None,
        };
        self.state
            .transaction
            .first()
            .or(self.state.variables.on())
            .or(known)
            .or(self.state.found_rows_at)
            .or_else(|| self.backends.preferred())
            .unwrap_or(HOME)
    }
}
