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
    /// Replicas that follow their primary, of all shards.
    #[serde(default)]
    pub ready_replicas: u16,
    /// Each shard.
    #[serde(default)]
    #[schemars(length(max = 256))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["index".into()]))]
    pub shards: Vec<ShardStatus>,
    /// Versions of keys of encrypted columns that sidecars may have. Only grows: a Secret that
    /// holds another key under one of these names is refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into(), "version".into()]))]
    pub column_keys: Vec<KnownKey>,
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
    /// Why it is not ready, or what is the matter with a replica.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Instances that have been in place: a replica among them that does not follow was lost,
    /// one beyond them is on its way.
    #[serde(default, skip_serializing_if = "is_default")]
    pub instances: u8,
    /// Ordinals of the replicas that hold the shard's rows, which sidecars are told of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 9))]
    pub replicas: Vec<u8>,
    /// How many replicas follow now.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ready_replicas: u8,
    /// How many replicas acknowledge a commit. Written here before the primary waits for fewer.
    #[serde(default, skip_serializing_if = "is_default")]
    pub acknowledgements: u8,
    /// Whether the shard holds rows, so that an empty primary is a loss and not a beginning.
    #[serde(default, skip_serializing_if = "is_default")]
    pub data: ShardData,
}

/// A version of a key of encrypted columns.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KnownKey {
    /// The key's name.
    #[schemars(length(max = 64))]
    pub name: String,
    /// Its version.
    pub version: u32,
    /// Tells the key from any other, and nothing of it: 16 hexadecimal digits.
    #[schemars(length(max = 16))]
    pub check: String,
    /// When it was seen first, in seconds since 1970.
    pub since: i64,
}

/// Whether any instance of a shard holds rows.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum ShardData {
    /// Not every instance has said.
    #[default]
    Unknown,
    /// None does: the primary may begin with an empty server.
    Empty,
    /// One does, or did: an empty server is never taken for the primary.
    Held,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
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
