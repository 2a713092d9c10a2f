//! `spec.encryption` and `spec.tables[].encryption`: what MySQL never sees in plain text.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Keys of encrypted columns.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Encryption {
    /// The keys, by name. At most 32.
    #[serde(default)]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub keys: Vec<EncryptionKey>,
}

/// A key, in one or more versions.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EncryptionKey {
    /// The key's name.
    #[schemars(
        length(min = 1, max = 64),
        regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
    )]
    pub name: String,
    /// The Secret that holds it, in the cluster's namespace. Its data are called `NAME.VERSION`,
    /// such as `mobile.1`: 32 bytes each, raw or in base64. Where the Secret is absent, the
    /// operator makes it, with version 1, as long as the cluster is new; later it asks for it. A
    /// higher version is used for all that is written from a minute later on; version 1 is kept
    /// for ever.
    pub secret_ref: SecretName,
}

/// A Secret of the cluster's namespace.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecretName {
    /// The Secret's name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// A column whose plain text MySQL never sees.
#[derive(Clone, Debug, Deserialize, Eq, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(
    validation = Rule::new("has(self.digest) ? (has(self.key) == (self.digest == 'HmacSha256')) : has(self.key)")
        .message("an encrypted column needs a key; a digest has one only if it is HmacSha256: set key, or remove it"),
    validation = Rule::new("!has(self.digest) || !has(self.lookup)")
        .message("lookup is for encrypted columns: a digest is found by = without it; remove lookup")
)]
pub struct EncryptedColumn {
    /// The column.
    #[schemars(length(min = 1, max = 48), regex(pattern = r"^[A-Za-z0-9_$]+$"))]
    pub column: String,
    /// The key of `spec.encryption.keys` that encrypts it, or that makes its `HmacSha256`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub key: Option<String>,
    /// Which conditions find rows by the column. Where absent, only IS NULL and IS NOT NULL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lookup: Option<Lookup>,
    /// Keeps the digest of what is written, in place of an encrypted value that can be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
}

/// Conditions that find rows by an encrypted column.
#[derive(
    Clone, Copy, Debug, Deserialize, Eq, JsonSchema, Ord, PartialEq, PartialOrd, Serialize,
)]
pub enum Lookup {
    /// `=`, `IN` and joins on equality, by an index of keyed hashes. Whoever reads the disk sees
    /// which values are equal.
    Equality,
}

/// What a digest column holds: hexadecimal digits in lower case.
#[derive(
    Clone, Copy, Debug, Deserialize, Eq, JsonSchema, Ord, PartialEq, PartialOrd, Serialize,
)]
pub enum Digest {
    /// 32 digits. Values that are easily guessed are easily found.
    #[serde(rename = "MD5")]
    Md5,
    /// 64 digits. Likewise.
    #[serde(rename = "SHA256")]
    Sha256,
    /// 64 digits, which nobody can try out without the key.
    HmacSha256,
}
