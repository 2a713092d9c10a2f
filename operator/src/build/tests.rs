//! What the example becomes. The names, labels and volumes in these goldens can never change.

use super::*;
use crate::fixtures::{images, shop};

fn site() -> Site {
    Site {
        discovery: "https://remora-discovery.remora-system.svc:8443".to_owned(),
        domain: "cluster.local".to_owned(),
        ca: "-----BEGIN CERTIFICATE-----\n".to_owned(),
        log_format: "json".to_owned(),
        image_pull_policy: "IfNotPresent".to_owned(),
        network_policy: true,
    }
}

#[test]
fn the_example_becomes_these_objects() {
    for object in objects(&shop(), &images(), &site()) {
        let key = object.key();
        if key.name == "shop-1" {
            // Shard 1 differs from shard 0 in its number alone.
            continue;
        }
        insta::assert_yaml_snapshot!(format!("{:?}-{}", key.kind, key.name), object);
    }
}

#[test]
fn shards_differ_in_their_number_alone() {
    let of_shard = |shard: &str| {
        let objects = objects(&shop(), &images(), &site());
        let object = objects.iter().find(|object| {
            object.key()
                == ObjectKey {
                    kind: Kind::StatefulSet,
                    name: format!("shop-{shard}"),
                }
        });
        let mut value = serde_json::to_value(object.unwrap()).unwrap();
        value["metadata"]["annotations"] = serde_json::Value::Null;
        value.to_string()
    };
    let expected = of_shard("0")
        .replace("\"shop-0\"", "\"shop-1\"")
        .replace("\"remora.dev/shard\":\"0\"", "\"remora.dev/shard\":\"1\"")
        .replace("\"shop-remora-tls-0\"", "\"shop-remora-tls-1\"")
        .replace("--server-id=1\"", "--server-id=17\"");
    assert_eq!(of_shard("1"), expected);
}

#[test]
fn an_equal_manifest_gives_equal_objects_and_another_one_other_pods() {
    assert_eq!(
        objects(&shop(), &images(), &site()),
        objects(&shop(), &images(), &site())
    );
    let mut other = shop();
    other.spec.mysql.config.clear();
    assert_ne!(
        pod_spec_hash(&shop(), &images()),
        pod_spec_hash(&other, &images())
    );
    let mut upgraded = images();
    upgraded.sidecar = "example.test/remora-sidecar:0.2.0".to_owned();
    assert_eq!(
        pod_spec_hash(&shop(), &images()),
        pod_spec_hash(&shop(), &upgraded)
    );
}

#[test]
fn secrets_outlive_their_cluster_and_an_application_can_bind_them() {
    let names = names(&shop());
    let passwords = SystemPasswords {
        sidecar: "s1".to_owned(),
        agent: "a1".to_owned(),
    };
    let text = |secret: k8s_openapi::api::core::v1::Secret| {
        assert_eq!(secret.metadata.owner_references, None);
        assert_eq!(
            secret.metadata.labels.unwrap()[crate::names::RETAINED],
            "true"
        );
        let data = secret.data.unwrap();
        let lines = data
            .iter()
            .map(|(k, v)| format!("{k}: {}", std::str::from_utf8(&v.0).unwrap()));
        format!(
            "{} {}\n{}",
            secret.metadata.name.unwrap(),
            secret.type_.unwrap(),
            lines.collect::<Vec<_>>().join("\n")
        )
    };
    insta::assert_snapshot!(text(system_secret(&names, &passwords)));
    insta::assert_snapshot!(text(user_secret(&names, "shop", "app", "p@ss")));
}

#[test]
fn forced_options_stand_last_and_a_default_gives_way() {
    let mut cluster = shop();
    let config = &mut cluster.spec.mysql.config;
    config.insert(
        "max_connections".to_owned(),
        k8s_openapi::apimachinery::pkg::util::intstr::IntOrString::Int(77),
    );
    let file = my_cnf(&cluster.spec);
    assert_eq!(file.matches("max_connections").count(), 1);
    assert!(file.contains("max_connections = 77\n"));
    assert!(file.ends_with("port = 3307\n"), "{file}");
}
