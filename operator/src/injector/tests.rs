use super::*;

fn pod(yaml: &str) -> Pod {
    serde_saphyr::from_str(yaml).unwrap()
}

fn options() -> SidecarOptions {
    SidecarOptions {
        image: "registry.test/remora-sidecar:0.1.0".into(),
        image_pull_policy: "IfNotPresent".into(),
        discovery: "https://remora-discovery.remora.svc:8443".into(),
        ca_bundle: "-----BEGIN CERTIFICATE-----\n".into(),
        log_format: "json".into(),
        resources: serde_saphyr::from_str("{requests: {cpu: 50m, memory: 64Mi}}").unwrap(),
    }
}

fn cluster() -> ClusterName {
    ClusterName {
        namespace: "data".into(),
        name: "shop".into(),
    }
}

fn injected(yaml: &str, users: &[&str]) -> Result<Pod, Denied> {
    let grant = Grant {
        cluster: &cluster(),
        namespace: "data",
        database: "shop",
        users,
    };
    match inject(&pod(yaml), &grant, &options())? {
        Outcome::Injected(pod) => Ok(*pod),
        Outcome::Unchanged => panic!("the pod had no sidecar"),
    }
}

const PLAIN: &str = "{metadata: {name: app}, spec: {containers: [{name: app, image: app:1}]}}";

#[test]
fn a_plain_pod_gets_container_volumes_variables_and_annotations() {
    insta::assert_yaml_snapshot!(injected(PLAIN, &["app", "report"]).unwrap());
}

#[test]
fn a_second_call_changes_nothing() {
    let once = injected(PLAIN, &["app"]).unwrap();
    let grant = Grant {
        cluster: &cluster(),
        namespace: "data",
        database: "shop",
        users: &["app"],
    };
    assert_eq!(inject(&once, &grant, &options()), Ok(Outcome::Unchanged));
}

#[test]
fn variables_that_the_application_sets_are_left_alone() {
    let pod = injected(
        "{spec: {containers: [{name: app, env: [{name: MYSQL_HOST, value: db.example}]}]}}",
        &["app"],
    )
    .unwrap();
    let env = pod.spec.unwrap().containers.remove(0).env.unwrap();
    let hosts: Vec<_> = env.iter().filter(|v| v.name == "MYSQL_HOST").collect();
    assert_eq!(hosts.len(), 1);
    assert_eq!(hosts[0].value.as_deref(), Some("db.example"));
    assert!(env.iter().any(|v| v.name == "MYSQL_PORT"));
}

#[test]
fn the_applications_variables_may_refer_to_those_that_were_injected() {
    let pod = injected(
        "{spec: {containers: [{name: app, env: [{name: URL, value: 'mysql://$(MYSQL_HOST)'}]}]}}",
        &["app"],
    )
    .unwrap();
    let env = pod.spec.unwrap().containers.remove(0).env.unwrap();
    assert_eq!(env.last().unwrap().name, "URL");
}

#[test]
fn it_comes_before_other_init_containers_and_after_other_meshes() {
    let pod = injected(
        "{spec: {initContainers: [{name: linkerd-proxy}, {name: migrate}], containers: [{name: app}]}}",
        &["app"],
    )
    .unwrap();
    let init = pod.spec.unwrap().init_containers.unwrap();
    let names: Vec<_> = init
        .iter()
        .map(|container| container.name.as_str())
        .collect();
    assert_eq!(names, ["linkerd-proxy", SIDECAR, "migrate"]);
    assert!(
        init[0].env.is_none(),
        "another mesh's container gets no password"
    );
    assert!(init[2].env.is_some(), "a migration finds the database");
}

#[test]
fn the_annotation_chooses_the_user() {
    let with = |user: &str| {
        format!(
            "{{metadata: {{annotations: {{remora.dev/user: {user}}}}}, spec: {{containers: [{{name: app}}]}}}}"
        )
    };
    let pod = injected(&with("report"), &["app", "report"]).unwrap();
    let env = pod.spec.unwrap().containers.remove(0).env.unwrap();
    let password = env.iter().find(|v| v.name == "MYSQL_PASSWORD").unwrap();
    let secret = password
        .value_from
        .as_ref()
        .unwrap()
        .secret_key_ref
        .as_ref()
        .unwrap();
    assert_eq!(secret.name, "shop-report");

    let denied = injected(&with("root"), &["app", "report"]).unwrap_err();
    assert_eq!(
        denied.to_string(),
        "annotation remora.dev/user: root is not a user that ShardingCluster data/shop grants to this pod (spec.users, spec.access)"
    );
}

