//! From what is wanted and what is there to what to do: a pure function.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;
use remora_crds::{
    ConditionType, FieldError, Images, LayoutDocument, ShardStatus, ShardingCluster,
    ShardingClusterStatus,
};

use crate::build::{self, Kind, Object, ObjectKey};
use crate::conditions::{self, Finding, shorten};
use crate::names::Names;
use crate::observe::{Observations, PodView};

/// A status holds up to 256 shards, and etcd is no place for stories.
const LONGEST_REASON: usize = 200;

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
        .map(|shard| shard_status(&names, &before, seen, shard))
        .collect();
    let mut actions = applies(wanted, seen);
    actions.extend(garbage(&names, wanted.objects, seen));
    let restart = pods(wanted, seen, &shards, &mut actions);

    let mut status = ShardingClusterStatus {
        layout: Some(LayoutDocument::of(&cluster.spec).fingerprint()),
        ready_shards: shards
            .iter()
            .filter(|shard| shard.ready)
            .count()
            .try_into()
            .unwrap_or(u16::MAX),
        // An agent may hold a higher epoch: that of a cluster before, whose volumes these are.
        epoch: seen
            .agents
            .values()
            .map(|agent| agent.least_epoch)
            .fold(before.epoch, u64::max),
        images: Some(wanted.images.clone()),
        shards,
        ..before
    };
    let wanted_layout = status.layout.as_deref().unwrap_or_default();
    let accepted = accepted(&status.conditions, seen, wanted_layout);
    let findings = accepted
        .into_iter()
        .chain(findings(&status, restart.as_deref()))
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

/// Sidecars are patched in place. A pod is replaced when the manifest asks for another one,
/// one pod at a time, while all other shards serve. Gives the pod that is being replaced.
fn pods(
    wanted: Wanted<'_>,
    seen: &Observations,
    shards: &[ShardStatus],
    actions: &mut Vec<Action>,
) -> Option<String> {
    let pod_spec = build::pod_spec_hash(wanted.cluster, wanted.images);
    for pod in seen.pods.values().filter(|pod| !pod.ending) {
        if pod.pod_spec == pod_spec && pod.sidecar_image != wanted.images.sidecar {
            actions.push(Action::PatchSidecar {
                pod: pod.name.clone(),
                image: wanted.images.sidecar.clone(),
            });
        }
    }
    let outdated = |pod: &PodView| pod.pod_spec != pod_spec;
    if let Some(ending) = seen.pods.values().find(|pod| pod.ending) {
        return Some(ending.name.clone());
    }
    // A pod that does not serve is replaced first: it may be the old manifest that ails it.
    let ready = |shard: u16| {
        shards
            .iter()
            .any(|status| status.index == shard && status.ready)
    };
    let mut candidates: Vec<_> = seen.pods.iter().filter(|(_, pod)| outdated(pod)).collect();
    candidates.sort_by_key(|(shard, _)| ready(**shard));
    let (shard, pod) = candidates.first()?;
    let others_serve = shards
        .iter()
        .all(|status| status.index == **shard || status.ready);
    if others_serve || !ready(**shard) {
        actions.push(Action::Evict {
            pod: pod.name.clone(),
        });
    }
    Some(pod.name.clone())
}

fn shard_status(
    names: &Names,
    before: &ShardingClusterStatus,
    seen: &Observations,
    shard: u16,
) -> ShardStatus {
    let was = before.shards.iter().find(|status| status.index == shard);
    let primary = was.map(|status| status.primary.clone()).unwrap_or_default();
    match trouble(was, seen, shard) {
        Some(reason) => ShardStatus {
            index: shard,
            primary,
            ready: false,
            reason,
        },
        None => ShardStatus {
            index: shard,
            primary: names.pod(shard),
            ready: true,
            reason: String::new(),
        },
    }
}

/// Why a shard does not serve, in a few words; `None` if it does.
fn trouble(was: Option<&ShardStatus>, seen: &Observations, shard: u16) -> Option<String> {
    let mut reason = match (seen.pods.get(&shard), seen.agents.get(&shard)) {
        (None, _) => "its pod does not exist".to_owned(),
        (Some(pod), _) if pod.ending => format!("pod {} is being replaced", pod.name),
        (Some(pod), _) if !pod.ready && pod.trouble.is_some() => {
            pod.trouble.clone().unwrap_or_default()
        }
        (Some(pod), _) if !pod.ready => format!("pod {} is not ready", pod.name),
        // A new leader has heard no agent yet: what was known holds for as long as the pod is ready.
        (Some(_), None) if !seen.heeds_silence && was.is_some_and(|status| status.ready) => {
            return None;
        }
        // The kubelet may find a pod ready that nobody else reaches.
        (Some(_), None) if was.is_some_and(|status| !status.primary.is_empty()) => {
            "its agent no longer reports".to_owned()
        }
        (Some(_), None) => "its agent has not reported yet".to_owned(),
        (Some(_), Some(agent)) if !agent.mysqld => "mysqld does not answer its agent".to_owned(),
        (Some(_), Some(agent)) if !agent.bootstrapped => agent.reason.clone(),
        (Some(_), Some(_)) => return None,
    };
    shorten(&mut reason, LONGEST_REASON);
    Some(reason)
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
    let home = seen.agents.get(&0);
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

fn findings(status: &ShardingClusterStatus, restart: Option<&str>) -> Vec<Finding> {
    let down: Vec<_> = status.shards.iter().filter(|shard| !shard.ready).collect();
    let text = |shards: &[&ShardStatus]| {
        let shards = shards
            .iter()
            .map(|shard| format!("shard {}: {}", shard.index, shard.reason));
        shards.collect::<Vec<_>>().join("; ")
    };
    // A shard that never served is not degraded, it is on its way.
    let (lost, fresh): (Vec<_>, Vec<_>) = down.iter().partition(|shard| !shard.primary.is_empty());
    let progressing = match (restart, fresh.is_empty()) {
        (Some(pod), _) => (true, "Restarting", format!("replacing pod {pod}")),
        (None, false) => (true, "Creating", text(&fresh)),
        (None, true) => (false, "UpToDate", "nothing to change".to_owned()),
    };
    let all = "every shard serves".to_owned();
    let some = |holds: bool, reason: (&'static str, &'static str)| {
        if holds { reason.0 } else { reason.1 }
    };
    vec![
        Finding {
            type_: ConditionType::Available,
            holds: Some(down.is_empty()),
            reason: some(down.is_empty(), ("Serving", "ShardsDown")),
            message: if down.is_empty() { all } else { text(&down) },
        },
        Finding {
            type_: ConditionType::Progressing,
            holds: Some(progressing.0),
            reason: progressing.1,
            message: progressing.2,
        },
        Finding {
            type_: ConditionType::Degraded,
            holds: Some(!lost.is_empty()),
            reason: some(lost.is_empty(), ("Healthy", "PrimaryDown")),
            message: if lost.is_empty() {
                "no shard was lost".to_owned()
            } else {
                format!(
                    "{}; nothing is promoted, since this version has no replicas",
                    text(&lost)
                )
            },
        },
    ]
}

#[cfg(test)]
mod tests;
