//! The layout guard: rows are where the layout says that was written when they came.
//!
//! Each shard holds its layout in `remora.layout`. A manifest that would look for rows
//! elsewhere is not served on that shard.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use futures::FutureExt as _;
use remora_crds::{Admission, LayoutDocument};
use remora_protocol::ErrPacket;
use tokio::sync::Mutex;

use crate::backend::BackendError;
use crate::sequence::{CREATE_SCHEMA, quoted};
use crate::server_defaults;
use crate::session::HOME;
use crate::snapshot::LayoutKeeper;
use crate::system::System;
use crate::world::World;

/// What is known of the shards' layouts: under what each was admitted.
#[derive(Debug, Default)]
pub(crate) struct LayoutGuard {
    admitted: Mutex<HashMap<usize, Admitted>>,
}

/// The layout, by its fingerprint, and the tables that were closed: with others, the answer may
/// be another.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Admitted {
    fingerprint: String,
    closed: Vec<String>,
}

/// MySQL's numbers for "you may not".
const DENIED: [u16; 3] = [1044, 1142, 1227];
/// MySQL's number for "that is not you".
const WRONG_PASSWORD: u16 = 1045;
/// The schema or the table is not there.
const MISSING: [u16; 2] = [1049, 1146];

/// How long shards other than the first may take to say what they hold, when a layout is to
/// come into force.
const PATIENCE: Duration = Duration::from_secs(1);

/// The table of the layout: one row.
pub(crate) const CREATE_TABLE: &str = "CREATE TABLE IF NOT EXISTS remora.layout (\
     id TINYINT UNSIGNED PRIMARY KEY, \
     cluster_uid VARCHAR(64) CHARACTER SET ascii NOT NULL, \
     shard SMALLINT UNSIGNED NOT NULL, \
     fingerprint CHAR(64) CHARACTER SET ascii NOT NULL, \
     document LONGTEXT CHARACTER SET utf8mb4 NOT NULL, \
     epoch BIGINT UNSIGNED NOT NULL)";

/// Asks which of `names` are tables of `database` or of one of its physical schemas. Server
/// defaults have table names compared byte by byte.
pub(crate) fn look_for<'a>(database: &str, names: impl Iterator<Item = &'a str>) -> String {
    let prefix = format!("{database}__");
    let length = prefix.chars().count();
    let names: Vec<_> = names.map(quoted).collect();
    format!(
        "SELECT DISTINCT table_name FROM information_schema.tables \
         WHERE table_name IN ({}) AND (table_schema = {} OR LEFT(table_schema, {length}) = {} \
         AND SUBSTRING(table_schema, {}) REGEXP '^[0-9]{{4}}$')",
        names.join(", "),
        quoted(database),
        quoted(&prefix),
        length + 1,
    )
}

impl LayoutGuard {
    /// Lets sessions on to `shard`, once its layout was found to be the manifest's but for the
    /// world's closed tables.
    ///
    /// # Errors
    /// If it is another one, or the shard cannot be asked.
    pub(crate) async fn admit(
        &self,
        system: &System,
        world: &World,
        shard: usize,
    ) -> Result<(), BackendError> {
        let wanted = Admitted {
            fingerprint: LayoutDocument::of(&world.snapshot.spec).fingerprint(),
            closed: world.closed.keys().cloned().collect(),
        };
        if self.admitted.lock().await.get(&shard) == Some(&wanted) {
            return Ok(());
        }
        // Not locked meanwhile: a shard that is down must not hold up those of another.
        let refused = match check(system, world, shard).await {
            Err(BackendError::Server { error, .. })
                if DENIED.contains(&error.code)
                    && world.snapshot.keeper == LayoutKeeper::FirstUser =>
            {
                tracing::warn!(
                    shard, %error,
                    "The layout of a shard is not guarded: the topology has no system account, \
                     and its first user may not keep it"
                );
                BTreeMap::new()
            }
            // A client would take these for its own: they name the sidecar's account.
            Err(BackendError::Server { error, .. })
                if DENIED.contains(&error.code) || error.code == WRONG_PASSWORD =>
            {
                tracing::error!(shard, %error, "The sidecar's own account may not keep the layout");
                let reason = "its layout cannot be compared with the manifest, since the \
                     sidecar's own account was denied access; the sidecar's log says more";
                return Err(refusal(shard, reason));
            }
            checked => checked?,
        };
        if let Some((table, reason)) = refused
            .iter()
            .find(|(table, _)| !world.closed.contains_key(*table))
        {
            return Err(refusal(shard, &format!("spec.tables[{table}]: {reason}")));
        }
        server_defaults::check(system, world, shard).await?;
        self.admitted.lock().await.insert(shard, wanted);
        Ok(())
    }
}

