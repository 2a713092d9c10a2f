//! Taking connections from the pools, and giving them back when others want them.
//!
//! What MySQL remembers of a session on a connection is of three kinds. Settings are known here and
//! replayed (`settings.rs`). What can be asked for is asked before the connection goes: warnings,
//! LAST_INSERT_ID(), FOUND_ROWS(). What is left keeps the connection: a transaction, temporary
//! tables, locks, user variables that a statement assigned by itself, an open cursor.

use std::sync::Arc;
use std::time::Instant;

use remora_protocol::ErrPacket;

use super::lease::{database_on, first_settings};
use super::{Diagnostics, InsertId, Session};
use crate::backend::Backend;
use crate::failure::Failure;
use crate::instances::Member;
use crate::pool::{Doing, Granted, Place, Pool, Rested, Want, is_full};
use crate::telemetry::Granted as Got;
use crate::world::World;

impl Session {
    /// Gets a connection to a server from its pool: one that rested, one that another session
    /// gives back, or a new one.
    ///
    /// # Errors
    /// MySQL's 1040 if none is free in time; if a new one cannot be opened.
    pub(super) async fn acquire(
        &mut self,
        world: &World,
        member: &Member,
    ) -> Result<Backend, Failure> {
        let shard = member.server.address().shard;
        let pool = member.server.pool();
        let want = Arc::new(self.want(world, shard));
        let (came, metrics) = (Instant::now(), &self.proxy.metrics.pools);
        let deadline = came + pool.bounds().queue;
        let waits = metrics.waits();
        // Those for whom others wait go first; else two could wait for each other.
        let mut ahead = self.backends.shards().next().is_some();
        // Until then the server is not asked again whether it has room.
        let mut pause = None;
        let (mut backend, got) = loop {
            let until: Instant = pause.unwrap_or(deadline).min(deadline);
            let granted = pool.take(&want, ahead, until).await;
            let seat = match granted {
                None if pause.take().is_some() && Instant::now() < deadline => {
                    pool.try_again(false);
                    continue;
                }
                None => {
                    metrics.got(Got::TimedOut, came.elapsed());
                    return Err(none_free(shard, pool).into());
                }
                Some(Granted::Kept(rested)) => {
                    let (mut backend, was_reset) = rested.lend(&want);
                    if backend.is_gone() {
                        continue;
                    }
                    let got = if was_reset { Got::Reset } else { Got::AsItWas };
                    break (backend, got);
                }
                Some(Granted::Seat(seat)) => seat,
            };
            let database = database_on(&self.state, world, shard).map(str::to_owned);
            let login = self.login(database);
            pool.logged_in(&login);
            if pool.takes_turns() {
                tokio::time::sleep(pool.steps_back()).await;
            }
            let mut seat = Some(seat);
            match world.connect_seated(member, login, &mut seat).await {
                Ok(mut backend) => {
                    pool.try_again(true);
                    backend.begin(want.first);
                    break (backend, Got::Opened);
                }
                Err(error) if is_full(&error) && Instant::now() < deadline => {
                    // Whatever comes free goes to this one first: it was first before.
                    ahead = true;
                    pause = Some(Instant::now() + pool.was_full());
                    drop(seat);
                }
                Err(error) if is_full(&error) => {
                    metrics.got(Got::TimedOut, came.elapsed());
                    return Err(none_free(shard, pool).into());
                }
                Err(error) => return Err(error.into()),
            }
        };
        drop(waits);
        metrics.got(got, came.elapsed());
        backend.belongs(Some(pool.hold(&self.holder)));
        backend.work_for(self.entry.entry());
        Ok(backend)
    }

    fn want(&self, world: &World, shard: usize) -> Want {
        let place = match (
            &self.state.context.database,
            database_on(&self.state, world, shard),
        ) {
            (None, _) => Place::Nowhere,
            (Some(_), None) => Place::Anywhere,
            (Some(_), Some(database)) => Place::In(database.to_owned()),
        };
        Want {
            identity: Arc::clone(&self.account.towards_mysql),
            place,
            settings: self.state.settings.clone(),
            first: first_settings(world),
        }
    }

    /// A command begins.
    pub(super) fn starts(&self) {
        if self.has_connections() {
            self.holder.set(Doing::Busy);
        }
    }

    /// A command ended: its connections can be had.
    pub(super) async fn rests(&mut self) {
        if !self.shows_what_it_does() {
            return;
        }
        if self.holder.take_asked() {
            Box::pin(self.give(|_| true)).await;
        } else if self.proxy.servers.pressure().is_felt() {
            Box::pin(self.give(Pool::is_wanted)).await;
        } else {
            return;
        }
        self.shows_what_it_does();
    }

    /// Somebody asked this idle session for its connections: one who waits, or the pool, which
    /// closes what nobody uses.
    pub(super) async fn gives(&mut self) {
        self.starts();
        if self.proxy.servers.pressure().is_felt() {
            self.give(Pool::is_wanted).await;
        } else {
            self.give(|_| true).await;
        }
        self.shows_what_it_does();
    }

    fn has_connections(&self) -> bool {
        self.backends.shards().next().is_some() || !self.replicas.is_empty()
    }

