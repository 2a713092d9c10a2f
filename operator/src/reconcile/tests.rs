use std::sync::OnceLock;
use std::time::SystemTime;

use k8s_openapi::api::core::v1::Namespace;
use kube::api::PartialObjectMeta;
use kube::core::DeserializeGuard;
use kube::runtime::events::Reporter;
use kube::runtime::reflector::{Store, store};
use kube::runtime::watcher;

use super::*;
use crate::certificates::CaState;
use crate::fake::Fake;
use crate::fixtures::{images, shop};

const PATH: &str = "/apis/remora.dev/v1alpha1/namespaces/default/shardingclusters/shop";

/// An apiserver to which the example was just applied.
fn applied() -> Fake {
    let mut cluster = shop();
    cluster.status = None;
    cluster.metadata.resource_version = Some("1".to_owned());
    let fake = Fake::default();
    fake.0
        .lock()
        .unwrap()
        .objects
        .insert(PATH.to_owned(), serde_json::to_value(cluster).unwrap());
    fake
}

/// The CA that all operators share.
fn ca() -> CaState {
    static CA: OnceLock<CaState> = OnceLock::new();
    CA.get_or_init(|| CaState::first("test", SystemTime::now()).unwrap())
        .clone()
}

/// An operator that was just started.
fn operator(fake: &Fake) -> Arc<Context> {
    operator_among(fake, store().0)
}

/// One that sees these namespaces.
fn operator_among(fake: &Fake, namespaces: Store<PartialObjectMeta<Namespace>>) -> Arc<Context> {
    let client = fake.client();
    let reporter = Reporter {
        controller: "test".to_owned(),
        instance: None,
    };
    Arc::new(Context {
        site: Site {
            discovery: "https://d:8443".to_owned(),
            domain: "cluster.local".to_owned(),
            ca: "CA".to_owned(),
            log_format: "json".to_owned(),
            image_pull_policy: "IfNotPresent".to_owned(),
            network_policy: false,
        },
        trust: Arc::new(Trust::new(ca())),
        images: images(),
        recorder: Recorder::new(client.clone(), reporter),
        reports: Arc::default(),
        watched: Watched::holding(store().0, namespaces),
        copies: Arc::default(),
        refreshes: Refreshes::default(),
        metrics: Arc::default(),
        client,
    })
}

/// One round with the cluster as the apiserver has it.
async fn round(fake: &Fake, context: &Arc<Context>) -> Result<Next, ReconcileError> {
    let cluster = fake.0.lock().unwrap().objects[PATH].clone();
    let cluster = serde_json::from_value(cluster).unwrap();
    reconcile(Arc::new(DeserializeGuard(Ok(cluster))), context.clone()).await
}

/// Names of what is there, without what is random in it.
fn there(fake: &Fake) -> Vec<String> {
    let held = fake.0.lock().unwrap();
    held.objects
        .keys()
        .filter(|path| !path.contains("/events"))
        .cloned()
        .collect()
}

fn status(fake: &Fake) -> ShardingClusterStatus {
    let held = fake.0.lock().unwrap();
    serde_json::from_value(held.objects[PATH]["status"].clone()).unwrap()
}

#[tokio::test]
async fn one_round_makes_everything_and_the_next_changes_nothing() {
    let fake = applied();
    let context = operator(&fake);
    round(&fake, &context).await.unwrap();
    insta::assert_snapshot!(there(&fake).join("\n"));
    assert_eq!(status(&fake).epoch, 1);
    assert_eq!(status(&fake).images, Some(images()));

    fake.0.lock().unwrap().writes.clear();
    round(&fake, &context).await.unwrap();
    assert_eq!(fake.0.lock().unwrap().writes, [""; 0]);
}

