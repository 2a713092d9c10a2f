//! `spec.reads`: which servers answer reads.

use std::time;

use kube::KubeSchema;
use kube::core::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::topology::{Instance, Role};

/// Which servers answer reads. Without it all statements go to the primaries.
#[derive(Clone, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reads {
    /// What a read must see: with `Session` all that its own session wrote before, with `Eventual`
    /// only what is not older than `maxReplicaLag`, with `Strong` all that was written: then
    /// replicas answer only statements with the hint `/* remora: replica */`.
    #[serde(default)]
    pub consistency: Consistency,
    /// How a server is chosen for a read: by weight and chance, in turn, or by chance.
    #[serde(default)]
    pub balancing: Balancing,
    /// A replica that is further behind than this, or of which nobody knows how far, answers no
    /// reads. From 1s to 1h; 5s by default.
    #[serde(default = "max_replica_lag")]
    #[schemars(schema_with = "super::span::schema")]
    #[x_kube(validation = Rule::new("duration(self) >= duration('1s') && duration(self) <= duration('1h')")
        .message("spec.reads.maxReplicaLag must be from 1s to 1h; replicas are asked four times in it, and at least once a second"))]
    pub max_replica_lag: Duration,
    /// The primary's share of the reads beside the replicas' weights. 0 by default: it answers
    /// reads when no replica may.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1000))]
    pub primary_weight: u32,
    /// Each instance's share of its shard's reads, by its ordinal; 1 where none is given. That of
    /// the primary does not count, since it has `primaryWeight`. A replica with 0 answers none.
    #[serde(default)]
    #[schemars(length(max = 9), inner(range(min = 0, max = 1000)))]
    pub weights: Vec<u32>,
    /// Stored functions that only read, so that a SELECT that calls them may go to a replica. All
    /// others go to the primary. At most 64.
    #[serde(default)]
    #[schemars(length(max = 64), inner(length(min = 1, max = 64)))]
    pub read_only_functions: Vec<String>,
}

/// What a read must see.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum Consistency {
    /// What its own session wrote before.
    #[default]
    Session,
    /// All that was written before: the primary answers.
    Strong,
    /// What is not older than `maxReplicaLag`.
    Eventual,
}

/// How a server is chosen among those that may answer a read.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum Balancing {
    /// By chance, each as often as its weight says.
    #[default]
    Weighted,
    /// In turn. A weight of 0 leaves a server out; others count alike.
    RoundRobin,
    /// By chance, all alike but those with weight 0.
    Random,
}

fn max_replica_lag() -> Duration {
    time::Duration::from_secs(5).into()
}

impl Reads {
    /// What `maxReplicaLag` may be.
    pub const LAGS: std::ops::RangeInclusive<time::Duration> =
        time::Duration::from_secs(1)..=time::Duration::from_secs(3600);

    /// The share of its shard's reads that `instance` gets, the one at `position` (its ordinal) of
    /// the shard's list: 0 for none.
    #[must_use]
    pub fn weight(&self, position: usize, instance: &Instance) -> u32 {
        match instance.role {
            Role::Primary => self.primary_weight,
            Role::Replica => self
                .weights
                .get(position)
                .copied()
                .unwrap_or(instance.weight),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(yaml: &str) -> Reads {
        serde_saphyr::from_str(yaml).unwrap()
    }

    fn instance(role: Role, weight: u32) -> Instance {
        Instance {
            host: "a".to_owned(),
            port: 3306,
            role,
            weight,
            socket: None,
        }
    }

    #[test]
    fn what_is_left_out_has_a_default() {
        let reads = reads("{}");
        assert_eq!(reads.consistency, Consistency::Session);
        assert_eq!(reads.balancing, Balancing::Weighted);
        assert_eq!(reads.max_replica_lag, time::Duration::from_secs(5));
        assert_eq!(reads.weight(0, &instance(Role::Primary, 7)), 0);
        assert_eq!(reads.weight(1, &instance(Role::Replica, 1)), 1);
    }

    #[test]
    fn a_replicas_weight_is_the_manifests_then_the_topologys() {
        let reads = reads("{primaryWeight: 2, weights: [9, 3], maxReplicaLag: 1500ms}");
        assert_eq!(reads.weight(0, &instance(Role::Primary, 7)), 2);
        assert_eq!(reads.weight(0, &instance(Role::Replica, 7)), 9);
        assert_eq!(reads.weight(1, &instance(Role::Replica, 7)), 3);
        assert_eq!(reads.weight(2, &instance(Role::Replica, 7)), 7);
        let json = serde_json::to_value(&reads).unwrap();
        assert_eq!(json["maxReplicaLag"], "1.5s");
    }
}
