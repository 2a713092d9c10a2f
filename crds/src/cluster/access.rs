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