#[tokio::test]
async fn killed_at_any_request_the_next_operator_goes_on() {
    let whole = applied();
    round(&whole, &operator(&whole)).await.unwrap();
    for patience in 0.. {
        let fake = applied();
        fake.0.lock().unwrap().patience = Some(patience);
        let finished = round(&fake, &operator(&fake)).await.is_ok();
        let made = |name: &str| {
            let held = fake.0.lock().unwrap();
            held.objects
                .get(&format!("/api/v1/namespaces/default/secrets/{name}"))
                .cloned()
        };
        let passwords = ["shop-remora-system", "shop-app", "shop-remora-tls"].map(made);

        fake.0.lock().unwrap().patience = None;
        round(&fake, &operator(&fake)).await.unwrap();
        assert_eq!(there(&fake), there(&whole), "after {patience} requests");
        // What was made once is never made anew: servers may know it already.
        for (name, before) in ["shop-remora-system", "shop-app", "shop-remora-tls"]
            .iter()
            .zip(passwords)
        {
            let after = made(name);
            assert!(
                before.is_none() || before == after,
                "{name} after {patience} requests"
            );
        }
        if finished {
            assert!(
                patience > 20,
                "{patience} requests are too few to have been the round"
            );
            return;
        }
    }
}

#[tokio::test]
async fn another_ones_service_is_not_taken_over() {
    let fake = applied();
    let path = "/api/v1/namespaces/default/services/shop";
    let service = serde_json::json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "shop"}, "spec": {"theirs": 1},
    });
    fake.0
        .lock()
        .unwrap()
        .objects
        .insert(path.to_owned(), service.clone());
    let error = round(&fake, &operator(&fake)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "Service shop exists and is not this cluster's; remove or rename it"
    );
    assert_eq!(fake.0.lock().unwrap().objects[path], service);
    let conditions = status(&fake).conditions;
    let progressing = conditions
        .iter()
        .find(|c| c.type_ == "Progressing")
        .unwrap();
    assert_eq!(
        (progressing.reason.as_str(), progressing.status.as_str()),
        ("Failing", "True")
    );
    // One object that fails does not keep the others from being made.
    assert!(
        there(&fake)
            .iter()
            .any(|path| path.ends_with("/statefulsets/shop-1"))
    );

    // It fails again, and says nothing new.
    fake.0.lock().unwrap().writes.clear();
    round(&fake, &operator(&fake)).await.unwrap_err();
    let writes = fake.0.lock().unwrap().writes.clone();
    assert!(
        !writes.iter().any(|write| write.ends_with("/status")),
        "{writes:?}"
    );
}

#[tokio::test]
async fn a_copy_of_another_clusters_secret_is_not_adopted() {
    let fake = applied();
    let path = "/api/v1/namespaces/default/secrets/shop-app";
    let copy = serde_json::json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "shop-app", "labels": {
            "remora.dev/cluster": "shop", "remora.dev/cluster-namespace": "data",
        }},
        "data": {"password": "aHVzaA=="},
    });
    fake.put(path, copy.clone());
    round(&fake, &operator(&fake)).await.unwrap_err();
    assert_eq!(fake.0.lock().unwrap().objects[path], copy);
    let condition = &status(&fake).conditions[0];
    assert_eq!(
        (condition.type_.as_str(), condition.message.as_str()),
        (
            "Progressing",
            "Secret shop-app exists and is not this cluster's; remove or rename it"
        )
    );
}

#[tokio::test]
async fn a_manifest_that_makes_no_sense_is_told_so_and_nothing_is_made() {
    let fake = applied();
    let config = serde_json::json!({"max-connections": 5});
    fake.0.lock().unwrap().objects.get_mut(PATH).unwrap()["spec"]["mysql"]["config"] = config;
    round(&fake, &operator(&fake)).await.unwrap();
    let conditions = status(&fake).conditions;
    assert_eq!(conditions[0].type_, "Accepted");
    assert!(
        conditions[0]
            .message
            .starts_with("spec.mysql.config.max-connections: ")
    );
    assert_eq!(there(&fake), [PATH]);
}

#[tokio::test]
async fn a_missing_secret_is_named_and_awaited() {
    let fake = applied();
    let users = serde_json::json!([{"name": "app", "passwordSecretRef": {"name": "mine"}}]);
    fake.0.lock().unwrap().objects.get_mut(PATH).unwrap()["spec"]["users"] = users;
    let context = operator(&fake);
    round(&fake, &context).await.unwrap();
    assert_eq!(
        status(&fake).conditions[0].message,
        "spec.users[app].passwordSecretRef: Secret mine has no key password; create it"
    );
    let secret = serde_json::json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "mine"},
        "data": {"password": "aHVzaA=="},
    });
    let path = "/api/v1/namespaces/default/secrets/mine".to_owned();
    fake.0.lock().unwrap().objects.insert(path, secret);
    round(&fake, &context).await.unwrap();
    // No shard has judged the manifest yet; the operator has nothing against it.
    assert_eq!(status(&fake).conditions[0].reason, "Pending");
    let made = "/api/v1/namespaces/default/secrets/shop-app";
    assert_eq!(
        fake.0.lock().unwrap().objects[made]["data"]["password"],
        "aHVzaA=="
    );
}

