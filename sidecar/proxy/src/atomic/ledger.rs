//! The ledger: what was decided of transactions, as rows of `remora.decision` on their first
//! shards.
//!
//! A row's key is the transaction. *commit* is written by the coordinator, inside the
//! transaction; *fence* by whoever recovers, so that the coordinator cannot write any more. Such
//! an INSERT waits for the other's lock, so the answer is final whichever comes first.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use remora_crds::Instance;
use tokio::sync::Notify;

use super::UNKNOWN_XID;
use super::xid::{Branch, TransactionId};
use crate::backend::{Backend, BackendError, Ended};
use crate::locked::locked;
use crate::sequence::CREATE_SCHEMA;
use crate::snapshot::LayoutKeeper;
use crate::system::System;
use crate::world::World;

/// The table of decisions. `connection` is the coordinator's own on this server: once that one is
/// gone, nobody writes the decision any more.
pub(crate) const CREATE_TABLE: &str = "CREATE TABLE IF NOT EXISTS remora.decision (\
     id BINARY(16) PRIMARY KEY, \
     outcome ENUM('commit', 'fence') CHARACTER SET ascii NOT NULL, \
     connection BIGINT UNSIGNED NOT NULL, \
     branches VARCHAR(1024) CHARACTER SET ascii NOT NULL, \
     made TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP)";

/// The procedures of the ledger, which run as `definer`, by default as whoever makes them.
///
/// By `decide` an application's connection decides: the row and the COMMIT in one statement, of
/// which the second only runs if the first succeeded. Applications have no rights on the table.
/// `left_over` gives the rows whose coordinator is gone, so that nobody needs them once their
/// branches are ended. Only an account with PROCESS sees all connections; as another it finds
/// nothing.
pub(crate) fn create_procedures(definer: Option<&str>) -> [String; 2] {
    let definer = definer.map_or_else(String::new, |account| format!("DEFINER = {account} "));
    [
        format!(
            "CREATE {definer}PROCEDURE IF NOT EXISTS remora.decide (\
             IN of_transaction BINARY(16), IN of_connection BIGINT UNSIGNED, \
             IN of_shards VARCHAR(1024) CHARACTER SET ascii) \
             MODIFIES SQL DATA SQL SECURITY DEFINER \
             BEGIN \
             INSERT INTO remora.decision (id, outcome, connection, branches) \
             VALUES (of_transaction, 'commit', of_connection, of_shards); \
             COMMIT AND NO CHAIN NO RELEASE; \
             END"
        ),
        format!(
            "CREATE {definer}PROCEDURE IF NOT EXISTS remora.left_over (IN age INT) \
             READS SQL DATA SQL SECURITY DEFINER \
             SELECT HEX(id), outcome, connection, branches FROM remora.decision \
             WHERE made < NOW() - INTERVAL age SECOND \
             AND connection NOT IN (SELECT id FROM information_schema.processlist) \
             AND EXISTS (SELECT * FROM information_schema.user_privileges \
             WHERE privilege_type = 'PROCESS' \
             AND grantee = CONCAT('''', REPLACE(CURRENT_USER(), '@', '''@'''), '''')) \
             ORDER BY made DESC LIMIT 1000"
        ),
    ]
}

/// MySQL's numbers for a schema, table or procedure that is not there.
const MISSING: [u16; 3] = [1049, 1146, 1305];
/// MySQL's number for a key that is there already.
const DUPLICATE: u16 = 1062;
/// How long a fence may wait for the coordinator's lock, and a branch for its end.
const PATIENCE: Duration = Duration::from_secs(10);
/// So many decisions wait at most for being forgotten. What is not remembered here is found
/// again by `left_over`.
const MOST_SETTLED: usize = 10_000;

/// What was decided of a transaction.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Outcome {
    /// All branches are to be committed.
    Commit,
    /// All are to be rolled back; nobody can commit them any more.
    Rollback,
}

/// What this process knows of ledgers, and has to do about them.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// The servers whose ledger was seen to be there, by shard.
    ready: Mutex<HashMap<usize, Instance>>,
    settled: Mutex<Vec<TransactionId>>,
    suspects: Mutex<Vec<Branch>>,
    woken: Notify,
}

impl Ledger {
    /// Makes the ledger of `shard` where agents do not: before a second shard joins, so that a
    /// COMMIT does not fail for it.
    ///
    /// # Errors
    /// If the shard cannot be reached, or the sidecar's account may not make it.
    pub(super) async fn prepare(
        &self,
        system: &System,
        world: &World,
        shard: usize,
    ) -> Result<(), BackendError> {
        let Some(server) = world.snapshot.primary(shard) else {
            return Ok(());
        };
        if world.snapshot.keeper == LayoutKeeper::Agents
            || locked(&self.ready).get(&shard) == Some(server)
        {
            return Ok(());
        }
        let procedures = create_procedures(None);
        let make = [CREATE_SCHEMA, CREATE_TABLE].into_iter();
        for sql in make.chain(procedures.iter().map(String::as_str)) {
            system.run(world, shard, sql).await?;
        }
        locked(&self.ready).insert(shard, server.clone());
        Ok(())
    }

    /// Notes that every branch of a transaction was committed: its decision may be forgotten.
    pub(crate) fn settled(&self, id: TransactionId) {
        let mut settled = locked(&self.settled);
        if settled.len() < MOST_SETTLED {
            settled.push(id);
        }
    }

