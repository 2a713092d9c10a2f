use k8s_openapi::api::core::v1::Namespace;
use kube::api::PartialObjectMeta;
use kube::core::DeserializeGuard;
use kube::runtime::reflector::store;
use kube::runtime::watcher;
use remora_discovery::{AgentHealth, Health, Identity};
use serde_json::json;

use super::*;
use crate::fake::Fake;
use crate::fixtures::shop;

/// Discovery over a cluster whose Secrets are there, and who its tokens belong to.
struct Site {
    service: Service,
    reports: Arc<Reports>,
    leading: watch::Sender<bool>,
    fake: Fake,
}

impl Site {
    fn new() -> Self {
        let mut cluster = shop();
        cluster.spec.access = serde_saphyr::from_str(
            "[{}, {namespaceSelector: {matchLabels: {team: web}}, serviceAccounts: [shop]}]",
        )
        .unwrap();
        let (clusters, mut writer) = store();
        writer.apply_watcher_event(&watcher::Event::Apply(DeserializeGuard(Ok(cluster))));
        let (namespaces, mut writer) = store();
        let web: PartialObjectMeta<Namespace> =
            serde_saphyr::from_str("{metadata: {name: web, labels: {team: web}}}").unwrap();
        writer.apply_watcher_event(&watcher::Event::Apply(web));
        let fake = Fake::default();
        for (name, data) in [
            (
                "shop-remora-system",
                json!({"sidecar": "cw==", "agent": "YQ==", "replication": "cg=="}),
            ),
            ("shop-app", json!({"password": "cA=="})),
            (
                "shop-remora-tls",
                json!({"ca.crt": "Q0E=", "tls.crt": "Qw==", "tls.key": "Sw=="}),
            ),
        ] {
            let labels = json!({"remora.dev/cluster": "shop"});
            let metadata = json!({"name": name, "labels": labels});
            let secret =
                json!({"kind": "Secret", "apiVersion": "v1", "metadata": metadata, "data": data});
            fake.put(
                &format!("/api/v1/namespaces/default/secrets/{name}"),
                secret,
            );
        }
        let (leading, led) = watch::channel(true);
        let reports = Arc::<Reports>::default();
        let service = Service::new(
            fake.client(),
            "cluster.local".to_owned(),
            Watched::holding(clusters, namespaces),
            Crowds::counted(Names::new("default", "shop"), 3),
            reports.clone(),
            led,
            Arc::default(),
            Arc::new(Trust::new(
                crate::certificates::CaState::first("test", std::time::SystemTime::now()).unwrap(),
            )),
        );
        Self {
            service,
            reports,
            leading,
            fake,
        }
    }

    /// A token of a pod's.
    fn token(self, token: &str, namespace: &str, account: &str, pod: &str, uid: &str) -> Self {
        let status = json!({
            "authenticated": true,
            "audiences": ["remora.dev/discovery"],
            "user": {
                "username": format!("system:serviceaccount:{namespace}:{account}"),
                "extra": {
                    "authentication.kubernetes.io/pod-name": [pod],
                    "authentication.kubernetes.io/pod-uid": [uid],
                },
            },
        });
        self.fake.put(token, status);
        self
    }

