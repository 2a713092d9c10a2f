//! A snapshot: all that a sidecar needs to know, and its way over the wire.

use prost::Message;
use remora_crds::{
    ColumnKey, Credentials, Gateway, Instance, Role, ShardEndpoints, ShardingClusterSpec, Topology,
    TopologyMetadata,
};
use sha2::{Digest, Sha256};

use crate::orders::{AgentOrders, orders_in, orders_out};
use crate::proto;

/// All that a sidecar needs to know.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Which cluster, and which state of it.
    pub identity: Identity,
    /// The cluster's namespace.
    pub namespace: String,
    /// The cluster's name.
    pub name: String,
    /// The manifest.
    pub spec: ShardingClusterSpec,
    /// Where the servers are, and the accounts of this pod.
    pub topology: Topology,
    /// Certificates, as PEM, by which MySQL servers are verified; `None`: they have none yet.
    pub backend_ca: Option<String>,
    /// What the agent of a MySQL server makes sure of; `None` in an application's pod.
    pub agent: Option<AgentOrders>,
}

/// Which cluster, and which state of it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Identity {
    /// The UID that Kubernetes gave the cluster.
    pub uid: String,
    /// Orders primaries; a lower one under the same UID is stale.
    pub epoch: u64,
    /// Equal hashes mean equal content.
    pub content_hash: String,
}

/// Why a snapshot that came over the wire cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MalformedSnapshot {
    /// The bytes are none.
    #[error("not a snapshot: {0}")]
    Encoding(#[from] prost::DecodeError),
    /// The manifest has something this version does not know: it may be essential.
    #[error("the manifest in the snapshot is not one of this version: {0}")]
    Manifest(#[from] serde_json::Error),
    /// A number that cannot be.
    #[error("{field} of the snapshot is out of range")]
    Range {
        /// The field.
        field: &'static str,
    },
}

impl Snapshot {
    /// Sets [`Identity::content_hash`] to what the content gives.
    #[must_use]
    pub fn hashed(mut self) -> Self {
        self.identity.content_hash = String::new();
        let bytes = proto::Snapshot::from(&self).encode_to_vec();
        self.identity.content_hash = hex::encode(Sha256::digest(bytes));
        self
    }

    /// The snapshot as bytes, for [`crate::SnapshotFile`].
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        proto::Snapshot::from(self).encode_to_vec()
    }

    /// Reads what [`Self::to_bytes`] wrote.
    ///
    /// # Errors
    /// If the bytes are no snapshot, or one that this version does not understand.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, MalformedSnapshot> {
        proto::Snapshot::decode(bytes)?.try_into()
    }
}

impl From<&Snapshot> for proto::Snapshot {
    fn from(snapshot: &Snapshot) -> Self {
        let Snapshot {
            identity,
            namespace,
            name,
            spec,
            topology,
            backend_ca,
            agent,
        } = snapshot;
        Self {
            cluster_uid: identity.uid.clone(),
            namespace: namespace.clone(),
            name: name.clone(),
            epoch: identity.epoch,
            content_hash: identity.content_hash.clone(),
            // A spec is made of strings, numbers and maps with string keys: JSON takes them all.
            spec_json: serde_json::to_string(spec).unwrap_or_default(),
            shards: topology.shards.iter().map(shard_out).collect(),
            users: topology.users.iter().map(credentials_out).collect(),
            system: topology.system.as_ref().map(credentials_out),
            backend_ca: backend_ca.clone().unwrap_or_default(),
            agent: agent.as_ref().map(orders_out),
            keys: topology.keys.iter().map(key_out).collect(),
            client_ca: topology.client_ca.clone().unwrap_or_default(),
            connection_share: topology.connection_share,
            gateway: topology.gateway.as_ref().map(gateway_out),
        }
    }
}

fn gateway_out(gateway: &Gateway) -> proto::Gateway {
    proto::Gateway {
        host: gateway.host.clone(),
        port: gateway.port.into(),
    }
}

fn gateway_in(gateway: proto::Gateway) -> Result<Gateway, MalformedSnapshot> {
    Ok(Gateway {
        host: gateway.host,
        port: narrow(gateway.port, "gateway.port")?,
    })
}

