//! Copies of users' Secrets in the namespaces that `spec.access` grants: a pod can take
//! environment variables from Secrets of its own namespace only.

mod record;

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DeleteParams, Patch, PatchParams, Preconditions};
use kube::{Client, ResourceExt};
use remora_crds::ShardingCluster;

use crate::access::{Applicant, granted_users};
use crate::act::{ActError, is};
use crate::build::{self, Kind, Object, ObjectKey, stamp};
use crate::names::{CLUSTER, CLUSTER_NAMESPACE, Names, OPERATOR, RETAINED};
use crate::secrets::{ClusterSecrets, SecretError};
use crate::watched::Watched;

pub use record::Copies;

/// A namespace, and a user whose Secret is copied into it.
pub type Copy = (String, String);

/// The users whose Secrets belong into a namespace with these labels: those granted to any of
/// its service accounts.
fn granted(
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
async fn copy(
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

/// Brings the copies of a cluster's Secrets to where they are granted, and removes them from
/// where they no longer are. A namespace that refuses its copy does not hold the cluster up: a
/// pod there waits for the Secret, and says so.
///
/// # Errors
/// [`SecretError`]: where the copies are cannot be read or noted, so none is made.
pub async fn settle(
    client: &Client,
    cluster: &ShardingCluster,
    secrets: &ClusterSecrets,
    watched: &Watched,
    copies: &Copies,
) -> Result<(), SecretError> {
    let names = build::names(cluster);
    let known = copies.of(client, &names).await?;
    let (mut granted, mut by_namespace) = (BTreeSet::new(), Vec::new());
    for (namespace, labels) in watched.namespaces() {
        let users = self::granted(cluster, &namespace, &labels);
        granted.extend(users.iter().map(|user| (namespace.clone(), user.clone())));
        by_namespace.push((namespace, users));
    }
    // Noted before they are made: whoever leads next finds them.
    let all: BTreeSet<_> = known.union(&granted).cloned().collect();
    copies.note(client, &names, all).await?;
    for (namespace, users) in &by_namespace {
        if let Err(error) = copy(client, cluster, secrets, namespace, users).await {
            tracing::warn!(namespace, %error, "cannot copy a user's Secret");
        }
    }
    let mut left = granted.clone();
    for copy in known.difference(&granted) {
        if let Err(error) = withdraw(client, &names, copy).await {
            tracing::warn!(namespace = copy.0, %error, "cannot withdraw a user's Secret");
            left.insert(copy.clone());
        }
    }
    copies.note(client, &names, left).await
}

/// Removes the copies of clusters that are gone. Nothing holds a deletion up until then: the
/// operator may be gone too, and does it when it is back. What fails, as where the operator's
/// rights went, is logged and tried again the next time; it holds up no other.
pub async fn sweep(client: &Client, watched: &Watched, copies: &Copies) {
    for (names, noted) in record::all(client, watched.scope()).await {
        if watched.has(&names) {
            continue;
        }
        if let Err(error) = sweep_one(client, &names, &noted, copies).await {
            let (namespace, cluster) = (&names.namespace, &names.cluster);
            tracing::warn!(namespace, cluster, %error, "cannot withdraw a cluster's copies");
        }
    }
}

/// Removes the copies of one cluster if it is gone, and the record of them once all went.
async fn sweep_one(
    client: &Client,
    names: &Names,
    noted: &BTreeSet<Copy>,
    copies: &Copies,
) -> Result<(), SecretError> {
    if is_there(client, names).await? {
        return Ok(());
    }
    let mut all = true;
    for copy in noted {
        if let Err(error) = withdraw(client, names, copy).await {
            tracing::warn!(namespace = copy.0, %error, "cannot withdraw a user's Secret");
            all = false;
        }
    }
    match all {
        true => copies.forget(client, names).await,
        false => Ok(()),
    }
}

/// Whether the apiserver has the cluster: one that was just made may not have been watched yet.
async fn is_there(client: &Client, names: &Names) -> Result<bool, SecretError> {
    let api: Api<ShardingCluster> = Api::namespaced(client.clone(), &names.namespace);
    let found = api.get_metadata_opt(&names.cluster).await;
    let found = found.map_err(|source| SecretError::Copies {
        source: Box::new(source),
    })?;
    Ok(found.is_some_and(|cluster| cluster.metadata.deletion_timestamp.is_none()))
}

/// Removes the copy of a user's Secret from a namespace that is no longer granted it. Only a
/// copy of this cluster's is touched.
async fn withdraw(
    client: &Client,
    names: &Names,
    (namespace, user): &Copy,
) -> Result<(), SecretError> {
    let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let name = names.user_secret_in(namespace, user);
    let failed = |source| SecretError::Api {
        name: format!("{namespace}/{name}"),
        source: Box::new(source),
    };
    let Some(found) = api.get_metadata_opt(&name).await.map_err(failed)? else {
        return Ok(());
    };
    if found.labels().get(CLUSTER) != Some(&names.cluster)
        || found.labels().get(CLUSTER_NAMESPACE) != Some(&names.namespace)
    {
        return Ok(());
    }
    let as_seen = Preconditions {
        uid: found.metadata.uid,
        resource_version: found.metadata.resource_version,
    };
    let parameters = DeleteParams::default().preconditions(as_seen);
    match api.delete(&name, &parameters).await {
        Ok(_) => tracing::info!(namespace, secret = %name, "withdrew a user's Secret"),
        Err(error) if is(&error, 404) => {}
        Err(error) => return Err(failed(error)),
    }
    Ok(())
}

fn copy_of(names: &Names, database: &str, namespace: &str, user: &str, password: &str) -> Object {
    let mut secret = build::user_secret(names, database, user, password);
    secret.metadata.name = Some(names.user_secret_in(namespace, user));
    secret.metadata.namespace = Some(namespace.to_owned());
    let labels = secret.metadata.labels.get_or_insert_default();
    labels.insert(CLUSTER_NAMESPACE.to_owned(), names.namespace.clone());
    // A copy opens no data: it goes with its cluster.
    labels.remove(RETAINED);
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
