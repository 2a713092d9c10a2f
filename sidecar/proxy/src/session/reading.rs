//! Whether a replica may answer a statement of this session, which one, and a connection to it.

use std::sync::Arc;
use std::time::Instant;

use remora_crds::Consistency;
use remora_planner::{Planned, ReadHint};

use super::lease::bring_up;
use super::{Mark, Session};
use crate::backend::{BackendError, Described, Written};
use crate::failure::Failure;
use crate::instances::{GtidSet, Member, Server};
use crate::world::World;

/// Where a statement may be read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Reading {
    /// On the primary.
    Primary,
    /// On a replica that has what the session wrote.
    Replica,
    /// On a replica that is not too far behind.
    AnyReplica,
    /// The same, and a comment asks for it: the primary has no share in it.
    ByHint,
}

impl Session {
    /// Where a statement may be read, by its text, the manifest and the session's state.
    pub(crate) fn reading(&self, world: &World, planned: &Planned) -> Reading {
        let Some(policy) = &world.reads else {
            return Reading::Primary;
        };
        let (state, hint) = (&self.state, planned.hint());
        let alone = state.autocommit
            && !state.transaction.is_open()
            && state.next_transaction.is_empty()
            && !self.replicas.is_pinned();
        if !planned.plan().traits().read || !alone {
            return Reading::Primary;
        }
        match (hint, policy.consistency) {
            (ReadHint::Primary, _) | (ReadHint::None, Consistency::Strong) => Reading::Primary,
            (ReadHint::Replica, _) => Reading::ByHint,
            (ReadHint::None, Consistency::Eventual) => Reading::AnyReplica,
            // Nobody knows what it writes: it tracks other GTIDs than these, or none.
            (ReadHint::None, Consistency::Session) if self.client.has_own_gtids() => {
                Reading::Primary
            }
            (ReadHint::None, Consistency::Session) => Reading::Replica,
        }
    }

    /// The replica of `shard` for a read; `None`: its primary is to answer it.
    pub(crate) fn replica<'w>(
        &mut self,
        world: &'w World,
        shard: usize,
        reading: Reading,
        tried: &[Arc<Server>],
    ) -> Option<&'w Member> {
        let policy = world.reads.as_ref()?;
        let fleet = world.fleets.get(shard)?;
        let needed = match reading {
            Reading::Primary => return None,
            Reading::AnyReplica | Reading::ByHint => None,
            Reading::Replica => match self.backends.mark(shard) {
                Mark::Nothing => None,
                Mark::Gtids(gtids) => Some(gtids),
                Mark::Unknown => return None,
            },
        };
        let primary_too = reading != Reading::ByHint && tried.is_empty();
        let chosen = fleet.replica(policy, Instant::now(), needed, tried, primary_too);
        let settled = needed.is_some_and(|gtids| fleet.all_have(gtids));
        if settled {
            self.backends.settle(shard);
        }
        chosen
    }

    /// Learns from the primary what a replica must have, where that is not known. The connection
    /// is ready, and no transaction is open on it.
    ///
    /// # Errors
    /// If the primary does not answer.
    pub(crate) async fn learn_mark(&mut self, shard: usize) -> Result<(), Failure> {
        if !matches!(self.backends.mark(shard), Mark::Unknown) {
            return Ok(());
        }
        let tracking = self
            .backends
            .get(shard)
            .filter(|backend| backend.tracks_writes());
        let Some(backend) = tracking else {
            return Ok(());
        };
        let table = backend.table(EXECUTED).await??;
        if let Ok(executed) = GtidSet::parse(&table.text(0)) {
            self.backends.know(shard, executed);
        }
        Ok(())
    }

    /// Makes the session's connection to a replica ready for a statement.
    ///
    /// # Errors
    /// If it cannot be reached, or refuses the session's state.
    pub(crate) async fn prepare_replica(
        &mut self,
        world: &World,
        member: &Member,
    ) -> Result<(), Failure> {
        let server = &member.server;
        let shard = server.address().shard;
        self.replicas.drop_if_gone(server);
        if self.replicas.get(server).is_none() {
            self.replicas.remove(server);
            self.proxy.admit(world, shard).await?;
            let backend = self.acquire(world, member).await?;
            self.replicas.insert(Arc::clone(server), backend);
        }
        let Self {
            state, replicas, ..
        } = self;
        match replicas.get(server) {
            Some(backend) => bring_up(backend, state, world).await,
            None => Err(BackendError::gone(shard).into()),
        }
    }

    /// What a replica says of a read that is being prepared; `None`: its primary is to be asked.
    pub(super) async fn describe_on_replica(
        &mut self,
        world: &World,
        planned: &Planned,
        shard: usize,
        sql: &[u8],
    ) -> Option<Described> {
        let reading = self.reading(world, planned);
        let member = self.replica(world, shard, reading, &[])?;
        self.prepare_replica(world, member).await.ok()?;
        let described = self.replicas.get(&member.server)?.describe(sql).await;
        described.ok()?.ok()
    }

    /// Asks the replica that answered the last statement for its FOUND_ROWS().
    pub(crate) async fn fetch_found_rows(&mut self, answered: &Arc<Server>) {
        let Some(backend) = self.replicas.get(answered) else {
            return;
        };
        if let Ok(Ok(table)) = backend.table(b"SELECT FOUND_ROWS() LIMIT 1").await {
            self.state.found_rows = table.text(0).parse().ok();
        }
    }

    /// Notes that a statement with rows may have committed something on `shard`, of which clients
    /// of the old protocol are told no GTIDs.
    pub(crate) fn may_have_written(&mut self, shard: usize) {
        self.backends.wrote(
            shard,
            Written {
                gtids: None,
                unknown: true,
            },
        );
    }
}

const EXECUTED: &[u8] = b"SELECT @@GLOBAL.gtid_executed LIMIT 1";