    /// Tells those who want connections whether they can have some of this session's; answers the
    /// same.
    fn shows_what_it_does(&mut self) -> bool {
        if !self.has_connections() {
            return false;
        }
        let spare = !self.replicas.is_empty() || {
            let spare = |shard, backend: &Backend| !self.keeps(shard) && backend.is_clean();
            self.backends.any(spare)
        };
        self.holder
            .set(if spare { Doing::Idle } else { Doing::Kept });
        spare
    }

    /// Whether something on the connection to `shard` is of this session, and can neither be
    /// replayed nor asked for.
    fn keeps(&self, shard: usize) -> bool {
        let variables = &self.state.variables;
        self.state.transaction.includes(shard)
            || self.state.locks_definitions.contains(&shard)
            || variables.are_kept() && variables.on() == Some(shard)
    }

    /// Gives the connections back that nothing keeps, of pools that `wanted` says.
    async fn give(&mut self, wanted: impl Fn(&Pool) -> bool) {
        let wants = |backend: &Backend| backend.pool().is_some_and(|pool| wanted(pool));
        let shards: Vec<usize> = self.backends.shards().collect();
        for shard in shards {
            let asked = |backend: &&mut Backend| wants(backend) && backend.is_clean();
            if self.keeps(shard) || self.backends.get(shard).filter(asked).is_none() {
                continue;
            }
            if self.take_along(shard).await.is_err() {
                // It broke: the next statement meets that.
                continue;
            }
            let pool = self.backends.get(shard).and_then(|b| b.pool().cloned());
            if self.keeps(shard) {
                // A variable is too large to be held here.
                continue;
            }
            if let Some(mut backend) = self.backends.take(shard) {
                backend.work_for_nobody().await;
                match Rested::new(backend) {
                    Ok(rested) => rested.give(),
                    Err(mut backend) => {
                        backend.work_for(self.entry.entry());
                        self.backends.insert(*backend);
                    }
                }
            }
            if let Some(pool) = pool.filter(|pool| pool.is_wanted()) {
                // Whoever asked may not have got it.
                pool.ask();
            }
        }
        if let Some(answered) = self.replicas.take_answered() {
            self.fetch_found_rows(&answered).await;
        }
        for mut backend in self.replicas.take(wants) {
            backend.work_for_nobody().await;
            if let Ok(rested) = Rested::new(backend) {
                rested.give();
            }
        }
    }

    /// Asks the server of `shard` for what it alone knows of the session. SHOW WARNINGS changes
    /// nothing of the rest; each question after it takes the warnings away, and FOUND_ROWS().
    async fn take_along(&mut self, shard: usize) -> Result<(), Failure> {
        let Some(backend) = self.backends.get(shard) else {
            return Ok(());
        };
        backend.send_queued().await?;
        if self.state.diagnostics == Diagnostics::On(shard) {
            let world = self.proxy.world();
            self.gather_diagnostics(&world).await?;
        }
        if self.state.found_rows_at == Some(shard) {
            self.learn_found_rows().await?;
        }
        if matches!(self.state.insert_id, InsertId::Ask { shard: at, .. } if at == shard) {
            self.learn_insert_id().await?;
        }
        if self.state.variables.on() == Some(shard) {
            self.fetch_variables().await?;
        }
        Ok(())
    }

    /// Asks the shard that knows FOUND_ROWS(), if one alone does. The statement that wants it may run
    /// on another one.
    pub(crate) async fn learn_found_rows(&mut self) -> Result<(), Failure> {
        let Some(shard) = self.state.found_rows_at.take() else {
            return Ok(());
        };
        if let Some(backend) = self.backends.get(shard) {
            let table = backend.table(b"SELECT FOUND_ROWS() LIMIT 1").await??;
            self.state.found_rows = table.text(0).parse().ok();
        }
        Ok(())
    }

    /// Gives all connections back, or ends those with something of the session on them: it ends,
    /// or begins anew as somebody else.
    pub(super) async fn part(&mut self) {
        self.leave_gateway().await;
        let shards: Vec<usize> = self.backends.shards().collect();
        for shard in shards {
            let Some(mut backend) = self.backends.take(shard) else {
                continue;
            };
            if self.state.variables.on() == Some(shard)
                || self.state.locks_definitions.contains(&shard)
            {
                backend.is_unclear();
            }
            if self.state.transaction.includes(shard) {
                backend.work_for_nobody().await;
                backend.quit().await;
            } else {
                give_or_end(backend).await;
            }
        }
        let replicas: Vec<Backend> = self.replicas.take_all().collect();
        for backend in replicas {
            give_or_end(backend).await;
        }
        self.replicas.forget();
    }
}

/// Gives a connection back, or ends it where something of its session is on it.
async fn give_or_end(mut backend: Backend) {
    backend.work_for_nobody().await;
    match Rested::new(backend) {
        Ok(rested) => rested.give(),
        Err(backend) => backend.quit().await,
    }
}

/// MySQL's error for too many connections.
fn none_free(shard: usize, pool: &Pool) -> ErrPacket<'static> {
    let bounds = pool.bounds();
    ErrPacket::new(
        1040,
        *b"08004",
        format!(
            "Too many connections: none of the {} to shard {shard} became free within {:?}; \
             raise spec.sidecar.backendConnections, or end transactions sooner",
            bounds.most, bounds.queue
        ),
    )
}
