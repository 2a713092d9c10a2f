//! Getting a connection to a shard, with the session's state on it.

use remora_crds::CrossShard;
use remora_protocol::ErrPacket;

use super::transaction::{Begun, Joined, Open};
use super::{InsertId, Session, State, Transaction};
use crate::atomic::TransactionId;
use crate::backend::{Backend, BackendError};
use crate::failure::Failure;
use crate::instances::Fleet;
use crate::world::World;

impl Session {
    /// Makes the connection to `shard` ready for a statement, inside the session's transaction,
    /// which the shard joins if it is another one's. `writes`: it is not known to read only.
    ///
    /// # Errors
    /// If the shard cannot be reached.
    pub(crate) async fn lease(
        &mut self,
        world: &World,
        shard: usize,
        writes: bool,
    ) -> Result<(), Failure> {
        self.prepare_backend(world, shard).await?;
        match &self.state.transaction {
            Transaction::Open(open) | Transaction::Torn(open) => {
                if !open.includes(shard) {
                    self.join(world, shard).await?;
                }
            }
            Transaction::None | Transaction::Begun(_) => self.open_transaction(shard),
        }
        if writes && let Transaction::Open(open) = &mut self.state.transaction {
            open.writes(shard);
        }
        Ok(())
    }

    /// Makes the connections to all `shards` ready for one statement, inside the session's
    /// transaction. Without autocommit the first of them begins one.
    ///
    /// # Errors
    /// As [`Session::lease`].
    pub(crate) async fn lease_all(
        &mut self,
        world: &World,
        shards: &[usize],
        writes: bool,
    ) -> Result<(), Failure> {
        for &shard in shards {
            // Before any of them has begun something.
            self.prepare_backend(world, shard).await?;
        }
        let several = shards.len() > 1;
        if several && !self.state.transaction.is_open() && self.state.autocommit {
            return Ok(());
        }
        for &shard in shards {
            self.lease(world, shard, writes).await?;
        }
        Ok(())
    }

    /// Makes the connection to `shard` ready for a statement outside any transaction.
    ///
    /// # Errors
    /// If the shard cannot be reached, or refuses the session's state.
    pub(crate) async fn prepare_backend(
        &mut self,
        world: &World,
        shard: usize,
    ) -> Result<(), Failure> {
        self.settle(world, shard).await?;
        self.drop_if_gone(shard)?;
        if self.backends.get(shard).is_none() {
            let backend = self.open(world, shard).await?;
            self.backends.insert(backend);
        }
        self.replay(world, shard).await
    }

    /// A connection that rested may have been closed by the server. Outside a transaction a new
    /// one takes its place, unless state was on it that cannot be replayed.
    pub(crate) fn drop_if_gone(&mut self, shard: usize) -> Result<(), Failure> {
        let Some(backend) = self.backends.slot(shard) else {
            return Ok(());
        };
        if !backend.is_gone() {
            return Ok(());
        }
        let holds_state = !backend.residue.is_nothing()
            || self.state.transaction.includes(shard)
            || self.state.variables.on() == Some(shard)
            || matches!(self.state.insert_id, InsertId::Ask { shard: at, .. } if at == shard);
        self.backends.remove(shard);
        if holds_state {
            let source = std::io::ErrorKind::ConnectionReset.into();
            return Err(BackendError::Lost { shard, source }.into());
        }
        Ok(())
    }

    async fn open(&mut self, world: &World, shard: usize) -> Result<Backend, Failure> {
        self.proxy.admit(world, shard).await?;
        let Some(primary) = world.fleets.get(shard).and_then(Fleet::primary) else {
            return Err(BackendError::no_primary(shard).into());
        };
        let mut backend = self.acquire(world, primary).await?;
        backend.track_writes(world.reads.is_some());
        self.proxy.saw_version(&backend.identity().version);
        Ok(backend)
    }

    async fn replay(&mut self, world: &World, shard: usize) -> Result<(), Failure> {
        let Self {
            state, backends, ..
        } = self;
        match backends.get(shard) {
            Some(backend) => bring_up(backend, state, world).await,
            None => Ok(()),
        }
    }
    /// Lets `shard` run what opened the session's transaction, in the same write as the
    /// statement that follows.
    fn open_transaction(&mut self, shard: usize) {
        let next = self.state.next_transaction.take();
        let begun = match std::mem::take(&mut self.state.transaction) {
            Transaction::Begun(begun) => begun,
            // Without autocommit the statement begins one by itself.
            Transaction::None if !self.state.autocommit => Begun {
                characteristics: next,
                ..Begun::default()
            },
            other => {
                self.state.transaction = other;
                if !next.is_empty()
                    && let Some(backend) = self.backends.get(shard)
                {
                    // A statement that fails early does not use them up.
                    backend.is_unclear();
                }
                return self.queue_on(shard, &next);
            }
        };
        self.queue_on(shard, &begun.characteristics);
        self.queue_on(shard, &begun.opening);
        self.state.transaction = Transaction::Open(Open {
            first: shard,
            read_only: begun.read_only,
            read_write: begun.read_write,
            characteristics: begun.characteristics,
            savepoints: begun.savepoints,
            implicit: begun.implicit,
            joined: None,
        });
    }

    fn queue_on(&mut self, shard: usize, statements: &[Vec<u8>]) {
        if let Some(backend) = self.backends.get(shard) {
            for sql in statements {
                backend.queue_query(sql);
            }
        }
    }