fn shard_out(shard: &ShardEndpoints) -> proto::Shard {
    let instance = |instance: &Instance| proto::Instance {
        host: instance.host.clone(),
        port: instance.port.into(),
        primary: instance.role == Role::Primary,
        weight: instance.weight,
    };
    proto::Shard {
        instances: shard.instances.iter().map(instance).collect(),
    }
}

pub(crate) fn credentials_out(credentials: &Credentials) -> proto::Credentials {
    proto::Credentials {
        name: credentials.name.clone(),
        password: credentials.password.clone(),
    }
}

fn key_out(key: &ColumnKey) -> proto::ColumnKey {
    proto::ColumnKey {
        name: key.name.clone(),
        version: key.version,
        key: key.key.clone(),
        settling: key.settling,
    }
}

impl TryFrom<proto::Snapshot> for Snapshot {
    type Error = MalformedSnapshot;

    fn try_from(wire: proto::Snapshot) -> Result<Self, MalformedSnapshot> {
        let shards = wire
            .shards
            .into_iter()
            .map(shard_in)
            .collect::<Result<_, _>>()?;
        let topology = Topology {
            api_version: "remora.dev/v1alpha1".to_owned(),
            kind: "Topology".to_owned(),
            metadata: TopologyMetadata {
                name: wire.name.clone(),
            },
            epoch: wire.epoch,
            shards,
            users: wire.users.into_iter().map(credentials_in).collect(),
            system: wire.system.map(credentials_in),
            keys: wire.keys.into_iter().map(key_in).collect(),
            client_ca: Some(wire.client_ca).filter(|pem| !pem.is_empty()),
            connection_share: wire.connection_share,
            gateway: wire.gateway.map(gateway_in).transpose()?,
        };
        Ok(Self {
            identity: Identity {
                uid: wire.cluster_uid,
                epoch: wire.epoch,
                content_hash: wire.content_hash,
            },
            namespace: wire.namespace,
            name: wire.name,
            spec: serde_json::from_str(&wire.spec_json)?,
            topology,
            backend_ca: Some(wire.backend_ca).filter(|pem| !pem.is_empty()),
            agent: wire.agent.map(orders_in).transpose()?,
        })
    }
}

fn shard_in(shard: proto::Shard) -> Result<ShardEndpoints, MalformedSnapshot> {
    let instance = |instance: proto::Instance| {
        Ok::<_, MalformedSnapshot>(Instance {
            host: instance.host,
            port: narrow(instance.port, "port")?,
            role: if instance.primary {
                Role::Primary
            } else {
                Role::Replica
            },
            weight: instance.weight,
            socket: None,
        })
    };
    let instances = shard
        .instances
        .into_iter()
        .map(instance)
        .collect::<Result<_, _>>()?;
    Ok(ShardEndpoints { instances })
}

pub(crate) fn credentials_in(credentials: proto::Credentials) -> Credentials {
    Credentials {
        name: credentials.name,
        password: credentials.password,
    }
}

fn key_in(key: proto::ColumnKey) -> ColumnKey {
    ColumnKey {
        name: key.name,
        version: key.version,
        settling: key.settling,
        key: key.key,
    }
}

