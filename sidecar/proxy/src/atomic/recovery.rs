//! Recovery: what coordinators left behind is ended as was decided.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use remora_discovery::Snapshot as Told;
use tokio::sync::watch;

use super::ledger::{self, Outcome};
use super::xid::{Branch, TransactionId};
use crate::backend::{BackendError, Row};
use crate::proxy::Proxy;
use crate::telemetry::Ending;
use crate::world::World;

/// How often decisions are forgotten whose branches are all committed.
const PULSE: Duration = Duration::from_secs(1);
/// How often shards are asked for prepared branches.
const LOOK: Duration = Duration::from_secs(2);
/// A branch that was prepared for so long has no coordinator that means to end it soon. One that
/// is merely slow finds a fence, and rolls back.
const AGE: Duration = Duration::from_secs(5);
/// Rows of the ledger rest for so long, in seconds, before somebody else looks after them.
const LEDGER_AGE: u32 = 60;
/// MySQL's numbers for what an account may not, or what is not there yet.
const NOT_YET: [u16; 7] = [1044, 1142, 1227, 1370, 1049, 1146, 1305];

/// Whose prepared branches a sidecar looks after, besides those of its own sessions.
#[derive(Clone, Debug)]
pub enum Tended {
    /// Every shard's: there are no agents.
    All,
    /// Those of the shard that the pod's mysqld is of.
    Own(watch::Receiver<Option<Arc<Told>>>),
    /// Nobody's: agents do.
    None,
}

impl Tended {
    fn shards(&self, world: &World) -> Vec<usize> {
        match self {
            Self::All => (0..world.snapshot.shards.len()).collect(),
            Self::Own(told) => {
                let told = told.borrow();
                let orders = told.as_ref().and_then(|told| told.agent.as_ref());
                let own = orders.map(|orders| usize::from(orders.shard));
                own.into_iter().collect()
            }
            Self::None => Vec::new(),
        }
    }
}

impl Proxy {
    /// Ends what coordinators left behind, until the process ends.
    pub async fn recover_transactions(&self, tended: Tended) {
        let mut prepared = Prepared::default();
        let mut unsettled: Vec<Branch> = Vec::new();
        let mut looked: Option<Instant> = None;
        let mut swept: Option<Instant> = None;
        loop {
            let woken = self.ledger().woken();
            drop(tokio::time::timeout(PULSE, woken).await);
            let world = self.world();
            self.forget_settled(&world).await;
            unsettled.extend(self.ledger().take_suspects());
            unsettled = self.settle_all(&world, unsettled).await;
            if self.is_passive() {
                // Whoever is the gateway looks.
                continue;
            }
            if looked.is_none_or(|looked| looked.elapsed() >= LOOK) {
                looked = Some(Instant::now());
                for shard in tended.shards(&world) {
                    self.look(&world, shard, &mut prepared).await;
                }
            }
            let age = Duration::from_secs(LEDGER_AGE.into());
            if swept.is_none_or(|swept| swept.elapsed() >= age) {
                swept = Some(Instant::now());
                for shard in tended.shards(&world) {
                    let done = self.sweep(&world, shard).await;
                    say(shard, "The ledger cannot be swept", done);
                }
            }
        }
    }

    async fn forget_settled(&self, world: &World) {
        let mut by_shard: BTreeMap<usize, Vec<TransactionId>> = BTreeMap::new();
        for id in self.ledger().take_settled() {
            by_shard.entry(id.first()).or_default().push(id);
        }
        for (shard, ids) in by_shard {
            let forgotten = ledger::forget(self.system(), world, shard, &ids).await;
            // They are found again by sweeping.
            say(shard, "Decisions cannot be forgotten", forgotten);
        }
    }

    /// Ends branches that sessions of this process gave up on; gives those that remain.
    async fn settle_all(&self, world: &World, suspects: Vec<Branch>) -> Vec<Branch> {
        let mut remaining = Vec::new();
        for suspect in suspects {
            if let Err(error) = self.settle_logged(world, suspect).await {
                tracing::debug!(shard = suspect.shard(), %error, "A branch waits");
                remaining.push(suspect);
            }
        }
        remaining
    }

    async fn settle_logged(&self, world: &World, branch: Branch) -> Result<(), BackendError> {
        let outcome = ledger::settle(self.system(), world, branch).await?;
        self.metrics.transaction(match outcome {
            Outcome::Commit => Ending::RecoveredCommit,
            Outcome::Rollback => Ending::RecoveredRollback,
        });
        tracing::info!(
            shard = branch.shard(),
            ?outcome,
            "A branch that its coordinator left was ended"
        );
        Ok(())
    }

    /// Ends the branches of `shard` that have been prepared for too long.
    async fn look(&self, world: &World, shard: usize, prepared: &mut Prepared) {
        let rows = self
            .system()
            .rows(world, shard, "XA RECOVER CONVERT XID")
            .await;
        let rows = match rows {
            Ok(rows) => rows,
            Err(error) => return say(shard, "Prepared branches cannot be listed", Err(error)),
        };
        let found = rows.iter().filter_map(branch).collect();
        for branch in prepared.overdue(shard, found, Instant::now()) {
            let settled = self.settle_logged(world, branch).await;
            say(shard, "A prepared branch cannot be ended", settled);
        }
    }

