//! From a cluster and its Secrets to what one sidecar is told. Pure.

use remora_crds::{
    ColumnKey, Credentials, Instance, LayoutDocument, Role, ShardEndpoints, ShardingCluster,
    ShardingClusterSpec, Topology, TopologyMetadata,
};
use remora_discovery::{AgentOrders, Identity, LayoutOrder, Snapshot};

use crate::accounts::{self, SIDECAR};
use crate::build;
use crate::names::SERVER_PORT;
use crate::secrets::ClusterSecrets;

/// Whom a snapshot is for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Recipient {
    /// An application's pod.
    Application(Granted),
    /// The MySQL pod of a shard.
    Agent(u16),
}

/// What `spec.access` grants an application's pod.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Granted {
    /// The users that it may log in as.
    pub(super) users: Vec<String>,
    /// The keys of encrypted columns.
    pub(super) keys: Vec<String>,
}

/// What `recipient` is told.
pub(super) fn snapshot(
    cluster: &ShardingCluster,
    secrets: &ClusterSecrets,
    recipient: &Recipient,
    domain: &str,
) -> Snapshot {
    let names = build::names(cluster);
    let uid = cluster.metadata.uid.clone().unwrap_or_default();
    let epoch = cluster
        .status
        .as_ref()
        .map(|status| status.epoch)
        .unwrap_or_default();
    let instance = |shard| Instance {
        host: names.host(shard, domain),
        port: SERVER_PORT.unsigned_abs().try_into().unwrap_or_default(),
        role: Role::Primary,
        weight: 1,
    };
    let granted = |name: &str| match recipient {
        Recipient::Agent(_) => true,
        Recipient::Application(granted) => granted.users.iter().any(|user| user == name),
    };
    let gets_key = |key: &&ColumnKey| match recipient {
        Recipient::Agent(_) => true,
        Recipient::Application(granted) => granted.keys.contains(&key.name),
    };
    let users = secrets.users.iter().filter(|(name, _)| granted(name));
    Snapshot {
        identity: Identity {
            uid: uid.clone(),
            epoch,
            content_hash: String::new(),
        },
        namespace: names.namespace.clone(),
        name: names.cluster.clone(),
        spec: spec_for(cluster, recipient),
        topology: Topology {
            api_version: "remora.dev/v1alpha1".to_owned(),
            kind: "Topology".to_owned(),
            metadata: TopologyMetadata {
                name: names.cluster.clone(),
            },
            epoch,
            shards: (0..cluster.spec.shards)
                .map(|shard| ShardEndpoints {
                    instances: vec![instance(shard)],
                })
                .collect(),
            users: users
                .map(|(name, password)| Credentials {
                    name: name.clone(),
                    password: password.clone(),
                })
                .collect(),
            system: Some(Credentials {
                name: SIDECAR.to_owned(),
                password: secrets.system.sidecar.clone(),
            }),
            keys: secrets.keys.iter().filter(gets_key).cloned().collect(),
        },
        backend_ca: Some(secrets.servers.ca.clone()),
        agent: match recipient {
            Recipient::Application(_) => None,
            Recipient::Agent(shard) => Some(orders(cluster, secrets, *shard, uid)),
        },
    }
    .hashed()
}

/// The manifest without the names of users that are not the recipient's, and without who else
/// may use the cluster.
fn spec_for(cluster: &ShardingCluster, recipient: &Recipient) -> ShardingClusterSpec {
    let mut spec = cluster.spec.clone();
    if let Recipient::Application(granted) = recipient {
        spec.users.retain(|user| granted.users.contains(&user.name));
        spec.access.clear();
    }
    spec
}

fn orders(
    cluster: &ShardingCluster,
    secrets: &ClusterSecrets,
    shard: u16,
    cluster_uid: String,
) -> AgentOrders {
    let layout = LayoutDocument::of(&cluster.spec);
    let users = secrets
        .users
        .iter()
        .map(|(name, password)| (name.as_str(), password.as_str()));
    AgentOrders {
        shard,
        accounts: accounts::accounts(&cluster.spec, &secrets.system, users),
        layout: LayoutOrder {
            cluster_uid,
            fingerprint: layout.fingerprint(),
            document: layout.to_json(),
        },
        gateway: Some(secrets.servers.gateway.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::SystemPasswords;
    use crate::certificates::ServerSide;
    use crate::fixtures::shop;
    use remora_discovery::GatewayCertificate;

    fn secrets() -> ClusterSecrets {
        ClusterSecrets {
            system: SystemPasswords {
                sidecar: "s".to_owned(),
                agent: "a".to_owned(),
            },
            users: [("app", "p"), ("report", "r")]
                .map(|(name, password)| (name.to_owned(), password.to_owned()))
                .into(),
            keys: ["mobile", "card"]
                .map(|name| ColumnKey {
                    name: name.to_owned(),
                    version: 1,
                    key: "k".to_owned(),
                })
                .into(),
            servers: ServerSide {
                ca: "CA".to_owned(),
                gateway: GatewayCertificate {
                    certificate: "C".to_owned(),
                    key: "K".to_owned(),
                },
            },
        }
    }

    #[test]
    fn an_application_gets_its_users_and_nothing_of_the_agents() {
        let recipient = Recipient::Application(Granted {
            users: vec!["app".to_owned()],
            keys: vec!["card".to_owned()],
        });
        let snapshot = snapshot(&shop(), &secrets(), &recipient, "cluster.local");
        let users: Vec<_> = snapshot
            .topology
            .users
            .iter()
            .map(|user| user.name.as_str())
            .collect();
        assert_eq!(users, ["app"]);
        let keys: Vec<_> = snapshot.topology.keys.iter().map(|key| &key.name).collect();
        assert_eq!(keys, ["card"]);
        assert_eq!(snapshot.agent, None);
        let system = snapshot.topology.system.unwrap();
        assert_eq!(
            (system.name.as_str(), system.password.as_str()),
            ("remora_sidecar", "s")
        );
        let host = &snapshot.topology.shards[1].instances[0];
        assert_eq!(host.host, "shop-1-0.shop-1.default.svc.cluster.local");
        assert_eq!(host.port, 3307);
    }

    #[test]
    fn an_agent_gets_its_orders() {
        let snapshot = snapshot(&shop(), &secrets(), &Recipient::Agent(1), "cluster.local");
        assert_eq!(snapshot.topology.users.len(), 2);
        assert_eq!(snapshot.topology.keys.len(), 2);
        let orders = snapshot.agent.unwrap();
        assert_eq!(orders.shard, 1);
        let names: Vec<_> = orders
            .accounts
            .iter()
            .map(|account| account.name.as_str())
            .collect();
        assert_eq!(
            names,
            [
                "remora_agent",
                "remora_probe",
                "remora_sidecar",
                "app",
                "report"
            ]
        );
        assert_eq!(
            orders.layout.fingerprint,
            remora_crds::layout_fingerprint(&shop().spec)
        );
    }
}