pub(crate) fn narrow<T: TryFrom<u32>>(
    number: u32,
    field: &'static str,
) -> Result<T, MalformedSnapshot> {
    number
        .try_into()
        .map_err(|_| MalformedSnapshot::Range { field })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{Account, GatewayCertificate, LayoutOrder, Part, ReplicationOrder};

    /// A snapshot of `examples/shop.yaml` at `epoch`.
    pub(crate) fn shop(epoch: u64) -> Snapshot {
        let cluster: remora_crds::ShardingCluster =
            serde_saphyr::from_str(include_str!("../../examples/shop.yaml")).unwrap();
        let layout = remora_crds::LayoutDocument::of(&cluster.spec);
        let instance = |i| Instance {
            host: format!("shop-{i}-0.shop-{i}.default.svc"),
            port: 3307,
            role: Role::Primary,
            weight: 1,
            socket: None,
        };
        let credentials = |name: &str| Credentials {
            name: name.to_owned(),
            password: format!("secret-{name}"),
        };
        let account = Account {
            name: "app".to_owned(),
            password: "secret-app".to_owned(),
            host: "%".to_owned(),
            grants: vec!["SELECT ON *.*".to_owned()],
            revokes: vec!["SELECT ON `remora`.*".to_owned()],
            require_ssl: true,
        };
        let replication = ReplicationOrder {
            ordinal: 1,
            part: Part::Replica {
                host: "shop-1-0.shop-1.default.svc".to_owned(),
                port: 3307,
            },
            account: credentials("remora_repl"),
        };
        Snapshot {
            identity: Identity {
                uid: "uid-1".to_owned(),
                epoch,
                content_hash: String::new(),
            },
            namespace: "default".to_owned(),
            name: "shop".to_owned(),
            topology: Topology {
                api_version: "remora.dev/v1alpha1".to_owned(),
                kind: "Topology".to_owned(),
                metadata: TopologyMetadata {
                    name: "shop".to_owned(),
                },
                epoch,
                shards: (0..2)
                    .map(|i| ShardEndpoints {
                        instances: vec![instance(i)],
                    })
                    .collect(),
                users: vec![credentials("app")],
                system: Some(credentials("remora_sidecar")),
                keys: vec![ColumnKey {
                    name: "mobile".to_owned(),
                    version: 1,
                    key: "secret-key".to_owned(),
                    settling: true,
                }],
                client_ca: Some("CLIENT-PEM".to_owned()),
                connection_share: Some(7),
                gateway: Some(Gateway {
                    host: "shop.default.svc".to_owned(),
                    port: 3306,
                }),
            },
            backend_ca: Some("PEM".to_owned()),
            agent: Some(AgentOrders {
                shard: 1,
                accounts: vec![account],
                layout: LayoutOrder {
                    cluster_uid: "uid-1".to_owned(),
                    fingerprint: layout.fingerprint(),
                    document: layout.to_json(),
                },
                gateway: Some(GatewayCertificate {
                    certificate: "C".to_owned(),
                    key: "K".to_owned(),
                }),
                replication: Some(replication),
            }),
            spec: cluster.spec,
        }
        .hashed()
    }

    #[test]
    fn a_snapshot_survives_the_wire() {
        let snapshot = shop(7);
        assert_eq!(
            Snapshot::from_bytes(&snapshot.to_bytes()).unwrap(),
            snapshot
        );
        let mut primary = shop(7);
        if let Some(order) = primary.agent.as_mut().and_then(|a| a.replication.as_mut()) {
            order.ordinal = 0;
            order.part = Part::Primary {
                may_begin: true,
                acknowledgements: 2,
            };
        }
        assert_eq!(Snapshot::from_bytes(&primary.to_bytes()).unwrap(), primary);
        let mut alone = shop(7);
        alone.agent.as_mut().unwrap().replication = None;
        assert_eq!(Snapshot::from_bytes(&alone.to_bytes()).unwrap(), alone);
    }

    #[test]
    fn the_hash_follows_the_content() {
        assert_eq!(shop(7).identity, shop(7).hashed().identity);
        let mut other = shop(7);
        other.topology.users[0].password = "another".to_owned();
        assert_ne!(
            shop(7).identity.content_hash,
            other.hashed().identity.content_hash
        );
    }

    #[test]
    fn a_manifest_with_an_unknown_field_is_refused() {
        let mut wire = proto::Snapshot::from(&shop(7));
        wire.spec_json = wire.spec_json.replacen('{', r#"{"futureSafety":true,"#, 1);
        let error = Snapshot::try_from(wire).unwrap_err().to_string();
        assert!(error.contains("futureSafety"), "{error}");
    }

    #[test]
    fn passwords_never_show_in_debug() {
        let snapshot = shop(7);
        let wire = proto::Snapshot::from(&snapshot);
        assert!(!format!("{snapshot:?} {wire:?}").contains("secret-"));
    }
}
