//! Keys of encrypted columns: read from the Secrets that the manifest names, made where a new
//! cluster's Secret is not there.
//!
//! With another key lookups would find nothing, without an error. So a Secret that is there is
//! never written, one that is gone is not made again, and a version of a key is handed out once
//! the status holds a check of it, with which it is compared ever after: see [`known`].

mod known;

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Secret};
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::api::{Api, PostParams};
use rand::RngCore;
use remora_cipher::KeyMaterial;
use remora_crds::{ColumnKey, EncryptionKey, ShardData, ShardingCluster, ShardingClusterSpec};
use zeroize::Zeroizing;

use crate::build;
use crate::names::Names;
use crate::observe;
use crate::secrets::{SecretError, failed, fetch};

pub(crate) use known::known;

/// The bytes of a key.
const BYTES: usize = 32;

/// Reads the keys that may be handed out; `None` if the leader has yet to make or to note some.
pub(crate) async fn read(
    secrets: &Api<Secret>,
    cluster: &ShardingCluster,
    now: Timestamp,
) -> Result<Option<Vec<ColumnKey>>, SecretError> {
    let known = known::of(cluster);
    let mut found = Vec::new();
    for (name, keys) in by_secret(&cluster.spec) {
        let Some(secret) = fetch(secrets, name).await? else {
            return match keys.iter().find(|key| known::holds(known, &key.name)) {
                Some(key) => Err(gone(name, key)),
                None => Ok(None),
            };
        };
        for key in keys {
            found.append(&mut checked(&secret, name, key, cluster)?);
        }
    }
    Ok(known::handed_out(found, known, now))
}

/// Reads all keys, and makes the Secrets that are not there while there can be no rows.
pub(crate) async fn ensure(
    client: &Client,
    secrets: &Api<Secret>,
    names: &Names,
    cluster: &ShardingCluster,
) -> Result<Vec<ColumnKey>, SecretError> {
    let mut found = Vec::new();
    for (name, keys) in by_secret(&cluster.spec) {
        let secret = match fetch(secrets, name).await? {
            Some(secret) => secret,
            None => {
                let used = keys
                    .iter()
                    .find(|key| known::holds(known::of(cluster), &key.name));
                if let Some(key) = used {
                    return Err(gone(name, key));
                }
                if let Some(key) = keys.first()
                    && may_hold_rows(client, names, cluster).await?
                {
                    return Err(not_made(name, key));
                }
                make(secrets, names, name, &keys).await?
            }
        };
        for key in keys {
            found.append(&mut checked(&secret, name, key, cluster)?);
        }
    }
    Ok(found)
}

/// Created, never applied: who is slower reads what the other made.
async fn make(
    secrets: &Api<Secret>,
    names: &Names,
    name: &str,
    keys: &[&EncryptionKey],
) -> Result<Secret, SecretError> {
    let made = keys.iter().map(|key| (format!("{}.1", key.name), random()));
    let secret = build::keys_secret(names, name.to_owned(), made.collect());
    match secrets.create(&PostParams::default(), &secret).await {
        Ok(_) => tracing::info!(secret = name, "made the keys of encrypted columns"),
        Err(kube::Error::Api(status)) if status.code == 409 => {}
        Err(error) => return Err(failed(name, error)),
    }
    let made = fetch(secrets, name).await?;
    // Somebody deleted it at once; the next round looks again.
    Ok(made.unwrap_or_default())
}

/// Whether rows may have been sealed already. A status that was lost, as in a namespace that was
/// restored, knows nothing of them; their volumes do.
async fn may_hold_rows(
    client: &Client,
    names: &Names,
    cluster: &ShardingCluster,
) -> Result<bool, SecretError> {
    let status = cluster.status.as_ref();
    let shards = status.map(|it| &it.shards[..]).unwrap_or_default();
    let held = |data| data == ShardData::Held;
    if shards
        .iter()
        .any(|it| held(it.data) || !it.primary.is_empty())
    {
        return Ok(true);
    }
    let all = shards.len() == usize::from(cluster.spec.shards);
    if all && shards.iter().all(|it| it.data == ShardData::Empty) {
        return Ok(false);
    }
    let volumes = observe::list::<PersistentVolumeClaim>(client, names).await;
    match volumes {
        Ok(volumes) => Ok(!volumes.is_empty()),
        Err(source) => Err(SecretError::Volumes {
            source: Box::new(source),
        }),
    }
}

fn path(key: &EncryptionKey) -> String {
    format!("spec.encryption.keys[{}].secretRef", key.name)
}

fn refused(name: &str, key: &EncryptionKey, reason: String) -> SecretError {
    SecretError::Key {
        path: path(key),
        name: name.to_owned(),
        reason,
    }
}

fn gone(name: &str, key: &EncryptionKey) -> SecretError {
    let reason = format!(
        "it is gone, and values may be sealed with {}.1 of it; restore the Secret from a copy",
        key.name
    );
    refused(name, key, reason)
}

