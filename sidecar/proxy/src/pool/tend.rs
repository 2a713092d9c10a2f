//! What is done about connections that nobody uses.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::holder::pass_a_second;
use super::queue::Pool;
use super::rested::Rested;
use super::seats::Seat;
use crate::backend::{BackendError, Login};
use crate::instances::Member;
use crate::proxy::Proxy;
use crate::session::first_settings;
use crate::world::World;

/// How often pools are looked at. The clock of idle sessions counts in the same step.
const STEP: Duration = Duration::from_secs(1);
/// How often what rests is looked at where sidecars take turns.
const TURNS_STEP: Duration = Duration::from_millis(50);

impl Proxy {
    /// Closes connections that have been idle for too long and opens those that are to be kept, for
    /// as long as the process lives.
    pub async fn tend_pools(&self) {
        let mut passed = Instant::now();
        loop {
            let world = self.world();
            let members = world.fleets.iter().flat_map(|fleet| &fleet.members);
            let mut takes_turns = false;
            for pool in members.map(|member| member.server.pool()) {
                if pool.takes_turns() {
                    takes_turns = true;
                    pool.pass_on();
                }
            }
            tokio::time::sleep(if takes_turns { TURNS_STEP } else { STEP }).await;
            if passed.elapsed() < STEP {
                continue;
            }
            passed = Instant::now();
            let tick = pass_a_second();
            let world = self.world();
            for member in world.fleets.iter().flat_map(|fleet| &fleet.members) {
                let pool = member.server.pool();
                pool.tidy(tick);
                if let Some((seat, login)) = pool.warm() {
                    let warmed = warm(&world, member, pool, seat, login).await;
                    if let Err(error) = warmed {
                        tracing::debug!(%error, "No connection could be opened beforehand");
                    }
                }
            }
        }
    }
}

/// Opens one connection beforehand. One each step is enough to be ready soon, and no storm for a
/// server that just came back.
async fn warm(
    world: &World,
    member: &Member,
    pool: &Arc<Pool>,
    seat: Seat,
    login: Login,
) -> Result<(), BackendError> {
    let mut seat = Some(seat);
    let mut backend = world.connect_seated(member, login, &mut seat).await?;
    let shard = backend.shard();
    let prepared = backend.query(first_settings(world)).await?.finish().await?;
    prepared.map_err(|error| BackendError::Server { shard, error })?;
    if let Ok(rested) = Rested::new(backend) {
        pool.give(rested);
    }
    Ok(())
}
