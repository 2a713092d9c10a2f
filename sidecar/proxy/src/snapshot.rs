//! What the sidecar was told: the manifest, where the servers are, who may log in.
//!
//! A file or the operator produces it; everything else reads it.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use arc_swap::ArcSwap;
use remora_cipher::{KeyMaterial, KeyRing};
use remora_crds::{
    ColumnKey, Credentials, Gateway, Instance, Role, ShardEndpoints, ShardingClusterSpec, Topology,
    User,
};
use remora_discovery::{Fingerprint, fingerprints};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::watch;

/// One consistent state of the world.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The cluster's name.
    pub name: String,
    /// The UID that Kubernetes gave the cluster; a file has none.
    pub uid: Option<String>,
    /// Orders primaries; a lower one under the same UID is refused.
    pub epoch: u64,
    /// The manifest.
    pub spec: ShardingClusterSpec,
    /// The servers of each shard, in the order of the shards' index.
    pub shards: Vec<ShardEndpoints>,
    /// Passwords of those who may log in, by name.
    pub users: HashMap<String, SecretString>,
    /// The sidecar's own account: sequences, layout, the catalog.
    pub system: Account,
    /// Who writes the layout into the shards.
    pub keeper: LayoutKeeper,
    /// How backends are talked to.
    pub backend_tls: BackendTls,
    /// The keys of encrypted columns that this sidecar was given.
    pub keys: Arc<KeyRing>,
    /// The certificate authorities by which clients' certificates are verified (PEM).
    pub client_ca: Option<Arc<str>>,
    /// How many connections the sidecar may have.
    pub connections: Connections,
}

/// A sidecar with a smaller share of connections cannot share them among its clients in a useful
/// way: one transaction, and everybody else waits.
const LEAST_SHARE: u32 = 2;

/// The sidecar's part of the connections that all sidecars have, and what it does where that is too
/// little.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Connections {
    /// How many to each server; `None`: nobody says.
    pub share: Option<u32>,
    /// Whom clients are served through where that is too little.
    pub gateway: Option<Gateway>,
}

impl Connections {
    /// Whether there are too few for every sidecar to have some.
    #[must_use]
    pub fn are_short(&self) -> bool {
        self.share.is_some_and(|share| share < LEAST_SHARE)
    }

    /// The gateway that new clients are served through, if they are.
    #[must_use]
    pub fn through(&self) -> Option<&Gateway> {
        self.gateway.as_ref().filter(|_| self.are_short())
    }
}

/// An account of MySQL.
#[derive(Clone, Debug)]
pub struct Account {
    /// Its name.
    pub name: String,
    /// Its password.
    pub password: SecretString,
}

/// Who writes into the shards how their rows are laid out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LayoutKeeper {
    /// The agents of the MySQL pods. Sidecars read it, and serve no shard where they cannot.
    Agents,
    /// The sidecars, by the system account.
    SystemAccount,
    /// The sidecars, as the first user: the topology has no system account. Where that user may
    /// not, nobody guards the rows.
    FirstUser,
}

/// Whether and how connections to MySQL are encrypted.
#[derive(Clone, Debug, Default)]
pub enum BackendTls {
    /// Encrypted where the server offers it and the address is not loopback; any certificate.
    #[default]
    Preferred,
    /// Always, and the certificate must come from these authorities (PEM).
    Verified(Arc<[u8]>),
}

impl From<Credentials> for Account {
    fn from(c: Credentials) -> Self {
        Self {
            name: c.name,
            password: c.password.into(),
        }
    }
}

/// Why documents that are each valid do not make a snapshot together.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum SnapshotError {
    /// The manifest and the topology disagree.
    #[error("the manifest has {manifest} shards, the topology has {topology}")]
    ShardCount {
        /// What `spec.shards` says.
        manifest: usize,
        /// How many the topology lists.
        topology: usize,
    },
    /// A key of encrypted columns is none. The text holds nothing of it.
    #[error("key {name} of the topology: {reason}")]
    Key {
        /// Its name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Nobody could log in, and no account could lease sequences.
    #[error("the topology has no users")]
    NoUsers,
}

impl Snapshot {
    /// Whether all users of `other` are among these, with the same passwords.
    pub(crate) fn has_users_of(&self, other: &Self) -> bool {
        other.users.iter().all(|(name, password)| {
            let own = self.users.get(name);
            own.is_some_and(|own| own.expose_secret() == password.expose_secret())
        })
    }