fn not_made(name: &str, key: &EncryptionKey) -> SecretError {
    let reason = format!(
        "it does not exist, and is made only for a new cluster, since this one may hold rows; \
         restore it if there are values that were sealed with it, else create it (kubectl create \
         secret generic {name} --from-literal={}.1=\"$(openssl rand -base64 32)\")",
        key.name
    );
    refused(name, key, reason)
}

/// A key of a Secret, if it is none but the one that is known.
fn checked(
    secret: &Secret,
    name: &str,
    key: &EncryptionKey,
    cluster: &ShardingCluster,
) -> Result<Vec<ColumnKey>, SecretError> {
    let known = known::of(cluster);
    let found = match versions(secret, name, key) {
        Err(SecretError::Missing { .. }) if known::holds(known, &key.name) => {
            return Err(gone(name, key));
        }
        other => other?,
    };
    match known::other(&found, known) {
        None => Ok(found),
        Some(other) => {
            let reason = format!(
                "{}.{} is another key than before, with which nothing is found and nothing opens; \
                 restore the one from before",
                key.name, other.version
            );
            Err(refused(name, key, reason))
        }
    }
}

/// The manifest's keys by the Secret that holds them.
fn by_secret(spec: &ShardingClusterSpec) -> BTreeMap<&str, Vec<&EncryptionKey>> {
    let mut found: BTreeMap<&str, Vec<&EncryptionKey>> = BTreeMap::new();
    for key in spec.encryption.iter().flat_map(|it| &it.keys) {
        found.entry(&key.secret_ref.name).or_default().push(key);
    }
    found
}

/// All versions of a key: data called `NAME.VERSION`.
fn versions(
    secret: &Secret,
    name: &str,
    key: &EncryptionKey,
) -> Result<Vec<ColumnKey>, SecretError> {
    let refused = |reason: String| refused(name, key, reason);
    let mut found = Vec::new();
    for (entry, value) in secret.data.iter().flatten() {
        let Some(version) = entry
            .strip_prefix(&key.name)
            .and_then(|rest| rest.strip_prefix('.'))
        else {
            continue;
        };
        let number: Option<u32> = version.parse().ok().filter(|it| *it > 0);
        let Some(version) = number.filter(|it| it.to_string() == version) else {
            return Err(refused(format!(
                "{entry} is not {}.VERSION with a number from 1; rename it",
                key.name
            )));
        };
        let Ok(material) = KeyMaterial::from_secret(&value.0) else {
            return Err(refused(format!(
                "{entry} is not 32 bytes, raw or in base64 (openssl rand -base64 32)"
            )));
        };
        found.push(ColumnKey {
            name: key.name.clone(),
            version,
            key: material.to_base64().to_string(),
            settling: false,
        });
    }
    if !found.iter().any(|it| it.version == 1) {
        return Err(SecretError::Missing {
            path: path(key),
            name: name.to_owned(),
            key: format!("{}.1", key.name),
        });
    }
    found.sort_by_key(|it| it.version);
    Ok(found)
}

fn random() -> String {
    let mut bytes = Zeroizing::new([0; BYTES]);
    rand::rng().fill_bytes(&mut *bytes);
    BASE64_STANDARD.encode(*bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(data: &[(&str, &[u8])]) -> Secret {
        let bytes = |value: &&[u8]| k8s_openapi::ByteString(value.to_vec());
        Secret {
            data: Some(
                data.iter()
                    .map(|(k, v)| ((*k).to_owned(), bytes(v)))
                    .collect(),
            ),
            ..Secret::default()
        }
    }

    fn read(data: &[(&str, &[u8])]) -> Result<Vec<u32>, String> {
        let spec: ShardingClusterSpec = serde_saphyr::from_str(
            "{shards: 1, database: d, encryption: {keys: [{name: mobile, secretRef: {name: k}}]}}",
        )
        .unwrap();
        let key = &spec.encryption.as_ref().unwrap().keys[0];
        versions(&secret(data), "k", key)
            .map(|found| found.iter().map(|key| key.version).collect())
            .map_err(|error| error.to_string())
    }

    const RAW: &[u8] = &[7; 32];
    const TEXT: &[u8] = b"BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=\n";

    #[test]
    fn all_versions_of_a_key_are_read_raw_or_in_base64() {
        let data = [
            ("mobile.1", RAW),
            ("mobile.10", TEXT),
            ("mobile.2", TEXT),
            ("card.1", RAW),
        ];
        assert_eq!(read(&data), Ok(vec![1, 2, 10]));
    }

    #[test]
    fn a_secret_without_the_first_version_says_what_to_create() {
        let error = read(&[("mobile.2", RAW)]).unwrap_err();
        assert!(error.contains("no key mobile.1"), "{error}");
    }

    #[test]
    fn what_is_no_key_is_refused_without_its_value() {
        for (entry, value) in [
            ("mobile.1", &b"hunter2"[..]),
            ("mobile.01", RAW),
            ("mobile.x", RAW),
        ] {
            let error = read(&[("mobile.1", RAW), (entry, value)]).unwrap_err();
            assert!(
                error.contains(entry) && !error.contains("hunter2"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_made_key_is_one() {
        assert!(KeyMaterial::from_secret(random().as_bytes()).is_ok());
        assert_ne!(random(), random());
    }
}
