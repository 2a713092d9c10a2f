//! BEGIN, COMMIT, ROLLBACK and savepoints.

use bytes::BytesMut;
use futures::future::join_all;
use remora_planner::utility::{self, AccessMode, Completion, Transaction as Statement};
use remora_protocol::{ErrPacket, OkPacket, SessionChange, StatusFlags};

use super::commit::COMMIT;
use super::transaction::{Begun, Savepoints};
use super::utility::not_supported;
use super::{Diagnostics, Note, Session, Transaction};
use crate::backend::BackendError;
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
            Statement::Commit(then) => self.end(request, true, then).await,
            Statement::Rollback(then) => self.end(request, false, then).await,
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
        self.state.transaction = Transaction::Begun(Begun {
            characteristics: self.state.next_transaction.take(),
            opening: vec![request.sql.to_vec()],
            read_only: access == Some(AccessMode::ReadOnly),
            read_write: access == Some(AccessMode::ReadWrite),
            ..Begun::default()
        });
        self.state.began = true;
        self.succeed_with(request, Vec::new(), Some(IN_TRANSACTION));
        Ok(())
    }

    /// COMMIT and ROLLBACK.
    async fn end(
        &mut self,
        request: &Request<'_>,
        commits: bool,
        mut then: Completion,
    ) -> Result<(), Failure> {
        if !self.is_on_one_shard() {
            then = self.completion(then).await?;
        }
        self.unlock_definitions().await?;
        let releases = then.release == Some(true);
        if let Transaction::Open(open) = &self.state.transaction
            && open.joined.is_none()
        {
            let shard = open.first;
            self.pass_to(shard, request.sql, request.more_results)
                .await?;
            if self.state.row_count >= 0
                && let Transaction::Open(next) = &mut self.state.transaction
            {
                // AND CHAIN: savepoints are gone, the characteristics stay.
                next.savepoints = Savepoints::default();
            }
            // MySQL keeps the session of a COMMIT that fails.
            self.leaves |= releases && self.state.row_count >= 0;
            return Ok(());
        }
        let began = self.state.began && self.state.transaction.is_open();
        let chained = self.chained(then.chain == Some(true));
        let notes = if commits {
            self.commit_with_notes().await?
        } else {
            self.give_up().await;
            Vec::new()
        };
        self.leaves |= releases;
        let tells = match (began, then.chain) {
            (false, _) => None,
            (true, Some(true)) => Some(IN_TRANSACTION),
            (true, _) => Some(IN_NONE),
        };
        self.state.transaction = chained;
        self.state.began = self.state.transaction.is_open();
        self.succeed_with(request, notes, tells);
        Ok(())
    }

    /// Whether one server has the whole transaction, and so can end it as the client says.
    fn is_on_one_shard(&self) -> bool {
        matches!(&self.state.transaction, Transaction::Open(open) if open.joined.is_none())
    }

    /// What a COMMIT or ROLLBACK that says nothing of it is followed by, as the session's
    /// `completion_type` has it.
    async fn completion(&mut self, said: Completion) -> Result<Completion, Failure> {
        let unsaid = said.chain.is_none() && said.release.is_none();
        if !unsaid || !self.state.settings.has(b"completion_type") {
            return Ok(said);
        }
        let world = self.proxy.world();
        let shard = self.any_shard();
        self.prepare_backend(&world, shard).await?;
        let table = self.ask(shard, b"SELECT @@completion_type LIMIT 1").await?;
        Ok(match table.text(0).as_str() {
            "CHAIN" => Completion {
                chain: Some(true),
                ..said
            },
            "RELEASE" => Completion {
                release: Some(true),
                ..said
            },
            _ => said,
        })
    }

    /// Ends what is no transaction, and locks definitions of tables all the same.
    async fn unlock_definitions(&mut self) -> Result<(), Failure> {
        for shard in std::mem::take(&mut self.state.locks_definitions) {
            if !self.state.transaction.includes(shard)
                && let Some(backend) = self.backends.get(shard)
            {
                backend.query(b"ROLLBACK").await?.finish().await??;
            }
        }
        Ok(())
    }

    /// What follows the end of the transaction: with AND CHAIN another with its characteristics.
    fn chained(&self, chain: bool) -> Transaction {
        if !chain {
            return Transaction::None;
        }
        let (characteristics, read_only, read_write) = match &self.state.transaction {
            Transaction::Open(open) | Transaction::Torn(open) => (
                open.characteristics.clone(),
                open.read_only,
                open.read_write,
            ),
            Transaction::Begun(begun) => (
                begun.characteristics.clone(),
                begun.read_only,
                begun.read_write,
            ),
            Transaction::None => (Vec::new(), false, false),
        };
        let start: &[u8] = match (read_only, read_write) {
            (true, _) => b"START TRANSACTION READ ONLY",
            (false, true) => b"START TRANSACTION READ WRITE",
            (false, false) => b"START TRANSACTION",
        };
        Transaction::Begun(Begun {
            characteristics,
            opening: vec![start.to_vec()],
            read_only,
            read_write,
            ..Begun::default()
        })
    }

    async fn savepoint(&mut self, name: &[u8], request: &Request<'_>) -> Result<(), Failure> {
        if !self.state.autocommit && !self.state.transaction.is_open() {
            // Without autocommit a savepoint begins the transaction that it is in.
            self.state.transaction = Transaction::Begun(Begun {
                characteristics: self.state.next_transaction.take(),
                ..Begun::default()
            });
        }
        match &mut self.state.transaction {
            Transaction::Begun(begun) if begun.opening.len() >= MOST_OPENING => {
                return Err(too_many_steps());
            }
            Transaction::Open(open) if open.savepoints.len() >= MOST_OPENING => {
                return Err(too_many_steps());
            }
            _ => {}
        }
        // Every shard that joins later hears of it.
        self.admit_bytes(request.sql.len() + name.len())?;
        match &mut self.state.transaction {
            Transaction::Open(_) => {
                if self.on_each_shard(request).await?
                    && let Transaction::Open(open) = &mut self.state.transaction
                {
                    open.savepoints.set(name);
                }
                return Ok(());
            }
            Transaction::Begun(begun) => {
                begun.savepoints.set(name);
                begun.opening.push(request.sql.to_vec());
            }
            Transaction::None | Transaction::Torn(_) => {}
        }
        self.succeed(request);
        Ok(())
    }

    /// Nothing happened yet since any savepoint of a transaction that no server knows; later
    /// savepoints are gone.
    async fn rollback_to(&mut self, name: &[u8], request: &Request<'_>) -> Result<(), Failure> {
        self.with_savepoint(name, request, Savepoints::return_to)
            .await
    }

    async fn release(&mut self, name: &[u8], request: &Request<'_>) -> Result<(), Failure> {
        self.with_savepoint(name, request, Savepoints::release)
            .await
    }

    async fn with_savepoint(
        &mut self,
        name: &[u8],
        request: &Request<'_>,
        change: impl FnOnce(&mut Savepoints, &[u8]) -> bool,
    ) -> Result<(), Failure> {
        if matches!(self.state.transaction, Transaction::Open(_)) {
            if self.on_each_shard(request).await?
                && let Transaction::Open(open) = &mut self.state.transaction
            {
                change(&mut open.savepoints, name);
            }
            return Ok(());
        }
        self.admit_bytes(request.sql.len())?;
        match &mut self.state.transaction {
            Transaction::Begun(begun) if begun.opening.len() >= MOST_OPENING => {
                return Err(too_many_steps());
            }
            Transaction::Begun(begun) => {
                if !change(&mut begun.savepoints, name) {
                    return Err(no_savepoint(name).into());
                }
                // The server will go through the same steps.
                begun.opening.push(request.sql.to_vec());
            }
            _ => return Err(no_savepoint(name).into()),
        }
        self.succeed(request);
        Ok(())
    }

    /// Runs a statement about savepoints on each shard of the transaction. Answers whether it
    /// succeeded; the client has its answer.
    async fn on_each_shard(&mut self, request: &Request<'_>) -> Result<bool, Failure> {
        let Transaction::Open(open) = &self.state.transaction else {
            return Ok(false);
        };
        let (first, mut shards): (_, Vec<_>) = (open.first, open.shards().collect());
        if let [only] = shards[..] {
            self.pass_to(only, request.sql, request.more_results)
                .await?;
            return Ok(self.state.row_count >= 0);
        }
        shards.sort_unstable();
        let mut backends = self.backends.select(&shards);
        let running = backends.iter_mut().map(async |backend| {
            let shard = backend.shard();
            let finished = backend.query(request.sql).await?.finish().await?;
            Ok::<_, BackendError>((shard, finished))
        });
        let (mut refused, mut statuses) = (None, Vec::new());
        for ended in join_all(running).await {
            let (shard, finished) = ended?;
            match finished {
                Ok(ended) => statuses.push((shard, Some(ended.status))),
                Err(error) if shard == first || refused.is_none() => refused = Some(error),
                Err(_) => {}
            }
        }
        let partly = !statuses.is_empty();
        self.heed_all(statuses).await?;
        match refused {
            // Some shards are where the client wants them, others are not.
            Some(error) if partly => {
                self.give_up().await;
                Err(Failure::Last(error))
            }
            Some(error) => Err(error.into()),
            None => {
                self.succeed(request);
                Ok(true)
            }
        }
    }

    /// Ends the transaction before a statement that MySQL commits at.
    pub(crate) async fn commit_implicitly(&mut self) -> Result<(), Failure> {
        self.unlock_definitions().await?;
        self.commit_with_notes().await.map(drop)
    }

    /// Commits a transaction of one shard.
    pub(super) async fn commit_on(&mut self, shard: usize) -> Result<(), Failure> {
        let Some(backend) = self.backends.get(shard) else {
            return Err(Failure::CutOff);
        };
        let committed = backend.query(COMMIT).await?.finish().await?;
        if let Err(error) = committed {
            // A server that is read only refuses, and the transaction is still open.
            self.ask_transaction(shard).await?;
            return Err(error.into());
        }
        self.state.transaction = Transaction::None;
        Ok(())
    }

    /// Notes what `shard` says about the transaction. One that it ended is rolled back on all
    /// others at once: their locks must not wait for the client.
    pub(crate) async fn heed(&mut self, shard: usize, status: StatusFlags) {
        self.state.transaction.observe(shard, status);
        if let Transaction::Torn(open) = &mut self.state.transaction {
            let open = std::mem::take(open);
            self.state.transaction = Transaction::None;
            self.roll_back_everywhere(&open).await;
        }
    }

    /// The same for all shards of one statement; `None`: the answer did not tell. What a shard said
    /// before another ended the transaction says nothing any more.
    pub(crate) async fn heed_all(
        &mut self,
        statuses: Vec<(usize, Option<StatusFlags>)>,
    ) -> Result<(), Failure> {
        let was_open = self.state.transaction.is_open();
        for (shard, status) in statuses {
            match status {
                Some(status) => self.heed(shard, status).await,
                None => self.ask_transaction(shard).await?,
            }
            if was_open && !self.state.transaction.is_open() {
                break;
            }
        }
        Ok(())
    }

    /// Asks each shard of the transaction whether it still has it.
    pub(crate) async fn ask_all(&mut self) -> Result<(), Failure> {
        let Transaction::Open(open) = &self.state.transaction else {
            return Ok(());
        };
        let shards = open.shards().map(|shard| (shard, None)).collect();
        self.heed_all(shards).await
    }

    /// Answers OK to a statement without rows or warnings.
    fn succeed(&mut self, request: &Request<'_>) {
        self.succeed_with(request, Vec::new(), None);
    }

    /// The same with warnings, and with what became of the transaction.
    fn succeed_with(&mut self, request: &Request<'_>, notes: Vec<Note>, tells: Option<&[u8]>) {
        let mut changes = BytesMut::new();
        if let Some(state) = tells {
            SessionChange::TransactionState(state).encode(&mut changes);
        }
        self.state.succeeded();
        let warnings = u16::try_from(notes.len()).unwrap_or(u16::MAX);
        self.state.diagnostics = Diagnostics::of_notes(notes);
        let mut status = self.state.status();
        status.set(
            StatusFlags::SERVER_MORE_RESULTS_EXISTS,
            request.more_results,
        );
        self.client.put_ok(&OkPacket {
            status,
            warnings,
            session_state: &changes,
            ..OkPacket::default()
        });
    }

    /// Notes what an answer of `shard` says about the transaction, and its outcome.
    pub(super) async fn observe_transaction(
        &mut self,
        shard: usize,
        relayed: &Relayed,
    ) -> Result<(), Failure> {
        match &relayed.ended {
            Some(ended) => {
                self.heed(shard, ended.status).await;
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

/// MySQL's letters for a transaction that has touched nothing, and for none.
const IN_TRANSACTION: &[u8] = b"T_______";
const IN_NONE: &[u8] = b"________";

/// So many statements are kept for the server that will run the transaction.
const MOST_OPENING: usize = 1000;

fn too_many_steps() -> Failure {
    not_supported("so many savepoints before a transaction's first statement")
}

fn no_savepoint(name: &[u8]) -> ErrPacket<'static> {
    let message = format!("SAVEPOINT {} does not exist", String::from_utf8_lossy(name));
    ErrPacket::new(1305, *b"42000", message)
}