    /// Takes the transactions whose decisions may be forgotten.
    pub(super) fn take_settled(&self) -> Vec<TransactionId> {
        std::mem::take(&mut locked(&self.settled))
    }

    /// Notes that somebody has to look after a branch.
    pub(crate) fn suspect(&self, branch: Branch) {
        locked(&self.suspects).push(branch);
        self.woken.notify_one();
    }

    /// Takes the branches to look after.
    pub(super) fn take_suspects(&self) -> Vec<Branch> {
        std::mem::take(&mut locked(&self.suspects))
    }

    /// Waits for a branch to look after.
    pub(super) async fn woken(&self) {
        self.woken.notified().await;
    }
}

/// Decides that a transaction commits, on the connection that has its part on the first shard.
///
/// # Errors
/// If the connection breaks, after which only the ledger knows. MySQL's refusal is inside the
/// result: the transaction is open still, and must be rolled back.
pub(crate) async fn decide(
    backend: &mut Backend,
    id: TransactionId,
    shards: &[usize],
) -> Result<Result<Ended, remora_protocol::ErrPacket<'static>>, BackendError> {
    let branches: Vec<_> = shards.iter().map(ToString::to_string).collect();
    let call = format!(
        "CALL remora.decide({}, {}, '{}')",
        id.key(),
        id.connection(),
        branches.join(",")
    );
    backend.query(call.as_bytes()).await?.finish().await
}

/// What was decided of a transaction. If nothing was, this decides that it is rolled back.
///
/// # Errors
/// If its first shard cannot tell now.
pub(super) async fn outcome(
    system: &System,
    world: &World,
    id: TransactionId,
) -> Result<Outcome, BackendError> {
    let shard = id.first();
    let fence = format!(
        "INSERT INTO remora.decision (id, outcome, connection, branches) \
         VALUES ({}, 'fence', {}, '')",
        id.key(),
        id.connection()
    );
    let read = format!(
        "SELECT outcome FROM remora.decision WHERE id = {}",
        id.key()
    );
    let asked = async {
        loop {
            match system.run(world, shard, &fence).await {
                Ok(_) => return Ok(Outcome::Rollback),
                Err(BackendError::Server { error, .. }) if error.code == DUPLICATE => {}
                // It never was there, so nobody decided anything.
                Err(BackendError::Server { error, .. }) if MISSING.contains(&error.code) => {
                    return Ok(Outcome::Rollback);
                }
                Err(error) => return Err(error),
            }
            let rows = system.rows(world, shard, &read).await?;
            match rows.first().and_then(|row| row.first()?.as_deref()) {
                Some(b"commit") => return Ok(Outcome::Commit),
                Some(_) => return Ok(Outcome::Rollback),
                // Forgotten in between: every branch was committed, or is put behind a fence.
                None => {}
            }
        }
    };
    tokio::time::timeout(PATIENCE, asked)
        .await
        .unwrap_or_else(|_| Err(too_slow(shard)))
}

/// Ends a branch by its name. One that is not there was ended before.
///
/// # Errors
/// If its shard cannot be reached or does not take writes: an XA COMMIT on a replica would make
/// a transaction that no other server has.
pub(super) async fn end(
    system: &System,
    world: &World,
    branch: Branch,
    outcome: Outcome,
) -> Result<(), BackendError> {
    let shard = branch.shard();
    let verb = match outcome {
        Outcome::Commit => "COMMIT",
        Outcome::Rollback => "ROLLBACK",
    };
    let ended = async {
        // One connection: another server must not come between the question and the end.
        let mut backend = system.connect(world, shard).await?;
        let rows = backend.rows(b"SELECT @@GLOBAL.super_read_only").await?;
        let rows = rows.map_err(|error| BackendError::Server { shard, error })?;
        if rows.first().and_then(|row| row.first()?.as_deref()) != Some(b"0") {
            let reason = "it does not take writes now".to_owned();
            return Err(BackendError::Connect { shard, reason });
        }
        let sql = format!("XA {verb} {branch}");
        let ended = backend.query(sql.as_bytes()).await?.finish().await?;
        backend.quit().await;
        match ended {
            Err(error) if error.code != UNKNOWN_XID => Err(BackendError::Server { shard, error }),
            _ => Ok(()),
        }
    };
    tokio::time::timeout(PATIENCE, ended)
        .await
        .unwrap_or_else(|_| Err(too_slow(shard)))
}

/// Ends a branch as was decided of its transaction.
///
/// # Errors
/// If either shard cannot be reached.
pub(super) async fn settle(
    system: &System,
    world: &World,
    branch: Branch,
) -> Result<Outcome, BackendError> {
    let outcome = outcome(system, world, branch.transaction()).await?;
    end(system, world, branch, outcome).await?;
    Ok(outcome)
}

/// Forgets decisions of shard `first` that nobody needs any more.
///
/// # Errors
/// If the shard cannot be reached.
pub(super) async fn forget(
    system: &System,
    world: &World,
    first: usize,
    ids: &[TransactionId],
) -> Result<(), BackendError> {
    let keys: Vec<_> = ids.iter().map(|id| id.key()).collect();
    let sql = format!(
        "DELETE FROM remora.decision WHERE id IN ({})",
        keys.join(", ")
    );
    system.run(world, first, &sql).await.map(drop)
}

fn too_slow(shard: usize) -> BackendError {
    BackendError::Connect {
        shard,
        reason: format!("no answer within {} s", PATIENCE.as_secs()),
    }
}
