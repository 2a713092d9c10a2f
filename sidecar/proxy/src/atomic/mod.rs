//! Transactions over several shards: all of their shards commit, or none.
//!
//! The first shard of a transaction has a plain one, shards that join it have XA branches. At
//! COMMIT all branches are prepared; then the decision is written as a row of the first shard,
//! inside its own transaction, whose commit is the point of no return; then the branches are
//! committed. Whoever finds a prepared branch asks the first shard what was decided, by trying
//! to put a *fence* under the decision's key: either it is there already, or the coordinator
//! can no longer write it. So it does not matter whether the coordinator is dead, stopped or
//! merely slow.

mod ledger;
mod recovery;
mod xid;

pub(crate) use ledger::{CREATE_TABLE, Ledger, Outcome, create_procedures, decide};
pub use recovery::Tended;
pub(crate) use xid::{Branch, TransactionId};

use crate::backend::BackendError;
use crate::proxy::Proxy;
use crate::world::World;

/// MySQL's number for a branch that is not there (any more): somebody ended it by its name.
pub(crate) const UNKNOWN_XID: u16 = 1397;

impl Proxy {
    /// Makes the ledger of `shard`, before another shard joins a transaction that began there.
    ///
    /// # Errors
    /// If the shard cannot be reached, or the sidecar's account may not make it.
    pub(crate) async fn prepare_ledger(
        &self,
        world: &World,
        shard: usize,
    ) -> Result<(), BackendError> {
        self.ledger().prepare(self.system(), world, shard).await
    }

    /// What was decided of a transaction whose coordinator did not hear it.
    ///
    /// # Errors
    /// If its first shard cannot tell now.
    pub(crate) async fn outcome(
        &self,
        world: &World,
        id: TransactionId,
    ) -> Result<Outcome, BackendError> {
        ledger::outcome(self.system(), world, id).await
    }

    /// Ends a branch as was decided of its transaction.
    ///
    /// # Errors
    /// If either shard cannot be reached.
    pub(crate) async fn settle(&self, world: &World, branch: Branch) -> Result<(), BackendError> {
        let settled = ledger::settle(self.system(), world, branch);
        settled.await.map(drop)
    }
}
