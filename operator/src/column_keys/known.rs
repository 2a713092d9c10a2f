//! What the status holds of each version of a key: a check that tells it from any other, and
//! since when sidecars may have it.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use remora_cipher::KeyMaterial;
use remora_crds::{ColumnKey, KnownKey, ShardingCluster};

/// After this, counted from when the leader noted a version, every sidecar that follows has it:
/// whoever tells sidecars reads Secrets anew after 15 s, and looks every 15 s whether to tell
/// something. Until then it opens and does not seal.
const SETTLING: Duration = Duration::from_secs(60);

/// What is known of a cluster's keys.
pub(super) fn of(cluster: &ShardingCluster) -> &[KnownKey] {
    let status = cluster.status.as_ref();
    status.map(|it| &it.column_keys[..]).unwrap_or_default()
}

/// Whether some version of a key is known.
pub(super) fn holds(known: &[KnownKey], name: &str) -> bool {
    known.iter().any(|it| it.name == name)
}

fn find<'k>(known: &'k [KnownKey], key: &ColumnKey) -> Option<&'k KnownKey> {
    let same = |it: &&KnownKey| it.name == key.name && it.version == key.version;
    known.iter().find(same)
}

/// The check of a key; none equals that of bytes that are no key.
fn check(key: &ColumnKey) -> String {
    let material = KeyMaterial::from_base64(&key.key);
    material.map(|it| it.check()).unwrap_or_default()
}

/// The first key that is another than the known one.
pub(super) fn other<'f>(found: &'f [ColumnKey], known: &[KnownKey]) -> Option<&'f ColumnKey> {
    found
        .iter()
        .find(|key| find(known, key).is_some_and(|it| it.check != check(key)))
}

/// The keys that are known. `None` if one lacks its first version, which is yet to be noted.
pub(super) fn handed_out(
    found: Vec<ColumnKey>,
    known: &[KnownKey],
    now: Timestamp,
) -> Option<Vec<ColumnKey>> {
    let mut out = Vec::with_capacity(found.len());
    for mut key in found {
        match find(known, &key) {
            Some(it) => {
                let until = it.since.saturating_add_unsigned(SETTLING.as_secs());
                // The first version comes with the key itself.
                key.settling = key.version > 1 && now.as_second() < until;
                out.push(key);
            }
            None if key.version == 1 => return None,
            None => {}
        }
    }
    Some(out)
}

/// What is known once `found` was seen. Nothing is forgotten: a version that comes back must be
/// the one that went.
pub(crate) fn known(before: &[KnownKey], found: &[ColumnKey], now: Timestamp) -> Vec<KnownKey> {
    let mut known = before.to_vec();
    for key in found {
        if find(before, key).is_none() {
            known.push(KnownKey {
                name: key.name.clone(),
                version: key.version,
                check: check(key),
                since: now.as_second(),
            });
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";

    fn key(version: u32) -> ColumnKey {
        ColumnKey {
            name: "mobile".to_owned(),
            version,
            key: TEXT.to_owned(),
            settling: false,
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn told(versions: &[u32], known: &[KnownKey], now: i64) -> Option<Vec<(u32, bool)>> {
        let found = versions.iter().map(|version| key(*version)).collect();
        let out = handed_out(found, known, at(now))?;
        Some(out.iter().map(|key| (key.version, key.settling)).collect())
    }

    #[test]
    fn a_version_is_handed_out_once_it_is_noted_and_seals_when_all_have_it() {
        assert_eq!(told(&[1], &[], 0), None);
        let first = known(&[], &[key(1)], at(100));
        assert_eq!(told(&[1, 2], &first, 100), Some(vec![(1, false)]));
        let both = known(&first, &[key(1), key(2)], at(200));
        assert_eq!(both[..1], first);
        let seals = |now| told(&[1, 2], &both, now).unwrap();
        assert_eq!(seals(200), [(1, false), (2, true)]);
        assert_eq!(seals(259), [(1, false), (2, true)]);
        assert_eq!(seals(260), [(1, false), (2, false)]);
    }

    #[test]
    fn a_version_that_went_is_known_when_it_comes_back_as_another() {
        let both = known(&[], &[key(1), key(2)], at(100));
        assert_eq!(known(&both, &[key(1)], at(200)), both);
        let mut changed = key(2);
        changed.key = "CAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAg=".to_owned();
        let found = [key(1), changed];
        assert_eq!(other(&found, &both).map(|it| it.version), Some(2));
        assert_eq!(other(&[key(1), key(2), key(3)], &both), None);
    }

    #[test]
    fn nothing_of_a_key_is_in_what_is_known_of_it() {
        let shown = format!("{:?}", known(&[], &[key(1)], at(1)));
        assert!(!shown.contains("0707") && !shown.contains("Bwc"), "{shown}");
    }
}
