//! Names: the database, users, and those who may log in as them.

use std::collections::BTreeSet;

use super::Errors;
use crate::{ShardingClusterSpec, User};

const SYSTEM_SCHEMAS: [&str; 5] = [
    "mysql",
    "sys",
    "remora",
    "information_schema",
    "performance_schema",
];

pub(super) fn database(name: &str, errors: &mut Errors) {
    let path = "spec.database";
    errors.unless(
        (1..=58).contains(&name.len()),
        path,
        "must have from 1 to 58 characters: physical schemas add six, and MySQL allows 64",
    );
    let first = name
        .chars()
        .next()
        .is_none_or(|c| c.is_ascii_alphabetic() || c == '_');
    errors.unless(
        first
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "_$-".contains(c)),
        path,
        "must begin with a letter or '_' and hold only letters, digits, '_', '$' and '-'",
    );
    errors.unless(
        !SYSTEM_SCHEMAS.contains(&name.to_ascii_lowercase().as_str()),
        path,
        "is one of MySQL's or Remora's own schemas; choose another name",
    );
    let physical = name
        .rsplit_once("__")
        .is_some_and(|(_, slot)| slot.len() == 4 && slot.bytes().all(|byte| byte.is_ascii_digit()));
    errors.unless(
        !physical,
        path,
        "ends in '__' and four digits, as the physical schemas of a sharded table do; choose \
         another name",
    );
}

pub(super) fn users(spec: &ShardingClusterSpec, errors: &mut Errors) {
    errors.unless(
        spec.users.len() <= 32,
        "spec.users",
        "has more than 32 entries",
    );
    let mut seen = BTreeSet::new();
    for user in &spec.users {
        let path = format!("spec.users[{}].name", user.name);
        errors.unless(seen.insert(&user.name), &path, "stands twice; remove one");
        let name = user.name.as_str();
        let well_formed = (1..=32).contains(&name.len())
            && name.starts_with(|c: char| c.is_ascii_lowercase())
            && !name.ends_with('-')
            && name
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        errors.unless(
            well_formed,
            &path,
            "is part of a Secret's name: it must begin with a letter, hold only lower-case \
             letters, digits and '-', and have at most 32 characters",
        );
        errors.unless(
            name != "root" && !name.starts_with("mysql") && !name.starts_with("remora"),
            &path,
            "root and names that begin with mysql or remora are MySQL's and Remora's own \
             accounts; choose another name",
        );
        errors.unless(
            user.max_connections
                .is_none_or(|most| User::MAX_CONNECTIONS.contains(&most)),
            format!("spec.users[{}].maxConnections", user.name),
            "must be from 1 to 100000; leave it out for no limit",
        );
    }
}

pub(super) fn access(spec: &ShardingClusterSpec, errors: &mut Errors) {
    errors.unless(
        spec.access.len() <= 32,
        "spec.access",
        "has more than 32 entries",
    );
    for (i, access) in spec.access.iter().enumerate() {
        for name in &access.users {
            errors.unless(
                spec.users.iter().any(|user| user.name == *name),
                format!("spec.access[{i}].users[{name}]"),
                "spec.users has no such user; correct the name, or add the user",
            );
        }
    }
}
