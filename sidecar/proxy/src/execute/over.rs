//! A read of several shards on replicas, and what becomes of it when one of them fails.
//!
//! As long as nothing of the merged answer went to the client, all of it is asked again: of other
//! replicas in place of those that are lost, or of the primaries.

use std::sync::Arc;

use remora_planner::{Planned, Scatter};

use super::read::{Missed, count_primary_read};
use super::run::Route;
use crate::backend::Backend;
use crate::failure::Failure;
use crate::instances::{Member, Server};
use crate::session::{Reading, Session};
use crate::telemetry::Retry;
use crate::world::World;

/// On which servers a read runs: the primaries, but for the shards of these replicas.
#[derive(Debug, Default)]
pub(super) struct Over<'w> {
    replicas: Vec<&'w Member>,
}

impl<'w> Over<'w> {
    /// Whether the primaries do it all.
    pub(super) fn is_empty(&self) -> bool {
        self.replicas.is_empty()
    }

    /// The replica of `shard`.
    pub(super) fn of(&self, shard: usize) -> Option<&'w Member> {
        let mut replicas = self.replicas.iter().copied();
        replicas.find(|member| member.server.address().shard == shard)
    }

    /// The replicas.
    pub(super) fn servers(&self) -> Vec<Arc<Server>> {
        let servers = self.replicas.iter();
        servers.map(|member| Arc::clone(&member.server)).collect()
    }

    /// Counts a read that was answered.
    pub(super) fn count(&self, world: &World, shards: &[usize]) {
        for &shard in shards {
            match self.of(shard) {
                Some(member) => drop(member.reads.inc()),
                None => count_primary_read(world, shard),
            }
        }
    }
}

impl Session {
    /// Runs a read on all shards concerned and merges the answers.
    pub(super) async fn scatter(
        &mut self,
        world: &World,
        planned: &Planned,
        scatter: &Scatter<'_>,
        route: &Route<'_>,
    ) -> Result<(), Failure> {
        if route.reading == Reading::Primary {
            let over = Over::default();
            return self
                .scatter_over(world, planned, scatter, route, &over)
                .await;
        }
        self.begin_read().await?;
        let (mut reading, mut tried) = (route.reading, Vec::new());
        loop {
            let mut over = Over::default();
            for part in &scatter.parts {
                let shard = usize::from(part.shard.0);
                over.replicas
                    .extend(self.replica(world, shard, reading, &tried));
            }
            if let Some((member, missed)) = self.make_ready(world, &over).await? {
                self.may_ask_again(&missed)?;
                tried.push(Arc::clone(&member.server));
                continue;
            }
            let before = self.client.written();
            let attempt = self.scatter_over(world, planned, scatter, route, &over);
            let failure = match attempt.await {
                Err(failure) if !over.is_empty() => failure,
                outcome => return outcome,
            };
            if self.client.written() > before {
                return Err(failure);
            }
            self.client.discard();
            let missed = Missed::of(failure, true)?;
            self.may_ask_again(&missed)?;
            // What is remembered of the columns may be what disagrees.
            self.probes.forget(planned);
            let known = tried.len();
            for member in &over.replicas {
                if self.replicas.get(&member.server).is_none() {
                    tried.push(Arc::clone(&member.server));
                }
            }
            if missed.why == Retry::Refused || tried.len() == known {
                // None of them failed; the primaries may know better.
                reading = Reading::Primary;
            }
        }
    }

    /// Makes the replicas ready; gives the first that cannot be, and why.
    async fn make_ready<'w>(
        &mut self,
        world: &World,
        over: &Over<'w>,
    ) -> Result<Option<(&'w Member, Missed)>, Failure> {
        for member in &over.replicas {
            if let Err(missed) = self.ready(world, member).await? {
                return Ok(Some((member, missed)));
            }
        }
        Ok(None)
    }

    /// The connection to `shard` over which a read runs.
    pub(super) fn connection(&mut self, shard: usize, over: &Over<'_>) -> Option<&mut Backend> {
        match over.of(shard) {
            Some(member) => self.replicas.get(&member.server),
            None => self.backends.get(shard),
        }
    }
}
