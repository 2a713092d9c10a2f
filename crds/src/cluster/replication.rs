//! `spec.replication`: what a commit waits for.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a commit waits for.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Replication {
    /// What happens while too few replicas follow to acknowledge a commit. Where absent,
    /// `Preferred` with 2 instances and `Required` from 3; with 1 there is nothing to wait for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durability: Option<Durability>,
}

/// What happens while too few replicas follow to acknowledge a commit.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum Durability {
    /// Writes wait until enough replicas follow.
    Required,
    /// Fewer replicas are waited for, which the status says before it is so.
    Preferred,
}