#[test]
fn ports_that_collide_are_denied_by_name() {
    for port in [3306, 4291] {
        let denied = injected(
            &format!(
                "{{spec: {{containers: [{{name: app, ports: [{{containerPort: {port}}}]}}]}}}}"
            ),
            &["app"],
        )
        .unwrap_err();
        assert_eq!(
            denied,
            Denied::Port {
                container: "app".into(),
                port
            }
        );
    }
}

#[test]
fn a_pod_on_the_nodes_network_is_denied() {
    let denied = injected(
        "{spec: {hostNetwork: true, containers: [{name: app}]}}",
        &["app"],
    )
    .unwrap_err();
    assert_eq!(denied, Denied::HostNetwork);
}

#[test]
fn the_cluster_is_found_in_the_pods_own_namespace_unless_another_is_named() {
    let ask = |cluster: &str| {
        requested(
            &pod(&format!(
                "{{metadata: {{annotations: {{remora.dev/cluster: {cluster}}}}}}}"
            )),
            "web",
            Some("only"),
        )
    };
    assert_eq!(ask("shop").unwrap().cluster.to_string(), "web/shop");
    assert_eq!(ask("data/shop").unwrap().cluster, cluster());
    assert_eq!(ask("shop").unwrap().service_account, "default");
    for malformed in ["a/b/c", "Shop", "'-shop'", "'/shop'", "''"] {
        assert!(
            matches!(ask(malformed), Err(InvalidReference::Malformed(_))),
            "{malformed}"
        );
    }
    let silent = pod("{}");
    assert_eq!(
        requested(&silent, "web", None),
        Err(InvalidReference::Missing)
    );
    let only = requested(&silent, "web", Some("only")).unwrap();
    assert_eq!(only.cluster.to_string(), "web/only");
}

#[test]
fn a_pod_asks_by_its_label_or_its_annotation() {
    for (metadata, asked) in [
        ("{}", false),
        ("{labels: {remora.dev/inject: 'true'}}", true),
        ("{labels: {remora.dev/inject: 'false'}}", false),
        ("{annotations: {remora.dev/cluster: shop}}", true),
    ] {
        assert_eq!(asks(&pod(&format!("{{metadata: {metadata}}}"))), asked);
    }
}

#[test]
fn variables_of_env_from_stay_behind_those_that_were_injected() {
    // Kubernetes lets `env` win, and what a ConfigMap holds cannot be seen here.
    let pod = injected(
        "{spec: {containers: [{name: app, envFrom: [{configMapRef: {name: settings}}],
          env: [{name: MYSQL_DATABASE, value: mine}]}]}}",
        &["app"],
    )
    .unwrap();
    let container = pod.spec.unwrap().containers.remove(0);
    assert_eq!(container.env_from.unwrap().len(), 1);
    let env = container.env.unwrap();
    let value = |name: &str| env.iter().find(|v| v.name == name).unwrap().value.clone();
    assert_eq!(value("MYSQL_HOST").as_deref(), Some("127.0.0.1"));
    assert_eq!(value("MYSQL_DATABASE").as_deref(), Some("mine"));
}

#[test]
fn the_secret_of_another_namespaces_cluster_is_not_that_of_the_own_one() {
    let secret = |namespace: &str| {
        let grant = Grant {
            cluster: &cluster(),
            namespace,
            database: "shop",
            users: &["app"],
        };
        let Outcome::Injected(pod) = inject(&pod(PLAIN), &grant, &options()).unwrap() else {
            panic!("the pod had a sidecar");
        };
        let env = pod.spec.unwrap().containers.remove(0).env.unwrap();
        let password = env.into_iter().find(|v| v.name == "MYSQL_PASSWORD");
        let source = password.unwrap().value_from.unwrap();
        source.secret_key_ref.unwrap().name
    };
    assert_eq!(secret("data"), "shop-app");
    assert_eq!(secret("web"), "data.shop.app");
}
