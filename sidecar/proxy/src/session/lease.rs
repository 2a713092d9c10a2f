//! Getting a connection to a shard, with the session's state on it.

use super::transaction::second_shard;
use super::{InsertId, Session, State, Transaction};
use crate::backend::{Backend, BackendError};
use crate::failure::Failure;
use crate::world::World;

impl Session {
    /// Makes the connection to `shard` ready for a statement, inside the session's transaction.
    ///
    /// # Errors
    /// If the shard is not the transaction's own, or cannot be reached.
    pub(crate) async fn lease(&mut self, world: &World, shard: usize) -> Result<(), Failure> {
        self.lease_beside(world, shard).await?;
        self.open_transaction(shard);
        Ok(())
    }

    /// The same without opening the transaction there: for what MySQL does outside of one.
    ///
    /// # Errors
    /// As [`Session::lease`].
    pub(crate) async fn lease_beside(
        &mut self,
        world: &World,
        shard: usize,
    ) -> Result<(), Failure> {
        let own = self.state.transaction.shard();
        if own.is_some_and(|own| own != shard) {
            return Err(second_shard().into());
        }
        self.prepare_backend(world, shard).await
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
        self.drop_if_gone(shard)?;
        if self.backends.get(shard).is_none() {
            let backend = self.open(world, shard).await?;
            self.backends.insert(backend);
        }
        self.replay(world, shard).await
    }

    /// A connection that rested may have been closed by the server. Outside a transaction a new
    /// one takes its place, unless state was on it that cannot be replayed.
    fn drop_if_gone(&mut self, shard: usize) -> Result<(), Failure> {
        let Some(backend) = self.backends.slot(shard) else {
            return Ok(());
        };
        if !backend.is_gone() {
            return Ok(());
        }
        let holds_state = backend.holds_state
            || self.state.transaction.shard() == Some(shard)
            || self.state.variables_at == Some(shard)
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
        let database = database_on(&self.state, world, shard).map(str::to_owned);
        let login = self.login(database);
        let mut backend = world.connect(shard, login).await?;
        backend.track_writes(world.reads.is_some());
        backend.queue_query(first_settings(world));
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
        for sql in self.state.next_transaction.take() {
            if let Some(backend) = self.backends.get(shard) {
                backend.queue_query(&sql);
            }
        }
        let Transaction::Begun {
            opening, read_only, ..
        } = &self.state.transaction
        else {
            return;
        };
        let read_only = *read_only;
        if let Some(backend) = self.backends.get(shard) {
            for sql in opening {
                backend.queue_query(sql);
            }
        }
        self.state.transaction = Transaction::Open { shard, read_only };
    }

    /// Gives the connection to `shard` the session's LAST_INSERT_ID().
    ///
    /// # Errors
    /// If the value cannot be fetched from the shard that knows it, or not be set.
    pub(crate) async fn lend_insert_id(&mut self, shard: usize) -> Result<(), Failure> {
        let id = match self.state.insert_id {
            InsertId::Known(id) => id,
            InsertId::Ask {
                shard: other,
                otherwise,
            } => self.ask_insert_id(other, otherwise).await?,
        };
        self.state.insert_id = InsertId::Known(id);
        if let Some(backend) = self.backends.get(shard)
            && backend.applied.last_insert_id != id
        {
            let set = format!("SET last_insert_id = {id}");
            backend.query(set.as_bytes()).await?.finish().await??;
            backend.applied.last_insert_id = id;
        }
        Ok(())
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
    let version = state.settings.version();
    if backend.applied.settings != version {
        // What is prepared was read under the old settings.
        backend.forget_statements()?;
        for set in state.settings.since(backend.applied.settings) {
            backend.query(set).await?.finish().await??;
        }
        backend.applied.settings = version;
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
pub(super) fn first_settings(world: &World) -> &'static [u8] {
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