    /// Ends the branches of decisions whose coordinator is gone, and forgets the decisions.
    async fn sweep(&self, world: &World, shard: usize) -> Result<(), BackendError> {
        let system = self.system();
        let call = format!("CALL remora.left_over({LEDGER_AGE})");
        let rows = system.rows(world, shard, &call).await?;
        let mut done = Vec::new();
        for row in &rows {
            let Some((id, branches)) = left_over(shard, row) else {
                continue;
            };
            let mut ended = true;
            for branch in branches {
                let end = ledger::end(system, world, branch, Outcome::Commit).await;
                ended &= end.is_ok();
                say(branch.shard(), "A committed branch cannot be ended", end);
            }
            if ended {
                done.push(id);
            }
        }
        match done[..] {
            [] => Ok(()),
            _ => ledger::forget(system, world, shard, &done).await,
        }
    }
}

/// Logs what cannot be done now. Where rights or tables are missing it is not an error: nobody
/// has needed them here yet.
fn say(shard: usize, what: &'static str, done: Result<(), BackendError>) {
    match done {
        Err(BackendError::Server { error, .. }) if NOT_YET.contains(&error.code) => {
            tracing::debug!(shard, %error, what);
        }
        Err(error @ BackendError::Connect { .. }) => tracing::debug!(shard, %error, what),
        Err(error) => tracing::warn!(shard, %error, what),
        Ok(()) => {}
    }
}

/// A row of `XA RECOVER CONVERT XID`.
fn branch(row: &Row) -> Option<Branch> {
    let [format, first, second, data] = &row[..] else {
        return None;
    };
    let lengths = [first.as_deref()?, second.as_deref()?];
    Branch::recovered(format.as_deref()?, lengths, data.as_deref()?)
}

/// A row of `remora.left_over`: the transaction, and the branches that are to be committed.
fn left_over(shard: usize, row: &Row) -> Option<(TransactionId, Vec<Branch>)> {
    let [id, outcome, connection, shards] = &row[..] else {
        return None;
    };
    let text = |value: &Option<Vec<u8>>| String::from_utf8(value.clone()?).ok();
    let id = TransactionId::of_row(shard, id.as_deref()?, text(connection)?.parse().ok()?)?;
    let shards = match outcome.as_deref()? {
        b"commit" => text(shards)?,
        // Behind a fence branches are found prepared, and then get a fence again.
        _ => String::new(),
    };
    let shards = shards.split(',').filter_map(|shard| shard.parse().ok());
    Some((id, shards.map(|shard| id.branch(shard)).collect()))
}

/// Prepared branches, and since when they are seen.
#[derive(Debug, Default)]
struct Prepared {
    since: HashMap<Branch, Instant>,
}

impl Prepared {
    /// Notes which branches `shard` has now; gives those that it has had for too long.
    fn overdue(&mut self, shard: usize, found: Vec<Branch>, now: Instant) -> Vec<Branch> {
        self.since
            .retain(|branch, _| branch.shard() != shard || found.contains(branch));
        let own = found.into_iter().filter(|branch| branch.shard() == shard);
        own.filter(|branch| {
            let since = *self.since.entry(*branch).or_insert(now);
            now.duration_since(since) >= AGE
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_is_overdue_once_it_was_prepared_for_long_enough() {
        let mut prepared = Prepared::default();
        let branch = TransactionId::new(0, 1).branch(1);
        let other = TransactionId::new(0, 2).branch(1);
        let begun = Instant::now();
        assert_eq!(prepared.overdue(1, vec![branch], begun), []);
        assert_eq!(
            prepared.overdue(1, vec![branch, other], begun + AGE),
            [branch]
        );
        assert_eq!(prepared.overdue(1, vec![other], begun + AGE * 2), [other]);
    }

    #[test]
    fn one_that_was_ended_meanwhile_begins_anew() {
        let mut prepared = Prepared::default();
        let branch = TransactionId::new(0, 1).branch(1);
        let begun = Instant::now();
        prepared.overdue(1, vec![branch], begun);
        prepared.overdue(1, Vec::new(), begun + AGE);
        assert_eq!(prepared.overdue(1, vec![branch], begun + AGE), []);
    }

    #[test]
    fn looking_at_one_shard_says_nothing_of_another() {
        let mut prepared = Prepared::default();
        let branch = TransactionId::new(0, 1).branch(1);
        let begun = Instant::now();
        prepared.overdue(1, vec![branch], begun);
        prepared.overdue(2, Vec::new(), begun);
        assert_eq!(prepared.overdue(1, vec![branch], begun + AGE), [branch]);
    }

    #[test]
    fn branches_of_a_decision_are_named_by_its_row() {
        let row: Row = ["00112233445566778899AABBCCDDEEFF", "commit", "7", "1,3"]
            .map(|text| Some(text.as_bytes().to_vec()))
            .into();
        let (id, branches) = left_over(0, &row).unwrap();
        assert_eq!(branches, [id.branch(1), id.branch(3)]);
        assert!(
            branches[0]
                .to_string()
                .starts_with("X'00112233445566778899aabbccddeeff',")
        );
    }
}