    /// A pod of namespace default, controlled by a StatefulSet.
    fn pod(self, name: &str, uid: &str, owner: &str) -> Self {
        let owner = json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet", "name": owner, "uid": "o",
            "controller": true,
        });
        let metadata = json!({"name": name, "uid": uid, "ownerReferences": [owner]});
        let pod = json!({"kind": "Pod", "apiVersion": "v1", "metadata": metadata});
        self.fake
            .put(&format!("/api/v1/namespaces/default/pods/{name}"), pod);
        self
    }

    async fn first(&self, token: &str, role: Role) -> Result<Snapshot, Refusal> {
        let wanted = WatchedCluster {
            namespace: "default".to_owned(),
            cluster: "shop".to_owned(),
            role,
            version: "0.1.0".to_owned(),
        };
        let mut snapshots = self.service.watch(token.to_owned(), wanted).await?;
        Ok(snapshots.next().await.unwrap())
    }

    async fn report(&self, token: &str) -> Result<(), Refusal> {
        let uid = shop().metadata.uid.unwrap();
        let report = Report {
            namespace: "default".to_owned(),
            cluster: "shop".to_owned(),
            version: "0.1.0".to_owned(),
            health: Health {
                in_force: Some(Identity {
                    uid,
                    ..Identity::default()
                }),
                agent: Some(AgentHealth {
                    mysqld: true,
                    ..AgentHealth::default()
                }),
                ..Health::default()
            },
        };
        self.service.report(token.to_owned(), report).await
    }
}

#[tokio::test]
async fn a_mysql_pod_gets_its_orders_and_reports() {
    let site = Site::new()
        .token("t", "default", "default", "shop-1-0", "u1")
        .pod("shop-1-0", "u1", "shop-1");
    let snapshot = site.first("t", Role::Agent).await.unwrap();
    assert_eq!(snapshot.agent.unwrap().shard, 1);
    assert_eq!(snapshot.backend_ca.as_deref(), Some("CA"));

    site.report("t").await.unwrap();
    let uid = shop().metadata.uid.unwrap();
    let heard = site.reports.of(&Names::new("default", "shop"), &uid);
    assert_eq!(heard.keys().collect::<Vec<_>>(), [&InstanceId::primary(1)]);
    site.leading.send_replace(false);
    assert!(matches!(
        site.report("t").await,
        Err(Refusal::Unavailable(_))
    ));
}

#[tokio::test]
async fn a_pod_that_bears_a_mysql_pods_name_gets_nothing() {
    let another_uid = Site::new()
        .token("t", "default", "default", "shop-1-0", "u2")
        .pod("shop-1-0", "u1", "shop-1");
    let another_owner = Site::new()
        .token("t", "default", "default", "shop-1-0", "u1")
        .pod("shop-1-0", "u1", "theirs");
    let another_namespace = Site::new()
        .token("t", "web", "shop", "shop-1-0", "u1")
        .pod("shop-1-0", "u1", "shop-1");
    let no_such_shard = Site::new()
        .token("t", "default", "default", "shop-2-0", "u1")
        .pod("shop-2-0", "u1", "shop-2");
    for site in [another_uid, another_owner, another_namespace, no_such_shard] {
        assert!(matches!(
            site.first("t", Role::Agent).await,
            Err(Refusal::Denied(_))
        ));
        assert!(matches!(site.report("t").await, Err(Refusal::Denied(_))));
        assert!(
            site.reports
                .of(&Names::new("default", "shop"), "")
                .is_empty()
        );
    }
}

#[tokio::test]
async fn an_application_gets_what_is_granted_or_the_reason() {
    let site = Site::new()
        .token("own", "default", "any", "a-1", "u1")
        .token("web", "web", "shop", "w-1", "u2")
        .token("other-account", "web", "default", "w-2", "u3")
        .token("elsewhere", "elsewhere", "shop", "e-1", "u4");
    for token in ["own", "web"] {
        let snapshot = site.first(token, Role::Application).await.unwrap();
        assert_eq!(snapshot.topology.users[0].password, "p");
        assert_eq!(snapshot.agent, None);
    }
    for token in ["other-account", "elsewhere"] {
        let refusal = site.first(token, Role::Application).await.unwrap_err();
        assert!(
            refusal
                .to_string()
                .contains("spec.access of ShardingCluster default/shop")
        );
    }
    assert!(matches!(
        site.first("?", Role::Application).await,
        Err(Refusal::Unauthenticated(_))
    ));
    assert!(matches!(
        site.first("own", Role::Unspecified).await,
        Err(Refusal::Denied(_))
    ));
}
