//! Each mistake once, in a manifest that is otherwise `examples/shop.yaml`: refused by the CEL
//! rules that the apiserver runs, and by [`validate`], which files get.

use serde_json::{Value, json};

use super::validate;
use crate::fixtures::{example, shop, shop_cluster};
use crate::{Durability, ShardingCluster};

/// `shop` with the values at these JSON pointers replaced, added (or, by null, removed).
fn shop_with(changes: &[(&str, Value)]) -> ShardingCluster {
    let mut cluster = serde_json::to_value(shop_cluster()).unwrap();
    for (pointer, value) in changes {
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        match cluster
            .pointer_mut(parent)
            .unwrap_or_else(|| panic!("no {parent}"))
        {
            Value::Object(object) if value.is_null() => drop(object.remove(field)),
            Value::Object(object) => drop(object.insert(field.to_owned(), value.clone())),
            Value::Array(array) if field == "-" => array.push(value.clone()),
            Value::Array(array) => array[field.parse::<usize>().unwrap()] = value.clone(),
            other => panic!("{other} has no fields"),
        }
    }
    serde_json::from_value(cluster).unwrap()
}

fn cel_messages(cluster: &ShardingCluster, old: Option<&ShardingCluster>) -> Vec<String> {
    let result = match old {
        None => cluster.validate_cel(),
        Some(old) => cluster.validate_cel_update(old),
    };
    result.err().map_or_else(Vec::new, |errors| {
        errors
            .as_slice()
            .iter()
            .map(|error| format!("{}: {}", error.field_path, error.message))
            .collect()
    })
}

/// Both sides name the field; CEL's answers are pinned with all their words.
fn refused(changes: &[(&str, Value)], path: &str) -> Vec<String> {
    let cluster = shop_with(changes);
    let errors = validate(&cluster.spec);
    assert!(
        errors.iter().any(|error| error.path.starts_with(path)),
        "validate names {path}: {errors:?}"
    );
    let messages = cel_messages(&cluster, None);
    assert!(!messages.is_empty(), "CEL refuses {changes:?}");
    messages
}

#[test]
fn the_example_is_accepted() {
    for cluster in [example(), shop_cluster()] {
        assert_eq!(cel_messages(&cluster, None), Vec::<String>::new());
        assert_eq!(cel_messages(&cluster, Some(&cluster)), Vec::<String>::new());
        assert_eq!(validate(&cluster.spec), Vec::new());
    }
}

