//! `spec.sidecar`: the proxies.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::{Later, Resources};

/// The sidecars of a cluster.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(validation = Rule::new("!has(self.backendConnections)")
    .message("spec.sidecar.backendConnections: this version opens one connection a shard for each client and has no pools yet; remove the field")
    .field_path(".backendConnections"))]
pub struct Sidecar {
    /// CPU and memory of each sidecar. Where absent, a request of 50m CPU and 64Mi memory, and a
    /// limit of 256Mi memory.
    #[serde(default)]
    pub resources: Resources,
    /// Size of the pools towards MySQL. Refused: a later version brings it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::later::number")]
    pub backend_connections: Option<Later>,
}
