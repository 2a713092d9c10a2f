//! BEGIN, COMMIT, ROLLBACK and savepoints.

use remora_planner::utility::{self, AccessMode, Completion, Transaction as Statement};
use remora_protocol::ErrPacket;

use super::utility::not_supported;
use super::{Session, Transaction};
use crate::execute::{Relayed, Request};
use crate::failure::Failure;
use crate::world::World;

impl Session {
    /// Runs a statement of transaction control.
    pub(super) async fn transaction(
        &mut self,
        world: &World,
        request: &Request<'_>,
    ) -> Result<(), Failure> {
        let sql = request.sql;
        let Ok(statement) = utility::transaction(sql, self.state.context.sql_mode) else {
            return self.pass_on(sql).await;
        };
        match statement {
            Statement::Begin { access, snapshot } => {
                self.begin(world, request, access, snapshot).await
            }
            Statement::Commit(then) | Statement::Rollback(then) => self.end(request, then).await,
            Statement::Savepoint(name) => self.savepoint(&name.name(sql), request).await,
            Statement::RollbackTo(name) => self.rollback_to(&name.name(sql), request).await,
            Statement::Release(name) => self.release(&name.name(sql), request).await,
        }
    }

    /// Which shard the transaction will be on is known with its first statement; BEGIN waits
    /// until then. It commits an open transaction first.
    async fn begin(
        &mut self,
        world: &World,
        request: &Request<'_>,
        access: Option<AccessMode>,
        snapshot: bool,
    ) -> Result<(), Failure> {
        if snapshot && world.snapshot.shards.len() > 1 {
            return Err(not_supported(
                "WITH CONSISTENT SNAPSHOT over several shards, which have no instant in common",
            ));
        }
        self.admit_bytes(request.sql.len())?;
        self.commit_implicitly().await?;
        let mut opening = self.state.next_transaction.take();
        opening.push(request.sql.to_vec());
        let read_only = access == Some(AccessMode::ReadOnly);
        self.state.transaction = Transaction::Begun {
            opening,
            savepoints: Vec::new(),
            read_only,
        };
        self.state.succeeded();
        self.put_ok(request.more_results);
        Ok(())
    }

    async fn end(&mut self, request: &Request<'_>, then: Completion) -> Result<(), Failure> {
        let releases = then.release == Some(true);
        if let Transaction::Open { shard, .. } = self.state.transaction {
            self.pass_to(shard, request.sql, request.more_results)
                .await?;
            // MySQL keeps the session of a COMMIT that fails.
            self.leaves |= releases && self.state.row_count >= 0;
            return Ok(());
        }
        self.leaves |= releases;
        self.state.transaction = match then.chain {
            Some(true) => Transaction::Begun {
                opening: vec![b"START TRANSACTION".to_vec()],
                savepoints: Vec::new(),
                read_only: false,
            },
            _ => Transaction::None,
        };
        self.state.succeeded();
        self.put_ok(request.more_results);
        Ok(())
    }

    async fn savepoint(&mut self, name: &[u8], request: &Request<'_>) -> Result<(), Failure> {
        if !self.state.autocommit && !self.state.transaction.is_open() {
            // Without autocommit a savepoint begins the transaction that it is in.
            self.state.transaction = Transaction::Begun {
                opening: self.state.next_transaction.take(),
                savepoints: Vec::new(),
                read_only: false,
            };
        }
        if !matches!(self.state.transaction, Transaction::Open { .. }) {
            self.admit_bytes(request.sql.len() + name.len())?;
        }
        match &mut self.state.transaction {
            Transaction::Open { shard, .. } => {
                let shard = *shard;
                return self.pass_to(shard, request.sql, request.more_results).await;
            }
            Transaction::Begun { opening, .. } if opening.len() >= MOST_OPENING => {
                return Err(too_many_steps());
            }
            Transaction::Begun {
                opening,
                savepoints,
                ..
            } => {
                savepoints.retain(|other| !other.eq_ignore_ascii_case(name));
                savepoints.push(name.to_vec());
                opening.push(request.sql.to_vec());
            }
            Transaction::None => {}
        }
        self.state.succeeded();
        self.put_ok(request.more_results);
        Ok(())
    }

    /// Nothing happened yet since any savepoint of a transaction that no server knows; later
    /// savepoints are gone.
    async fn rollback_to(&mut self, name: &[u8], request: &Request<'_>) -> Result<(), Failure> {
        self.with_savepoint(name, request, |savepoints, at| savepoints.truncate(at + 1))
            .await
    }

    async fn release(&mut self, name: &[u8], request: &Request<'_>) -> Result<(), Failure> {
        self.with_savepoint(name, request, Vec::truncate).await
    }

    async fn with_savepoint(
        &mut self,
        name: &[u8],
        request: &Request<'_>,
        change: impl FnOnce(&mut Vec<Vec<u8>>, usize),
    ) -> Result<(), Failure> {
        if let Transaction::Open { shard, .. } = self.state.transaction {
            return self.pass_to(shard, request.sql, request.more_results).await;
        }
        self.admit_bytes(request.sql.len())?;
        let savepoints = match &mut self.state.transaction {
            Transaction::Begun { opening, .. } if opening.len() >= MOST_OPENING => {
                return Err(too_many_steps());
            }
            Transaction::Begun {
                opening,
                savepoints,
                ..
            } => {
                // The server will go through the same steps.
                opening.push(request.sql.to_vec());
                savepoints
            }
            _ => return Err(no_savepoint(name).into()),
        };
        match savepoints
            .iter()
            .position(|other| other.eq_ignore_ascii_case(name))
        {
            Some(at) => change(savepoints, at),
            None => {
                if let Transaction::Begun { opening, .. } = &mut self.state.transaction {
                    opening.pop();
                }
                return Err(no_savepoint(name).into());
            }
        }
        self.state.succeeded();
        self.put_ok(request.more_results);
        Ok(())
    }

    /// Ends the transaction before a statement that MySQL commits at.
    pub(crate) async fn commit_implicitly(&mut self) -> Result<(), Failure> {
        if let Transaction::Open { shard, .. } = self.state.transaction
            && let Some(backend) = self.backends.get(shard)
        {
            backend.query(b"COMMIT").await?.finish().await??;
        }
        self.state.transaction = Transaction::None;
        Ok(())
    }

    /// Notes what an answer of `shard` says about the transaction, and its outcome.
    pub(super) async fn observe_transaction(
        &mut self,
        shard: usize,
        relayed: &Relayed,
    ) -> Result<(), Failure> {
        match &relayed.ended {
            Some(ended) => {
                self.state.transaction.observe(shard, ended.status);
                self.state.succeeded();
                Ok(())
            }
            None => {
                self.state.failed_on(shard);
                self.ask_transaction(shard).await
            }
        }
    }
}

/// So many statements are kept for the server that will run the transaction.
const MOST_OPENING: usize = 1000;

fn too_many_steps() -> Failure {
    not_supported("so many savepoints before a transaction's first statement")
}

fn no_savepoint(name: &[u8]) -> ErrPacket<'static> {
    let message = format!("SAVEPOINT {} does not exist", String::from_utf8_lossy(name));
    ErrPacket::new(1305, *b"42000", message)
}
