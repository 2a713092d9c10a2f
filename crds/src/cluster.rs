//! The `ShardingCluster` resource: what a person applies. One file for each part of it.

mod access;
mod amount;
mod encryption;
mod mysql;
mod reads;
mod replication;
mod resilience;
mod sidecar;
mod span;
mod status;
mod table;
mod transactions;

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

pub use access::{Access, Require, SecretKeyRef, User};
pub use amount::Amount;
pub use encryption::{Digest, EncryptedColumn, Encryption, EncryptionKey, Lookup, SecretName};
pub use mysql::{Mysql, RESERVED_OPTIONS, Resources, Storage};
pub use reads::{Balancing, Consistency, Reads};
pub use replication::{Durability, Replication};
pub use resilience::{CircuitBreaker, Resilience, RetryBudget};
pub use sidecar::{CertificateKeyRef, ClientTls, Pool, Sidecar};
pub use status::{ConditionType, Images, KnownKey, ShardData, ShardStatus, ShardingClusterStatus};
pub use table::{Algorithm, GeneratedKey, GeneratedKeyKind, HashAlgorithm, Sharding, Table};
pub use transactions::{CrossShard, Transactions};

/// The longest name of a cluster. A StatefulSet is called `NAME-SHARD` and may have 52
/// characters (its pods' `controller-revision-hash` label must fit 63); the last shard is 255.
pub const MAX_CLUSTER_NAME: usize = 48;

/// A sharded MySQL: how many shards, which tables are spread over them and how, who may use
/// it. Applications speak to it as to one MySQL server, through a sidecar.
#[derive(CustomResource, Clone, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
#[kube(
    group = "remora.dev",
    version = "v1alpha1",
    kind = "ShardingCluster",
    namespaced,
    shortname = "shc",
    doc = "A sharded MySQL that applications see as one server on 127.0.0.1:3306.",
    status = "ShardingClusterStatus",
    derive = "PartialEq",
    cel,
    validation = Rule::new("size(self.metadata.name) <= 48")
        .message("metadata.name is longer than 48 characters: the StatefulSets are called NAME-SHARD and may have 52; choose a shorter name"),
    validation = Rule::new("self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')")
        .message("metadata.name is also a Service's name: it must begin with a letter and hold only lower-case letters, digits and '-'; choose another name"),
    validation = Rule::new("!self.metadata.name.matches('-[0-9]+$')")
        .message("metadata.name ends in '-' and a number, as the names of another cluster's shards do; choose another name"),
    printcolumn(name = "Shards", type_ = "integer", json_path = ".spec.shards", description = "Shards in the manifest"),
    printcolumn(name = "Ready", type_ = "integer", json_path = ".status.readyShards", description = "Shards whose primary serves"),
    printcolumn(name = "Replicas", type_ = "integer", json_path = ".status.readyReplicas", description = "Replicas that follow their primary"),
    printcolumn(name = "Available", type_ = "string", json_path = r#".status.conditions[?(@.type=="Available")].status"#, description = "Every shard serves"),
    printcolumn(name = "Status", type_ = "string", json_path = r#".status.conditions[?(@.type=="Progressing")].reason"#, description = "What the operator is doing"),
    printcolumn(name = "Epoch", type_ = "integer", json_path = ".status.epoch", description = "Orders primaries", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[x_kube(
    validation = Rule::new("self.tables.all(t, !has(t.sharding) || !has(t.sharding.colocatedWith) || self.tables.exists(o, o.name == t.sharding.colocatedWith && o.name != t.name && has(o.sharding) && !has(o.sharding.colocatedWith)))")
        .message("spec.tables[].sharding.colocatedWith must name another table of spec.tables that is sharded and not itself colocated; correct the name, or add that table")
        .field_path(".tables"),
    validation = Rule::new("self.tables.all(t, !has(t.sharding) || !has(t.sharding.colocatedWith) || !has(t.sharding.tablesPerShard) || self.tables.all(o, o.name != t.sharding.colocatedWith || !has(o.sharding) || (has(o.sharding.tablesPerShard) ? o.sharding.tablesPerShard : 1) == t.sharding.tablesPerShard))")
        .message("spec.tables[].sharding.tablesPerShard of a colocated table must equal that of the table named by colocatedWith; set it to the same number, or leave it out")
        .field_path(".tables"),
    validation = Rule::new("self.access.all(a, a.users.all(u, self.users.exists(x, x.name == u)))")
        .message("spec.access[].users names a user that spec.users does not have; correct the name, or add the user")
        .field_path(".access"),
    validation = Rule::new("self.tables.all(t, t.encryption.all(c, !has(c.key) || (has(self.encryption) && self.encryption.keys.exists(k, k.name == c.key))))")
        .message("spec.tables[].encryption[].key names a key that spec.encryption.keys does not have; correct the name, or add the key")
        .field_path(".tables"),
    validation = Rule::new("self.access.all(a, a.keys.all(n, has(self.encryption) && self.encryption.keys.exists(k, k.name == n)))")
        .message("spec.access[].keys names a key that spec.encryption.keys does not have; correct the name, or add the key")
        .field_path(".access")
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShardingClusterSpec {
    /// Number of shards, each a MySQL server of its own. Fixed until resharding exists.
    #[schemars(range(min = 1, max = 256))]
    #[x_kube(validation = Rule::new("self == oldSelf")
        .message("spec.shards cannot change until resharding exists: rows would be looked for where they are not; set it back, or create a new ShardingCluster"))]
    pub shards: u16,
    /// MySQL instances of each shard: one primary, the rest replicas that hold the same rows. It
    /// may grow and shrink; the replicas that were added last go first, and their volumes stay.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 9))]
    pub instances_per_shard: u8,
    /// The MySQL servers: image, storage, resources, options.
    #[serde(default)]
    pub mysql: Mysql,
    /// The logical database whose tables may be sharded. Applications name it when they connect.
    /// Other databases live on the first shard. Fixed until resharding exists.
    #[schemars(
        length(min = 1, max = 58),
        regex(pattern = r"^[A-Za-z_][A-Za-z0-9_$-]*$")
    )]
    #[x_kube(validation = Rule::new("self == oldSelf")
        .message("spec.database cannot change until resharding exists: the rows are in schemas that bear its name; set it back, or create a new ShardingCluster"))]
    #[x_kube(validation = Rule::new("!(self.lowerAscii() in ['mysql', 'sys', 'remora', 'information_schema', 'performance_schema'])")
        .message("spec.database is one of MySQL's or Remora's own schemas; choose another name"))]
    #[x_kube(validation = Rule::new("!self.matches('__[0-9]{4}$')")
        .message("spec.database ends in '__' and four digits, as the physical schemas of a sharded table do; choose another name"))]
    pub database: String,
    /// Tables that are sharded or broadcast. A table that is not named here lives on the first
    /// shard. A table may be added before it is created, and taken out once it is dropped: the
    /// shards refuse both while rows are in the way. At most 256.
    #[serde(default)]
    #[schemars(length(max = 256))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub tables: Vec<Table>,
    /// MySQL users that applications log in as. At most 32.
    #[serde(default)]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub users: Vec<User>,
    /// Which pods get a sidecar for this cluster, and as which users. Without an entry, all pods
    /// of the cluster's own namespace may, as any user. At most 32.
    #[serde(default)]
    #[schemars(length(max = 32))]
    pub access: Vec<Access>,
    /// The sidecars of this cluster, in MySQL pods and in application pods.
    #[serde(default)]
    pub sidecar: Sidecar,
    /// Keys of encrypted columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encryption: Option<Encryption>,
    /// Reads from replicas. Without it the primaries answer everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads: Option<Reads>,
    /// Retries and circuit breakers. Where absent, the defaults of its fields hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resilience: Option<Resilience>,
    /// Transactions over several shards.
    #[serde(default)]
    pub transactions: Transactions,
    /// What a commit waits for where a shard has replicas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replication: Option<Replication>,
}

