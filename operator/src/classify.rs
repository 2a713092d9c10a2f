//! From what is wanted and what is there to what to do: a pure function.

mod findings;
mod restarts;
mod shards;

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;
use remora_crds::{
    ConditionType, FieldError, Images, LayoutDocument, ShardingCluster, ShardingClusterStatus,
};

use crate::build::{self, Kind, Object, ObjectKey};
use crate::conditions::{self, Finding};
use crate::names::{InstanceId, Names};
use crate::observe::Observations;
use shards::Shard;

/// The reason of `Progressing` while a primary is announced and replaced.
pub(crate) use restarts::PRIMARY as RESTARTING_PRIMARY;

/// Why a manifest that makes no sense is not accepted.
pub(crate) const INVALID: &str = "Invalid";

/// One step towards what the manifest asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Apply an object that is missing or was made from another manifest.
    Apply(Box<Object>),
    /// Remove a ConfigMap that no pod mounts, or a NetworkPolicy that nobody asks for.
    Delete(ObjectKey),
    /// Give the pod's sidecar another image, which restarts that container alone.
    PatchSidecar {
        /// The pod.
        pod: String,
        /// The image.
        image: String,
    },
    /// Evict the pod: the manifest asks for another one.
    Evict {
        /// The pod.
        pod: String,
    },
}

/// What to do, and what to say.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// In this order.
    pub actions: Vec<Action>,
    /// The status after it.
    pub status: ShardingClusterStatus,
    /// Conditions that changed, for events.
    pub changed: Vec<Finding>,
}

/// What is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The manifest and the status so far.
    pub cluster: &'a ShardingCluster,
    /// The images to run.
    pub images: &'a Images,
    /// The objects that the manifest asks for.
    pub objects: &'a [Object],
    /// Apply all of them, also those that look as they should: somebody may have changed one.
    pub refresh: bool,
}

/// A manifest that makes no sense. Nothing is touched: what runs goes on.
#[must_use]
pub fn reject(cluster: &ShardingCluster, errors: &[FieldError], now: Timestamp) -> Verdict {
    let text: Vec<_> = errors.iter().map(ToString::to_string).collect();
    let mut status = cluster.status.clone().unwrap_or_default();
    let finding = Finding {
        type_: ConditionType::Accepted,
        holds: Some(false),
        reason: INVALID,
        message: text.join("; "),
    };
    let changed = settle(cluster, &mut status, vec![finding], now);
    Verdict {
        actions: Vec::new(),
        status,
        changed,
    }
}

/// Nothing is touched, and what was found before is still said: a step failed without which
/// nothing can be found out.
#[must_use]
pub fn keep(cluster: &ShardingCluster) -> Verdict {
    let mut status = cluster.status.clone().unwrap_or_default();
    status.observed_generation = cluster.metadata.generation.unwrap_or_default();
    Verdict {
        actions: Vec::new(),
        status,
        changed: Vec::new(),
    }
}

/// What to do about a manifest that makes sense.
#[must_use]
pub fn classify(wanted: Wanted<'_>, seen: &Observations, now: Timestamp) -> Verdict {
    let cluster = wanted.cluster;
    let names = build::names(cluster);
    let before = cluster.status.clone().unwrap_or_default();
    let shards: Vec<_> = (0..cluster.spec.shards)
        .map(|shard| Shard::of(&cluster.spec, &names, &before, seen, shard))
        .collect();
    let mut actions = applies(wanted, seen);
    actions.extend(garbage(&names, wanted.objects, seen));
    actions.extend(restarts::sidecars(wanted, seen));
    let restart = restarts::next(wanted, seen, &shards);
    actions.extend(restart.iter().filter_map(|r| r.action(&before.conditions)));

    let mut status = ShardingClusterStatus {
        layout: Some(LayoutDocument::of(&cluster.spec).fingerprint()),
        ready_shards: shards
            .iter()
            .filter(|shard| shard.status.ready)
            .count()
            .try_into()
            .unwrap_or(u16::MAX),
        ready_replicas: shards
            .iter()
            .map(|shard| u16::from(shard.status.ready_replicas))
            .fold(0, u16::saturating_add),
        // An agent may hold a higher epoch: that of a cluster before, whose volumes these are.
        epoch: seen
            .agents
            .values()
            .map(|agent| agent.least_epoch)
            .fold(before.epoch, u64::max),
        images: Some(wanted.images.clone()),
        shards: shards.iter().map(|shard| shard.status.clone()).collect(),
        ..before
    };
    let wanted_layout = status.layout.as_deref().unwrap_or_default();
    let accepted = accepted(&status.conditions, seen, wanted_layout);
    let findings = accepted
        .into_iter()
        .chain(findings::findings(&shards, restart.as_ref()))
        .collect();
    let changed = settle(cluster, &mut status, findings, now);
    Verdict {
        actions,
        status,
        changed,
    }
}

