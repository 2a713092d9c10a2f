//! From a cluster and its Secrets to what one sidecar is told. Pure.

use remora_crds::{
    ColumnKey, Credentials, Gateway, Instance, LayoutDocument, Role, ShardData, ShardEndpoints,
    ShardStatus, ShardingCluster, ShardingClusterSpec, Topology, TopologyMetadata,
};
use remora_discovery::{AgentOrders, Identity, LayoutOrder, Part, ReplicationOrder, Snapshot};

use crate::accounts::{self, REPLICATION, SIDECAR};
use crate::build;
use crate::names::{InstanceId, MYSQL_PORT, SERVER_PORT};
use crate::secrets::ClusterSecrets;
use crate::shares::Shares;

/// Whom a snapshot is for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Recipient {
    /// An application's pod.
    Application(Granted),
    /// The MySQL pod of an instance.
    Agent(InstanceId),
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
    shares: Shares,
    domain: &str,
) -> Snapshot {
    let names = build::names(cluster);
    let gateway = gateway(cluster, recipient, domain);
    let uid = cluster.metadata.uid.clone().unwrap_or_default();
    let epoch = cluster
        .status
        .as_ref()
        .map(|status| status.epoch)
        .unwrap_or_default();
    let weights: &[u32] = cluster
        .spec
        .reads
        .as_ref()
        .map_or(&[], |reads| &reads.weights);
    let instance = |shard, ordinal: u8| {
        let id = InstanceId { shard, ordinal };
        Instance {
            host: names.host(id, domain),
            port: server_port(),
            role: match id.is_primary() {
                true => Role::Primary,
                false => Role::Replica,
            },
            weight: weights.get(usize::from(ordinal)).copied().unwrap_or(1),
            // Its own sidecar knows where that is.
            socket: None,
        }
    };
    let instances = |shard| {
        let replicas = of_shard(cluster, shard).replicas;
        let wanted = |ordinal: &u8| *ordinal < cluster.spec.instances_per_shard;
        let ordinals = [0].into_iter().chain(replicas.into_iter().filter(wanted));
        ordinals.map(|ordinal| instance(shard, ordinal)).collect()
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
                    instances: instances(shard),
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
            client_ca: secrets.client_ca.clone(),
            connection_share: Some(match recipient {
                Recipient::Agent(_) => shares.gateway,
                // Whoever may not go through a gateway takes turns with the others.
                Recipient::Application(_) => {
                    shares
                        .application
                        .unwrap_or(if gateway.is_some() { 0 } else { 1 })
                }
            }),
            gateway,
        },
        backend_ca: Some(secrets.servers.ca.clone()),
        agent: match recipient {
            Recipient::Application(_) => None,
            Recipient::Agent(instance) => Some(orders(cluster, secrets, *instance, uid, domain)),
        },
    }
    .hashed()
}

/// The gateways that a sidecar may go through. They have all keys of encrypted columns: whoever was
/// not given all of them would read there what is not meant for it.
fn gateway(cluster: &ShardingCluster, recipient: &Recipient, domain: &str) -> Option<Gateway> {
    let Recipient::Application(granted) = recipient else {
        return None;
    };
    let mut keys = cluster.spec.encryption.iter().flat_map(|it| &it.keys);
    if !keys.all(|key| granted.keys.contains(&key.name)) {
        return None;
    }
    let names = build::names(cluster);
    Some(Gateway {
        host: format!("{}.{}.svc.{domain}", names.gateway(), names.namespace),
        port: port(MYSQL_PORT),
    })
}

/// The manifest without the names of users that are not the recipient's, and without who else
/// may use the cluster.
fn spec_for(cluster: &ShardingCluster, recipient: &Recipient) -> ShardingClusterSpec {
    let mut spec = cluster.spec.clone();
    if let Some(reads) = &mut spec.reads {
        // Each instance has its weight already: the list goes by ordinal, and an instance that is
        // not there yet would shift it.
        reads.weights.clear();
    }
    if let Recipient::Application(granted) = recipient {
        spec.users.retain(|user| granted.users.contains(&user.name));
        spec.access.clear();
    }
    spec
}

/// What the status says of a shard.
fn of_shard(cluster: &ShardingCluster, shard: u16) -> ShardStatus {
    let shards = cluster.status.iter().flat_map(|status| &status.shards);
    let found = shards.into_iter().find(|status| status.index == shard);
    found.cloned().unwrap_or_default()
}

fn server_port() -> u16 {
    port(SERVER_PORT)
}

fn port(port: i32) -> u16 {
    port.unsigned_abs().try_into().unwrap_or_default()
}

