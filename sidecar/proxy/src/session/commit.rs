//! Ending a transaction that is on several shards; see [`crate::atomic`].

use std::time::Duration;

use futures::future::join_all;
use remora_protocol::ErrPacket;

use super::transaction::{Joined, Open};
use super::{Note, Session, Transaction};
use crate::atomic::{Outcome, TransactionId, UNKNOWN_XID, decide};
use crate::backend::{Backend, BackendError, Ended};
use crate::failure::Failure;
use crate::telemetry::Ending;
use crate::world::World;

/// How long COMMIT waits for the shards once the transaction is committed. One that takes longer
/// will show it later, and says so in a warning.
const PATIENCE: Duration = Duration::from_secs(5);
/// As the sidecar itself ends a transaction, whatever the session's `completion_type` says.
pub(super) const COMMIT: &[u8] = b"COMMIT AND NO CHAIN NO RELEASE";
const ROLLBACK: &str = "ROLLBACK AND NO CHAIN NO RELEASE";
/// MySQL's number for a key that is there already: in the ledger, a fence.
const DUPLICATE: u16 = 1062;
/// MySQL's number for a statement that a KILL ended.
const INTERRUPTED: u16 = 1317;
/// MySQL's numbers for a procedure that is not there, and for one that an account may not call.
const NOT_CALLED: [u16; 2] = [1305, 1370];
/// MySQL's numbers for XA's errors.
const XA_ERRORS: [u16; 8] = [1397, 1398, 1399, 1400, 1401, 1402, 1613, 1614];

impl Session {
    /// Commits a transaction on all its shards, or on none. Gives warnings.
    ///
    /// # Errors
    /// If it was rolled back; or, as [`Failure::Last`], if nobody can tell now what became of it.
    async fn commit_everywhere(
        &mut self,
        world: &World,
        mut open: Open,
    ) -> Result<Vec<Note>, Failure> {
        if let Some(joined) = &mut open.joined {
            if open.read_only {
                joined.written.clear();
            }
            if let Err(error) = self.prepare_branches(joined).await {
                self.roll_back_everywhere(&open).await;
                return Err(error);
            }
        }
        let Some(joined) = open
            .joined
            .as_ref()
            .filter(|joined| !joined.written.is_empty())
        else {
            let first = open.first;
            open.joined = None;
            self.state.transaction = Transaction::Open(open);
            return self.commit_on(first).await.map(|()| Vec::new());
        };
        let Some(first) = self.backends.get(open.first) else {
            self.roll_back_everywhere(&open).await;
            return Err(BackendError::gone(open.first).into());
        };
        // A KILL must not end the procedure between its COMMIT and its answer.
        let _shield = self.entry.shield().await;
        let decided = match decide(first, joined.id, &joined.written).await {
            Ok(Err(error)) if error.code == INTERRUPTED => {
                // By somebody at the server itself, maybe behind its COMMIT: only the ledger knows.
                // Before it is asked, what is not committed must not stand in its way.
                roll_back(first, ROLLBACK).await;
                let shard = open.first;
                Err(BackendError::Server { shard, error })
            }
            decided => decided,
        };
        match decided {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => {
                self.roll_back_everywhere(&open).await;
                return Err(undecided(error).into());
            }
            // The answer is lost; the ledger knows.
            Err(lost) => match self.proxy.outcome(world, joined.id).await {
                Ok(Outcome::Commit) => self.may_have_written(open.first),
                Ok(Outcome::Rollback) => {
                    self.roll_back_everywhere(&open).await;
                    return Err(lost.into());
                }
                Err(unknown) => {
                    tracing::warn!(%unknown, "What became of a transaction is not known yet");
                    for &shard in &joined.written {
                        self.proxy.ledger().suspect(joined.id.branch(shard));
                    }
                    return Err(lost.into());
                }
            },
        }
        self.proxy.metrics.transaction(Ending::Committed);
        Ok(self.commit_branches(joined).await)
    }

    /// Commits the transaction, whatever it is on. Gives warnings.
    ///
    /// # Errors
    /// As [`Session::commit_everywhere`].
    pub(crate) async fn commit_with_notes(&mut self) -> Result<Vec<Note>, Failure> {
        let world = self.proxy.world();
        match std::mem::take(&mut self.state.transaction) {
            Transaction::Open(open) => self.commit_everywhere(&world, open).await,
            Transaction::Torn(open) => {
                self.roll_back_everywhere(&open).await;
                Ok(Vec::new())
            }
            Transaction::None | Transaction::Begun(_) => Ok(Vec::new()),
        }
    }

    /// Rolls the transaction back, whatever it is on.
    pub(crate) async fn give_up(&mut self) {
        match std::mem::take(&mut self.state.transaction) {
            Transaction::Open(open) if open.joined.is_none() => {
                let Some(backend) = self.backends.get(open.first) else {
                    // Its server rolls back by itself.
                    return;
                };
                roll_back(backend, ROLLBACK).await;
            }
            Transaction::Open(open) | Transaction::Torn(open) => {
                self.roll_back_everywhere(&open).await;
            }
            Transaction::None | Transaction::Begun(_) => {}
        }
    }

