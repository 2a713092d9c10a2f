//! Encrypted columns and their keys.

use std::collections::BTreeSet;

use super::Errors;
use crate::{Digest, EncryptedColumn, ShardingClusterSpec, Table};

const MOST: usize = 32;

pub(super) fn encryption(spec: &ShardingClusterSpec, errors: &mut Errors) {
    let keys: Vec<&str> = spec
        .encryption
        .iter()
        .flat_map(|it| &it.keys)
        .map(|key| key.name.as_str())
        .collect();
    errors.unless(
        keys.len() <= MOST,
        "spec.encryption.keys",
        "has more than 32 entries",
    );
    let mut seen = BTreeSet::new();
    for name in &keys {
        let path = format!("spec.encryption.keys[{name}]");
        errors.unless(seen.insert(*name), &path, "stands twice; remove one");
        let well_formed = (1..=64).contains(&name.len())
            && name
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
            && !name.starts_with('-')
            && !name.ends_with('-');
        errors.unless(
            well_formed,
            format!("{path}.name"),
            "must have from 1 to 64 lower-case letters, digits and '-'",
        );
    }
    for (number, access) in spec.access.iter().enumerate() {
        for name in &access.keys {
            errors.unless(
                keys.contains(&name.as_str()),
                format!("spec.access[{number}].keys"),
                format!("spec.encryption.keys has no key {name:?}; correct the name, or add it"),
            );
        }
    }
    for table in &spec.tables {
        let path = format!("spec.tables[{}].encryption", table.name);
        errors.unless(
            table.encryption.len() <= MOST,
            &path,
            "has more than 32 entries",
        );
        let mut seen = BTreeSet::new();
        for column in &table.encryption {
            let path = format!("{path}[{}]", column.column);
            errors.unless(
                seen.insert(column.column.to_ascii_lowercase()),
                &path,
                "stands twice; remove one",
            );
            one(table, column, &keys, &path, errors);
        }
    }
}

fn one(table: &Table, column: &EncryptedColumn, keys: &[&str], path: &str, errors: &mut Errors) {
    let name = &column.column;
    errors.unless(
        (1..=48).contains(&name.len())
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "_$".contains(c)),
        format!("{path}.column"),
        "must have from 1 to 48 letters, digits, '_' and '$'",
    );
    let is = |other: &String| other.eq_ignore_ascii_case(name);
    errors.unless(
        !table.sharding.iter().any(|it| it.key.iter().any(is)),
        path,
        "is the sharding key: rows are found by its plain value; remove it, or shard by another \
         column",
    );
    errors.unless(
        !table.generated_key.iter().any(|it| is(&it.column)),
        path,
        "is the generated column, whose numbers Remora makes; remove it",
    );
    let needs_key = matches!(column.digest, None | Some(Digest::HmacSha256));
    errors.unless(
        column.key.is_some() == needs_key,
        format!("{path}.key"),
        "an encrypted column needs a key; a digest has one only if it is HmacSha256: set key, or \
         remove it",
    );
    errors.unless(
        column.digest.is_none() || column.lookup.is_none(),
        format!("{path}.lookup"),
        "is for encrypted columns: a digest is found by = without it; remove it",
    );
    if let Some(key) = &column.key {
        errors.unless(
            keys.contains(&key.as_str()),
            format!("{path}.key"),
            format!("spec.encryption.keys has no key {key:?}; correct the name, or add it"),
        );
    }
}