fn settle(
    cluster: &ShardingCluster,
    status: &mut ShardingClusterStatus,
    findings: Vec<Finding>,
    now: Timestamp,
) -> Vec<Finding> {
    let generation = cluster.metadata.generation.unwrap_or_default();
    status.observed_generation = generation;
    conditions::update(&mut status.conditions, findings, generation, now)
}

fn applies(wanted: Wanted<'_>, seen: &Observations) -> Vec<Action> {
    let objects = wanted.objects.iter();
    objects
        .filter(|object| {
            wanted.refresh
                || seen.objects.get(&object.key()).and_then(Option::as_deref) != object.stamp()
        })
        .map(|object| Action::Apply(Box::new(object.clone())))
        .collect()
}

/// Old my.cnf maps that no pod mounts any more, and a NetworkPolicy that the chart no longer asks
/// for.
fn garbage(names: &Names, objects: &[Object], seen: &Observations) -> Vec<Action> {
    let prefix = names.my_cnf("");
    let goes = |key: &ObjectKey| match key.kind {
        Kind::ConfigMap => {
            key.name.starts_with(&prefix) && !seen.pods.values().any(|pod| pod.my_cnf == key.name)
        }
        Kind::NetworkPolicy => key.name == names.gateway(),
        _ => false,
    };
    seen.objects
        .keys()
        .filter(|key| goes(key))
        .filter(|key| !objects.iter().any(|object| object.key() == **key))
        .map(|key| Action::Delete(key.clone()))
        .collect()
}

/// What of the manifest's layout the rows forbid, as the agents report it. Their shards go on
/// with the layout that they have.
fn refused(seen: &Observations) -> String {
    let reasons: BTreeSet<_> = seen
        .agents
        .values()
        .map(|agent| agent.refused_layout.as_str())
        .filter(|reason| !reason.is_empty())
        .collect();
    reasons.into_iter().collect::<Vec<_>>().join("; ")
}

/// Whether rows are in the way of the layout that is wanted. The first shard decides, so until
/// its agent has compared that layout with the rows, what was found before stays; `None` then.
fn accepted(before: &[Condition], seen: &Observations, layout: &str) -> Option<Finding> {
    let finding = |holds, reason, message| {
        Some(Finding {
            type_: ConditionType::Accepted,
            holds,
            reason,
            message,
        })
    };
    let home = seen.agents.get(&InstanceId::primary(0));
    if home.is_none_or(|agent| agent.judged_layout != layout) {
        let is = |held: &Condition| held.type_ == ConditionType::Accepted.name();
        // What was invalid no longer is.
        return match before.iter().find(|held| is(held)) {
            Some(held) if held.reason != INVALID => None,
            _ => {
                let message = "shard 0 has yet to compare the layout with its rows";
                finding(None, "Pending", message.to_owned())
            }
        };
    }
    let refused = refused(seen);
    if refused.is_empty() {
        let message = "the manifest makes sense".to_owned();
        return finding(Some(true), "Valid", message);
    }
    let message = format!("{refused}; until then the tables stay as they were");
    finding(Some(false), "RowsInTheWay", message)
}

#[cfg(test)]
mod tests;
