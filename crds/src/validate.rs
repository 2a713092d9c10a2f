//! What makes sense in a manifest. The apiserver checks most of it by schema and CEL before;
//! this is the whole of it, for manifests in files and for what CEL cannot afford.

mod encryption;
mod names;
mod reads;
mod sidecar;
mod span;
mod tables;

use std::fmt;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::{RESERVED_OPTIONS, ShardingClusterSpec};

/// A field of a manifest that makes no sense, and what to do about it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FieldError {
    /// The field's path, such as `spec.tables[payment].sharding.key`.
    pub path: String,
    /// What is wrong and the remedy.
    pub reason: String,
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.reason)
    }
}

impl std::error::Error for FieldError {}

/// Collects errors under paths.
#[derive(Default)]
struct Errors(Vec<FieldError>);

impl Errors {
    fn add(&mut self, path: impl Into<String>, reason: impl Into<String>) {
        self.0.push(FieldError {
            path: path.into(),
            reason: reason.into(),
        });
    }

    /// Adds the error unless `holds`.
    fn unless(&mut self, holds: bool, path: impl Into<String>, reason: impl Into<String>) {
        if !holds {
            self.add(path, reason);
        }
    }
}

/// Everything that is wrong with `spec`; empty if nothing is.
#[must_use]
pub fn validate(spec: &ShardingClusterSpec) -> Vec<FieldError> {
    let mut errors = Errors::default();
    errors.unless(
        (1..=256).contains(&spec.shards),
        "spec.shards",
        "must be from 1 to 256",
    );
    errors.unless(
        (1..=9).contains(&spec.instances_per_shard),
        "spec.instancesPerShard",
        "must be from 1 to 9",
    );
    names::database(&spec.database, &mut errors);
    sidecar::sidecar(&spec.sidecar, &mut errors);
    reads::reads(spec, &mut errors);
    mysql(spec, &mut errors);
    names::users(spec, &mut errors);
    names::access(spec, &mut errors);
    tables::tables(spec, &mut errors);
    encryption::encryption(spec, &mut errors);
    errors.0
}

fn mysql(spec: &ShardingClusterSpec, errors: &mut Errors) {
    errors.unless(
        (1..=i64::from(i32::MAX)).contains(&spec.mysql.run_as_user),
        "spec.mysql.runAsUser",
        "must be from 1 to 2147483647: MySQL pods do not run as root",
    );
    amounts(spec, errors);
    for (name, value) in &spec.mysql.config {
        let path = format!("spec.mysql.config.{name}");
        let well_formed = name.starts_with(|c: char| c.is_ascii_lowercase())
            && name
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        errors.unless(
            well_formed,
            &path,
            "an option holds lower-case letters, digits and '_'; write it as SHOW VARIABLES does",
        );
        let bare = name.strip_prefix("loose_").unwrap_or(name);
        let bare = bare.strip_prefix("skip_").map_or(bare, |rest| match rest {
            "grant_tables" | "name_resolve" | "networking" | "replica_start" | "slave_start" => {
                bare
            }
            _ => rest,
        });
        errors.unless(
            !RESERVED_OPTIONS.contains(&bare),
            &path,
            "Remora sets this option itself; remove it",
        );
        if let IntOrString::String(text) = value {
            errors.unless(
                text.len() <= 1024 && !text.chars().any(char::is_control),
                &path,
                "the value is longer than 1024 bytes or holds a line break; correct it",
            );
        }
    }
}

fn amounts(spec: &ShardingClusterSpec, errors: &mut Errors) {
    let size = (
        "spec.mysql.storage.size".to_owned(),
        &spec.mysql.storage.size,
    );
    let containers = [
        ("spec.mysql", &spec.mysql.resources),
        ("spec.sidecar", &spec.sidecar.resources),
    ];
    let of_containers = containers.into_iter().flat_map(|(path, resources)| {
        let kinds = [
            ("requests", &resources.requests),
            ("limits", &resources.limits),
        ];
        kinds.into_iter().flat_map(move |(kind, amounts)| {
            let at = move |name: &String| format!("{path}.resources.{kind}.{name}");
            amounts.iter().map(move |(name, amount)| (at(name), amount))
        })
    });
    for (path, amount) in std::iter::once(size).chain(of_containers) {
        errors.unless(
            amount.is_valid(),
            path,
            "is no amount such as 500m, 10Gi or 2; correct it",
        );
    }
}

#[cfg(test)]
mod tests;
