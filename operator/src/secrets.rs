//! Passwords and the servers' certificate of one cluster: read from Secrets, made where there
//! are none.
//!
//! Secrets are fetched by name. The operator has no right to list them.

use std::collections::BTreeMap;
use std::time::SystemTime;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use rand::Rng;
use rand::distr::Alphanumeric;
use remora_crds::{CertificateKeyRef, ColumnKey, SecretKeyRef, ShardingCluster, User};
use serde_json::json;

use crate::act::{ActError, Actor};
use crate::build::{self, Kind, Object, ObjectKey, REPLICATION_KEY, SystemPasswords};
use crate::certificates::{CertificateError, ServerSide, Trust, servers};
use crate::column_keys;
use crate::names::{CLUSTER, CLUSTER_NAMESPACE, Names};

/// 190 bits; letters and digits alone, so that no shell or URI stumbles over them.
const LENGTH: usize = 32;

/// What a cluster's Secrets hold, for snapshots.
#[derive(Clone, PartialEq)]
pub struct ClusterSecrets {
    /// Of Remora's own accounts.
    pub system: SystemPasswords,
    /// Of the users of the manifest, by name.
    pub users: BTreeMap<String, String>,
    /// The servers' certificates.
    pub servers: ServerSide,
    /// Keys of encrypted columns.
    pub keys: Vec<ColumnKey>,
    /// The certificate authorities by which clients' certificates are verified.
    pub client_ca: Option<String>,
}