fn orders(
    cluster: &ShardingCluster,
    secrets: &ClusterSecrets,
    instance: InstanceId,
    cluster_uid: String,
    domain: &str,
) -> AgentOrders {
    let InstanceId { shard, ordinal } = instance;
    let status = of_shard(cluster, shard);
    let part = if instance.is_primary() {
        Part::Primary {
            may_begin: match status.data {
                ShardData::Held => false,
                ShardData::Empty => true,
                // Where there is no other instance, none can hold rows that this one lacks.
                ShardData::Unknown => cluster.spec.replicas() == 0,
            },
            acknowledgements: status.acknowledgements,
        }
    } else {
        Part::Replica {
            host: build::names(cluster).host(InstanceId::primary(shard), domain),
            port: server_port(),
        }
    };
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
        replication: Some(ReplicationOrder {
            ordinal,
            part,
            account: Credentials {
                name: REPLICATION.to_owned(),
                password: secrets.system.replication.clone(),
            },
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::SystemPasswords;
    use crate::certificates::ServerSide;
    use crate::fixtures::shop;
    use remora_discovery::GatewayCertificate;

    const SHARES: Shares = Shares {
        application: Some(9),
        gateway: 40,
    };
    const CROWDED: Shares = Shares {
        application: None,
        gateway: 178,
    };

    /// What a recipient is told of connections and gateways.
    fn told(cluster: &ShardingCluster, recipient: &Recipient, shares: Shares) -> (u32, bool) {
        let told = snapshot(cluster, &secrets(), recipient, shares, "cluster.local");
        let Topology {
            connection_share,
            gateway,
            ..
        } = told.topology;
        (connection_share.unwrap(), gateway.is_some())
    }

    #[test]
    fn an_application_has_its_share_or_goes_through_the_gateway() {
        let application = Recipient::Application(Granted::default());
        assert_eq!(told(&shop(), &application, SHARES), (9, true));
        assert_eq!(told(&shop(), &application, CROWDED), (0, true));
        let agent = Recipient::Agent(InstanceId::primary(1));
        assert_eq!(told(&shop(), &agent, SHARES), (40, false));
        let to = snapshot(&shop(), &secrets(), &application, CROWDED, "cluster.local");
        let expected = Gateway {
            host: "shop.default.svc.cluster.local".to_owned(),
            port: 3306,
        };
        assert_eq!(to.topology.gateway, Some(expected));
    }

    #[test]
    fn whoever_lacks_a_key_goes_through_no_gateway() {
        let mut cluster = shop();
        cluster.spec.encryption =
            serde_saphyr::from_str("{keys: [{name: mobile, secretRef: {name: s}}]}").unwrap();
        let with = |keys: &[&str]| {
            Recipient::Application(Granted {
                keys: keys.iter().map(|&key| key.to_owned()).collect(),
                ..Granted::default()
            })
        };
        assert_eq!(told(&cluster, &with(&[]), CROWDED), (1, false));
        assert_eq!(told(&cluster, &with(&["mobile"]), CROWDED), (0, true));
    }

    fn secrets() -> ClusterSecrets {
        ClusterSecrets {
            client_ca: None,
            system: SystemPasswords {
                sidecar: "s".to_owned(),
                agent: "a".to_owned(),
                replication: "x".to_owned(),
            },
            users: [("app", "p"), ("report", "r")]
                .map(|(name, password)| (name.to_owned(), password.to_owned()))
                .into(),
            servers: ServerSide {
                ca: "CA".to_owned(),
                gateway: GatewayCertificate {
                    certificate: "C".to_owned(),
                    key: "K".to_owned(),
                },
            },
            keys: ["mobile", "card"]
                .map(|name| ColumnKey {
                    name: name.to_owned(),
                    version: 1,
                    key: "k".to_owned(),
                    settling: false,
                })
                .into(),
        }
    }

    #[test]
    fn an_application_gets_its_users_and_nothing_of_the_agents() {
        let recipient = Recipient::Application(Granted {
            users: vec!["app".to_owned()],
            keys: vec!["card".to_owned()],
        });
        let snapshot = snapshot(&shop(), &secrets(), &recipient, SHARES, "cluster.local");
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
        let snapshot = snapshot(
            &shop(),
            &secrets(),
            &Recipient::Agent(InstanceId::primary(1)),
            SHARES,
            "cluster.local",
        );
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

    /// A shop of two instances a shard, of whose shards the status says this.
    fn with(status: ShardStatus) -> ShardingCluster {
        let mut cluster = shop();
        cluster.spec.instances_per_shard = 2;
        cluster.status.as_mut().unwrap().shards = vec![status];
        cluster
    }

    fn part(cluster: &ShardingCluster, ordinal: u8) -> Part {
        let recipient = Recipient::Agent(InstanceId { shard: 0, ordinal });
        let snapshot = snapshot(cluster, &secrets(), &recipient, SHARES, "cluster.local");
        snapshot.agent.unwrap().replication.unwrap().part
    }

    #[test]
    fn an_empty_primary_may_begin_only_where_no_instance_holds_rows() {
        let begins = |data| {
            let cluster = with(ShardStatus {
                data,
                acknowledgements: 1,
                ..ShardStatus::default()
            });
            match part(&cluster, 0) {
                Part::Primary {
                    may_begin,
                    acknowledgements: 1,
                } => may_begin,
                other => panic!("{other:?}"),
            }
        };
        assert!(begins(ShardData::Empty));
        assert!(!begins(ShardData::Unknown));
        assert!(!begins(ShardData::Held));
        let alone = Part::Primary {
            may_begin: true,
            acknowledgements: 0,
        };
        assert_eq!(part(&shop(), 0), alone);
    }

    #[test]
    fn replicas_are_told_of_their_primary_and_sidecars_of_replicas_that_hold_rows() {
        let cluster = with(ShardStatus {
            replicas: vec![1, 2],
            ..ShardStatus::default()
        });
        let replica = Part::Replica {
            host: "shop-0-0.shop-0.default.svc.cluster.local".to_owned(),
            port: 3307,
        };
        assert_eq!(part(&cluster, 1), replica);
        let recipient = Recipient::Application(Granted::default());
        let told = snapshot(&cluster, &secrets(), &recipient, SHARES, "cluster.local");
        let instances = &told.topology.shards[0].instances;
        let told: Vec<_> = instances
            .iter()
            .map(|instance| (instance.host.as_str(), instance.role))
            .collect();
        // The third instance is beyond what the manifest asks for.
        assert_eq!(
            told,
            [
                ("shop-0-0.shop-0.default.svc.cluster.local", Role::Primary),
                ("shop-0-1.shop-0.default.svc.cluster.local", Role::Replica),
            ]
        );
    }
}