const KEYS: &str = "/api/v1/namespaces/default/secrets/keys";

/// A cluster with a key, and its operator after a first round.
async fn keyed() -> (Fake, Arc<Context>) {
    let fake = applied();
    let keys = serde_json::json!({"keys": [{"name": "mobile", "secretRef": {"name": "keys"}}]});
    fake.0.lock().unwrap().objects.get_mut(PATH).unwrap()["spec"]["encryption"] = keys;
    let context = operator(&fake);
    round(&fake, &context).await.unwrap();
    (fake, context)
}

fn found_wrong(fake: &Fake) -> String {
    let accepted = status(fake).conditions.into_iter();
    let refused = |it: &Condition| it.type_ == "Accepted" && it.status == "False";
    accepted
        .filter(refused)
        .map(|it| it.message)
        .collect::<String>()
}

#[tokio::test]
async fn keys_are_made_for_a_new_cluster_and_never_again() {
    let (fake, context) = keyed().await;
    let made = fake.0.lock().unwrap().objects[KEYS].clone();
    let known = status(&fake).column_keys;
    assert_eq!((known.len(), known[0].check.len()), (1, 16));
    round(&fake, &context).await.unwrap();
    assert_eq!(status(&fake).column_keys, known);

    fake.0.lock().unwrap().objects.remove(KEYS);
    round(&fake, &context).await.unwrap();
    let message = found_wrong(&fake);
    assert!(message.contains("restore the Secret"), "{message}");
    assert!(!there(&fake).contains(&KEYS.to_owned()));
    assert_eq!(status(&fake).column_keys, known);

    // Another key under the same name, as after a changed secretRef, is refused as well.
    let other = serde_json::json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys"},
        "data": {"mobile.1": "CAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAg="},
    });
    fake.put(KEYS, other);
    round(&fake, &context).await.unwrap();
    let message = found_wrong(&fake);
    assert!(message.contains("mobile.1 is another key"), "{message}");
    let cluster = serde_json::from_value(fake.0.lock().unwrap().objects[PATH].clone()).unwrap();
    let read = secrets::read(&context.client, &cluster).await;
    assert!(matches!(read, Err(SecretError::Key { .. })));

    fake.put(KEYS, made);
    round(&fake, &context).await.unwrap();
    assert_eq!(found_wrong(&fake), "");
    let cluster = serde_json::from_value(fake.0.lock().unwrap().objects[PATH].clone()).unwrap();
    let read = secrets::read(&context.client, &cluster).await.unwrap();
    assert_eq!(read.unwrap().keys.len(), 1);
}

#[tokio::test]
async fn a_cluster_that_was_restored_without_its_status_gets_no_new_keys() {
    let (fake, context) = keyed().await;
    {
        let mut held = fake.0.lock().unwrap();
        held.objects.remove(KEYS);
        held.objects.get_mut(PATH).unwrap()["status"] = serde_json::Value::Null;
    }
    let volume = serde_json::json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data-shop-0-0", "labels": {"remora.dev/cluster": "shop"}},
    });
    let path = "/api/v1/namespaces/default/persistentvolumeclaims/data-shop-0-0";
    fake.put(path, volume);
    round(&fake, &context).await.unwrap();
    let message = found_wrong(&fake);
    assert!(message.contains("may hold rows; restore it"), "{message}");
    assert!(!there(&fake).contains(&KEYS.to_owned()));

    // Where every server said that it is empty, the volumes hold nothing.
    let mut empty = status(&fake);
    let shards = status(&fake).shards.len().max(shop().spec.shards.into());
    empty.shards = (0..shards)
        .map(|index| remora_crds::ShardStatus {
            index: u16::try_from(index).unwrap(),
            data: remora_crds::ShardData::Empty,
            ..remora_crds::ShardStatus::default()
        })
        .collect();
    let value = serde_json::to_value(&empty).unwrap();
    fake.0.lock().unwrap().objects.get_mut(PATH).unwrap()["status"] = value;
    round(&fake, &context).await.unwrap();
    assert!(there(&fake).contains(&KEYS.to_owned()));
}