    /// Lets each shard that joined promise that it can commit. A branch that only read has nothing
    /// to promise, and ends here.
    async fn prepare_branches(&mut self, joined: &Joined) -> Result<(), Failure> {
        let mut backends = self.branches(&joined.shards)?;
        let preparing = backends.iter_mut().map(async |backend| {
            if !joined.written.contains(&backend.shard()) {
                roll_back_branch(backend, joined.id).await;
                return Ok(Ok(Ended::default()));
            }
            let branch = joined.id.branch(backend.shard());
            backend.queue_query(format!("XA END {branch}").as_bytes());
            let prepare = format!("XA PREPARE {branch}");
            backend.query(prepare.as_bytes()).await?.finish().await
        });
        for prepared in join_all(preparing).await {
            match prepared {
                Ok(Ok(_)) => {}
                Ok(Err(error)) | Err(BackendError::Queued { error, .. }) => {
                    return Err(of_branch(error).into());
                }
                Err(lost) => return Err(lost.into()),
            }
        }
        Ok(())
    }

    /// Commits the prepared branches. What cannot be done now is done later; the session waits
    /// for it when it next comes to that shard.
    async fn commit_branches(&mut self, joined: &Joined) -> Vec<Note> {
        let backends = self.branches(&joined.written).unwrap_or_default();
        let committing = backends
            .into_iter()
            .map(|backend| commit_branch(backend, joined.id));
        let done: Vec<usize> = join_all(committing).await.into_iter().flatten().collect();
        let late: Vec<usize> = joined
            .written
            .iter()
            .copied()
            .filter(|shard| !done.contains(shard))
            .collect();
        if late.is_empty() {
            self.proxy.ledger().settled(joined.id);
        }
        let note = |shard: usize| {
            let branch = joined.id.branch(shard);
            self.proxy.ledger().suspect(branch);
            self.state.unsettled.push((shard, branch));
            Note {
                level: b"Warning".to_vec(),
                code: 1105,
                state: None,
                message: format!(
                    "The transaction is committed; shard {shard} does not answer now and will \
                     show it later"
                )
                .into_bytes(),
            }
        };
        late.into_iter().map(note).collect()
    }

    /// Rolls a transaction back on all its shards. A connection on which that fails is closed,
    /// at which its server rolls back what is not prepared.
    pub(crate) async fn roll_back_everywhere(&mut self, open: &Open) {
        if let Some(joined) = &open.joined {
            self.undo(open, joined).await;
            self.proxy.metrics.transaction(Ending::RolledBack);
        }
    }

    async fn undo(&mut self, open: &Open, joined: &Joined) {
        let mut shards: Vec<usize> = open.shards().collect();
        shards.sort_unstable();
        let mut backends = self.backends.select(&shards);
        let rolling = backends.iter_mut().map(async |backend| {
            let shard = backend.shard();
            let done = match shard == open.first {
                _ if backend.is_broken() => false,
                true => roll_back(backend, ROLLBACK).await,
                false => roll_back_branch(backend, joined.id).await,
            };
            (shard, done)
        });
        let done = join_all(rolling).await;
        for &shard in &joined.shards {
            if !done.contains(&(shard, true)) {
                // It may be prepared already.
                self.proxy.ledger().suspect(joined.id.branch(shard));
            }
        }
    }

    /// The connections to shards that joined.
    fn branches(&mut self, shards: &[usize]) -> Result<Vec<&mut Backend>, Failure> {
        let mut shards = shards.to_vec();
        shards.sort_unstable();
        let backends = self.backends.select(&shards);
        let connected: Vec<usize> = backends.iter().map(|backend| backend.shard()).collect();
        match shards.iter().find(|shard| !connected.contains(shard)) {
            Some(missing) => Err(BackendError::gone(*missing).into()),
            None => Ok(backends),
        }
    }

    /// Waits until branches of this session's own transactions are ended on `shard`: it must see
    /// what it was told is committed.
    ///
    /// # Errors
    /// If that cannot be done now.
    pub(super) async fn settle(&mut self, world: &World, shard: usize) -> Result<(), Failure> {
        let waits = |(at, _): &&(usize, _)| *at == shard;
        while let Some((_, branch)) = self.state.unsettled.iter().find(waits).copied() {
            self.proxy.settle(world, branch).await?;
            self.may_have_written(shard);
            self.state.unsettled.retain(|(_, other)| *other != branch);
        }
        Ok(())
    }
}

/// Commits a branch, and gives its shard if that is done.
async fn commit_branch(backend: &mut Backend, id: TransactionId) -> Option<usize> {
    let shard = backend.shard();
    let commit = format!("XA COMMIT {}", id.branch(shard));
    let committed = async { backend.query(commit.as_bytes()).await?.finish().await };
    match tokio::time::timeout(PATIENCE, committed).await {
        Ok(Ok(Ok(_))) => Some(shard),
        // Whoever ended it obeyed the decision.
        Ok(Ok(Err(error))) if error.code == UNKNOWN_XID => Some(shard),
        outcome => {
            tracing::warn!(shard, ?outcome, "A branch is committed later");
            backend.abandon();
            None
        }
    }
}