    /// Joins a manifest and a topology, as a file gives them.
    ///
    /// # Errors
    /// If they contradict each other.
    pub fn new(
        uid: Option<String>,
        spec: ShardingClusterSpec,
        topology: Topology,
        backend_tls: BackendTls,
    ) -> Result<Self, SnapshotError> {
        if usize::from(spec.shards) != topology.shards.len() {
            return Err(SnapshotError::ShardCount {
                manifest: spec.shards.into(),
                topology: topology.shards.len(),
            });
        }
        let keys = Arc::new(key_ring(&topology.keys)?);
        let connections = Connections {
            share: topology.connection_share,
            gateway: topology.gateway,
        };
        let first = topology.users.first().cloned();
        let keeper = match topology.system {
            Some(_) => LayoutKeeper::SystemAccount,
            None => LayoutKeeper::FirstUser,
        };
        let system = topology
            .system
            .or(first)
            .ok_or(SnapshotError::NoUsers)?
            .into();
        let users = topology
            .users
            .into_iter()
            .map(|u| (u.name, u.password.into()))
            .collect();
        Ok(Self {
            name: topology.metadata.name,
            uid,
            epoch: topology.epoch,
            spec,
            shards: topology.shards,
            users,
            system,
            keeper,
            backend_tls,
            keys,
            client_ca: topology.client_ca.map(Arc::from),
            connections,
        })
    }

    /// What the manifest says of a user.
    #[must_use]
    pub fn user(&self, name: &[u8]) -> Option<&User> {
        self.spec
            .users
            .iter()
            .find(|user| user.name.as_bytes() == name)
    }

    /// The server of `shard` that takes writes, if it has one.
    #[must_use]
    pub fn primary(&self, shard: usize) -> Option<&Instance> {
        self.shards
            .get(shard)?
            .instances
            .iter()
            .find(|i| i.role == Role::Primary)
    }
}

fn key_ring(keys: &[ColumnKey]) -> Result<KeyRing, SnapshotError> {
    let refused = |name: &str, reason: String| SnapshotError::Key {
        name: name.to_owned(),
        reason,
    };
    let versions: Vec<_> = keys
        .iter()
        .map(|key| {
            let material = KeyMaterial::from_base64(&key.key);
            let material = material.map_err(|error| refused(&key.name, error.to_string()))?;
            Ok((key.name.clone(), key.version, material, key.settling))
        })
        .collect::<Result<_, _>>()?;
    KeyRing::with_settling(versions).map_err(|(name, error)| refused(&name, error.to_string()))
}

/// The current snapshot: cheap to read for every command, and a wake-up when it changes.
#[derive(Debug)]
pub struct Snapshots {
    current: ArcSwap<Snapshot>,
    changed: watch::Sender<u64>,
    /// The CAs by which connections to MySQL are verified from now on.
    trusted: ArcSwap<BTreeSet<Fingerprint>>,
}

impl Snapshots {
    /// Starts with a first snapshot.
    #[must_use]
    pub fn new(first: Snapshot) -> Self {
        let changed = watch::Sender::new(first.epoch);
        Self {
            current: ArcSwap::from_pointee(first),
            changed,
            trusted: ArcSwap::default(),
        }
    }

    /// Takes note of what is in force towards MySQL.
    pub(crate) fn adopted(&self, tls: &BackendTls) {
        let trusted = match tls {
            BackendTls::Preferred => BTreeSet::new(),
            BackendTls::Verified(pem) => fingerprints(pem),
        };
        self.trusted.store(Arc::new(trusted));
    }

    /// The CAs by which connections to MySQL are verified from now on; none, where any
    /// certificate is taken, or nothing is in force yet.
    #[must_use]
    pub fn trusted(&self) -> Arc<BTreeSet<Fingerprint>> {
        self.trusted.load_full()
    }

    /// The current snapshot.
    #[must_use]
    pub fn load(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Takes a new snapshot, unless it is older than the current one of the same cluster.
    /// Answers whether it was taken.
    pub fn publish(&self, next: Snapshot) -> bool {
        let current = self.current.load();
        if current.uid == next.uid && next.epoch < current.epoch {
            return false;
        }
        let epoch = next.epoch;
        self.current.store(Arc::new(next));
        self.changed.send_replace(epoch);
        true
    }

    /// Wakes when a new snapshot was taken.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use remora_cipher::{Envelope, Nonce, Place};

    use super::*;

    #[test]
    fn a_version_that_others_may_lack_does_not_seal() {
        let sealing = |settling| {
            let key = |version, key: &str, settling| ColumnKey {
                name: "mobile".to_owned(),
                version,
                key: key.to_owned(),
                settling,
            };
            let ring = key_ring(&[
                key(1, "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=", false),
                key(2, "CAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAg=", settling),
            ]);
            let place = Place::new("shop", "person", "mobile");
            let ring = ring.unwrap();
            let sealed = ring.get("mobile").unwrap();
            let sealed = sealed.seal(&place, Nonce::Random, b"139").unwrap();
            Envelope::decode(&sealed).unwrap().version
        };
        assert_eq!((sealing(true), sealing(false)), (1, 2));
    }
}
