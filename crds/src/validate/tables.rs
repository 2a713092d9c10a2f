//! Tables: each for itself, and colocation between them.

use std::collections::BTreeSet;

use super::Errors;
use crate::{Sharding, ShardingClusterSpec, Table};

pub(super) fn tables(spec: &ShardingClusterSpec, errors: &mut Errors) {
    errors.unless(
        spec.tables.len() <= 256,
        "spec.tables",
        "has more than 256 entries",
    );
    let mut seen = BTreeSet::new();
    for table in &spec.tables {
        let path = format!("spec.tables[{}]", table.name);
        errors.unless(seen.insert(&table.name), &path, "stands twice; remove one");
        one(table, &path, errors);
        if let Some(sharding) = &table.sharding {
            let path = format!("{path}.sharding");
            key(sharding, &path, errors);
            colocation(spec, table, sharding, &path, errors);
        }
    }
}

fn one(table: &Table, path: &str, errors: &mut Errors) {
    let name = &table.name;
    errors.unless(
        (1..=64).contains(&name.len())
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "_$-".contains(c)),
        format!("{path}.name"),
        "must have from 1 to 64 letters, digits, '_', '$' and '-'",
    );
    errors.unless(
        table.sharding.is_some() != table.broadcast,
        path,
        "a table has either sharding or broadcast: true; set one of them, or remove the entry, \
         since a table that is not named lives on the first shard",
    );
    if let Some(generated) = &table.generated_key {
        let path = format!("{path}.generatedKey");
        errors.unless(
            table.sharding.is_some(),
            &path,
            "is for sharded tables: MySQL's own AUTO_INCREMENT serves the others; remove it, or \
             add sharding",
        );
        errors.unless(
            (1..=64).contains(&generated.column.len()),
            format!("{path}.column"),
            "must name a column",
        );
    }
}

fn key(sharding: &Sharding, path: &str, errors: &mut Errors) {
    errors.unless(
        sharding.key.len() == 1,
        format!("{path}.key"),
        "must have one column: this version has no composite keys yet",
    );
    errors.unless(
        sharding
            .key
            .iter()
            .all(|column| (1..=64).contains(&column.len())),
        format!("{path}.key"),
        "must name a column",
    );
    errors.unless(
        sharding
            .tables_per_shard
            .is_none_or(|n| (1..=4096).contains(&n)),
        format!("{path}.tablesPerShard"),
        "must be from 1 to 4096",
    );
}

fn colocation(
    spec: &ShardingClusterSpec,
    table: &Table,
    sharding: &Sharding,
    path: &str,
    errors: &mut Errors,
) {
    let Some(name) = &sharding.colocated_with else {
        return;
    };
    let other = spec.table(name).filter(|other| other.name != table.name);
    let Some(other) = other.and_then(|other| other.sharding.as_ref()) else {
        errors.add(
            format!("{path}.colocatedWith"),
            format!("{name:?} is not another sharded table of spec.tables; correct the name, or add that table"),
        );
        return;
    };
    errors.unless(
        other.colocated_with.is_none(),
        format!("{path}.colocatedWith"),
        format!("{name:?} is itself colocated; name the table with which it is"),
    );
    let (own, others) = (
        spec.tables_per_shard(sharding),
        spec.tables_per_shard(other),
    );
    errors.unless(
        own == others,
        format!("{path}.tablesPerShard"),
        format!("is {own}, but {name:?} has {others}; set it to {others}, or leave it out"),
    );
}
