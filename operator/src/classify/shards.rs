//! How each shard fares: its primary, and its replicas.

use remora_crds::{Durability, ShardData, ShardStatus, ShardingClusterSpec, ShardingClusterStatus};
use remora_discovery::ServerData;

use crate::conditions::shorten;
use crate::names::{InstanceId, Names};
use crate::observe::{Observations, PodView};

/// A status holds up to 256 shards, and etcd is no place for stories.
const LONGEST_REASON: usize = 80;

/// A shard as it is found.
#[derive(Clone, Debug)]
pub(super) struct Shard {
    /// What the status says of it.
    pub(super) status: ShardStatus,
    /// Its replicas that the manifest asks for, by ordinal from 1.
    pub(super) replicas: Vec<Replica>,
    /// What happens while too few replicas follow; `None`: it has none.
    pub(super) durability: Option<Durability>,
    /// How many replicas acknowledge a commit when enough follow.
    pub(super) full_acknowledgements: u8,
    /// The primary's volume is empty, and the shard holds rows.
    pub(super) lost_data: bool,
}

/// How a replica fares.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Replica {
    /// It receives and applies what the primary commits.
    Following,
    /// Its data is being replaced by the primary's.
    Cloning,
    /// It has transactions that the primary does not have, and follows nobody.
    Errant(String),
    /// It does not follow, and why.
    Away(String),
}

impl Replica {
    /// What is the matter, in a few words; empty: nothing.
    pub(super) fn trouble(&self) -> String {
        match self {
            Self::Following => String::new(),
            Self::Cloning => "it is being cloned from the primary".to_owned(),
            Self::Errant(set) => format!(
                "it has transactions that the primary does not have ({set}): it follows nobody \
                 and is not read; see docs/operations.md on how to build it anew"
            ),
            Self::Away(reason) => reason.clone(),
        }
    }
}

impl Shard {
    pub(super) fn of(
        spec: &ShardingClusterSpec,
        names: &Names,
        before: &ShardingClusterStatus,
        seen: &Observations,
        index: u16,
    ) -> Self {
        let was = before.shards.iter().find(|status| status.index == index);
        let was = was.cloned().unwrap_or_else(|| ShardStatus {
            index,
            ..ShardStatus::default()
        });
        let replicas: Vec<_> = (1..spec.instances_per_shard)
            .map(|ordinal| replica(&was, seen, ordinal))
            .collect();
        let trouble = trouble(&was, seen);
        let data = data(spec, &was, seen, trouble.is_none());
        let primary = seen.agents.get(&InstanceId::primary(index));
        let lost_data = data == ShardData::Held
            && primary.is_some_and(|agent| agent.mysqld && agent.data == ServerData::Empty);
        let full = spec.acknowledgements();
        let ready_replicas = count(&replicas);
        let status = ShardStatus {
            index,
            primary: match &trouble {
                None => names.pod(InstanceId::primary(index)),
                Some(_) => was.primary.clone(),
            },
            ready: trouble.is_none(),
            reason: trouble.or_else(|| ailing(&replicas)).unwrap_or_default(),
            instances: in_place(&was, &replicas),
            replicas: readable(&was, seen, &replicas),
            ready_replicas,
            acknowledgements: match spec.durability() {
                None => 0,
                // Raised once so many follow, and lowered by the manifest alone.
                Some(Durability::Required) => was.acknowledgements.max(ready_replicas).min(full),
                Some(Durability::Preferred) => ready_replicas.min(full),
            },
            data,
        };
        let mut shard = Self {
            status,
            replicas,
            durability: spec.durability(),
            full_acknowledgements: full,
            lost_data,
        };
        shorten(&mut shard.status.reason, LONGEST_REASON);
        shard
    }

    /// Replicas with their ordinals.
    pub(super) fn numbered(&self) -> impl Iterator<Item = (u8, &Replica)> {
        (1_u8..).zip(&self.replicas)
    }

    /// Whether an instance does what it is there for.
    pub(super) fn is_well(&self, ordinal: u8) -> bool {
        match ordinal.checked_sub(1) {
            None => self.status.ready,
            Some(index) => self.replicas.get(usize::from(index)) == Some(&Replica::Following),
        }
    }
}

fn count(replicas: &[Replica]) -> u8 {
    let following = replicas.iter().filter(|r| **r == Replica::Following);
    following.count().try_into().unwrap_or(u8::MAX)
}

/// Instances that have been in place: as many as were, or follow now without a gap.
fn in_place(was: &ShardStatus, replicas: &[Replica]) -> u8 {
    let wanted = u8::try_from(replicas.len()).unwrap_or(u8::MAX - 1) + 1;
    let follow = replicas.iter().take_while(|r| **r == Replica::Following);
    let follow = u8::try_from(follow.count()).unwrap_or(u8::MAX - 1) + 1;
    was.instances.max(follow).min(wanted)
}

