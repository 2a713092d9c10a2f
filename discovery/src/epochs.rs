//! A lower epoch under the same UID is stale: it would send writes to an old primary.

use std::fmt;

use crate::Identity;

/// Remembers the highest epoch of a cluster.
#[derive(Debug, Default)]
pub struct EpochGuard {
    seen: Option<(String, u64)>,
}

/// A snapshot older than one that was seen.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub struct StaleEpoch {
    /// The epoch that came.
    pub got: u64,
    /// The highest one seen.
    pub seen: u64,
}

impl fmt::Display for StaleEpoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "epoch {} is older than {}, which was seen before",
            self.got, self.seen
        )
    }
}

impl EpochGuard {
    /// Takes note of `identity`. Another UID is another cluster, whose epochs start anew.
    ///
    /// # Errors
    /// If its epoch is lower than one seen under the same UID.
    pub fn admit(&mut self, identity: &Identity) -> Result<(), StaleEpoch> {
        match &self.seen {
            Some((uid, seen)) if *uid == identity.uid && identity.epoch < *seen => {
                Err(StaleEpoch {
                    got: identity.epoch,
                    seen: *seen,
                })
            }
            _ => {
                self.seen = Some((identity.uid.clone(), identity.epoch));
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(uid: &str, epoch: u64) -> Identity {
        Identity {
            uid: uid.to_owned(),
            epoch,
            content_hash: String::new(),
        }
    }

    #[test]
    fn a_lower_epoch_is_refused_under_the_same_uid_only() {
        let mut guard = EpochGuard::default();
        assert_eq!(guard.admit(&at("a", 3)), Ok(()));
        assert_eq!(guard.admit(&at("a", 3)), Ok(()));
        assert_eq!(
            guard.admit(&at("a", 2)),
            Err(StaleEpoch { got: 2, seen: 3 })
        );
        assert_eq!(guard.admit(&at("a", 4)), Ok(()));
        assert_eq!(guard.admit(&at("b", 1)), Ok(()));
    }
}
