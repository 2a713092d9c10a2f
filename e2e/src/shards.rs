//! Shards as processes: a MySQL server for each, and a sidecar in front of them.

use anyhow::Result;
use futures::future::try_join_all;
use serde_json::Value;
use tempfile::TempDir;

use crate::mysql::{MysqlRoot, MysqlServer, ServerOptions};
use crate::sidecar::Sidecar;

/// A sharded MySQL on this machine, without Kubernetes.
#[derive(Debug)]
pub struct LocalShards {
    /// The sidecar; it ends before its servers.
    pub sidecar: Sidecar,
    /// The server of each shard.
    pub servers: Vec<MysqlServer>,
    /// Where the sidecar's configuration and log lie.
    pub folder: TempDir,
}

impl LocalShards {
    /// Starts as many servers as `manifest` has shards, with `flags`, and a sidecar on them.
    ///
    /// # Errors
    /// If one of them does not come up.
    pub async fn start(root: &MysqlRoot, manifest: &Value, flags: &[String]) -> Result<Self> {
        let shards = manifest["spec"]["shards"].as_u64().unwrap_or(1);
        let servers = try_join_all((0..shards).map(async |shard| {
            let mut options = ServerOptions::named(&format!("shard-{shard}"));
            options.flags = flags.to_vec();
            MysqlServer::start(root, &options).await
        }))
        .await?;
        let folder = TempDir::with_prefix("remora-sidecar-")?;
        let ports: Vec<u16> = servers.iter().map(MysqlServer::port).collect();
        let sidecar = Sidecar::start(folder.path(), manifest, &ports).await?;
        Ok(Self {
            sidecar,
            servers,
            folder,
        })
    }
}

/// `manifest` with another number of shards, and of physical tables for each sharded table.
#[must_use]
pub fn with_layout(mut manifest: Value, shards: u16, tables_per_shard: u16) -> Value {
    manifest["spec"]["shards"] = shards.into();
    if let Some(tables) = manifest["spec"]["tables"].as_array_mut() {
        for sharding in tables
            .iter_mut()
            .filter_map(|table| table.get_mut("sharding"))
        {
            sharding["tablesPerShard"] = tables_per_shard.into();
        }
    }
    manifest
}

/// `manifest` with at most so many connections to each server, and with patience for those who
/// wait for one.
#[must_use]
pub fn with_few_connections(mut manifest: Value, most: u32) -> Value {
    manifest["spec"]["sidecar"]["backendConnections"] = most.into();
    manifest["spec"]["sidecar"]["pool"]["queueTimeout"] = "60s".into();
    manifest
}
