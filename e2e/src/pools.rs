//! Manifests with few connections to the servers, where this version knows of them.

use remora_crds::{ShardingClusterSpec, validate};
use serde_json::Value;

/// `manifest` with at most so many connections to each server, and with patience for those who
/// wait for one; or as it is, where each client still has connections of its own. Says which.
#[must_use]
pub fn with_few_connections(manifest: &Value, most: u32) -> (Value, bool) {
    let mut few = manifest.clone();
    few["spec"]["sidecar"]["backendConnections"] = most.into();
    few["spec"]["sidecar"]["pool"]["queueTimeout"] = "60s".into();
    let understood = serde_json::from_value::<ShardingClusterSpec>(few["spec"].clone())
        .is_ok_and(|spec| validate(&spec).is_empty());
    match understood {
        true => (few, true),
        false => (manifest.clone(), false),
    }
}
