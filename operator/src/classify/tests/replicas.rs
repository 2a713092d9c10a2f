//! Shards with replicas.

use proptest::prelude::*;

use super::*;

fn id(shard: u16, ordinal: u8) -> InstanceId {
    InstanceId { shard, ordinal }
}

/// The shop with so many instances a shard.
fn of(instances: u8) -> ShardingCluster {
    let mut cluster = shop();
    cluster.spec.instances_per_shard = instances;
    cluster
}

fn replica(ordinal: u8) -> AgentHealth {
    AgentHealth {
        mysqld: true,
        bootstrapped: true,
        data: ServerData::Held,
        replication: Some(ReplicationHealth {
            ordinal,
            following: true,
            ..ReplicationHealth::default()
        }),
        ..AgentHealth::default()
    }
}

/// Everything as it should be.
fn settled(cluster: &ShardingCluster) -> Observations {
    let mut seen = super::settled(cluster);
    for shard in 0..2 {
        for ordinal in 0..cluster.spec.instances_per_shard {
            let id = id(shard, ordinal);
            seen.pods.insert(id, pod(cluster, id));
            let agent = match ordinal {
                0 => AgentHealth {
                    data: ServerData::Held,
                    ..healthy()
                },
                _ => replica(ordinal),
            };
            seen.agents.insert(id, agent);
        }
    }
    seen
}

/// The cluster after a round in which everything was as it should be.
fn serving(instances: u8) -> ShardingCluster {
    let mut cluster = of(instances);
    cluster.status = Some(decide(&cluster, &settled(&cluster)).status);
    cluster
}

fn evicted(verdict: &Verdict) -> Vec<&str> {
    let pods = verdict.actions.iter().filter_map(|action| match action {
        Action::Evict { pod } => Some(pod.as_str()),
        _ => None,
    });
    pods.collect()
}

fn change(agent: Option<&mut AgentHealth>, change: impl FnOnce(&mut ReplicationHealth)) {
    let agent = agent.unwrap();
    agent.bootstrapped = false;
    let replication = agent.replication.as_mut().unwrap();
    replication.following = false;
    change(replication);
}

#[test]
fn replicas_that_follow_are_told_of_and_acknowledge() {
    let cluster = serving(4);
    let status = cluster.status.clone().unwrap();
    let shard = &status.shards[0];
    assert_eq!(status.ready_replicas, 6);
    assert_eq!(shard.replicas, [1, 2, 3]);
    assert_eq!((shard.instances, shard.acknowledgements), (4, 2));
    assert_eq!(shard.data, ShardData::Held);
    let verdict = decide(&cluster, &settled(&cluster));
    assert_eq!(verdict.actions, []);
    assert_eq!(verdict.changed, []);
    assert_eq!(Some(verdict.status), cluster.status);
}

#[test]
fn commits_wait_for_a_replica_only_once_it_follows() {
    let cluster = of(2);
    let mut seen = settled(&cluster);
    change(seen.agents.get_mut(&id(0, 1)), |replica| {
        replica.cloning = true;
    });
    let verdict = decide(&cluster, &seen);
    let shard = &verdict.status.shards[0];
    assert_eq!((shard.acknowledgements, shard.instances), (0, 1));
    assert_eq!(shard.replicas, [0; 0]);
    assert!(shard.ready);
    assert_eq!(
        shard.reason,
        "replica 1: it is being cloned from the primary"
    );
    assert_eq!(
        condition(&verdict, ConditionType::Progressing).0,
        "True Creating"
    );
    // It never followed: nothing was lost.
    assert_eq!(
        condition(&verdict, ConditionType::Degraded).0,
        "False Healthy"
    );
}

