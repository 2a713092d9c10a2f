//! One of the kinds of object that the operator makes.

use std::fmt;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::names::APPLIED;

/// The kinds of object that the operator makes.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Kind {
    /// my.cnf, and the CA.
    ConfigMap,
    /// Accounts.
    Secret,
    /// Gateways, and the servers of a shard.
    Service,
    /// One server at a time.
    PodDisruptionBudget,
    /// Who reaches mysqld.
    NetworkPolicy,
    /// A shard.
    StatefulSet,
}

/// An object's kind and name, within the cluster's namespace.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ObjectKey {
    /// The kind.
    pub kind: Kind,
    /// The name.
    pub name: String,
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.kind, self.name)
    }
}

/// An object as it should be.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Object {
    /// my.cnf, or the CA.
    ConfigMap(ConfigMap),
    /// Accounts.
    Secret(Secret),
    /// Gateways, or the servers of a shard.
    Service(Box<Service>),
    /// One server at a time.
    PodDisruptionBudget(PodDisruptionBudget),
    /// Who reaches mysqld.
    NetworkPolicy(NetworkPolicy),
    /// A shard.
    StatefulSet(Box<StatefulSet>),
}

impl Object {
    /// Adds the annotation that tells whether an apply would change anything.
    #[must_use]
    pub fn stamped(mut self) -> Self {
        let hash = short_hash(&serde_json::to_vec(&self).unwrap_or_default());
        let annotations = self.metadata_mut().annotations.get_or_insert_default();
        annotations.insert(APPLIED.to_owned(), hash);
        self
    }

    /// The annotation of [`Self::stamped`].
    #[must_use]
    pub fn stamp(&self) -> Option<&str> {
        stamp(self.metadata())
    }

    /// The kind and name.
    #[must_use]
    pub fn key(&self) -> ObjectKey {
        let kind = match self {
            Self::ConfigMap(_) => Kind::ConfigMap,
            Self::Secret(_) => Kind::Secret,
            Self::Service(_) => Kind::Service,
            Self::PodDisruptionBudget(_) => Kind::PodDisruptionBudget,
            Self::NetworkPolicy(_) => Kind::NetworkPolicy,
            Self::StatefulSet(_) => Kind::StatefulSet,
        };
        ObjectKey {
            kind,
            name: self.metadata().name.clone().unwrap_or_default(),
        }
    }

    /// The metadata.
    #[must_use]
    pub fn metadata(&self) -> &ObjectMeta {
        match self {
            Self::ConfigMap(object) => &object.metadata,
            Self::Secret(object) => &object.metadata,
            Self::Service(object) => &object.metadata,
            Self::PodDisruptionBudget(object) => &object.metadata,
            Self::NetworkPolicy(object) => &object.metadata,
            Self::StatefulSet(object) => &object.metadata,
        }
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        match self {
            Self::ConfigMap(object) => &mut object.metadata,
            Self::Secret(object) => &mut object.metadata,
            Self::Service(object) => &mut object.metadata,
            Self::PodDisruptionBudget(object) => &mut object.metadata,
            Self::NetworkPolicy(object) => &mut object.metadata,
            Self::StatefulSet(object) => &mut object.metadata,
        }
    }
}

/// The annotation that tells what was applied last.
#[must_use]
pub(crate) fn stamp(metadata: &ObjectMeta) -> Option<&str> {
    metadata
        .annotations
        .as_ref()?
        .get(APPLIED)
        .map(String::as_str)
}

/// Sixteen hexadecimal digits: enough to tell states of one object apart.
pub(crate) fn short_hash(bytes: &[u8]) -> String {
    let mut hash = hex::encode(Sha256::digest(bytes));
    hash.truncate(16);
    hash
}

impl From<ConfigMap> for Object {
    fn from(object: ConfigMap) -> Self {
        Self::ConfigMap(object)
    }
}

impl From<Secret> for Object {
    fn from(object: Secret) -> Self {
        Self::Secret(object)
    }
}

impl From<Service> for Object {
    fn from(object: Service) -> Self {
        Self::Service(Box::new(object))
    }
}

impl From<PodDisruptionBudget> for Object {
    fn from(object: PodDisruptionBudget) -> Self {
        Self::PodDisruptionBudget(object)
    }
}

impl From<NetworkPolicy> for Object {
    fn from(object: NetworkPolicy) -> Self {
        Self::NetworkPolicy(object)
    }
}

impl From<StatefulSet> for Object {
    fn from(object: StatefulSet) -> Self {
        Self::StatefulSet(Box::new(object))
    }
}