/// Rolls back, and closes a connection that refuses: the transaction may be open there still, and
/// the next statement must not run in it. Answers whether nothing is left.
async fn roll_back(backend: &mut Backend, sql: &str) -> bool {
    let ended = async { backend.query(sql.as_bytes()).await?.finish().await };
    let done = match ended.await {
        Ok(Ok(_)) => true,
        Ok(Err(error)) => error.code == UNKNOWN_XID,
        Err(_) => false,
    };
    if !done {
        backend.hang_up().await;
    }
    done
}

/// A branch that is prepared, or that MySQL has marked for rollback, refuses XA END.
async fn roll_back_branch(backend: &mut Backend, id: TransactionId) -> bool {
    let branch = id.branch(backend.shard());
    let (end, roll) = (format!("XA END {branch}"), format!("XA ROLLBACK {branch}"));
    let ended = async { backend.query(end.as_bytes()).await?.finish().await };
    ended.await.is_ok() && roll_back(backend, &roll).await
}

/// Why a transaction was not committed, for its client.
fn undecided(error: ErrPacket<'static>) -> ErrPacket<'static> {
    if error.code == DUPLICATE {
        return ErrPacket::new(
            1213,
            *b"40001",
            "The transaction took so long to commit that another sidecar rolled it back; try \
             restarting transaction",
        );
    }
    if NOT_CALLED.contains(&error.code) {
        let message = format!(
            "The transaction is on several shards and was rolled back: {}; GRANT EXECUTE ON \
             PROCEDURE remora.decide to the account",
            String::from_utf8_lossy(&error.message)
        );
        return ErrPacket::new(error.code, error.state, message);
    }
    error
}

/// An error of a branch, for a client that knows of none.
pub(crate) fn of_branch(error: ErrPacket<'static>) -> ErrPacket<'static> {
    match error.code {
        1614 => ErrPacket::new(
            1213,
            *b"40001",
            "Deadlock found when trying to get lock; try restarting transaction",
        ),
        1613 => ErrPacket::new(
            1205,
            *b"HY000",
            "Lock wait timeout exceeded; try restarting transaction",
        ),
        4091 => ErrPacket::new(
            1235,
            *b"42000",
            "This version of Remora doesn't yet support temporary tables on a shard that joined \
             a transaction; use them in its first statement, or outside",
        ),
        code if XA_ERRORS.contains(&code) => ErrPacket::new(
            1180,
            *b"HY000",
            format!(
                "Got error {code} - '{}' during COMMIT; the transaction was rolled back",
                String::from_utf8_lossy(&error.message)
            ),
        ),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;
    use remora_protocol::{CapabilityFlags, OkPacket, PacketCodec};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::UnixStream;

    use super::*;

    /// Rolls back on a server that gives this answer.
    async fn rolled_back(answer: impl FnOnce(&mut BytesMut)) -> (bool, bool) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut backend = Backend::to_test(ours);
        let server = async {
            // A head, COM_QUERY, and the text.
            let mut command = [0; 4 + 1 + ROLLBACK.len()];
            theirs.read_exact(&mut command).await.unwrap();
            let mut codec = PacketCodec::new(1 << 20);
            codec.set_sequence(1);
            let mut out = BytesMut::new();
            codec.encode_with(&mut out, answer);
            theirs.write_all(&out).await.unwrap();
        };
        let (done, ()) = tokio::join!(roll_back(&mut backend, ROLLBACK), server);
        (done, backend.is_broken())
    }

    #[tokio::test]
    async fn a_connection_that_refuses_to_end_a_transaction_is_given_up() {
        let refused = ErrPacket::new(1105, *b"HY000", "no");
        assert_eq!(rolled_back(|out| refused.encode(out)).await, (false, true));
        let capabilities = CapabilityFlags::CLIENT_PROTOCOL_41;
        let ok = OkPacket::default();
        assert_eq!(
            rolled_back(|out| ok.encode(capabilities, out)).await,
            (true, false)
        );
    }

    #[test]
    fn errors_of_xa_reach_no_client() {
        for code in XA_ERRORS {
            let shown = of_branch(ErrPacket::new(code, *b"XAE07", "XA"));
            assert!(!XA_ERRORS.contains(&shown.code), "{code}: {shown}");
        }
        let own = ErrPacket::new(1062, *b"23000", "Duplicate entry");
        assert_eq!(of_branch(own.clone()), own);
    }

    #[test]
    fn one_that_found_a_fence_may_be_tried_again() {
        let fenced = undecided(ErrPacket::new(DUPLICATE, *b"23000", "Duplicate entry"));
        assert_eq!((fenced.code, fenced.state), (1213, *b"40001"));
        let denied = undecided(ErrPacket::new(1370, *b"42000", "denied"));
        assert!(denied.to_string().contains("GRANT EXECUTE"));
    }
}
