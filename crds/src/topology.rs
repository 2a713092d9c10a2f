//! The `Topology` document: where the shards' servers are, and who may log in. The operator
//! makes it from what it observes; without Kubernetes it stands in the file beside the manifest.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

/// Where the servers of a `ShardingCluster` are.
#[derive(Clone, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Topology {
    /// `remora.dev/v1alpha1`.
    pub api_version: String,
    /// `Topology`.
    pub kind: String,
    /// The cluster's name.
    pub metadata: TopologyMetadata,
    /// Orders primaries; a lower one is refused.
    pub epoch: u64,
    /// The shards, in the order of their index.
    pub shards: Vec<ShardEndpoints>,
    /// Those whom clients log in as; MySQL has them with the same password.
    pub users: Vec<Credentials>,
    /// The sidecar's own account (health, sequences); the first user where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<Credentials>,
    /// Keys of encrypted columns, each in one or more versions: the highest that is not
    /// settling encrypts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<ColumnKey>,
    /// Certificate authorities, as PEM, by which clients' certificates are verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_ca: Option<String>,
    /// How many connections to each server are this sidecar's share, beside its own few. Below 2 it
    /// goes through `gateway`; where there is none, it takes turns with others. Absent: as many as
    /// the manifest's `sidecar.backendConnections`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection_share: Option<u32>,
    /// A sidecar that serves others' clients. Absent: there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<Gateway>,
}

/// Where the gateways are.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Gateway {
    /// A host name or an address.
    pub host: String,
    /// The TCP port.
    pub port: u16,
}

/// One version of a key of encrypted columns. It never shows in `Debug`.
#[derive(Clone, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnKey {
    /// The name by which the manifest calls it.
    pub name: String,
    /// Its version, from 1.
    pub version: u32,
    /// 32 bytes in base64.
    pub key: String,
    /// Whether other sidecars may still lack it: then it opens, and one before it seals.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub settling: bool,
}

impl std::fmt::Debug for ColumnKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ColumnKey")
            .field("name", &self.name)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

impl Drop for ColumnKey {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

/// Identity of a [`Topology`].
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TopologyMetadata {
    /// The name of the `ShardingCluster`.
    pub name: String,
}

/// The servers of one shard.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ShardEndpoints {
    /// One primary, and its replicas.
    pub instances: Vec<Instance>,
}

/// One MySQL server.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Instance {
    /// A host name or an address.
    pub host: String,
    /// The TCP port.
    pub port: u16,
    /// What it is for.
    pub role: Role,
    /// Its share of the reads beside other replicas.
    #[serde(default = "one")]
    pub weight: u32,
    /// Its Unix socket, where it runs beside the sidecar: connections go by it, and `host` and
    /// `port` are its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<PathBuf>,
}

fn one() -> u32 {
    1
}

/// What a server is for.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum Role {
    /// Takes writes.
    Primary,
    /// Follows the primary.
    Replica,
}

/// An account. Its password never shows in `Debug`.
#[derive(Clone, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Credentials {
    /// The account's name, without a host part.
    pub name: String,
    /// Its password.
    pub password: String,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Topology {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Topology")
            .field("name", &self.metadata.name)
            .field("epoch", &self.epoch)
            .field("shards", &self.shards)
            .finish_non_exhaustive()
    }
}