/// The tables of the world's manifest that rows forbid or a shard is not prepared for, and why.
/// Of the other shards those count that answer: each is compared again when a session first
/// comes to it.
///
/// # Errors
/// If the first shard's whole layout is another one, or it cannot be asked.
pub(crate) async fn refused(
    system: &System,
    world: &World,
) -> Result<BTreeMap<String, String>, BackendError> {
    let mut refused = check(system, world, HOME).await?;
    let mut others = Vec::new();
    for shard in HOME + 1..world.snapshot.shards.len() {
        others.push(tokio::time::timeout(PATIENCE, check(system, world, shard)).boxed());
    }
    let answers = futures::future::join_all(others).await;
    for of_one in answers.into_iter().flatten().flatten() {
        for (table, reason) in of_one {
            refused.entry(table).or_insert(reason);
        }
    }
    Ok(refused)
}

/// Those of `names` that are tables of the manifest's database on `shard`.
///
/// # Errors
/// If the shard cannot be asked.
pub(crate) async fn there(
    system: &System,
    world: &World,
    shard: usize,
    names: &[&str],
) -> Result<BTreeSet<String>, BackendError> {
    if names.is_empty() {
        return Ok(BTreeSet::new());
    }
    let sql = look_for(&world.snapshot.spec.database, names.iter().copied());
    let rows = system.rows(world, shard, &sql).await?;
    let name =
        |row: Vec<Option<Vec<u8>>>| String::from_utf8(row.into_iter().next().flatten()?).ok();
    Ok(rows.into_iter().filter_map(name).collect())
}

/// Compares what `shard` holds with the manifest, and brings it up to date where this sidecar
/// keeps it. Gives the tables that are refused.
async fn check(
    system: &System,
    world: &World,
    shard: usize,
) -> Result<BTreeMap<String, String>, BackendError> {
    let wanted = LayoutDocument::of(&world.snapshot.spec);
    let by_agent = world.snapshot.keeper == LayoutKeeper::Agents;
    let held = match read(system, world, shard).await? {
        None if by_agent => return Err(refusal(shard, "its agent has yet to prepare it")),
        held => held,
    };
    let before = held.clone().unwrap_or_else(|| wanted.without_tables());
    if !by_agent && shard != HOME && before.uncovered(&wanted).next().is_some() {
        // The first shard decides on tables that are new, and what it refuses is on no other.
        let mut refused = Box::pin(check(system, world, HOME)).await?;
        let wanted = wanted.with_tables(|name| !refused.contains_key(name));
        let admission = admission(system, world, shard, &before, &wanted).await?;
        refused.extend(admission.refused);
        return match write(system, world, shard, held.as_ref(), &admission.document).await? {
            true => Ok(refused),
            false => Box::pin(check(system, world, shard)).await,
        };
    }
    let admission = admission(system, world, shard, &before, &wanted).await?;
    let mut refused = admission.refused;
    if !by_agent {
        if !write(system, world, shard, held.as_ref(), &admission.document).await? {
            return Box::pin(check(system, world, shard)).await;
        }
    } else {
        // What the rows would allow is still the agent's to say: it makes the schemas first.
        // That a table was taken out, the first shard alone says: others may forget it before.
        let behind: Vec<_> = match shard {
            HOME => before.changed(&wanted).collect(),
            _ => before.uncovered(&wanted).collect(),
        };
        for name in behind {
            refused.entry(name.to_owned()).or_insert_with(|| {
                format!(
                    "the agent of shard {shard} has yet to follow the manifest; try again in a \
                     moment"
                )
            });
        }
    }
    Ok(refused)
}