/// Why a Secret cannot be read or made.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The apiserver's answer.
    #[error("reading Secret {name}: {source}")]
    Api {
        /// The Secret.
        name: String,
        /// The answer.
        #[source]
        source: Box<kube::Error>,
    },
    /// The apiserver's answer.
    #[error("where copies of Secrets are cannot be read or noted: {source}")]
    Copies {
        /// The answer.
        #[source]
        source: Box<kube::Error>,
    },
    /// The apiserver's answer.
    #[error("whether the cluster has volumes cannot be told: {source}")]
    Volumes {
        /// The answer.
        #[source]
        source: Box<kube::Error>,
    },
    /// A Secret that the manifest names is not there, or lacks the key.
    #[error("{path}: Secret {name} has no key {key}; create it")]
    Missing {
        /// The manifest's field.
        path: String,
        /// The Secret.
        name: String,
        /// The key.
        key: String,
    },
    /// The password cannot be one.
    #[error("{path}: the password in Secret {name} is empty, longer than 128 bytes or not UTF-8")]
    Unusable {
        /// The manifest's field.
        path: String,
        /// The Secret.
        name: String,
    },
    /// A key of encrypted columns cannot be one.
    #[error("{path}: Secret {name}: {reason}")]
    Key {
        /// The manifest's field.
        path: String,
        /// The Secret.
        name: String,
        /// Why, and the remedy.
        reason: String,
    },
    /// No certificate.
    #[error("issuing the servers' certificate: {0}")]
    Certificate(#[from] CertificateError),
    /// Somebody else's Secret bears the name.
    #[error(transparent)]
    Act(#[from] ActError),
}

/// Reads them; `None` if the leader has not made them all yet.
///
/// # Errors
/// [`SecretError`].
pub async fn read(
    client: &Client,
    cluster: &ShardingCluster,
) -> Result<Option<ClusterSecrets>, SecretError> {
    let names = build::names(cluster);
    let secrets: Api<Secret> = Api::namespaced(client.clone(), &names.namespace);
    let Some(system) = fetch(&secrets, &names.system_secret())
        .await?
        .as_ref()
        .and_then(system)
    else {
        return Ok(None);
    };
    let mut users = BTreeMap::new();
    for user in &cluster.spec.users {
        let password = match &user.password_secret_ref {
            Some(reference) => Some(given(&secrets, &user.name, reference).await?),
            None => made(&secrets, &names, user).await?,
        };
        let Some(password) = password else {
            return Ok(None);
        };
        users.insert(user.name.clone(), password);
    }
    let Some(servers) = servers::read(&secrets, &names).await? else {
        return Ok(None);
    };
    let Some(keys) = column_keys::read(&secrets, cluster, Timestamp::now()).await? else {
        return Ok(None);
    };
    let client_ca = client_ca(&secrets, cluster).await?;
    Ok(Some(ClusterSecrets {
        system,
        users,
        servers,
        keys,
        client_ca,
    }))
}

/// Reads them, makes those that are missing, and applies the Secrets that
/// applications use. A Secret that outlived a deleted cluster is adopted.
///
/// # Errors
/// [`SecretError`].
pub async fn ensure(
    client: &Client,
    cluster: &ShardingCluster,
    trust: &Trust,
    domain: &str,
) -> Result<ClusterSecrets, SecretError> {
    let names = build::names(cluster);
    let secrets: Api<Secret> = Api::namespaced(client.clone(), &names.namespace);
    let system = ensure_system(&secrets, &names).await?;
    let mut users = BTreeMap::new();
    for user in &cluster.spec.users {
        let password = match &user.password_secret_ref {
            Some(reference) => given(&secrets, &user.name, reference).await?,
            None => made(&secrets, &names, user).await?.unwrap_or_else(random),
        };
        let wanted = build::user_secret(&names, &cluster.spec.database, &user.name, &password);
        let wanted = Object::from(wanted).stamped();
        let found = fetch(&secrets, &names.user_secret(&user.name)).await?;
        let stamp = found
            .as_ref()
            .and_then(|secret| build::stamp(&secret.metadata));
        if stamp != wanted.stamp() {
            Actor::new(client.clone(), &names).apply(&wanted).await?;
        }
        users.insert(user.name.clone(), password);
    }
    let servers = servers::ensure(client, cluster, trust, domain, SystemTime::now()).await?;
    let keys = column_keys::ensure(client, &secrets, &names, cluster).await?;
    let client_ca = client_ca(&secrets, cluster).await?;
    Ok(ClusterSecrets {
        system,
        users,
        servers,
        keys,
        client_ca,
    })
}

async fn ensure_system(
    secrets: &Api<Secret>,
    names: &Names,
) -> Result<SystemPasswords, SecretError> {
    let make = || {
        let passwords = SystemPasswords {
            sidecar: random(),
            agent: random(),
            replication: random(),
        };
        Ok(build::system_secret(names, &passwords))
    };
    let mut secret = get_or_create(secrets, names, names.system_secret(), make).await?;
    if text(&secret, REPLICATION_KEY).is_none() {
        secret = complete(secrets, &secret).await?;
    }
    system(&secret).ok_or_else(|| foreign(names.system_secret()))
}

/// Adds the password of replication to the Secret of a version that had none. With the Secret's
/// version, so that of two operators one is refused and reads what the other made.
async fn complete(secrets: &Api<Secret>, secret: &Secret) -> Result<Secret, SecretError> {
    let name = secret.name_any();
    let patch = json!({
        "metadata": { "resourceVersion": secret.metadata.resource_version },
        "data": { REPLICATION_KEY: ByteString(random().into_bytes()) },
    });
    secrets
        .patch(&name, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .map_err(|error| failed(&name, error))
}

/// The Secret that is there, else a new one. Created, never applied: if another operator is
/// faster, this fails, and the next round reads what that one made.
async fn get_or_create(
    secrets: &Api<Secret>,
    names: &Names,
    name: String,
    make: impl FnOnce() -> Result<Secret, SecretError>,
) -> Result<Secret, SecretError> {
    let found = match fetch(secrets, &name).await? {
        Some(found) => found,
        None => {
            let created = secrets.create(&PostParams::default(), &make()?).await;
            created.map_err(|error| failed(&name, error))?
        }
    };
    if ours(&found, names) {
        Ok(found)
    } else {
        Err(foreign(name))
    }
}

pub(crate) fn foreign(name: String) -> SecretError {
    ActError::Foreign(ObjectKey {
        kind: Kind::Secret,
        name,
    })
    .into()
}

/// The copy that another namespace's cluster of the same name put here is not.
pub(crate) fn ours(secret: &Secret, names: &Names) -> bool {
    secret.labels().get(CLUSTER) == Some(&names.cluster)
        && !secret.labels().contains_key(CLUSTER_NAMESPACE)
}

fn system(secret: &Secret) -> Option<SystemPasswords> {
    Some(SystemPasswords {
        sidecar: text(secret, "sidecar")?,
        agent: text(secret, "agent")?,
        replication: text(secret, REPLICATION_KEY)?,
    })
}

/// The password that the manifest refers to.
async fn given(
    secrets: &Api<Secret>,
    user: &str,
    reference: &SecretKeyRef,
) -> Result<String, SecretError> {
    let path = format!("spec.users[{user}].passwordSecretRef");
    let SecretKeyRef { name, key } = reference.clone();
    let secret = fetch(secrets, &name).await?;
    let data = secret
        .as_ref()
        .and_then(|secret| secret.data.as_ref()?.get(&key));
    let Some(bytes) = data else {
        return Err(SecretError::Missing { path, name, key });
    };
    match std::str::from_utf8(&bytes.0) {
        Ok(text) if (1..=128).contains(&text.len()) && !text.contains('\0') => Ok(text.to_owned()),
        _ => Err(SecretError::Unusable { path, name }),
    }
}

/// The certificate authorities of clients that the manifest refers to.
async fn client_ca(
    secrets: &Api<Secret>,
    cluster: &ShardingCluster,
) -> Result<Option<String>, SecretError> {
    let Some(reference) = &cluster.spec.sidecar.client_ca_secret_ref else {
        return Ok(None);
    };
    let path = "spec.sidecar.clientCaSecretRef".to_owned();
    let CertificateKeyRef { name, key } = reference.clone();
    let found = fetch(secrets, &name).await?;
    match found.and_then(|secret| text(&secret, &key)) {
        Some(pem) => Ok(Some(pem)),
        None => Err(SecretError::Missing { path, name, key }),
    }
}

/// The password that was made before, if it was.
async fn made(
    secrets: &Api<Secret>,
    names: &Names,
    user: &User,
) -> Result<Option<String>, SecretError> {
    let secret = fetch(secrets, &names.user_secret(&user.name)).await?;
    let secret = secret.filter(|secret| ours(secret, names));
    Ok(secret
        .and_then(|secret| text(&secret, "password"))
        .filter(|text| !text.is_empty()))
}

pub(crate) fn text(secret: &Secret, key: &str) -> Option<String> {
    String::from_utf8(secret.data.as_ref()?.get(key)?.0.clone()).ok()
}

pub(crate) async fn fetch(
    secrets: &Api<Secret>,
    name: &str,
) -> Result<Option<Secret>, SecretError> {
    secrets
        .get_opt(name)
        .await
        .map_err(|error| failed(name, error))
}

pub(crate) fn failed(name: &str, source: kube::Error) -> SecretError {
    SecretError::Api {
        name: name.to_owned(),
        source: Box::new(source),
    }
}

fn random() -> String {
    rand::rng()
        .sample_iter(Alphanumeric)
        .take(LENGTH)
        .map(char::from)
        .collect()
}
