//! The database of the tests: two shards, tables of every placement.

use remora_crds::ShardingCluster;
use remora_planner::{Catalog, CatalogBuilder, LoadedColumn};

const MANIFEST: &str = r"
apiVersion: remora.dev/v1alpha1
kind: ShardingCluster
metadata: {name: shop}
spec:
  shards: 2
  database: shop
  tables:
  - name: orders
    sharding: {key: [id], algorithm: {hash: {}}, tablesPerShard: 2}
    generatedKey: {column: id}
  - name: payment
    sharding: {key: [order_id], algorithm: {hash: {}}, colocatedWith: orders}
  - name: account
    sharding: {key: [name], algorithm: {hash: {}}}
    generatedKey: {column: id, type: Snowflake}
  - name: future
    sharding: {key: [id], algorithm: {hash: {}}, tablesPerShard: 2}
  - name: changed
    sharding: {key: [id], algorithm: {hash: {}}}
  - {name: country, broadcast: true}
  reads: {readOnlyFunctions: [lookup]}
";

/// Table, column, type, collation, nullable, extra.
const COLUMNS: [[&str; 6]; 25] = [
    ["changed", "id", "json", "", "YES", ""],
    ["orders", "id", "bigint", "", "NO", "auto_increment"],
    [
        "orders",
        "customer",
        "varchar(64)",
        "utf8mb4_0900_ai_ci",
        "YES",
        "",
    ],
    [
        "orders",
        "note",
        "varchar(64)",
        "utf8mb4_general_ci",
        "YES",
        "",
    ],
    ["orders", "amount", "decimal(20,4)", "", "YES", ""],
    [
        "orders",
        "state",
        "enum('new','paid')",
        "utf8mb4_0900_ai_ci",
        "YES",
        "",
    ],
    ["orders", "ratio", "float", "", "YES", ""],
    ["orders", "doc", "json", "", "YES", ""],
    [
        "orders",
        "country",
        "char(2)",
        "utf8mb4_0900_ai_ci",
        "YES",
        "",
    ],
    ["orders", "created", "datetime", "", "YES", ""],
    ["payment", "id", "bigint", "", "NO", ""],
    ["payment", "order_id", "bigint", "", "NO", ""],
    [
        "payment",
        "kind",
        "varchar(16)",
        "utf8mb4_0900_ai_ci",
        "YES",
        "",
    ],
    ["payment", "paid", "decimal(20,4)", "", "YES", ""],
    ["payment", "code", "int(6) unsigned zerofill", "", "YES", ""],
    [
        "account",
        "id",
        "bigint unsigned",
        "",
        "NO",
        "auto_increment",
    ],
    [
        "account",
        "name",
        "varchar(64)",
        "utf8mb4_0900_ai_ci",
        "NO",
        "",
    ],
    ["account", "balance", "bigint", "", "YES", ""],
    ["account", "secret", "int", "", "YES", "INVISIBLE"],
    ["country", "code", "char(2)", "utf8mb4_0900_ai_ci", "NO", ""],
    [
        "country",
        "title",
        "varchar(64)",
        "utf8mb4_0900_ai_ci",
        "YES",
        "",
    ],
    ["country", "number", "int", "", "NO", "auto_increment"],
    ["country", "area", "double", "", "YES", ""],
    ["country", "since", "date", "", "YES", ""],
    [
        "country",
        "size",
        "set('s','m')",
        "utf8mb4_0900_ai_ci",
        "YES",
        "",
    ],
];

/// The catalog of [`MANIFEST`] with [`COLUMNS`].
pub(crate) fn catalog() -> Catalog {
    let cluster: ShardingCluster = serde_saphyr::from_str(MANIFEST).unwrap();
    let columns = COLUMNS
        .iter()
        .map(|[table, column, kind, collation, nullable, extra]| {
            let data_type = kind.split(['(', ' ']).next().unwrap_or_default();
            LoadedColumn::from_row([
                Some((*table).to_owned()),
                Some((*column).to_owned()),
                Some(data_type.to_owned()),
                Some((*kind).to_owned()),
                (!collation.is_empty()).then(|| (*collation).to_owned()),
                Some((*nullable).to_owned()),
                Some((*extra).to_owned()),
                None,
                None,
            ])
        });
    let reason = "its rows are elsewhere".to_owned();
    CatalogBuilder::new(&cluster.spec)
        .loaded(columns)
        .closed(&[("shut".to_owned(), reason)].into())
        .build(1)
        .unwrap()
}