#[tokio::test]
async fn a_copy_goes_when_its_namespace_is_no_longer_granted() {
    let fake = applied();
    let access = serde_json::json!([{"namespaceSelector": {"matchLabels": {"team": "web"}}}]);
    fake.0.lock().unwrap().objects.get_mut(PATH).unwrap()["spec"]["access"] = access;
    let (namespaces, mut writer) = store();
    let mut web = |team: &str| {
        let yaml = format!("{{metadata: {{name: web, labels: {{team: {team}}}}}}}");
        let namespace: PartialObjectMeta<Namespace> = serde_saphyr::from_str(&yaml).unwrap();
        writer.apply_watcher_event(&watcher::Event::Apply(namespace));
    };
    let copy = "/api/v1/namespaces/web/secrets/default.shop.app".to_owned();
    let context = operator_among(&fake, namespaces.clone());
    web("web");
    round(&fake, &context).await.unwrap();
    assert!(there(&fake).contains(&copy));
    web("other");
    round(&fake, &context).await.unwrap();
    assert!(!there(&fake).contains(&copy));

    // The grant goes while nobody leads.
    web("web");
    round(&fake, &context).await.unwrap();
    assert!(there(&fake).contains(&copy));
    web("other");
    round(&fake, &operator_among(&fake, namespaces))
        .await
        .unwrap();
    assert!(!there(&fake).contains(&copy));
    let own = "/api/v1/namespaces/default/secrets/shop-app".to_owned();
    assert!(there(&fake).contains(&own));
    let record = "/api/v1/namespaces/default/configmaps/shop-remora-copies".to_owned();
    assert!(!there(&fake).contains(&record));
}

#[tokio::test]
async fn copies_go_with_their_cluster_and_its_own_secrets_stay() {
    let fake = applied();
    let access = serde_json::json!([{"namespaceSelector": {}}]);
    fake.0.lock().unwrap().objects.get_mut(PATH).unwrap()["spec"]["access"] = access;
    let (namespaces, mut writer) = store();
    let web = serde_saphyr::from_str("{metadata: {name: web}}").unwrap();
    writer.apply_watcher_event(&watcher::Event::Apply(web));
    let context = operator_among(&fake, namespaces.clone());
    // Another cluster of the same name lives where the copy goes.
    let theirs = "/api/v1/namespaces/web/secrets/shop-app".to_owned();
    fake.put(
        &theirs,
        serde_json::json!({"kind": "Secret", "metadata": {"name": "shop-app"}}),
    );
    round(&fake, &context).await.unwrap();
    let copy = "/api/v1/namespaces/web/secrets/default.shop.app".to_owned();
    assert!(there(&fake).contains(&copy));

    // The cluster goes while nobody leads. The next leader does not know it.
    fake.0.lock().unwrap().objects.remove(PATH);
    let next = operator_among(&fake, namespaces);
    copies::sweep(&next.client, &next.watched, &next.copies).await;
    let left = there(&fake);
    assert!(!left.contains(&copy), "{left:?}");
    assert!(left.contains(&theirs));
    assert!(left.contains(&"/api/v1/namespaces/default/secrets/shop-app".to_owned()));
    assert!(
        !left.iter().any(|path| path.ends_with("-copies")),
        "{left:?}"
    );
}

#[tokio::test]
async fn a_namespace_that_refuses_holds_up_the_sweep_of_no_other() {
    let fake = applied();
    let access = serde_json::json!([{"namespaceSelector": {}}]);
    fake.0.lock().unwrap().objects.get_mut(PATH).unwrap()["spec"]["access"] = access;
    let (namespaces, mut writer) = store();
    for name in ["closed", "web"] {
        let namespace = serde_saphyr::from_str(&format!("{{metadata: {{name: {name}}}}}"));
        writer.apply_watcher_event(&watcher::Event::Apply(namespace.unwrap()));
    }
    let context = operator_among(&fake, namespaces.clone());
    round(&fake, &context).await.unwrap();
    let copies = ["closed", "web"]
        .map(|namespace| format!("/api/v1/namespaces/{namespace}/secrets/default.shop.app"));
    let has = |path: &String| there(&fake).contains(path);
    assert!(copies.iter().all(has));
    let noted = || there(&fake).iter().any(|path| path.ends_with("-copies"));

    fake.0.lock().unwrap().objects.remove(PATH);
    fake.0.lock().unwrap().forbidden = Some("/api/v1/namespaces/closed/".to_owned());
    let next = operator_among(&fake, namespaces);
    copies::sweep(&next.client, &next.watched, &next.copies).await;
    assert_eq!(copies.each_ref().map(has), [true, false]);
    assert!(noted());

    fake.0.lock().unwrap().forbidden = None;
    copies::sweep(&next.client, &next.watched, &next.copies).await;
    assert_eq!(copies.each_ref().map(has), [false, false]);
    assert!(!noted());
}

