use remora_crds::{Durability, Replication, ShardData};
use remora_discovery::{AgentHealth, ReplicationHealth, ServerData};

use super::*;
use crate::build::Site;
use crate::fixtures::{images, shop};
use crate::observe::PodView;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn objects(cluster: &ShardingCluster) -> Vec<Object> {
    let site = Site {
        discovery: "https://d:8443".to_owned(),
        domain: "cluster.local".to_owned(),
        ca: String::new(),
        log_format: "json".to_owned(),
        image_pull_policy: "IfNotPresent".to_owned(),
        network_policy: false,
    };
    build::objects(cluster, &images(), &site)
}

fn decide(cluster: &ShardingCluster, seen: &Observations) -> Verdict {
    let objects = objects(cluster);
    classify(
        Wanted {
            cluster,
            images: &images(),
            objects: &objects,
            refresh: false,
        },
        seen,
        NOW,
    )
}

/// The primary of a shard.
fn at(shard: u16) -> InstanceId {
    InstanceId::primary(shard)
}

fn pod(cluster: &ShardingCluster, id: InstanceId) -> PodView {
    let my_cnf = objects(cluster).into_iter().map(|object| object.key().name);
    PodView {
        name: format!("shop-{}-{}", id.shard, id.ordinal),
        ready: true,
        pod_spec: build::pod_spec_hash(cluster, &images()),
        sidecar_image: images().sidecar,
        my_cnf: my_cnf
            .into_iter()
            .find(|name| name.contains("mycnf"))
            .unwrap(),
        ..PodView::default()
    }
}

fn healthy() -> AgentHealth {
    AgentHealth {
        mysqld: true,
        bootstrapped: true,
        least_epoch: 1,
        judged_layout: LayoutDocument::of(&shop().spec).fingerprint(),
        ..AgentHealth::default()
    }
}

#[test]
fn a_network_policy_that_is_no_longer_asked_for_goes() {
    let cluster = shop();
    let mut seen = settled(&cluster);
    let key = ObjectKey {
        kind: Kind::NetworkPolicy,
        name: "shop".to_owned(),
    };
    seen.objects.insert(key.clone(), None);
    assert_eq!(decide(&cluster, &seen).actions, [Action::Delete(key)]);
}

#[test]
fn a_layout_that_rows_forbid_is_not_accepted_and_the_shards_serve_on() {
    let cluster = shop();
    let mut seen = settled(&cluster);
    let reason = "spec.tables[note]: the table is there and not sharded";
    for shard in [0, 1] {
        seen.agents.get_mut(&at(shard)).unwrap().refused_layout = reason.to_owned();
    }
    let verdict = decide(&cluster, &seen);
    let accepted = &verdict.status.conditions[0];
    assert_eq!(
        (
            accepted.type_.as_str(),
            accepted.status.as_str(),
            accepted.reason.as_str()
        ),
        ("Accepted", "False", "RowsInTheWay")
    );
    assert_eq!(
        accepted.message,
        format!("{reason}; until then the tables stay as they were")
    );
    assert_eq!(verdict.status.ready_shards, cluster.spec.shards);
}

#[test]
fn a_layout_counts_as_accepted_once_the_first_shard_has_judged_it() {
    let accepted = |verdict: &Verdict| condition(verdict, ConditionType::Accepted).0;
    let new = decide(&shop(), &Observations::default());
    assert_eq!(accepted(&new), "Unknown Pending");

    let mut cluster = serving();
    let settled = settled(&cluster);
    let note = serde_saphyr::from_str("{name: note, broadcast: true}").unwrap();
    cluster.spec.tables.push(note);
    cluster.metadata.generation = Some(7);
    let mut seen = settled.clone();
    // Its word on the layout before.
    let verdict = decide(&cluster, &seen);
    assert_eq!(accepted(&verdict), "True Valid");
    assert_ne!(verdict.status.conditions[0].observed_generation, Some(7));
    let home = seen.agents.get_mut(&at(0)).unwrap();
    home.judged_layout = LayoutDocument::of(&cluster.spec).fingerprint();
    home.refused_layout = "spec.tables[note]: it is there".to_owned();
    let verdict = decide(&cluster, &seen);
    assert_eq!(accepted(&verdict), "False RowsInTheWay");
    assert_eq!(verdict.status.conditions[0].observed_generation, Some(7));

    // Taken back: refused until the shard says otherwise.
    cluster.status = Some(verdict.status);
    cluster.spec.tables.pop();
    assert_eq!(accepted(&decide(&cluster, &seen)), "False RowsInTheWay");
    assert_eq!(accepted(&decide(&cluster, &settled)), "True Valid");
}

/// Everything as it should be.
fn settled(cluster: &ShardingCluster) -> Observations {
    Observations {
        objects: objects(cluster)
            .iter()
            .map(|object| (object.key(), object.stamp().map(str::to_owned)))
            .collect(),
        pods: (0..2)
            .map(|shard| (at(shard), pod(cluster, at(shard))))
            .collect(),
        agents: (0..2).map(|shard| (at(shard), healthy())).collect(),
        heeds_silence: false,
    }
}