#[test]
fn a_mistake_is_refused_by_the_apiserver_and_in_a_file() {
    let table = |name: &str, more: Value| {
        let mut table = json!({"name": name});
        table
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        table
    };
    let sharding = |more: Value| {
        let mut sharding = json!({"key": ["id"], "algorithm": {"hash": {}}});
        sharding
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        json!({"sharding": sharding})
    };
    let both = json!({"broadcast": true, "sharding": {"key": ["id"], "algorithm": {"hash": {}}}});
    let keyed = json!({"broadcast": true, "generatedKey": {"column": "id"}});
    let cases: Vec<(&str, Vec<(&str, Value)>)> = vec![
        ("spec.database", vec![("/spec/database", json!("MySQL"))]),
        (
            "spec.database",
            vec![("/spec/database", json!("shop__0017"))],
        ),
        (
            "spec.tables[t]",
            vec![("/spec/tables/-", table("t", json!({})))],
        ),
        ("spec.tables[t]", vec![("/spec/tables/-", table("t", both))]),
        (
            "spec.tables[t].generatedKey",
            vec![("/spec/tables/-", table("t", keyed))],
        ),
        (
            "spec.tables[t].sharding.key",
            vec![(
                "/spec/tables/-",
                table("t", sharding(json!({"key": ["a", "b"]}))),
            )],
        ),
        (
            "spec.tables[t].sharding.colocatedWith",
            vec![(
                "/spec/tables/-",
                table("t", sharding(json!({"colocatedWith": "nobody"}))),
            )],
        ),
        (
            "spec.tables[t].sharding.colocatedWith",
            vec![(
                "/spec/tables/-",
                table("t", sharding(json!({"colocatedWith": "country"}))),
            )],
        ),
        (
            "spec.tables[t].sharding.colocatedWith",
            vec![(
                "/spec/tables/-",
                table("t", sharding(json!({"colocatedWith": "payment"}))),
            )],
        ),
        (
            "spec.tables[t].sharding.colocatedWith",
            vec![(
                "/spec/tables/-",
                table("t", sharding(json!({"colocatedWith": "t"}))),
            )],
        ),
        (
            "spec.tables[payment].sharding.tablesPerShard",
            vec![("/spec/tables/1/sharding/tablesPerShard", json!(8))],
        ),
        (
            "spec.users[root].name",
            vec![("/spec/users/-", json!({"name": "root"}))],
        ),
        (
            "spec.users[remora-x].name",
            vec![("/spec/users/-", json!({"name": "remora-x"}))],
        ),
        (
            "spec.access[0].users[bob]",
            vec![("/spec/access", json!([{"users": ["bob"]}]))],
        ),
        (
            "spec.access[0].keys",
            vec![("/spec/access", json!([{"keys": ["mobile"]}]))],
        ),
        (
            "spec.tables[country].encryption[name].key",
            vec![("/spec/tables/2/encryption", json!([{"column": "name"}]))],
        ),
        (
            "spec.tables[country].encryption[name].key",
            vec![(
                "/spec/tables/2/encryption",
                json!([{"column": "name", "key": "mobile"}]),
            )],
        ),
        (
            "spec.tables[country].encryption[name].key",
            vec![(
                "/spec/tables/2/encryption",
                json!([{"column": "name", "digest": "HmacSha256"}]),
            )],
        ),
        (
            "spec.tables[country].encryption[name].lookup",
            vec![(
                "/spec/tables/2/encryption",
                json!([{"column": "name", "digest": "MD5", "lookup": "Equality"}]),
            )],
        ),
        (
            "spec.tables[pressure_test].encryption[id]",
            vec![(
                "/spec/tables/0/encryption",
                json!([{"column": "id", "digest": "MD5"}]),
            )],
        ),
        (
            "spec.reads.maxReplicaLag",
            vec![("/spec/reads", json!({"maxReplicaLag": "500ms"}))],
        ),
        (
            "spec.resilience.connectTimeout",
            vec![("/spec/resilience", json!({"connectTimeout": "2m"}))],
        ),
        (
            "spec.resilience.circuitBreaker.openFor",
            vec![(
                "/spec/resilience",
                json!({"circuitBreaker": {"openFor": "10m"}}),
            )],
        ),
        (
            "spec.sidecar.pool.queueTimeout",
            vec![("/spec/sidecar/pool", json!({"queueTimeout": "1ms"}))],
        ),
        (
            "spec.sidecar.pool.maxLifetime",
            vec![("/spec/sidecar/pool", json!({"maxLifetime": "48h"}))],
        ),
        (
            "spec.mysql.config.gtid_mode",
            vec![("/spec/mysql/config/gtid_mode", json!("OFF"))],
        ),
        (
            "spec.mysql.config.super_read_only",
            vec![("/spec/mysql/config/super_read_only", json!("OFF"))],
        ),
    ];
    let messages: Vec<_> = cases
        .iter()
        .flat_map(|(path, changes)| refused(changes, path))
        .collect();
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn a_cluster_whose_name_does_not_fit_is_refused() {
    let long = "a".repeat(49);
    let messages: Vec<_> = [long.as_str(), "1shop", "shop.eu", "shop-3"]
        .iter()
        .flat_map(|name| cel_messages(&shop_with(&[("/metadata/name", json!(name))]), None))
        .collect();
    insta::assert_snapshot!(messages.join("\n"));
    for name in ["a".repeat(48), "shop".to_owned(), "shop-3-eu".to_owned()] {
        let cluster = shop_with(&[("/metadata/name", json!(name))]);
        assert_eq!(cel_messages(&cluster, None), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn the_layout_cannot_change() {
    let changes: [(&str, Value); 9] = [
        ("/spec/shards", json!(3)),
        ("/spec/database", json!("mall")),
        ("/spec/tables/0/sharding/key", json!(["user_code"])),
        ("/spec/tables/0/generatedKey", Value::Null),
        ("/spec/tables/0/generatedKey/type", json!("Snowflake")),
        ("/spec/tables/1/sharding/colocatedWith", Value::Null),
        ("/spec/tables/2/broadcast", json!(false)),
        ("/spec/mysql/storage/size", json!("3Gi")),
        ("/spec/mysql/storage/storageClassName", json!("fast")),
    ];
    let messages: Vec<_> = changes
        .into_iter()
        .flat_map(|change| {
            let messages = cel_messages(
                &shop_with(std::slice::from_ref(&change)),
                Some(&shop_cluster()),
            );
            assert!(!messages.is_empty(), "{change:?}");
            messages
        })
        .collect();
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn tables_users_and_options_may_be_added_and_removed() {
    let more = shop_with(&[
        (
            "/spec/tables/-",
            json!({"name": "currency", "broadcast": true}),
        ),
        ("/spec/users/-", json!({"name": "report"})),
        ("/spec/mysql/config/max_connections", json!(500)),
        (
            "/spec/access",
            json!([{"serviceAccounts": ["web"], "users": ["app"]}]),
        ),
    ]);
    assert_eq!(
        cel_messages(&more, Some(&shop_cluster())),
        Vec::<String>::new()
    );
    // Whether rows are in the way of a table's removal, the shards know.
    assert_eq!(
        cel_messages(&shop_cluster(), Some(&more)),
        Vec::<String>::new()
    );
    assert_eq!(validate(&more.spec), Vec::new());
}

#[test]
fn what_cel_cannot_afford_is_refused_by_validate() {
    let changes: [(&str, Value); 5] = [
        ("/spec/mysql/config/max-connections", json!(500)),
        (
            "/spec/mysql/config/init_connect",
            json!("SET a=1\n[client]"),
        ),
        ("/spec/mysql/config/skip_log_bin", json!(1)),
        ("/spec/mysql/config/loose_gtid_mode", json!("OFF")),
        ("/spec/mysql/config/skip_networking", json!("ON")),
    ];
    for change in changes {
        let errors = validate(&shop_with(std::slice::from_ref(&change)).spec);
        assert_eq!(errors.len(), 1, "{change:?}: {errors:?}");
        assert!(
            errors[0].path.starts_with("spec.mysql.config."),
            "{}",
            errors[0]
        );
    }
}

#[test]
fn bounds_that_the_schema_sets_hold_in_a_file_too() {
    let changes: [(&str, Value, &str); 11] = [
        ("/spec/shards", json!(0), "spec.shards"),
        ("/spec/shards", json!(257), "spec.shards"),
        ("/spec/database", json!("a".repeat(59)), "spec.database"),
        ("/spec/database", json!("a`b"), "spec.database"),
        (
            "/spec/tables/0/sharding/tablesPerShard",
            json!(4097),
            "spec.tables[pressure_test]",
        ),
        ("/spec/tables/2/name", json!("a.b"), "spec.tables[a.b].name"),
        (
            "/spec/users/-",
            json!({"name": "app"}),
            "spec.users[app].name",
        ),
        ("/spec/users/-", json!({"name": "A"}), "spec.users[A].name"),
        (
            "/spec/mysql/storage/size",
            json!("10GiB"),
            "spec.mysql.storage.size",
        ),
        (
            "/spec/mysql/resources/limits/cpu",
            json!(-1),
            "spec.mysql.resources.limits.cpu",
        ),
        (
            "/spec/tables/-",
            json!({"name": "country", "broadcast": true}),
            "spec.tables[country]",
        ),
    ];
    for (pointer, value, path) in changes {
        let errors = validate(&shop_with(&[(pointer, value)]).spec);
        assert!(
            errors.iter().any(|error| error.path.starts_with(path)),
            "{path}: {errors:?}"
        );
    }
}

#[test]
fn instances_may_come_and_go_and_half_of_the_replicas_acknowledge() {
    let with = |instances: u8| shop_with(&[("/spec/instancesPerShard", json!(instances))]);
    assert_eq!(cel_messages(&with(3), Some(&with(1))), Vec::<String>::new());
    assert_eq!(cel_messages(&with(1), Some(&with(3))), Vec::<String>::new());
    let mut too_many = shop();
    too_many.instances_per_shard = 10;
    assert_eq!(validate(&too_many).len(), 1);
    let told = (1..=6).map(|instances| {
        let mut spec = shop();
        spec.instances_per_shard = instances;
        (spec.acknowledgements(), spec.durability())
    });
    let (preferred, required) = (Some(Durability::Preferred), Some(Durability::Required));
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            (0, None),
            (1, preferred),
            (1, required),
            (2, required),
            (2, required),
            (3, required),
        ]
    );
}