#[test]
fn with_preferred_durability_a_lost_replica_lowers_what_commits_wait_for_and_the_status_says_so() {
    let cluster = serving(2);
    let mut seen = settled(&cluster);
    seen.pods.get_mut(&id(1, 1)).unwrap().ready = false;
    let verdict = decide(&cluster, &seen);
    let shard = &verdict.status.shards[1];
    assert_eq!((shard.acknowledgements, shard.ready_replicas), (0, 0));
    assert_eq!(
        shard.replicas,
        [1],
        "sidecars see for themselves whether it answers"
    );
    assert!(shard.ready);
    assert_eq!(
        condition(&verdict, ConditionType::Available).0,
        "True Serving"
    );
    let (state, message) = condition(&verdict, ConditionType::Degraded);
    assert_eq!(state, "True ReplicaDown");
    assert_eq!(
        message,
        "shard 1: replica 1: pod shop-1-1 is not ready; shard 1: a commit is acknowledged by 0 \
         replicas instead of 1"
    );
}

#[test]
fn with_required_durability_commits_wait_for_replicas_that_are_lost() {
    let mut cluster = of(2);
    cluster.spec.replication = Some(Replication {
        durability: Some(Durability::Required),
    });
    cluster.status = Some(decide(&cluster, &settled(&cluster)).status);
    let mut seen = settled(&cluster);
    seen.agents.get_mut(&id(0, 1)).unwrap().mysqld = false;
    let verdict = decide(&cluster, &seen);
    assert_eq!(verdict.status.shards[0].acknowledgements, 1);
    let (state, message) = condition(&verdict, ConditionType::Degraded);
    assert_eq!(state, "True WritesWait");
    assert!(
        message.starts_with("shard 0: commits wait for 1 replicas, and 0 follow"),
        "{message}"
    );
}

#[test]
fn an_errant_replica_is_named_and_never_read() {
    let cluster = serving(3);
    let mut seen = settled(&cluster);
    change(seen.agents.get_mut(&id(0, 2)), |replica| {
        "e:1".clone_into(&mut replica.errant);
    });
    let verdict = decide(&cluster, &seen);
    assert_eq!(verdict.status.shards[0].replicas, [1]);
    let (state, message) = condition(&verdict, ConditionType::Degraded);
    assert_eq!(state, "True ErrantTransactions");
    assert!(
        message.contains("shard 0: replica 2:") && message.contains("(e:1)"),
        "{message}"
    );
    let told: Vec<_> = verdict
        .changed
        .iter()
        .map(|finding| finding.reason)
        .collect();
    assert_eq!(told, ["ErrantTransactions"]);
}

#[test]
fn a_replica_that_lost_its_rows_leaves_the_topology_until_it_follows_again() {
    let cluster = serving(2);
    let mut seen = settled(&cluster);
    change(seen.agents.get_mut(&id(0, 1)), |_| ());
    seen.agents.get_mut(&id(0, 1)).unwrap().data = ServerData::Empty;
    assert_eq!(decide(&cluster, &seen).status.shards[0].replicas, [0; 0]);
    change(seen.agents.get_mut(&id(0, 1)), |replica| {
        replica.cloning = true;
    });
    let verdict = decide(&cluster, &seen);
    assert_eq!(verdict.status.shards[0].replicas, [0; 0]);
    assert_eq!(
        condition(&verdict, ConditionType::Degraded).0,
        "True ReplicaCloning"
    );
}

#[test]
fn an_empty_primary_may_begin_when_every_instance_is_empty_and_is_a_loss_afterwards() {
    let cluster = of(2);
    let mut seen = settled(&cluster);
    for agent in seen.agents.values_mut() {
        agent.bootstrapped = false;
        agent.data = ServerData::Empty;
    }
    seen.agents.get_mut(&id(1, 1)).unwrap().data = ServerData::Unknown;
    let status = decide(&cluster, &seen).status;
    assert_eq!(status.shards[0].data, ShardData::Empty);
    assert_eq!(status.shards[1].data, ShardData::Unknown);
    // The volume of a deleted cluster: its replica holds what the primary lost.
    seen.agents.get_mut(&id(1, 1)).unwrap().data = ServerData::Held;
    let verdict = decide(&cluster, &seen);
    assert_eq!(verdict.status.shards[1].data, ShardData::Held);
    assert_eq!(
        condition(&verdict, ConditionType::Degraded).0,
        "True DataLost"
    );

    let cluster = serving(2);
    let mut seen = settled(&cluster);
    let primary = seen.agents.get_mut(&id(0, 0)).unwrap();
    primary.bootstrapped = false;
    "its volume is empty".clone_into(&mut primary.reason);
    primary.data = ServerData::Empty;
    seen.agents.get_mut(&id(0, 1)).unwrap().data = ServerData::Empty;
    let verdict = decide(&cluster, &seen);
    assert_eq!(verdict.status.shards[0].data, ShardData::Held);
    assert_eq!(
        condition(&verdict, ConditionType::Degraded).0,
        "True DataLost"
    );
}

