//! The `ShardingCluster` resource.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A sharded MySQL: how many shards, which tables are spread over them and how.
#[derive(CustomResource, Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "remora.dev",
    version = "v1alpha1",
    kind = "ShardingCluster",
    namespaced,
    status = "ShardingClusterStatus",
    derive = "PartialEq"
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShardingClusterSpec {
    /// Number of shards. Fixed until resharding exists.
    pub shards: u16,
    /// MySQL instances of each shard.
    #[serde(default = "one")]
    pub instances_per_shard: u8,
    /// The logical database whose tables may be sharded.
    pub database: String,
    /// Tables that are sharded or broadcast. A table that is not named here lives on shard 0.
    #[serde(default)]
    pub tables: Vec<Table>,
}

fn one() -> u8 {
    1
}

/// One table of [`ShardingClusterSpec::database`].
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Table {
    /// The table's name, without the database.
    pub name: String,
    /// How the table's rows are spread over shards and physical tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sharding: Option<Sharding>,
    /// Every shard holds all rows.
    #[serde(default)]
    pub broadcast: bool,
    /// A column whose value Remora makes when an INSERT gives none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated_key: Option<GeneratedKey>,
}

/// How a table's rows are spread.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Sharding {
    /// The sharding key's columns.
    pub key: Vec<String>,
    /// The function from key to shard and physical table.
    pub algorithm: Algorithm,
    /// Physical tables on each shard.
    #[serde(default = "one_table")]
    pub tables_per_shard: u16,
    /// The table whose rows with an equal key are on the same shard and in the same slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub colocated_with: Option<String>,
}

fn one_table() -> u16 {
    1
}

/// The function from key to shard and physical table.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Algorithm {
    /// A 64-bit hash of the key's value; see [`crate::layout`].
    Hash(HashAlgorithm),
}

/// Parameters of [`Algorithm::Hash`]: there are none.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct HashAlgorithm {}

/// A column whose value Remora makes.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GeneratedKey {
    /// The column.
    pub column: String,
    /// Where its values come from.
    #[serde(rename = "type", default)]
    pub kind: GeneratedKeyKind,
}

/// Where generated values come from.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum GeneratedKeyKind {
    /// Blocks leased from a row on the first shard: small numbers that grow.
    #[default]
    Sequence,
    /// 63-bit numbers of time, node and counter; no round trip.
    Snowflake,
}

/// What the operator observed.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShardingClusterStatus {
    /// Orders primaries and nothing else; only grows.
    #[serde(default)]
    pub epoch: u64,
}