/// The cluster after a round in which everything was as it should be.
fn serving() -> ShardingCluster {
    let mut cluster = shop();
    cluster.status = Some(decide(&cluster, &settled(&cluster)).status);
    cluster
}

fn condition(verdict: &Verdict, type_: ConditionType) -> (String, String) {
    let found = verdict
        .status
        .conditions
        .iter()
        .find(|c| c.type_ == type_.name())
        .unwrap();
    (
        format!("{} {}", found.status, found.reason),
        found.message.clone(),
    )
}

#[test]
fn a_new_cluster_gets_all_its_objects() {
    let verdict = decide(&shop(), &Observations::default());
    assert_eq!(verdict.actions.len(), objects(&shop()).len());
    assert!(
        verdict
            .actions
            .iter()
            .all(|action| matches!(action, Action::Apply(_)))
    );
    assert_eq!(
        condition(&verdict, ConditionType::Available).0,
        "False ShardsDown"
    );
    assert_eq!(
        condition(&verdict, ConditionType::Progressing).0,
        "True Creating"
    );
    assert_eq!(
        condition(&verdict, ConditionType::Degraded).0,
        "False Healthy"
    );
    assert_eq!(verdict.status.ready_shards, 0);
}

#[test]
fn a_settled_cluster_is_left_alone_and_its_status_does_not_change() {
    let cluster = serving();
    let verdict = decide(&cluster, &settled(&cluster));
    assert_eq!(verdict.actions, []);
    assert_eq!(verdict.changed, []);
    assert_eq!(Some(&verdict.status), cluster.status.as_ref());
    assert_eq!(
        condition(&verdict, ConditionType::Available).0,
        "True Serving"
    );
    assert_eq!(
        condition(&verdict, ConditionType::Progressing).0,
        "False UpToDate"
    );
    assert_eq!(verdict.status.ready_shards, 2);
    assert_eq!(verdict.status.shards[1].primary, "shop-1-0");
}

#[test]
fn now_and_then_everything_is_applied_again() {
    let cluster = serving();
    let objects = objects(&cluster);
    let wanted = Wanted {
        cluster: &cluster,
        images: &images(),
        objects: &objects,
        refresh: true,
    };
    let verdict = classify(wanted, &settled(&cluster), NOW);
    assert_eq!(verdict.actions.len(), objects.len());
    assert_eq!(Some(&verdict.status), cluster.status.as_ref());
}

#[test]
fn a_lost_primary_is_said_and_nothing_is_promoted() {
    let cluster = serving();
    let mut seen = settled(&cluster);
    seen.pods.get_mut(&at(1)).unwrap().ready = false;
    let verdict = decide(&cluster, &seen);
    assert_eq!(verdict.actions, []);
    assert_eq!(verdict.status.epoch, 1);
    assert_eq!(
        condition(&verdict, ConditionType::Available).0,
        "False ShardsDown"
    );
    let (state, message) = condition(&verdict, ConditionType::Degraded);
    assert_eq!(state, "True PrimaryDown");
    assert_eq!(
        message,
        "shard 1: pod shop-1-0 is not ready; nothing is promoted in this version"
    );
}

#[test]
fn a_new_leader_believes_the_status_until_agents_report() {
    let cluster = serving();
    let mut seen = settled(&cluster);
    seen.agents.clear();
    assert_eq!(decide(&cluster, &seen).status.ready_shards, 2);
    assert_eq!(decide(&shop(), &seen).status.ready_shards, 0);
}

#[test]
fn a_ready_pod_whose_agent_falls_silent_does_not_serve() {
    let cluster = serving();
    let mut seen = settled(&cluster);
    seen.agents.remove(&at(1));
    seen.heeds_silence = true;
    let status = decide(&cluster, &seen).status;
    assert_eq!(status.ready_shards, 1);
    assert_eq!(status.shards[1].reason, "its agent no longer reports");
}

#[test]
fn an_agent_that_refuses_the_layout_says_why() {
    let cluster = serving();
    let mut seen = settled(&cluster);
    let agent = seen.agents.get_mut(&at(0)).unwrap();
    agent.bootstrapped = false;
    agent.reason = format!(
        "spec.shards: the shards hold rows laid out for 4 {}",
        "ü".repeat(200)
    );
    let verdict = decide(&cluster, &seen);
    assert!(!verdict.status.shards[0].ready);
    assert!(
        verdict.status.shards[0]
            .reason
            .starts_with("spec.shards: the shards hold rows")
    );
    assert!(verdict.status.shards[0].reason.len() <= 200);
}

#[test]
fn the_volumes_of_a_cluster_before_raise_the_epoch() {
    let cluster = serving();
    let mut seen = settled(&cluster);
    seen.agents.get_mut(&at(1)).unwrap().least_epoch = 8;
    assert_eq!(decide(&cluster, &seen).status.epoch, 8);
    seen.agents.get_mut(&at(1)).unwrap().least_epoch = 0;
    assert_eq!(decide(&cluster, &seen).status.epoch, 1);
}

