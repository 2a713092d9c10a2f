//! Each mistake once, in a file that is otherwise right, and what is said of it.

use super::*;

const RIGHT: &str = "\
apiVersion: remora.dev/v1alpha1
kind: ShardingCluster
metadata: {name: shop}
spec:
  shards: 2
  database: shop
  tables:
  - name: orders
    sharding: {key: [id], algorithm: {hash: {}}, tablesPerShard: 4}
    generatedKey: {column: id, type: Sequence}
  - {name: country, broadcast: true}
---
apiVersion: remora.dev/v1alpha1
kind: Topology
metadata: {name: shop}
epoch: 7
shards:
- instances:
  - {host: 127.0.0.1, port: 13306, role: Primary}
- instances:
  - {host: 127.0.0.1, port: 13307, role: Primary}
users: [{name: app, password: hunter2}]
system: {name: remora, password: 'hunter2'}
";

fn refusal(text: &str, current: Option<&Snapshot>) -> String {
    match parse(Path::new("shop.yaml"), text, current) {
        Ok(_) => "accepted".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// What is said when `from` stands as `to`.
fn mistaken(from: &str, to: &str) -> String {
    assert!(RIGHT.contains(from), "{from:?} is in the file");
    refusal(&RIGHT.replacen(from, to, 1), None)
}

#[test]
fn the_file_becomes_a_snapshot() {
    let snapshot = parse(Path::new("shop.yaml"), RIGHT, None).unwrap();
    assert_eq!((snapshot.name.as_str(), snapshot.epoch), ("shop", 7));
    assert_eq!(snapshot.primary(1).map(|p| p.port), Some(13307));
    assert_eq!(snapshot.system.name, "remora");
    assert!(snapshot.users.contains_key("app"));
}

#[test]
fn the_documents_may_stand_in_either_order() {
    let (manifest, topology) = RIGHT.split_once("---\n").unwrap();
    assert_eq!(
        refusal(&format!("{topology}\n--- # the manifest\n{manifest}"), None),
        "accepted"
    );
}

#[test]
fn a_mistake_is_shown_with_its_line_and_field() {
    let mistakes = [
        (
            "an unknown field",
            "  database:",
            "  colour: red\n  database:",
        ),
        (
            "an unknown field of a table",
            "broadcast: true",
            "broadcast: true, colour: red",
        ),
        (
            "an unknown field beside spec",
            "spec:",
            "specification: {}\nspec:",
        ),
        (
            "a field of a later version",
            "  database:",
            "  sidecar: {backendConnections: 50}\n  database:",
        ),
        ("a wrong type", "shards: 2", "shards: two"),
        ("a number that does not fit", "shards: 2", "shards: 70000"),
        ("a list that is none", "key: [id]", "key: id"),
        (
            "a mapping that is none",
            "{column: id, type: Sequence}",
            "id",
        ),
        ("a text that is none", "database: shop", "database: [shop]"),
        ("a flag that is none", "broadcast: true", "broadcast: maybe"),
        ("an unknown algorithm", "hash: {}", "range: {}"),
        ("an unknown kind of key", "type: Sequence", "type: Uuid"),
        ("a missing field", "  database: shop\n", ""),
        ("a name that is missing", "{name: shop}", "{}"),
        ("a table twice", "name: country", "name: orders"),
        (
            "sharding and broadcast",
            "broadcast: true",
            "broadcast: true, sharding: {key: [id], algorithm: {hash: {}}}",
        ),
        ("no shards", "  shards: 2", "  shards: 0"),
        (
            "a key twice in a mapping",
            "  shards: 2",
            "  shards: 2\n  shards: 2",
        ),
        ("another shard count", "  shards: 2", "  shards: 3"),
        ("another version", "remora.dev/v1alpha1", "remora.dev/v2"),
        ("another kind", "kind: Topology", "kind: Toplogy"),
        (
            "the same kind twice",
            "kind: Topology",
            "kind: ShardingCluster",
        ),
        (
            "another cluster",
            "metadata: {name: shop}\nepoch",
            "metadata: {name: shoe}\nepoch",
        ),
        ("an epoch below zero", "epoch: 7", "epoch: -7"),
        ("no primary", "13307, role: Primary", "13307, role: Replica"),
        (
            "two primaries",
            "  - {host: 127.0.0.1, port: 13307, role: Primary}\n",
            "  - {host: 127.0.0.1, port: 13307, role: Primary}\n  - {host: b, port: 1, role: Primary}\n",
        ),
        (
            "an unknown role",
            "13307, role: Primary",
            "13307, role: Leader",
        ),
        ("a port that does not fit", "13307", "133070"),
        ("a server twice", "13307", "13306"),
        ("no users", "[{name: app, password: hunter2}]", "[]"),
        (
            "a user twice",
            "[{name: app",
            "[{name: app, password: hunter2}, {name: app",
        ),
        ("a user without a password", ", password: hunter2}]", "}]"),
        (
            "a password alone",
            "[{name: app, password: hunter2}]",
            "hunter2",
        ),
        (
            "a password that is a list",
            "password: hunter2}",
            "password: [hunter2]}",
        ),
        (
            "an unknown field of a user",
            "{name: app,",
            "{name: app, hunter2: hunter2,",
        ),
        ("not YAML", "  shards: 2", "  shards: [2"),
        (
            "not YAML beside a password",
            "password: 'hunter2'",
            "password: 'hunter2",
        ),
        ("a tab", "  shards: 2", "\tshards: 2"),
        (
            "an alias of nothing",
            "password: hunter2",
            "password: *hunter2",
        ),
        ("a tag", "password: hunter2", "password: !!int hunter2"),
    ];
    let told: Vec<_> = mistakes
        .map(|(what, from, to)| format!("{what}:\n{}", mistaken(from, to)))
        .into();
    insta::assert_snapshot!(told.join("\n\n"));
}

#[test]
fn a_missing_document_is_named() {
    let (manifest, topology) = RIGHT.split_once("---\n").unwrap();
    let told = [
        refusal(manifest, None),
        refusal(topology, None),
        refusal("", None),
    ];
    insta::assert_snapshot!(told.join("\n\n"));
}

#[test]
fn passwords_are_never_told() {
    for (at, _) in RIGHT.char_indices() {
        for insert in [
            "}", "\"", "'", "[", ": ", "!", "*x ", "\t", "\n", "%", "&a ", "- ",
        ] {
            let mut text = RIGHT.to_owned();
            text.insert_str(at, insert);
            let told = refusal(&text, None);
            assert!(!told.contains("hunter"), "{insert:?} at {at}: {told}");
        }
    }
}

#[test]
fn what_is_in_force_is_not_contradicted() {
    let current = parse(Path::new("shop.yaml"), RIGHT, None).unwrap();
    let told = [
        ("epoch: 7", "epoch: 6"),
        ("tablesPerShard: 4", "tablesPerShard: 8"),
        ("database: shop", "database: store"),
        ("epoch: 7", "epoch: 8"),
    ]
    .map(|(from, to)| refusal(&RIGHT.replacen(from, to, 1), Some(&current)));
    insta::assert_snapshot!(told.join("\n\n"));
}

#[test]
fn a_text_of_any_kind_does_not_panic() {
    proptest::proptest!(|(text in ".{0,200}")| {
        let _ = refusal(&text, None);
    });
}
