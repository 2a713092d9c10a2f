use k8s_openapi::api::core::v1::Namespace;
use kube::{
    api::PartialObjectMeta,
    core::DeserializeGuard,
    runtime::{reflector::store, watcher},
};
use remora_crds::ShardingCluster;
use serde_json::{Value, json};

use super::*;
use crate::certificates::CaState;
use crate::watched::Scope;

fn webhook(access: &str) -> Webhook {
    webhook_within(Scope::All, access)
}

/// The webhook of an operator that looks after `scope`.
fn webhook_within(scope: Scope, access: &str) -> Webhook {
    let (clusters, mut cluster_writer) = store();
    let (namespaces, mut namespace_writer) = store();
    let cluster: ShardingCluster = serde_saphyr::from_str(&format!(
        "{{apiVersion: remora.dev/v1alpha1, kind: ShardingCluster, metadata: {{name: shop, namespace: data}}, \
         spec: {{shards: 2, database: shop, users: [{{name: app}}], access: {access}}}}}"
    ))
    .unwrap();
    cluster_writer.apply_watcher_event(&watcher::Event::Apply(DeserializeGuard(Ok(cluster))));
    let namespace: PartialObjectMeta<Namespace> =
        serde_saphyr::from_str("{metadata: {name: web, labels: {team: web}}}").unwrap();
    namespace_writer.apply_watcher_event(&watcher::Event::Apply(namespace));
    let options = SidecarOptions {
        image: "remora-sidecar:0.1.0".into(),
        image_pull_policy: "IfNotPresent".into(),
        discovery: "https://remora-discovery.remora.svc:8443".into(),
        ca_bundle: "CA".into(),
        log_format: "json".into(),
        resources: Default::default(),
    };
    Webhook::new(
        Watched::holding_within(scope, clusters, namespaces),
        options,
        Arc::new(Trust::new(
            CaState::first("test", std::time::SystemTime::now()).unwrap(),
        )),
    )
}

async fn answer(webhook: Webhook, namespace: &str, annotation: Option<&str>) -> Value {
    let annotations =
        annotation.map_or(json!({}), |cluster| json!({"remora.dev/cluster": cluster}));
    let labels = json!({"remora.dev/inject": "true"});
    let spec = json!({"containers": [{"name": "app", "image": "app:1"}]});
    let metadata = json!({"labels": labels, "annotations": annotations});
    answer_to(webhook, namespace, metadata, spec).await
}

/// The answer to a pod that is here for its namespace's label alone.
async fn answer_to_silent(webhook: Webhook, namespace: &str, spec: Value) -> Value {
    answer_to(webhook, namespace, json!({}), spec).await
}

async fn answer_to(webhook: Webhook, namespace: &str, metadata: Value, spec: Value) -> Value {
    let review: AdmissionReview<Pod> = serde_json::from_value(json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "1", "operation": "CREATE", "namespace": namespace, "name": "",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "userInfo": {}, "dryRun": false,
            "object": {"apiVersion": "v1", "kind": "Pod",
                "metadata": metadata, "spec": spec},
        }
    }))
    .unwrap();
    let Json(review) = super::review(State(Arc::new(webhook)), Json(review)).await;
    serde_json::to_value(review).unwrap()["response"].clone()
}

fn message(response: &Value) -> &str {
    assert_eq!(response["allowed"], false);
    response["status"]["message"].as_str().unwrap()
}

#[tokio::test]
async fn a_granted_pod_is_patched() {
    let response = answer(webhook("[]"), "data", Some("shop")).await;
    assert_eq!(response["allowed"], true);
    assert_eq!(response["patchType"], "JSONPatch");
}

#[tokio::test]
async fn an_unknown_cluster_is_denied_with_its_name() {
    let response = answer(webhook("[]"), "data", Some("shoe")).await;
    assert!(message(&response).starts_with("there is no ShardingCluster data/shoe;"));
}

#[tokio::test]
async fn a_namespace_that_is_not_granted_is_denied_with_the_reason() {
    let response = answer(webhook("[]"), "web", Some("data/shop")).await;
    assert_eq!(
        message(&response),
        "ShardingCluster data/shop does not grant service account default of namespace web; its spec.access decides"
    );
}

#[tokio::test]
async fn a_namespace_is_granted_by_its_labels() {
    let access = "[{namespaceSelector: {matchLabels: {team: web}}}]";
    let response = answer(webhook(access), "web", Some("data/shop")).await;
    assert_eq!(response["allowed"], true);
}

#[tokio::test]
async fn a_granted_namespace_whose_secrets_nobody_copies_is_denied_with_the_reason() {
    let access = "[{namespaceSelector: {matchLabels: {team: web}}}]";
    let within = |names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        webhook_within(Scope::Namespaces(names), access)
    };
    let response = answer(within(&["data"]), "web", Some("data/shop")).await;
    assert!(
        message(&response).contains("add the namespace to the operator's watchNamespaces"),
        "{response}"
    );
    let response = answer(within(&["data", "web"]), "web", Some("data/shop")).await;
    assert_eq!(response["allowed"], true);
}

#[tokio::test]
async fn a_pod_that_names_no_cluster_gets_the_only_one_of_its_namespace() {
    let response = answer(webhook("[]"), "data", None).await;
    assert_eq!(response["patchType"], "JSONPatch");
    let plain = json!({"containers": [{"name": "app", "image": "app:1"}]});
    let response = answer_to_silent(webhook("[]"), "data", plain).await;
    assert_eq!(response["patchType"], "JSONPatch");
}

#[tokio::test]
async fn a_pod_that_does_not_ask_is_left_alone_where_it_cannot_have_the_sidecar() {
    let plain = json!({"containers": [{"name": "app", "image": "app:1"}]});
    let on_node = json!({"hostNetwork": true, "containers": [{"name": "app", "image": "app:1"}]});
    let others = "[{serviceAccounts: [other]}]";
    for (namespace, access, spec, why) in [
        ("web", "[]", &plain, "does not name a ShardingCluster"),
        ("data", "[]", &on_node, "hostNetwork"),
        ("data", others, &plain, "does not grant"),
    ] {
        let response = answer_to_silent(webhook(access), namespace, spec.clone()).await;
        assert_eq!(response["allowed"], true);
        assert_eq!(response.get("patch"), None);
        let warning = response["warnings"][0].as_str().unwrap();
        assert!(warning.contains(why), "{warning}");
    }
}

#[tokio::test]
async fn a_pod_that_asks_and_names_no_cluster_is_told_how_to() {
    let response = answer(webhook("[]"), "web", None).await;
    assert!(message(&response).contains("set it to [namespace/]name"));
}