#[test]
fn another_manifest_replaces_one_pod_at_a_time() {
    let mut cluster = serving();
    let old = settled(&cluster);
    cluster.spec.mysql.config.clear();
    let mut seen = Observations {
        pods: old.pods,
        ..settled(&cluster)
    };
    let evictions = |verdict: &Verdict| {
        let pods = verdict.actions.iter().filter_map(|action| match action {
            Action::Evict { pod } => Some(pod.clone()),
            _ => None,
        });
        pods.collect::<Vec<_>>()
    };
    // First it is said, then it is done.
    let verdict = decide(&cluster, &seen);
    assert_eq!(evictions(&verdict), [""; 0]);
    assert_eq!(
        condition(&verdict, ConditionType::Progressing).0,
        "True RestartingPrimary"
    );
    cluster.status = Some(verdict.status);
    let verdict = decide(&cluster, &seen);
    assert_eq!(evictions(&verdict), ["shop-0-0"]);

    // While the first comes back, the second waits.
    seen.pods.get_mut(&at(0)).unwrap().ending = true;
    assert_eq!(evictions(&decide(&cluster, &seen)), [""; 0]);
    seen.pods.insert(
        at(0),
        PodView {
            ready: false,
            ..pod(&cluster, at(0))
        },
    );
    assert_eq!(evictions(&decide(&cluster, &seen)), [""; 0]);
    seen.pods.insert(at(0), pod(&cluster, at(0)));
    let verdict = decide(&cluster, &seen);
    assert_eq!(evictions(&verdict), [""; 0], "the second is another one");
    cluster.status = Some(verdict.status);
    assert_eq!(evictions(&decide(&cluster, &seen)), ["shop-1-0"]);
}

#[test]
fn a_pod_that_the_old_manifest_keeps_from_starting_is_replaced_first() {
    let mut cluster = serving();
    let old = settled(&cluster);
    cluster.spec.mysql.config.clear();
    let mut seen = Observations {
        pods: old.pods,
        ..settled(&cluster)
    };
    seen.pods.get_mut(&at(1)).unwrap().ready = false;
    let eviction = Action::Evict {
        pod: "shop-1-0".to_owned(),
    };
    // It is said first, as of one that serves.
    let verdict = decide(&cluster, &seen);
    assert!(!verdict.actions.contains(&eviction));
    assert_eq!(
        condition(&verdict, ConditionType::Progressing).0,
        "True RestartingPrimary"
    );
    cluster.status = Some(verdict.status);
    let verdict = decide(&cluster, &seen);
    assert!(verdict.actions.contains(&eviction));
    assert!(!verdict.actions.contains(&Action::Evict {
        pod: "shop-0-0".to_owned()
    }));
}

#[test]
fn an_upgrade_of_the_operator_changes_sidecars_and_restarts_no_server() {
    let cluster = serving();
    let mut seen = settled(&cluster);
    for pod in seen.pods.values_mut() {
        pod.sidecar_image = "example.test/remora-sidecar:0.0.9".to_owned();
    }
    let verdict = decide(&cluster, &seen);
    let image = images().sidecar;
    let expected: Vec<_> = ["shop-0-0", "shop-1-0"]
        .map(|pod| Action::PatchSidecar {
            pod: pod.to_owned(),
            image: image.clone(),
        })
        .into();
    assert_eq!(verdict.actions, expected);
}

#[test]
fn an_old_my_cnf_goes_when_no_pod_mounts_it() {
    let cluster = serving();
    let mut seen = settled(&cluster);
    let old = ObjectKey {
        kind: Kind::ConfigMap,
        name: "shop-mycnf-0000000000".to_owned(),
    };
    seen.objects.insert(old.clone(), None);
    seen.pods.get_mut(&at(0)).unwrap().my_cnf = old.name.clone();
    assert_eq!(decide(&cluster, &seen).actions, []);
    seen.pods.insert(at(0), pod(&cluster, at(0)));
    assert_eq!(decide(&cluster, &seen).actions, [Action::Delete(old)]);
}

#[test]
fn a_refused_manifest_touches_nothing_and_keeps_what_is_known() {
    let cluster = serving();
    let error = FieldError {
        path: "spec.mysql.config.x-y".to_owned(),
        reason: "bad".to_owned(),
    };
    let verdict = reject(&cluster, &[error], NOW);
    assert_eq!(verdict.actions, []);
    let (state, message) = condition(&verdict, ConditionType::Accepted);
    assert_eq!(state, "False Invalid");
    assert_eq!(message, "spec.mysql.config.x-y: bad");
    assert_eq!(
        condition(&verdict, ConditionType::Available).0,
        "True Serving"
    );
}

#[test]
fn a_shard_costs_at_most_300_bytes_of_status() {
    let cluster = serving();
    let mut seen = settled(&cluster);
    seen.agents.get_mut(&at(0)).unwrap().bootstrapped = false;
    seen.agents.get_mut(&at(0)).unwrap().reason = "x".repeat(1000);
    let status = decide(&cluster, &seen).status;
    assert!(serde_json::to_string(&status.shards[0]).unwrap().len() <= 300);
}

mod replicas;