    /// Lets `shard` join the transaction: it begins a branch with the same characteristics and
    /// savepoints, in the same write as the statement that follows.
    async fn join(&mut self, world: &World, shard: usize) -> Result<(), Failure> {
        let Some(first) = self.state.transaction.first() else {
            return Ok(());
        };
        if world.snapshot.spec.transactions.cross_shard == CrossShard::Refused
            && !self.state.transaction.is_implicit()
        {
            return Err(second_shard().into());
        }
        self.proxy.prepare_ledger(world, first).await?;
        let Some(connection) = self.backends.get(first).map(|b| b.identity().connection_id) else {
            return Err(Failure::CutOff);
        };
        let Transaction::Open(open) = &mut self.state.transaction else {
            return Err(Failure::CutOff);
        };
        let joined = open.joined.get_or_insert_with(|| Joined {
            id: TransactionId::new(first, connection),
            shards: Vec::new(),
            written: Vec::new(),
        });
        joined.shards.push(shard);
        let start = format!("XA START {}", joined.id.branch(shard)).into_bytes();
        let mut opening = open.characteristics.clone();
        if open.read_only {
            opening.push(b"SET TRANSACTION READ ONLY".to_vec());
        } else if open.read_write {
            opening.push(b"SET TRANSACTION READ WRITE".to_vec());
        }
        opening.push(start);
        opening.extend(open.savepoints.statements());
        self.queue_on(shard, &opening);
        Ok(())
    }

    /// Gives the connection to `shard` the session's LAST_INSERT_ID().
    ///
    /// # Errors
    /// If the value cannot be fetched from the shard that knows it, or not be set.
    pub(crate) async fn lend_insert_id(&mut self, shard: usize) -> Result<(), Failure> {
        let id = self.learn_insert_id().await?;
        if let Some(backend) = self.backends.get(shard)
            && backend.applied.last_insert_id != id
        {
            let set = format!("SET last_insert_id = {id}");
            backend.query(set.as_bytes()).await?.finish().await??;
            backend.applied.last_insert_id = id;
        }
        Ok(())
    }

    /// LAST_INSERT_ID(), asked of the shard that knows it.
    ///
    /// # Errors
    /// If that one does not answer.
    pub(super) async fn learn_insert_id(&mut self) -> Result<u64, Failure> {
        let id = match self.state.insert_id {
            InsertId::Known(id) => id,
            InsertId::Ask { shard, otherwise } => self.ask_insert_id(shard, otherwise).await?,
        };
        self.state.insert_id = InsertId::Known(id);
        Ok(id)
    }

    async fn ask_insert_id(&mut self, shard: usize, otherwise: u64) -> Result<u64, Failure> {
        let Some(backend) = self.backends.get(shard) else {
            return Ok(otherwise);
        };
        let rows = backend.rows(b"SELECT LAST_INSERT_ID() LIMIT 1").await??;
        let value = rows.first().and_then(|row| row.first()).cloned().flatten();
        let text = value.and_then(|v| String::from_utf8(v).ok());
        let id = text.and_then(|t| t.parse().ok()).unwrap_or_default();
        let changed = id != std::mem::replace(&mut backend.applied.last_insert_id, id);
        Ok(if changed { id } else { otherwise })
    }
}

/// The refusal of a second shard, where the manifest wants it.
fn second_shard() -> ErrPacket<'static> {
    ErrPacket::new(
        1235,
        *b"42000",
        "The transaction needs a second shard, which the manifest's spec.transactions.crossShard \
         refuses; COMMIT first, or keep to rows of one sharding key",
    )
}

/// Gives a connection what of the session's state it lacks.
///
/// # Errors
/// If its server refuses that.
pub(super) async fn bring_up(
    backend: &mut Backend,
    state: &State,
    world: &World,
) -> Result<(), Failure> {
    let shard = backend.shard();
    if let Some(database) = database_on(state, world, shard)
        && backend.applied.database.as_deref() != Some(database)
    {
        backend.use_database(database).await??;
    }
    if !backend.has(&state.settings) {
        // What is prepared was read under the old settings.
        backend.forget_statements()?;
        for set in backend.lacks(&state.settings).collect::<Vec<_>>() {
            let told = backend.query(set).await?.finish().await?;
            if told.is_err() {
                backend.is_unclear();
            }
            told?;
        }
        backend.adopt(&state.settings);
    }
    Ok(())
}

/// The session's database, where `shard` has it. Only the manifest's is on every shard.
pub(super) fn database_on<'a>(state: &'a State, world: &World, shard: usize) -> Option<&'a str> {
    let database = state.context.database.as_deref()?;
    (shard == HOME || database == world.snapshot.spec.database).then_some(database)
}

/// What a connection begins with, before anything that the client SETs.
///
/// A shard whose rows are not wanted yet, because another's come first, must not give up: by
/// default MySQL does after a minute. And InnoDB counts a table with several threads, whose start
/// and end take some 15 ms (tried on 9.7.4): too long where there are many small tables for one.
///
/// Where replicas are read from, MySQL tells the GTIDs of what the session commits.
pub(crate) fn first_settings(world: &World) -> &'static [u8] {
    match (world.names.are_physical(), world.reads.is_some()) {
        (true, true) => {
            b"SET SESSION net_write_timeout = 86400, SESSION innodb_parallel_read_threads = 1, \
              SESSION session_track_gtids = OWN_GTID"
        }
        (true, false) => {
            b"SET SESSION net_write_timeout = 86400, SESSION innodb_parallel_read_threads = 1"
        }
        (false, true) => {
            b"SET SESSION net_write_timeout = 86400, SESSION session_track_gtids = OWN_GTID"
        }
        (false, false) => b"SET SESSION net_write_timeout = 86400",
    }
}

/// The shard with all tables that are not sharded, and with databases of its own.
pub(crate) const HOME: usize = 0;