#[test]
fn replicas_are_replaced_first_and_the_primary_last_and_announced() {
    let mut cluster = serving(3);
    let old = settled(&cluster);
    cluster.spec.mysql.config.clear();
    let mut seen = Observations {
        pods: old.pods,
        ..settled(&cluster)
    };
    let mut order = Vec::new();
    for _ in 0..16 {
        let verdict = decide(&cluster, &seen);
        let gone = evicted(&verdict).first().map(|pod| (*pod).to_owned());
        if let Some(pod) = gone {
            let id = build::names(&cluster).instance_of_pod(&pod).unwrap();
            // While it is away, no other goes.
            let mut away = seen.clone();
            away.pods.get_mut(&id).unwrap().ready = false;
            away.pods.get_mut(&id).unwrap().pod_spec = build::pod_spec_hash(&cluster, &images());
            assert_eq!(evicted(&decide(&cluster, &away)), [""; 0]);
            seen.pods.insert(id, super::pod(&cluster, id));
            order.push(pod);
        }
        cluster.status = Some(verdict.status);
    }
    assert_eq!(
        order,
        [
            "shop-0-2", "shop-0-1", "shop-1-2", "shop-1-1", "shop-0-0", "shop-1-0"
        ]
    );
}

#[test]
fn a_primary_waits_for_its_replicas_and_a_first_replica_for_its_primary() {
    let mut cluster = serving(2);
    let old = settled(&cluster);
    cluster.spec.mysql.config.clear();
    let mut seen = settled(&cluster);
    // Only the primaries are of the old manifest, and a replica is away.
    for shard in 0..2 {
        seen.pods
            .insert(id(shard, 0), old.pods[&id(shard, 0)].clone());
    }
    change(seen.agents.get_mut(&id(1, 1)), |_| ());
    for _ in 0..3 {
        let verdict = decide(&cluster, &seen);
        assert_eq!(evicted(&verdict), [""; 0]);
        cluster.status = Some(verdict.status);
    }

    // From one instance to two: the primary has to start otherwise before it can be copied.
    let one = serving(1);
    let mut two = one.clone();
    two.spec.instances_per_shard = 2;
    let mut seen = settled(&two);
    for shard in 0..2 {
        seen.pods
            .insert(id(shard, 0), super::pod(&one, id(shard, 0)));
        change(seen.agents.get_mut(&id(shard, 1)), |_| ());
    }
    two.status = Some(decide(&two, &seen).status);
    assert_eq!(evicted(&decide(&two, &seen)), ["shop-0-0"]);
}

/// A cluster of which only the primary of shard 0 is of the old manifest and does not serve, and
/// what is seen of it.
fn an_old_primary_that_does_not_serve(ready: bool) -> (ShardingCluster, Observations) {
    let mut cluster = serving(2);
    let old = settled(&cluster);
    cluster.spec.mysql.config.clear();
    let mut seen = settled(&cluster);
    seen.pods.insert(id(0, 0), old.pods[&id(0, 0)].clone());
    seen.pods.get_mut(&id(0, 0)).unwrap().ready = ready;
    let primary = seen.agents.get_mut(&id(0, 0)).unwrap();
    primary.bootstrapped = false;
    "it takes no writes before 1 replicas follow it, and 0 do".clone_into(&mut primary.reason);
    (cluster, seen)
}