/// What the shard holds; `None` before anyone wrote it.
async fn read(
    system: &System,
    world: &World,
    shard: usize,
) -> Result<Option<LayoutDocument>, BackendError> {
    let select = "SELECT shard, document FROM remora.layout WHERE id = 1";
    let rows = match system.rows(world, shard, select).await {
        Err(BackendError::Server { error, .. }) if MISSING.contains(&error.code) => {
            if world.snapshot.keeper != LayoutKeeper::Agents {
                bootstrap(system, world, shard).await?;
            }
            Vec::new()
        }
        other => other?,
    };
    let Some(row) = rows.into_iter().next() else {
        return Ok(None);
    };
    let mut texts = row
        .into_iter()
        .map(|v| String::from_utf8(v.unwrap_or_default()));
    let (index, document) = (texts.next(), texts.next());
    if index != Some(Ok(shard.to_string())) {
        return Err(refusal(
            shard,
            "its rows belong to another shard of the cluster",
        ));
    }
    document
        .and_then(Result::ok)
        .and_then(|text| LayoutDocument::from_json(&text).ok())
        .map(Some)
        .ok_or_else(|| refusal(shard, "the layout that it holds cannot be read"))
}

async fn admission(
    system: &System,
    world: &World,
    shard: usize,
    held: &LayoutDocument,
    wanted: &LayoutDocument,
) -> Result<Admission, BackendError> {
    let changed: Vec<_> = held.changed(wanted).collect();
    let there = there(system, world, shard, &changed).await?;
    let number = u16::try_from(shard).unwrap_or(u16::MAX);
    held.admit(wanted, number, &there).map_err(|errors| {
        let reasons: Vec<String> = errors.iter().map(ToString::to_string).collect();
        refusal(shard, &reasons.join("; "))
    })
}

async fn bootstrap(system: &System, world: &World, shard: usize) -> Result<(), BackendError> {
    for sql in [CREATE_SCHEMA, CREATE_TABLE] {
        system.run(world, shard, sql).await?;
    }
    let database = &world.snapshot.spec.database;
    let make = format!(
        "CREATE DATABASE IF NOT EXISTS `{}`",
        database.replace('`', "``")
    );
    system.run(world, shard, &make).await.map(drop)
}

/// Puts `document` in the place of `held`. Answers false if another sidecar was faster: what
/// that one wrote has to be looked at first.
async fn write(
    system: &System,
    world: &World,
    shard: usize,
    held: Option<&LayoutDocument>,
    document: &LayoutDocument,
) -> Result<bool, BackendError> {
    if held == Some(document) {
        return Ok(true);
    }
    // A document is JSON of names: hexadecimal spares any quoting.
    let text = hex(document.to_json().as_bytes());
    let uid = hex(world.snapshot.uid.as_deref().unwrap_or_default().as_bytes());
    let fingerprint = document.fingerprint();
    let epoch = world.snapshot.epoch;
    let sql = match held {
        None => format!(
            "INSERT IGNORE INTO remora.layout \
             (id, cluster_uid, shard, fingerprint, document, epoch) \
             VALUES (1, X'{uid}', {shard}, '{fingerprint}', X'{text}', {epoch})"
        ),
        Some(held) => format!(
            "UPDATE remora.layout SET fingerprint = '{fingerprint}', document = X'{text}' \
             WHERE id = 1 AND fingerprint = '{}'",
            held.fingerprint()
        ),
    };
    let ended = system.run(world, shard, &sql).await?;
    Ok(ended.affected_rows > 0)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn refusal(shard: usize, reason: &str) -> BackendError {
    let message = format!("Shard {shard} is not served: {reason}");
    BackendError::Server {
        shard,
        error: ErrPacket::new(1105, *b"HY000", message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_looked_for_in_the_database_and_in_its_physical_schemas() {
        assert_eq!(
            look_for("shop", ["a", "b"].into_iter()),
            "SELECT DISTINCT table_name FROM information_schema.tables \
             WHERE table_name IN ('a', 'b') \
             AND (table_schema = 'shop' OR LEFT(table_schema, 6) = 'shop__' \
             AND SUBSTRING(table_schema, 7) REGEXP '^[0-9]{4}$')"
        );
    }
}
