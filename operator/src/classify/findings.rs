//! What the conditions say of a cluster.

use remora_crds::{ConditionType, Durability};

use super::restarts::{PRIMARY, Restart};
use super::shards::{Replica, Shard};
use crate::conditions::Finding;

/// Available, Progressing and Degraded.
pub(super) fn findings(shards: &[Shard], restart: Option<&Restart>) -> Vec<Finding> {
    vec![
        available(shards),
        progressing(shards, restart),
        degraded(shards),
    ]
}

fn finding(type_: ConditionType, holds: bool, reason: &'static str, message: String) -> Finding {
    Finding {
        type_,
        holds: Some(holds),
        reason,
        message,
    }
}

fn available(shards: &[Shard]) -> Finding {
    let down: Vec<_> = shards.iter().filter(|shard| !shard.status.ready).collect();
    let type_ = ConditionType::Available;
    if down.is_empty() {
        return finding(type_, true, "Serving", "every shard serves".to_owned());
    }
    finding(
        type_,
        false,
        "ShardsDown",
        joined(down.iter().map(|s| down_text(s))),
    )
}

fn progressing(shards: &[Shard], restart: Option<&Restart>) -> Finding {
    let type_ = ConditionType::Progressing;
    if let Some(restart) = restart {
        let reason = match restart.primary_of {
            Some(_) => PRIMARY,
            None => "Restarting",
        };
        return finding(type_, true, reason, restart.message());
    }
    let fresh = |shard: &&Shard| !shard.status.ready && !was_lost(shard);
    let mut coming: Vec<_> = shards.iter().filter(fresh).map(down_text).collect();
    coming.extend(replicas(shards, |shard, ordinal, _| {
        ordinal >= shard.status.instances
    }));
    if coming.is_empty() {
        let message = "nothing to change".to_owned();
        return finding(type_, false, "UpToDate", message);
    }
    finding(type_, true, "Creating", joined(coming))
}

/// What once worked and does not, the worst first.
fn degraded(shards: &[Shard]) -> Finding {
    let in_place = |shard: &Shard, ordinal: u8| ordinal < shard.status.instances;
    let of = |pick: fn(&Shard) -> bool| shards.iter().filter(move |shard| pick(shard));
    let lost = |shard: &Shard| !shard.status.ready && was_lost(shard);
    let down: Vec<_> = shards
        .iter()
        .filter(|shard| lost(shard))
        .map(down_text)
        .collect();
    let nothing_is_promoted = match down.is_empty() {
        true => String::new(),
        false => "; nothing is promoted in this version".to_owned(),
    };
    let kinds: [(&'static str, Vec<String>); 7] = [
        ("DataLost", of(|s| s.lost_data).map(down_text).collect()),
        ("PrimaryDown", down),
        (
            "ErrantTransactions",
            replicas(shards, |_, _, replica| {
                matches!(replica, Replica::Errant(_))
            }),
        ),
        ("WritesWait", of(writes_wait).map(wait_text).collect()),
        (
            "ReplicaDown",
            replicas(shards, |shard, ordinal, replica| {
                in_place(shard, ordinal) && matches!(replica, Replica::Away(_))
            }),
        ),
        (
            "ReplicaCloning",
            replicas(shards, |shard, ordinal, replica| {
                in_place(shard, ordinal) && *replica == Replica::Cloning
            }),
        ),
        (
            "DurabilityLowered",
            of(is_lowered).map(lowered_text).collect(),
        ),
    ];
    let type_ = ConditionType::Degraded;
    let Some(reason) = kinds.iter().find(|(_, texts)| !texts.is_empty()) else {
        return finding(type_, false, "Healthy", "nothing was lost".to_owned());
    };
    let mut texts: Vec<String> = Vec::new();
    for text in kinds.iter().flat_map(|(_, texts)| texts) {
        if !texts.contains(text) {
            texts.push(text.clone());
        }
    }
    let message = format!("{}{nothing_is_promoted}", joined(texts));
    finding(type_, true, reason.0, message)
}

/// A shard that never served is not degraded, it is on its way.
fn was_lost(shard: &Shard) -> bool {
    !shard.status.primary.is_empty() || shard.lost_data
}

/// Commits wait for replicas that do not follow.
fn writes_wait(shard: &Shard) -> bool {
    shard.durability == Some(Durability::Required)
        && shard.status.ready_replicas < shard.status.acknowledgements
}

fn wait_text(shard: &Shard) -> String {
    let status = &shard.status;
    format!(
        "shard {}: commits wait for {} replicas, and {} follow (spec.replication.durability is \
         Required)",
        status.index, status.acknowledgements, status.ready_replicas
    )
}

/// Fewer replicas acknowledge a commit than once did.
fn is_lowered(shard: &Shard) -> bool {
    shard.durability == Some(Durability::Preferred)
        && shard.status.acknowledgements < shard.full_acknowledgements
        && shard.status.instances > shard.full_acknowledgements
}

fn lowered_text(shard: &Shard) -> String {
    let (now, full) = (shard.status.acknowledgements, shard.full_acknowledgements);
    let index = shard.status.index;
    format!("shard {index}: a commit is acknowledged by {now} replicas instead of {full}")
}

fn down_text(shard: &Shard) -> String {
    format!("shard {}: {}", shard.status.index, shard.status.reason)
}

/// The replicas that do not follow and are meant, in words.
fn replicas(shards: &[Shard], is_meant: impl Fn(&Shard, u8, &Replica) -> bool) -> Vec<String> {
    let mut texts = Vec::new();
    for shard in shards {
        for (ordinal, replica) in shard.numbered() {
            if *replica != Replica::Following && is_meant(shard, ordinal, replica) {
                let index = shard.status.index;
                texts.push(format!(
                    "shard {index}: replica {ordinal}: {}",
                    replica.trouble()
                ));
            }
        }
    }
    texts
}

fn joined(texts: impl IntoIterator<Item = String>) -> String {
    texts.into_iter().collect::<Vec<_>>().join("; ")
}