/// Whom three rounds evict.
fn evicted_by_and_by(mut cluster: ShardingCluster, seen: &Observations) -> Vec<String> {
    let mut all = Vec::new();
    for _ in 0..3 {
        let verdict = decide(&cluster, seen);
        all.extend(evicted(&verdict).into_iter().map(str::to_owned));
        cluster.status = Some(verdict.status);
    }
    all
}

#[test]
fn a_primary_that_does_not_serve_for_a_moment_keeps_its_pod_until_its_replica_is_back() {
    let (cluster, mut seen) = an_old_primary_that_does_not_serve(true);
    change(seen.agents.get_mut(&id(0, 1)), |_| ());
    assert_eq!(evicted_by_and_by(cluster, &seen), [""; 0]);

    // With its replica in place it is replaced: an old image may lack what its agent asks for.
    let (cluster, seen) = an_old_primary_that_does_not_serve(true);
    let announced = decide(&cluster, &seen);
    assert_eq!(evicted(&announced), [""; 0]);
    assert_eq!(
        condition(&announced, ConditionType::Progressing),
        (
            "True RestartingPrimary".to_owned(),
            "replacing pod shop-0-0, the primary of shard 0, which takes no writes meanwhile"
                .to_owned()
        )
    );
    assert_eq!(evicted_by_and_by(cluster, &seen), ["shop-0-0"; 2]);
}

#[test]
fn a_primary_that_is_being_copied_is_not_replaced_even_when_its_pod_is_not_ready() {
    let (cluster, mut seen) = an_old_primary_that_does_not_serve(false);
    change(seen.agents.get_mut(&id(0, 1)), |replica| {
        replica.cloning = true;
    });
    assert_eq!(evicted_by_and_by(cluster, &seen), [""; 0]);

    let (cluster, mut seen) = an_old_primary_that_does_not_serve(false);
    change(seen.agents.get_mut(&id(0, 1)), |_| ());
    assert_eq!(evicted_by_and_by(cluster, &seen), ["shop-0-0"; 2]);
}

#[test]
fn a_primary_that_has_to_wait_holds_up_no_other_that_ails() {
    let (cluster, mut seen) = an_old_primary_that_does_not_serve(true);
    change(seen.agents.get_mut(&id(0, 1)), |_| ());
    let ailing = seen.pods.get_mut(&id(1, 0)).unwrap();
    ailing.ready = false;
    "old".clone_into(&mut ailing.pod_spec);
    assert_eq!(evicted_by_and_by(cluster, &seen), ["shop-1-0"; 2]);
}

#[test]
fn a_new_leader_believes_the_status_of_replicas_too() {
    let cluster = serving(3);
    let mut seen = settled(&cluster);
    seen.agents.clear();
    assert_eq!(Some(decide(&cluster, &seen).status), cluster.status);
    seen.heeds_silence = true;
    let status = decide(&cluster, &seen).status;
    assert_eq!(status.ready_replicas, 0);
}

#[test]
fn fewer_instances_are_waited_for_no_longer() {
    let mut cluster = serving(4);
    cluster.spec.instances_per_shard = 2;
    let status = decide(&cluster, &settled(&cluster)).status;
    let shard = &status.shards[0];
    assert_eq!((shard.instances, shard.acknowledgements), (2, 1));
    assert_eq!(shard.replicas, [1]);
}

#[test]
fn a_shard_of_nine_costs_at_most_300_bytes_of_status() {
    let mut cluster = serving(9);
    cluster.metadata.name = Some("n".repeat(48));
    let mut seen = settled(&cluster);
    for agent in seen.agents.values_mut() {
        agent.bootstrapped = false;
        agent.reason = "x".repeat(1000);
    }
    let mut shard = decide(&cluster, &seen).status.shards.pop().unwrap();
    shard.index = 255;
    shard.primary = format!("{}-255-0", "n".repeat(48));
    assert!(serde_json::to_string(&shard).unwrap().len() <= 300);
}

