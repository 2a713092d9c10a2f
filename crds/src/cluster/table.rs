//! `spec.tables`: how rows are spread.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::EncryptedColumn;

/// One table of the cluster's database.
#[derive(Clone, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(
    validation = Rule::new("has(self.sharding) != self.broadcast")
        .message("a table has either sharding or broadcast: true; set one of them, or remove the entry, since a table that is not named lives on the first shard"),
    validation = Rule::new("!has(self.generatedKey) || has(self.sharding)")
        .message("generatedKey is for sharded tables: MySQL's own AUTO_INCREMENT serves the others; remove it, or add sharding"),
    validation = Rule::new("!has(self.sharding) || self.encryption.all(c, !(c.column in self.sharding.key))")
        .message("encryption names the sharding key: rows are found by its plain value; remove it, or shard by another column")
        .field_path(".encryption"),
    validation = Rule::new("!has(self.generatedKey) || self.encryption.all(c, c.column != self.generatedKey.column)")
        .message("encryption names the generated column, whose numbers Remora makes; remove it")
        .field_path(".encryption"),
    validation = Rule::new("self.encryption == oldSelf.encryption")
        .message("encryption of a table cannot change: its rows are stored so; set it back, or DROP the table, take its entry out, and add both anew")
        .field_path(".encryption"),
    validation = Rule::new("has(self.sharding) == has(oldSelf.sharding) && (!has(self.sharding) || self.sharding == oldSelf.sharding)")
        .message("sharding of a table cannot change until resharding exists: its rows would be looked for where they are not; set it back")
        .field_path(".sharding"),
    validation = Rule::new("self.broadcast == oldSelf.broadcast")
        .message("broadcast of a table cannot change until resharding exists: its rows would be looked for where they are not; set it back")
        .field_path(".broadcast"),
    validation = Rule::new("has(self.generatedKey) == has(oldSelf.generatedKey) && (!has(self.generatedKey) || self.generatedKey == oldSelf.generatedKey)")
        .message("generatedKey of a table cannot change until resharding exists: new values could repeat old ones; set it back")
        .field_path(".generatedKey")
)]
pub struct Table {
    /// The table's name, without the database. Upper and lower case differ, as in MySQL on Linux.
    #[schemars(length(min = 1, max = 64), regex(pattern = r"^[A-Za-z0-9_$-]+$"))]
    pub name: String,
    /// How the table's rows are spread over shards and physical tables. Fixed until resharding
    /// exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sharding: Option<Sharding>,
    /// Every shard holds all rows: for small tables that are joined with sharded ones and seldom
    /// written.
    #[serde(default)]
    pub broadcast: bool,
    /// A column whose value Remora makes when an INSERT gives none, as AUTO_INCREMENT does on
    /// one server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated_key: Option<GeneratedKey>,
    /// Columns whose plain text MySQL never sees. Fixed while the table exists. At most 32.
    #[serde(default)]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["column".into()]))]
    pub encryption: Vec<EncryptedColumn>,
}

/// How a table's rows are spread.
#[derive(Clone, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Sharding {
    /// The sharding key's column. This version takes one column.
    #[schemars(length(min = 1, max = 4), inner(length(min = 1, max = 64)))]
    #[x_kube(validation = Rule::new("size(self) == 1")
        .message("sharding.key must have one column: this version has no composite keys yet"))]
    pub key: Vec<String>,
    /// The function from key to shard and physical table.
    pub algorithm: Algorithm,
    /// Physical tables on each shard. Where absent, that of the table named by `colocatedWith`,
    /// else 1. More than 1 makes MySQL slower and is for tables that would grow too large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4096))]
    pub tables_per_shard: Option<u16>,
    /// The table whose rows with an equal key are on the same shard and in the same physical
    /// schema, so that joins on the key stay local.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub colocated_with: Option<String>,
}

/// The function from key to shard and physical table.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Algorithm {
    /// A 64-bit hash of the key's value: equal keys go together, others are spread evenly.
    /// Write `hash: {}`.
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
    #[schemars(length(min = 1, max = 64))]
    pub column: String,
    /// Where its values come from: `Sequence` for small numbers that grow, or `Snowflake` for
    /// 63-bit numbers that need no round trip.
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
