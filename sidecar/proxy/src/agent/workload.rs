//! The schemas and tables that a shard has.

use std::collections::BTreeSet;

use remora_crds::ShardingClusterSpec;
use remora_crds::layout::{Slot, schema};

use super::sql::{identifier, literal};

/// All schemas that the manifest's database has on each shard.
pub(super) fn schemas(spec: &ShardingClusterSpec) -> BTreeSet<String> {
    let database = &spec.database;
    let physical = spec
        .tables
        .iter()
        .filter_map(|table| table.sharding.as_ref())
        .flat_map(|s| {
            let slots = spec.tables_per_shard(s);
            (0..slots).map(move |slot| schema(database, slots, Slot(slot)).to_string())
        });
    physical.chain([database.clone()]).collect()
}

/// Lists the schemas of the server.
pub(super) const LIST: &str = "SELECT schema_name FROM information_schema.schemata";

/// Statements that make those of `wanted` that are not among `there`.
pub(super) fn missing<'a>(
    wanted: &'a BTreeSet<String>,
    there: &'a BTreeSet<String>,
) -> impl Iterator<Item = String> + 'a {
    wanted
        .difference(there)
        .map(|name| format!("CREATE DATABASE IF NOT EXISTS {}", identifier(name)))
}

/// Counts the tables in `schemas`. A server without a layout row that has some was filled by
/// someone else.
pub(super) fn count_tables(schemas: &BTreeSet<String>) -> String {
    let names: Vec<_> = schemas.iter().map(|name| literal(name)).collect();
    format!(
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema IN ({})",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_has_a_schema_and_only_missing_ones_are_made() {
        let spec: ShardingClusterSpec = serde_saphyr::from_str(
            "{shards: 1, database: shop, tables: [
               {name: a, sharding: {key: [id], algorithm: {hash: {}}, tablesPerShard: 2}},
               {name: b, sharding: {key: [id], algorithm: {hash: {}}}},
               {name: c, broadcast: true}]}",
        )
        .unwrap();
        let wanted = schemas(&spec);
        assert_eq!(
            wanted.iter().collect::<Vec<_>>(),
            ["shop", "shop__0000", "shop__0001"]
        );
        let there = BTreeSet::from(["shop".to_owned(), "shop__0000".to_owned(), "sys".to_owned()]);
        let made: Vec<_> = missing(&wanted, &there).collect();
        assert_eq!(made, ["CREATE DATABASE IF NOT EXISTS `shop__0001`"]);
    }
}
