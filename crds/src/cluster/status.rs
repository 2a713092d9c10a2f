//! `status`: what the operator observed. At most some 300 bytes a shard, written only on change.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the operator observed.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShardingClusterStatus {
    /// The generation of the manifest that this status describes.
    #[serde(default)]
    pub observed_generation: i64,
    /// Orders primaries and nothing else; only grows.
    #[serde(default)]
    pub epoch: u64,
    /// Fingerprint of the layout: shards, database, tables. Every shard holds the same one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// Shards whose primary serves.
    #[serde(default)]
    pub ready_shards: u16,
    /// Each shard.
    #[serde(default)]
    #[schemars(length(max = 256))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["index".into()]))]
    pub shards: Vec<ShardStatus>,
    /// Images that this cluster runs: chosen when it was made, so that an upgrade of the chart
    /// restarts no MySQL server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<Images>,
    /// Accepted, Available, Progressing, Degraded.
    #[serde(default)]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

/// One shard.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShardStatus {
    /// Its index, from 0.
    pub index: u16,
    /// The pod that takes writes; empty until one does.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub primary: String,
    /// Whether its primary serves.
    #[serde(default)]
    pub ready: bool,
    /// Why it is not ready.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// Images that a cluster runs.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Images {
    /// The MySQL servers.
    pub mysql: String,
    /// The sidecars in MySQL pods.
    pub sidecar: String,
    /// mysqld's supervisor.
    pub supervisor: String,
}

/// The conditions of a cluster.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum ConditionType {
    /// The manifest makes sense, beyond what the apiserver can check.
    Accepted,
    /// Every shard serves.
    Available,
    /// Something is being changed to follow the manifest.
    Progressing,
    /// Something that once worked does not.
    Degraded,
}

impl ConditionType {
    /// The `type` of the condition.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Accepted => "Accepted",
            Self::Available => "Available",
            Self::Progressing => "Progressing",
            Self::Degraded => "Degraded",
        }
    }
}