fn any_agent() -> impl Strategy<Value = Option<AgentHealth>> {
    let data = prop_oneof![
        Just(ServerData::Unknown),
        Just(ServerData::Empty),
        Just(ServerData::Held)
    ];
    let parts = (any::<[bool; 4]>(), data, any::<bool>());
    prop::option::of(
        parts.prop_map(
            |([mysqld, made, following, cloning], data, errant)| AgentHealth {
                mysqld,
                bootstrapped: made,
                data,
                replication: Some(ReplicationHealth {
                    following,
                    cloning,
                    errant: if errant {
                        "e:1".to_owned()
                    } else {
                        String::new()
                    },
                    ..ReplicationHealth::default()
                }),
                ..AgentHealth::default()
            },
        ),
    )
}

proptest! {
    /// Whatever is seen, in whatever order.
    #[test]
    fn no_round_breaks_what_replicas_are_for(
        instances in 1_u8..=5,
        required in any::<bool>(),
        rounds in prop::collection::vec(
            prop::collection::vec((any_agent(), any::<[bool; 3]>()), 10), 1..5),
    ) {
        let mut cluster = of(instances);
        let durability = if required { Durability::Required } else { Durability::Preferred };
        cluster.spec.replication = Some(Replication { durability: Some(durability) });
        for round in rounds {
            let mut seen = settled(&cluster);
            for ((id, pod), (agent, [ready, ending, old])) in seen.pods.iter_mut().zip(round) {
                pod.ready = ready;
                pod.ending = ending;
                if old {
                    pod.pod_spec = "old".to_owned();
                }
                match agent {
                    Some(agent) => drop(seen.agents.insert(*id, agent)),
                    None => drop(seen.agents.remove(id)),
                }
            }
            let before = cluster.status.clone().unwrap();
            let verdict = decide(&cluster, &seen);
            prop_assert!(evicted(&verdict).len() <= 1);
            for shard in &verdict.status.shards {
                let was = before.shards.iter().find(|was| was.index == shard.index);
                let was = was.cloned().unwrap_or_default();
                // What is known to hold rows is never taken for empty.
                prop_assert!(was.data != ShardData::Held || shard.data == ShardData::Held);
                // No commit waits for replicas that never followed.
                let most = was.acknowledgements.max(shard.ready_replicas);
                prop_assert!(shard.acknowledgements <= most);
                prop_assert!(shard.acknowledgements <= cluster.spec.acknowledgements());
                if required {
                    prop_assert!(shard.acknowledgements >= was.acknowledgements);
                }
                for ordinal in &shard.replicas {
                    let agent = seen.agents.get(&id(shard.index, *ordinal));
                    let errant = |agent: &AgentHealth| {
                        agent.replication.as_ref().is_some_and(|r| !r.errant.is_empty())
                    };
                    prop_assert!(!agent.is_some_and(errant));
                }
            }
            // A primary goes only after the status has said so, while no replica is copied from it,
            // and, unless its pod is not ready, while all its replicas that were in place follow.
            for pod in evicted(&verdict) {
                let gone = build::names(&cluster).instance_of_pod(pod).unwrap();
                let shard = &verdict.status.shards[usize::from(gone.shard)];
                if gone.is_primary() {
                    let in_place = shard.ready_replicas + 1 >= shard.instances;
                    prop_assert!(in_place || !seen.pods[&gone].ready);
                    let cloning = |ordinal: u8| {
                        let agent = seen.agents.get(&id(gone.shard, ordinal));
                        let replication = agent.and_then(|agent| agent.replication.as_ref());
                        replication.is_some_and(|r| r.cloning && r.errant.is_empty())
                    };
                    prop_assert!(!(1..instances).any(cloning));
                    let said = before.conditions.iter().any(|condition| {
                        condition.reason == RESTARTING_PRIMARY && condition.message.contains(pod)
                    });
                    prop_assert!(said);
                }
            }
            cluster.status = Some(verdict.status);
        }
    }
}
