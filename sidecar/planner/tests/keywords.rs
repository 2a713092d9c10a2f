//! Tables that are called like words of statements which name no table.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

use remora_crds::ShardingCluster;
use remora_planner::fingerprint::Normalizer;
use remora_planner::{Catalog, CatalogBuilder, Context, Planner};

/// Words that stand unquoted in SET, USE, SHOW, LOCK TABLES and the like.
const NAMES: [&str; 14] = [
    "names",
    "transaction",
    "password",
    "global",
    "session",
    "local",
    "tables",
    "status",
    "autocommit",
    "work",
    "savepoint",
    "level",
    "connection",
    "isolation",
];

fn catalog() -> Catalog {
    let tables: Vec<String> = NAMES
        .iter()
        .map(|name| {
            format!("  - {{name: {name}, sharding: {{key: [id], algorithm: {{hash: {{}}}}}}}}")
        })
        .collect();
    let manifest = format!(
        "apiVersion: remora.dev/v1alpha1\nkind: ShardingCluster\nmetadata: {{name: shop}}\n\
         spec:\n  shards: 2\n  database: shop\n  tables:\n{}\n",
        tables.join("\n")
    );
    let cluster: ShardingCluster = serde_saphyr::from_str(&manifest).unwrap();
    CatalogBuilder::new(&cluster.spec).build(1).unwrap()
}

fn refusal(sql: &str) -> Option<String> {
    let context = Context {
        database: Some("shop".to_owned()),
        ..Context::default()
    };
    let planner = Planner::new(1 << 20);
    let planned = planner.plan(
        &catalog(),
        &context,
        &mut Normalizer::default(),
        sql.as_bytes(),
    );
    planned.err().map(|refusal| refusal.message)
}

#[test]
fn words_of_statements_are_no_tables() {
    for sql in [
        "SET NAMES utf8mb4",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "SET SESSION autocommit = 0",
        "SET @names = 1, @@session.sql_mode = ''",
        "SET LOCAL autocommit = 1",
        "BEGIN WORK",
        "START TRANSACTION",
        "SAVEPOINT status",
        "ROLLBACK TO SAVEPOINT names",
        "RELEASE SAVEPOINT names",
        "USE status",
        "UNLOCK TABLES",
        "LOCK TABLES other READ",
        "FLUSH STATUS",
        "FLUSH LOCAL TABLES",
        "ANALYZE LOCAL TABLE other",
        "SHOW SESSION STATUS",
        "SHOW TABLES",
        "DO @status",
        "CALL clean(@status)",
        "INSERT INTO other (status, password) VALUES (1, 2)",
        "INSERT INTO other SET status = 1 ON DUPLICATE KEY UPDATE status = 2",
        "REPLACE INTO other (status) VALUES (1)",
        "HELP 'status'",
    ] {
        assert_eq!(refusal(sql), None, "{sql}");
    }
}

#[test]
fn tables_are_found_wherever_they_can_be_read() {
    for sql in [
        "SET @a = (SELECT MAX(id) FROM status)",
        "SET @a = (TABLE status)",
        "DO (SELECT 1 FROM names)",
        "CALL clean((SELECT 1 FROM names))",
        "INSERT INTO other SELECT * FROM status",
        "INSERT INTO other (id) VALUES ((SELECT MAX(id) FROM names))",
        "INSERT INTO other TABLE status",
        "LOCK TABLES status READ",
        "LOCK TABLES other READ, tables WRITE",
        "FLUSH TABLES status WITH READ LOCK",
        "ANALYZE LOCAL TABLE local",
        "KILL (SELECT 1 FROM session)",
    ] {
        assert!(refusal(sql).is_some(), "{sql}");
    }
}