/// Replicas that sidecars are told of: a replica appears once it follows, and goes when it has no
/// rows or other ones. For whether it lags or answers, sidecars look themselves, and sooner.
fn readable(was: &ShardStatus, seen: &Observations, replicas: &[Replica]) -> Vec<u8> {
    let (shard, empty) = (was.index, Some(ServerData::Empty));
    let told = (1_u8..).zip(replicas).filter(|(ordinal, replica)| {
        let ordinal = *ordinal;
        let data = seen.agents.get(&InstanceId { shard, ordinal });
        match replica {
            Replica::Following => true,
            Replica::Cloning | Replica::Errant(_) => false,
            Replica::Away(_) => {
                data.map(|agent| agent.data) != empty && was.replicas.contains(&ordinal)
            }
        }
    });
    told.map(|(ordinal, _)| ordinal).collect()
}

/// The first replica that does not follow, in a few words.
fn ailing(replicas: &[Replica]) -> Option<String> {
    let mut ailing = (1_u8..)
        .zip(replicas)
        .filter(|(_, replica)| **replica != Replica::Following);
    let (ordinal, replica) = ailing.next()?;
    Some(format!("replica {ordinal}: {}", replica.trouble()))
}

/// Whether the shard holds rows. Once one instance said so it is never forgotten: then an empty
/// primary is a loss. It may begin with an empty server only when no instance has any.
fn data(
    spec: &ShardingClusterSpec,
    was: &ShardStatus,
    seen: &Observations,
    serves: bool,
) -> ShardData {
    let shard = was.index;
    let of = |ordinal| {
        seen.agents
            .get(&InstanceId { shard, ordinal })
            .map(|a| a.data)
    };
    let held = (0..spec.instances_per_shard).any(|ordinal| of(ordinal) == Some(ServerData::Held));
    let empty = || (0..spec.instances_per_shard).all(|o| of(o) == Some(ServerData::Empty));
    match was.data {
        // One that serves or served holds rows, also where its agent is too old to say so.
        _ if held || serves || !was.primary.is_empty() => ShardData::Held,
        ShardData::Unknown if empty() => ShardData::Empty,
        other => other,
    }
}

/// Why a pod does not run as it should, in a few words.
fn pod_trouble(pod: Option<&PodView>) -> Option<String> {
    match pod {
        None => Some("its pod does not exist".to_owned()),
        Some(pod) if pod.ending => Some(format!("pod {} is being replaced", pod.name)),
        Some(pod) if !pod.ready && pod.trouble.is_some() => pod.trouble.clone(),
        Some(pod) if !pod.ready => Some(format!("pod {} is not ready", pod.name)),
        Some(_) => None,
    }
}

/// Why a shard does not serve, in a few words; `None` if it does.
fn trouble(was: &ShardStatus, seen: &Observations) -> Option<String> {
    let primary = InstanceId::primary(was.index);
    let agent = seen.agents.get(&primary);
    if let Some(trouble) = pod_trouble(seen.pods.get(&primary)) {
        return Some(trouble);
    }
    match agent {
        // A new leader has heard no agent yet: what was known holds for as long as the pod is ready.
        None if !seen.heeds_silence && was.ready => None,
        // The kubelet may find a pod ready that nobody else reaches.
        None if !was.primary.is_empty() => Some("its agent no longer reports".to_owned()),
        None => Some("its agent has not reported yet".to_owned()),
        Some(agent) if !agent.mysqld => Some("mysqld does not answer its agent".to_owned()),
        Some(agent) if !agent.bootstrapped => Some(agent.reason.clone()),
        Some(_) => None,
    }
}

fn replica(was: &ShardStatus, seen: &Observations, ordinal: u8) -> Replica {
    let shard = was.index;
    let id = InstanceId { shard, ordinal };
    let trouble = pod_trouble(seen.pods.get(&id));
    let Some(agent) = seen.agents.get(&id) else {
        return match trouble {
            Some(trouble) => Replica::Away(trouble),
            // As for a primary: a new leader goes by the status.
            None if !seen.heeds_silence && was.replicas.contains(&ordinal) => Replica::Following,
            None if was.instances > ordinal => {
                Replica::Away("its agent no longer reports".to_owned())
            }
            None => Replica::Away("its agent has not reported yet".to_owned()),
        };
    };
    // What the agent knows says more than that the pod is not ready, which follows from it.
    let replication = agent.replication.clone().unwrap_or_default();
    match trouble {
        _ if !replication.errant.is_empty() => Replica::Errant(replication.errant),
        _ if replication.cloning => Replica::Cloning,
        None if !agent.mysqld => Replica::Away("mysqld does not answer its agent".to_owned()),
        None if replication.following && !replication.primary => Replica::Following,
        _ if agent.mysqld && !replication.following && !agent.reason.is_empty() => {
            Replica::Away(agent.reason.clone())
        }
        Some(trouble) => Replica::Away(trouble),
        None => Replica::Away("it does not follow its primary yet".to_owned()),
    }
}
