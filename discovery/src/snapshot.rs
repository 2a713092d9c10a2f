//! A snapshot: all that a sidecar needs to know, and its way over the wire.

use std::fmt;

use prost::Message;
use remora_crds::{
    ColumnKey, Credentials, Instance, Role, ShardEndpoints, ShardingClusterSpec, Topology,
    TopologyMetadata,
};
use sha2::{Digest, Sha256};

use crate::{GatewayCertificate, proto};

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

/// What the agent of one MySQL server makes sure of.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentOrders {
    /// The server's shard.
    pub shard: u16,
    /// Accounts that exist, with these passwords and rights.
    pub accounts: Vec<Account>,
    /// What the shard's row in `remora.layout` says.
    pub layout: LayoutOrder,
    /// What the gateway in the same pod shows its clients; `None`: it makes its own.
    pub gateway: Option<GatewayCertificate>,
    /// What the server is among its shard's instances; `None`: its only one, of an operator that
    /// knows no replicas.
    pub replication: Option<ReplicationOrder>,
}

/// What a server is among its shard's instances.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplicationOrder {
    /// Its number; 0 is the primary for as long as nothing is promoted.
    pub ordinal: u8,
    /// What it is for.
    pub part: Part,
    /// The account by which replicas come to the primary.
    pub account: Credentials,
}

/// What a server is for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Part {
    /// It takes writes.
    Primary {
        /// Whether it may begin with an empty server. Where the shard held rows it may not: an
        /// empty one has lost them.
        may_begin: bool,
        /// How many replicas acknowledge a commit before the client hears of it; 0: none.
        acknowledgements: u8,
    },
    /// It follows the primary there.
    Replica {
        /// The primary's host name.
        host: String,
        /// Its port.
        port: u16,
    },
}

/// An account of a MySQL server.
#[derive(Clone, PartialEq)]
pub struct Account {
    /// Its name.
    pub name: String,
    /// Its password.
    pub password: String,
    /// Its host part: `%` or `localhost`.
    pub host: String,
    /// Each stands between `GRANT` and `TO`.
    pub grants: Vec<String>,
    /// Each stands between `REVOKE` and `FROM`.
    pub revokes: Vec<String>,
    /// It logs in by TLS alone.
    pub require_ssl: bool,
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account")
            .field("name", &self.name)
            .field("host", &self.host)
            .finish_non_exhaustive()
    }
}

/// What a shard's row in `remora.layout` says.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LayoutOrder {
    /// The UID of the cluster that the rows belong to.
    pub cluster_uid: String,
    /// [`remora_crds::LayoutDocument::fingerprint`].
    pub fingerprint: String,
    /// [`remora_crds::LayoutDocument::to_json`].
    pub document: String,
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
        }
    }
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

fn credentials_out(credentials: &Credentials) -> proto::Credentials {
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

fn orders_out(orders: &AgentOrders) -> proto::AgentOrders {
    let account = |account: &Account| proto::Account {
        name: account.name.clone(),
        password: account.password.clone(),
        host: account.host.clone(),
        grants: account.grants.clone(),
        revokes: account.revokes.clone(),
        require_ssl: account.require_ssl,
    };
    proto::AgentOrders {
        shard: orders.shard.into(),
        accounts: orders.accounts.iter().map(account).collect(),
        layout: Some(proto::LayoutOrder {
            cluster_uid: orders.layout.cluster_uid.clone(),
            fingerprint: orders.layout.fingerprint.clone(),
            document: orders.layout.document.clone(),
        }),
        gateway: orders.gateway.as_ref().map(Into::into),
        replication: orders.replication.as_ref().map(replication_out),
    }
}

fn replication_out(order: &ReplicationOrder) -> proto::ReplicationOrder {
    let common = proto::ReplicationOrder {
        ordinal: order.ordinal.into(),
        account: Some(credentials_out(&order.account)),
        ..proto::ReplicationOrder::default()
    };
    match &order.part {
        Part::Primary {
            may_begin,
            acknowledgements,
        } => proto::ReplicationOrder {
            primary: true,
            may_begin: *may_begin,
            acknowledgements: (*acknowledgements).into(),
            ..common
        },
        Part::Replica { host, port } => proto::ReplicationOrder {
            source_host: host.clone(),
            source_port: (*port).into(),
            ..common
        },
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
        })
    };
    let instances = shard
        .instances
        .into_iter()
        .map(instance)
        .collect::<Result<_, _>>()?;
    Ok(ShardEndpoints { instances })
}

fn credentials_in(credentials: proto::Credentials) -> Credentials {
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

fn orders_in(orders: proto::AgentOrders) -> Result<AgentOrders, MalformedSnapshot> {
    let account = |account: proto::Account| Account {
        name: account.name,
        password: account.password,
        host: account.host,
        grants: account.grants,
        revokes: account.revokes,
        require_ssl: account.require_ssl,
    };
    let layout = orders.layout.unwrap_or_default();
    Ok(AgentOrders {
        shard: narrow(orders.shard, "agent.shard")?,
        accounts: orders.accounts.into_iter().map(account).collect(),
        layout: LayoutOrder {
            cluster_uid: layout.cluster_uid,
            fingerprint: layout.fingerprint,
            document: layout.document,
        },
        gateway: orders.gateway.map(Into::into),
        replication: orders.replication.map(replication_in).transpose()?,
    })
}

fn replication_in(order: proto::ReplicationOrder) -> Result<ReplicationOrder, MalformedSnapshot> {
    let part = if order.primary {
        Part::Primary {
            may_begin: order.may_begin,
            acknowledgements: narrow(order.acknowledgements, "agent.replication.acknowledgements")?,
        }
    } else {
        Part::Replica {
            host: order.source_host,
            port: narrow(order.source_port, "agent.replication.sourcePort")?,
        }
    };
    Ok(ReplicationOrder {
        ordinal: narrow(order.ordinal, "agent.replication.ordinal")?,
        part,
        account: credentials_in(order.account.unwrap_or_default()),
    })
}

fn narrow<T: TryFrom<u32>>(number: u32, field: &'static str) -> Result<T, MalformedSnapshot> {
    number
        .try_into()
        .map_err(|_| MalformedSnapshot::Range { field })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

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