#[tokio::test]
async fn copies_of_a_cluster_that_is_there_are_left_alone() {
    let fake = applied();
    let access = serde_json::json!([{"namespaceSelector": {}}]);
    fake.0.lock().unwrap().objects.get_mut(PATH).unwrap()["spec"]["access"] = access;
    let (namespaces, mut writer) = store();
    let web = serde_saphyr::from_str("{metadata: {name: web}}").unwrap();
    writer.apply_watcher_event(&watcher::Event::Apply(web));
    let (clusters, mut writer) = store();
    let cluster = fake.0.lock().unwrap().objects[PATH].clone();
    let cluster = serde_json::from_value(cluster).unwrap();
    writer.apply_watcher_event(&watcher::Event::Apply(DeserializeGuard(Ok(cluster))));
    let context = operator_among(&fake, namespaces.clone());
    round(&fake, &context).await.unwrap();
    let before = there(&fake);
    let watched = Watched::holding(clusters, namespaces);
    copies::sweep(&context.client, &watched, &context.copies).await;
    assert_eq!(there(&fake), before);
}

#[tokio::test]
async fn a_manifest_that_is_not_understood_is_told_so_and_nothing_else_is_touched() {
    let fake = applied();
    let context = operator(&fake);
    round(&fake, &context).await.unwrap();
    let before = status(&fake);
    let mut stored = fake.0.lock().unwrap().objects[PATH].clone();
    stored["spec"]["shards"] = "many".into();
    stored["status"]["ofLater"] = 7.into();
    fake.put(PATH, stored.clone());
    let guarded = || {
        let read: Guarded = serde_json::from_value(stored.clone()).unwrap();
        assert!(read.0.is_err());
        Arc::new(read)
    };
    reconcile(guarded(), context.clone()).await.unwrap();
    let accepted = &status(&fake).conditions[0];
    assert_eq!(
        (accepted.status.as_str(), accepted.reason.as_str()),
        ("False", "Invalid")
    );
    assert!(accepted.message.contains("many"), "{}", accepted.message);
    assert_eq!(status(&fake).conditions[1..], before.conditions[1..]);
    assert_eq!(fake.0.lock().unwrap().objects[PATH]["status"]["ofLater"], 7);

    fake.0.lock().unwrap().writes.clear();
    reconcile(guarded(), context).await.unwrap();
    assert_eq!(fake.0.lock().unwrap().writes, [""; 0]);
}

#[tokio::test]
async fn a_stale_cluster_is_not_written_over() {
    let fake = applied();
    let context = operator(&fake);
    let stale = fake.0.lock().unwrap().objects[PATH].clone();
    round(&fake, &context).await.unwrap();
    let before = status(&fake);
    let stale = DeserializeGuard(Ok(serde_json::from_value(stale).unwrap()));
    reconcile(Arc::new(stale), context).await.unwrap();
    assert_eq!(status(&fake), before);
}

#[tokio::test]
async fn the_passwords_of_a_version_without_replicas_are_completed_and_kept() {
    let fake = applied();
    round(&fake, &operator(&fake)).await.unwrap();
    let path = "/api/v1/namespaces/default/secrets/shop-remora-system";
    let data = || fake.0.lock().unwrap().objects[path]["data"].clone();
    let made = data();
    let mut old = fake.0.lock().unwrap().objects[path].clone();
    old["data"].as_object_mut().unwrap().remove("replication");
    fake.put(path, old);
    round(&fake, &operator(&fake)).await.unwrap();
    let completed = data();
    assert_eq!(completed["agent"], made["agent"]);
    assert_eq!(completed["sidecar"], made["sidecar"]);
    assert!(completed["replication"].is_string());
    round(&fake, &operator(&fake)).await.unwrap();
    assert_eq!(data(), completed);
}
