//! Which pod is replaced next: one at a time, replicas first.
//!
//! A sidecar is changed in place. A pod is replaced when the manifest asks for another one, and
//! only while everything else is well. A primary comes last, and is told of before it goes: its
//! shard takes no writes until it is back.

use std::cmp::Reverse;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use remora_crds::ConditionType;

use super::shards::{Replica, Shard};
use super::{Action, Wanted};
use crate::build;
use crate::names::InstanceId;
use crate::observe::{Observations, PodView};

/// The reason of `Progressing` while a primary is announced and replaced.
pub(crate) const PRIMARY: &str = "RestartingPrimary";

/// A pod that is being replaced, or waits for it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Restart {
    pub(super) pod: String,
    /// It is the primary of this shard.
    pub(super) primary_of: Option<u16>,
    /// Nothing stands against it now.
    may_go: bool,
}

impl Restart {
    /// What `Progressing` says of it.
    pub(super) fn message(&self) -> String {
        match self.primary_of {
            Some(shard) => format!(
                "replacing pod {}, the primary of shard {shard}, which takes no writes meanwhile",
                self.pod
            ),
            None => format!("replacing pod {}", self.pod),
        }
    }

    /// The eviction, if nothing stands against it. That of a primary comes a round after the
    /// condition has said so.
    pub(super) fn action(&self, before: &[Condition]) -> Option<Action> {
        let said = |condition: &Condition| {
            condition.type_ == ConditionType::Progressing.name()
                && condition.reason == PRIMARY
                && condition.message == self.message()
        };
        let announced = self.primary_of.is_none() || before.iter().any(said);
        (self.may_go && announced).then(|| Action::Evict {
            pod: self.pod.clone(),
        })
    }
}

/// Sidecars that get another image in place, which restarts that container alone.
pub(super) fn sidecars(wanted: Wanted<'_>, seen: &Observations) -> Vec<Action> {
    let pod_spec = build::pod_spec_hash(wanted.cluster, wanted.images);
    let image = &wanted.images.sidecar;
    let stale =
        |pod: &&PodView| !pod.ending && pod.pod_spec == pod_spec && pod.sidecar_image != *image;
    let patch = |pod: &PodView| Action::PatchSidecar {
        pod: pod.name.clone(),
        image: image.clone(),
    };
    seen.pods.values().filter(stale).map(patch).collect()
}

/// The pod that is being replaced, or is to be next.
pub(super) fn next(wanted: Wanted<'_>, seen: &Observations, shards: &[Shard]) -> Option<Restart> {
    let restart = |id: &InstanceId, pod: &PodView, may_go: bool| Restart {
        pod: pod.name.clone(),
        primary_of: id.is_primary().then_some(id.shard),
        may_go,
    };
    if let Some((id, ending)) = seen.pods.iter().find(|(_, pod)| pod.ending) {
        return Some(restart(id, ending, false));
    }
    let pod_spec = build::pod_spec_hash(wanted.cluster, wanted.images);
    let mut candidates: Vec<_> = seen
        .pods
        .iter()
        .filter(|(_, pod)| pod.pod_spec != pod_spec)
        .map(|(id, pod)| (*id, pod, may_go(shards, *id, pod)))
        .collect();
    // A pod that does not serve is replaced first: it may be the old manifest that ails it. One
    // that has to wait holds up no other of these.
    candidates.sort_by_key(|(id, _, may_go)| {
        (
            well(shards, *id),
            !may_go,
            id.is_primary(),
            id.shard,
            Reverse(id.ordinal),
        )
    });
    let (id, pod, may_go) = candidates.first()?;
    Some(restart(id, pod, *may_go))
}

/// Whether nothing stands against replacing a pod.
///
/// A primary that does not serve may do so in a moment: its agent waits for a replica, or for a
/// newer snapshot. While Kubernetes finds its pod ready, mysqld runs, and goes only as one that
/// serves would, with its replicas in place.
fn may_go(shards: &[Shard], id: InstanceId, pod: &PodView) -> bool {
    let serves = well(shards, id);
    if !id.is_primary() {
        return !serves || others_are_well(shards, id);
    }
    let Some(shard) = shards.iter().find(|shard| shard.status.index == id.shard) else {
        return false;
    };
    // A copy would have to begin again, and the rows may be nowhere else.
    let copied = shard.replicas.contains(&Replica::Cloning);
    let free = match (serves, pod.ready) {
        (true, _) => others_are_well(shards, id),
        (false, true) => (1..shard.status.instances).all(|ordinal| shard.is_well(ordinal)),
        (false, false) => true,
    };
    free && !copied
}

fn well(shards: &[Shard], id: InstanceId) -> bool {
    let shard = shards.iter().find(|shard| shard.status.index == id.shard);
    shard.is_some_and(|shard| shard.is_well(id.ordinal))
}

/// Whether all others that were in place do what they are there for. A replica that never
/// followed is none: it may wait for the very restart, as when a shard gets its first one.
fn others_are_well(shards: &[Shard], id: InstanceId) -> bool {
    shards.iter().all(|shard| {
        (0..shard.status.instances.max(1))
            .filter(|ordinal| (shard.status.index, *ordinal) != (id.shard, id.ordinal))
            .all(|ordinal| shard.is_well(ordinal))
    })
}
