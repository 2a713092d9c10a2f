//! The servers of a shard as a snapshot lists them, and which of them answers a read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use prometheus_client::metrics::counter::Counter;
use remora_crds::{Balancing, Consistency, Instance, Role};

use super::balance::choose;
use super::gtid::GtidSet;
use super::server::Server;

/// How reads are answered, by the manifest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    /// What a read must see.
    pub(crate) consistency: Consistency,
    /// How a server is chosen.
    pub(crate) balancing: Balancing,
    /// What is further behind answers none.
    pub(crate) max_lag: Duration,
}

/// The servers of one shard.
#[derive(Debug, Default)]
pub(crate) struct Fleet {
    /// In the order of the snapshot.
    pub(crate) members: Vec<Member>,
    /// Whose turn it is.
    turn: AtomicU64,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Member {
    /// What the snapshot says of it.
    pub(crate) instance: Instance,
    /// Its share of the reads.
    pub(crate) weight: u32,
    /// What is known of it.
    pub(crate) server: Arc<Server>,
    /// Reads that it answered in this role.
    pub(crate) reads: Counter,
}

impl Fleet {
    /// The servers of a shard.
    pub(crate) fn new(members: Vec<Member>) -> Self {
        Self {
            members,
            turn: AtomicU64::new(0),
        }
    }

    /// The one that takes writes.
    pub(crate) fn primary(&self) -> Option<&Member> {
        self.members
            .iter()
            .find(|member| member.instance.role == Role::Primary)
    }

    /// Whether there is any replica.
    pub(crate) fn has_replicas(&self) -> bool {
        self.replicas().next().is_some()
    }

    fn replicas(&self) -> impl Iterator<Item = &Member> {
        self.members
            .iter()
            .filter(|member| member.instance.role == Role::Replica)
    }

    /// The replica for a read; `None`: the primary is to answer it. `needed` is what the answer
    /// must be made from at least, `tried` are those that failed at it. `primary_too`: the primary
    /// has its share.
    pub(crate) fn replica(
        &self,
        policy: &Policy,
        now: Instant,
        needed: Option<&GtidSet>,
        tried: &[Arc<Server>],
        primary_too: bool,
    ) -> Option<&Member> {
        let usable = |member: &Member| match member.instance.role {
            Role::Primary => primary_too && member.server.is_trusted(),
            Role::Replica => {
                member.server.is_fresh(now, policy.max_lag)
                    && member.server.is_trusted()
                    && needed.is_none_or(|needed| member.server.has(needed))
                    && !tried.iter().any(|other| Arc::ptr_eq(other, &member.server))
            }
        };
        let weights = self.members.iter().map(|member| match member.weight {
            0 => 0,
            weight if usable(member) => weight,
            _ => 0,
        });
        let point = match policy.balancing {
            Balancing::RoundRobin => self.turn.fetch_add(1, Ordering::Relaxed),
            Balancing::Weighted | Balancing::Random => rand::random(),
        };
        let chosen = self
            .members
            .get(choose(policy.balancing, weights, point)?)?;
        (chosen.instance.role == Role::Replica).then_some(chosen)
    }

    /// Whether there are replicas and all are known to have these.
    pub(crate) fn all_have(&self, gtids: &GtidSet) -> bool {
        let mut replicas = self.replicas().peekable();
        replicas.peek().is_some() && replicas.all(|member| member.server.has(gtids))
    }
}
