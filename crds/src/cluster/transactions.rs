//! `spec.transactions`: what becomes of a transaction that needs several shards.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Transactions over several shards.
#[derive(Clone, Debug, Default, Deserialize, Eq, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Transactions {
    /// What becomes of a transaction that needs a second shard.
    #[serde(default)]
    pub cross_shard: CrossShard,
}

/// What becomes of a transaction that needs a second shard.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum CrossShard {
    /// It commits on all its shards or on none, at the price of two more waits for COMMIT.
    #[default]
    Atomic,
    /// It is refused, with error 1235: for applications whose transactions should keep to one
    /// sharding key. Writes outside a transaction are atomic all the same.
    Refused,
}
