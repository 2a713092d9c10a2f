//! Copies of users' Secrets in the namespaces that `spec.access` grants: a pod can take
//! environment variables from Secrets of its own namespace only.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, ResourceExt};
use remora_crds::ShardingCluster;

use crate::access::{Applicant, granted_users};
use crate::act::ActError;
use crate::build::{self, Kind, Object, ObjectKey, stamp};
use crate::names::{CLUSTER_NAMESPACE, Names, OPERATOR};
use crate::secrets::{ClusterSecrets, SecretError};

/// The users whose Secrets belong into a namespace with these labels: those granted to any of
/// its service accounts.
#[must_use]
pub fn granted(
    cluster: &ShardingCluster,
    namespace: &str,
    labels: &BTreeMap<String, String>,
) -> Vec<String> {
    let own = build::names(cluster).namespace;
    if namespace == own {
        return Vec::new();
    }
    let accounts = cluster
        .spec
        .access
        .iter()
        .flat_map(|access| &access.service_accounts);
    // The empty name stands for an account that no entry names.
    let accounts = accounts.map(String::as_str).chain([""]);
    let mut users: Vec<String> = accounts
        .filter_map(|service_account| {
            let applicant = Applicant {
                namespace,
                namespace_labels: labels,
                service_account,
            };
            granted_users(&cluster.spec, &own, applicant)
        })
        .flatten()
        .map(str::to_owned)
        .collect();
    users.sort_unstable();
    users.dedup();
    users
}

/// Brings the Secrets of `users` into `namespace`.
///
/// # Errors
/// [`SecretError`]: the apiserver's answer, or a Secret of somebody else's.
pub async fn copy(
    client: &Client,
    cluster: &ShardingCluster,
    secrets: &ClusterSecrets,
    namespace: &str,
    users: &[String],
) -> Result<(), SecretError> {
    let names = build::names(cluster);
    let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
    for user in users {
        let Some(password) = secrets.users.get(user) else {
            continue;
        };
        let copy = copy_of(&names, &cluster.spec.database, namespace, user, password);
        let key = copy.key();
        let failed = |source| SecretError::Api {
            name: format!("{namespace}/{}", key.name),
            source: Box::new(source),
        };
        let found = api.get_opt(&key.name).await.map_err(failed)?;
        if let Some(found) = &found {
            if found.labels().get(CLUSTER_NAMESPACE) != Some(&names.namespace) {
                let name = format!("{namespace}/{}", key.name);
                return Err(ActError::Foreign(ObjectKey {
                    kind: Kind::Secret,
                    name,
                })
                .into());
            }
            if stamp(&found.metadata) == copy.stamp() {
                continue;
            }
        }
        let parameters = PatchParams::apply(OPERATOR).force();
        api.patch(&key.name, &parameters, &Patch::Apply(&copy))
            .await
            .map_err(failed)?;
        tracing::info!(namespace, secret = %key.name, "copied a user's Secret");
    }
    Ok(())
}

fn copy_of(names: &Names, database: &str, namespace: &str, user: &str, password: &str) -> Object {
    let mut secret = build::user_secret(names, database, user, password);
    secret.metadata.namespace = Some(namespace.to_owned());
    let labels = secret.metadata.labels.get_or_insert_default();
    labels.insert(CLUSTER_NAMESPACE.to_owned(), names.namespace.clone());
    Object::from(secret).stamped()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::shop;

    #[test]
    fn only_granted_namespaces_get_copies_of_granted_users() {
        let mut cluster = shop();
        cluster.spec.access = serde_saphyr::from_str(
            "[{namespaceSelector: {matchLabels: {team: web}}, serviceAccounts: [shop], users: [app]}]",
        )
        .unwrap();
        let labels = BTreeMap::from([("team".to_owned(), "web".to_owned())]);
        assert_eq!(granted(&cluster, "web", &labels), ["app"]);
        assert_eq!(granted(&cluster, "web", &BTreeMap::new()), [""; 0]);
        assert_eq!(granted(&cluster, "default", &labels), [""; 0]);
    }
}
