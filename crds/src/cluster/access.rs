//! `spec.users` and `spec.access`: who may use a cluster.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A MySQL user that applications log in as. Its Secret `CLUSTER-USER`, of type
/// `servicebinding.io/mysql`, holds host, port, username, password, database, uri and jdbc-uri.
#[derive(Clone, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct User {
    /// The user's name. It is part of the name of a Secret, so it holds lower-case letters,
    /// digits and `-`. `root` and names that begin with `mysql` or `remora` are taken.
    #[schemars(
        length(min = 1, max = 32),
        regex(pattern = r"^[a-z]([-a-z0-9]*[a-z0-9])?$")
    )]
    #[x_kube(validation = Rule::new("self != 'root' && !self.startsWith('mysql') && !self.startsWith('remora')")
        .message("spec.users[].name is root, or begins with mysql or remora, which are MySQL's and Remora's own accounts; choose another name"))]
    pub name: String,
    /// Where the user's password stands, in a Secret of the cluster's namespace. Where absent,
    /// the operator makes a password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_secret_ref: Option<SecretKeyRef>,
    /// How many connections of this user each sidecar admits at the same time: another one gets
    /// error 1226, as with MySQL's MAX_USER_CONNECTIONS. Without it there is no such limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100000))]
    pub max_connections: Option<u32>,
    /// What this user's clients must show besides the password, as in MySQL's CREATE USER …
    /// REQUIRE: `SSL` (TLS), or `X509` (a certificate of `spec.sidecar.clientCaSecretRef` too).
    /// Others get error 1045, on loopback too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub require: Option<Require>,
    /// Whether clients may log in as this user without a password where the sidecar listens on
    /// loopback alone, as in applications' pods: whoever reaches it is in the same pod. Gateways
    /// ask for the password all the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub passwordless: bool,
}

impl User {
    /// What `maxConnections` may be.
    pub const MAX_CONNECTIONS: std::ops::RangeInclusive<u32> = 1..=100_000;
}

/// What a user's clients must show besides the password.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum Require {
    /// TLS.
    #[serde(rename = "SSL")]
    Ssl,
    /// TLS, and a certificate.
    X509,
}

/// A key of a Secret in the cluster's namespace.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecretKeyRef {
    /// The Secret's name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The key within the Secret.
    #[serde(default = "password")]
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
}

fn password() -> String {
    "password".to_owned()
}

/// Pods that get a sidecar for this cluster.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Access {
    /// Namespaces by their labels; an empty selector means all. Where absent, the cluster's own
    /// namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<LabelSelector>,
    /// Service accounts in those namespaces; empty means all. At most 32.
    #[serde(default)]
    #[schemars(length(max = 32), inner(length(min = 1, max = 253)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub service_accounts: Vec<String>,
    /// Users of `spec.users` that they may log in as; empty means all. At most 32.
    #[serde(default)]
    #[schemars(length(max = 32), inner(length(min = 1, max = 32)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub users: Vec<String>,
    /// Keys of `spec.encryption.keys` that their sidecars get; empty means all. A statement on a
    /// column whose key a sidecar lacks is refused. At most 32.
    #[serde(default)]
    #[schemars(length(max = 32), inner(length(min = 1, max = 64)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub keys: Vec<String>,
}
