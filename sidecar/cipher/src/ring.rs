//! The keys that a sidecar was given.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::{Key, KeyMaterial};

/// Keys by name.
#[derive(Clone, Debug, Default)]
pub struct KeyRing {
    keys: HashMap<String, Arc<Key>>,
}

/// Why versions do not make a key.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum RingError {
    /// The index and digests stand on version 1.
    #[error("version 1 is missing: blind indexes and digests stand on it, so it is kept for ever")]
    NoFirst,
    /// Two keys of one version.
    #[error("version {0} stands twice")]
    Twice(u32),
}

impl KeyRing {
    /// A ring of these keys: name, version, bytes.
    ///
    /// # Errors
    /// If the versions of a name do not make a key; with the name.
    pub fn new(
        keys: impl IntoIterator<Item = (String, u32, KeyMaterial)>,
    ) -> Result<Self, (String, RingError)> {
        let keys = keys.into_iter();
        Self::with_settling(keys.map(|(name, version, it)| (name, version, it, false)))
    }

    /// Likewise, and whether the version settles: see [`Key::with_settling`].
    ///
    /// # Errors
    /// Likewise.
    pub fn with_settling(
        keys: impl IntoIterator<Item = (String, u32, KeyMaterial, bool)>,
    ) -> Result<Self, (String, RingError)> {
        let mut versions: BTreeMap<String, Vec<(u32, KeyMaterial, bool)>> = BTreeMap::new();
        for (name, version, material, settling) in keys {
            let versions = versions.entry(name).or_default();
            versions.push((version, material, settling));
        }
        let made =
            versions
                .into_iter()
                .map(|(name, versions)| match Key::with_settling(versions) {
                    Ok(key) => Ok((name, Arc::new(key))),
                    Err(error) => Err((name, error)),
                });
        Ok(Self {
            keys: made.collect::<Result<_, _>>()?,
        })
    }

    /// The key of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Key>> {
        self.keys.get(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_by_name() {
        let material = || KeyMaterial::from_bytes(&[1; 32]).unwrap();
        let ring = KeyRing::new([
            ("a".to_owned(), 1, material()),
            ("a".to_owned(), 2, material()),
            ("b".to_owned(), 1, material()),
        ]);
        let ring = ring.unwrap();
        assert!(ring.get("a").is_some() && ring.get("b").is_some() && ring.get("c").is_none());
        let lacking = KeyRing::new([("a".to_owned(), 2, material())]);
        assert_eq!(lacking.unwrap_err(), ("a".to_owned(), RingError::NoFirst));
    }
}
