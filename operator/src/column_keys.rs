//! Keys of encrypted columns: read from the Secrets that the manifest names, made where a Secret
//! is not there.
//!
//! A Secret that is there is never written: a key that was lost must not be replaced by another,
//! with which nothing opens.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, PostParams};
use rand::RngCore;
use remora_crds::{ColumnKey, EncryptionKey, ShardingClusterSpec};
use zeroize::Zeroizing;

use crate::build;
use crate::names::Names;
use crate::secrets::{SecretError, failed, fetch};

/// The bytes of a key.
const BYTES: usize = 32;

/// Reads all keys; `None` if the leader has yet to make a Secret.
pub(crate) async fn read(
    secrets: &Api<Secret>,
    spec: &ShardingClusterSpec,
) -> Result<Option<Vec<ColumnKey>>, SecretError> {
    let mut found = Vec::new();
    for (name, keys) in by_secret(spec) {
        let Some(secret) = fetch(secrets, name).await? else {
            return Ok(None);
        };
        for key in keys {
            found.append(&mut versions(&secret, name, key)?);
        }
    }
    Ok(Some(found))
}

/// Reads all keys, and makes the Secrets that are not there.
pub(crate) async fn ensure(
    secrets: &Api<Secret>,
    names: &Names,
    spec: &ShardingClusterSpec,
) -> Result<Vec<ColumnKey>, SecretError> {
    for (name, keys) in by_secret(spec) {
        if fetch(secrets, name).await?.is_some() {
            continue;
        }
        let made = keys.iter().map(|key| (format!("{}.1", key.name), random()));
        let secret = build::keys_secret(names, name.to_owned(), made.collect());
        // Created, never applied: who is slower reads what the other made.
        match secrets.create(&PostParams::default(), &secret).await {
            Ok(_) => tracing::info!(secret = name, "made the keys of encrypted columns"),
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => return Err(failed(name, error)),
        }
    }
    Ok(read(secrets, spec).await?.unwrap_or_default())
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
    let path = || format!("spec.encryption.keys[{}].secretRef", key.name);
    let refused = |reason: String| SecretError::Key {
        path: path(),
        name: name.to_owned(),
        reason,
    };
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
        let Some(bytes) = decoded(&value.0) else {
            return Err(refused(format!(
                "{entry} is not 32 bytes, raw or in base64 (openssl rand -base64 32)"
            )));
        };
        found.push(ColumnKey {
            name: key.name.clone(),
            version,
            key: BASE64_STANDARD.encode(&*bytes),
        });
    }
    if !found.iter().any(|it| it.version == 1) {
        return Err(SecretError::Missing {
            path: path(),
            name: name.to_owned(),
            key: format!("{}.1", key.name),
        });
    }
    found.sort_by_key(|it| it.version);
    Ok(found)
}

/// What a Secret holds is 32 bytes, or base64 of them with or without a line break.
fn decoded(value: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    if value.len() == BYTES {
        return Some(Zeroizing::new(value.to_vec()));
    }
    let decoded = BASE64_STANDARD.decode(value.trim_ascii()).ok()?;
    let decoded = Zeroizing::new(decoded);
    (decoded.len() == BYTES).then_some(decoded)
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
        assert_eq!(decoded(random().as_bytes()).unwrap().len(), 32);
        assert_ne!(random(), random());
    }
}