fn one() -> u8 {
    1
}

impl ShardingClusterSpec {
    /// The table of the manifest with this name.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// Physical tables of `sharding` on each shard: as it says; else, when it is colocated, as
    /// the table says with which it is; else 1.
    #[must_use]
    pub fn tables_per_shard(&self, sharding: &Sharding) -> u16 {
        let inherited = || {
            let other = self.table(sharding.colocated_with.as_deref()?)?;
            other.sharding.as_ref()?.tables_per_shard
        };
        sharding.tables_per_shard.or_else(inherited).unwrap_or(1)
    }

    /// Replicas of each shard.
    #[must_use]
    pub fn replicas(&self) -> u8 {
        self.instances_per_shard.saturating_sub(1)
    }

    /// What happens while too few replicas follow; `None`: a shard has none.
    #[must_use]
    pub fn durability(&self) -> Option<Durability> {
        let by_default = match self.instances_per_shard {
            0 | 1 => return None,
            2 => Durability::Preferred,
            _ => Durability::Required,
        };
        let chosen = self.replication.as_ref().and_then(|r| r.durability);
        Some(chosen.unwrap_or(by_default))
    }

    /// How many replicas acknowledge a commit when enough follow: half of all, rounded up. Of N
    /// replicas, any N + 1 less that number hold every commit that was acknowledged.
    #[must_use]
    pub fn acknowledgements(&self) -> u8 {
        self.replicas().div_ceil(2)
    }
}
