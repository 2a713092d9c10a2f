//! The layout guard: rows are where the layout says that was written when they came.
//!
//! Each shard holds its layout in `remora.layout`. A manifest that would look for rows
//! elsewhere is not served on that shard.

mod check;
mod row;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::FutureExt as _;
use remora_crds::{Instance, LayoutDocument};
use remora_protocol::ErrPacket;
use tokio::sync::Mutex;

use self::check::check;
pub(crate) use self::row::CREATE_TABLE;
use crate::backend::BackendError;
use crate::packet_limit::PacketLimit;
use crate::sequence::quoted;
use crate::server_defaults;
use crate::session::HOME;
use crate::snapshot::LayoutKeeper;
use crate::system::System;
use crate::world::World;

/// What is known of the shards' layouts: under what each was admitted.
#[derive(Debug, Default)]
pub(crate) struct LayoutGuard {
    admitted: Mutex<HashMap<usize, Admitted>>,
    /// Whether it was said that nothing is guarded.
    unguarded: AtomicBool,
}

/// The layout, by its fingerprint, the tables that were closed, and the server: with others, the
/// answer may be another.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Admitted {
    fingerprint: String,
    closed: Vec<String>,
    /// A topology may name another server for the shard.
    server: Option<Instance>,
}

/// MySQL's numbers for "you may not".
const DENIED: [u16; 3] = [1044, 1142, 1227];
/// MySQL's number for "that is not you".
const WRONG_PASSWORD: u16 = 1045;
/// How long shards other than the first may take to say what they hold, when a layout is to
/// come into force.
const PATIENCE: Duration = Duration::from_secs(1);

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
        packets: &PacketLimit,
    ) -> Result<(), BackendError> {
        let wanted = Admitted {
            fingerprint: LayoutDocument::of(&world.snapshot.spec).fingerprint(),
            closed: world.closed.keys().cloned().collect(),
            server: world.snapshot.primary(shard).cloned(),
        };
        if self.admitted.lock().await.get(&shard) == Some(&wanted) {
            return Ok(());
        }
        // Not locked meanwhile: a shard that is down must not hold up those of another.
        let refused = self.compare(system, world, shard).await?;
        if let Some((table, reason)) = refused
            .iter()
            .find(|(table, _)| !world.closed.contains_key(*table))
        {
            return Err(refusal(shard, &format!("spec.tables[{table}]: {reason}")));
        }
        packets.learn(shard, server_defaults::check(system, world, shard).await?);
        self.admitted.lock().await.insert(shard, wanted);
        Ok(())
    }

    /// The tables of the world's manifest that rows forbid or a shard is not prepared for, and
    /// why. Of the other shards those count that answer: each is compared again when a session
    /// first comes to it.
    ///
    /// # Errors
    /// If the first shard's whole layout is another one, or it cannot be asked.
    pub(crate) async fn refused(
        &self,
        system: &System,
        world: &World,
    ) -> Result<BTreeMap<String, String>, BackendError> {
        let mut refused = self.compare(system, world, HOME).await?;
        let mut others = Vec::new();
        for shard in HOME + 1..world.snapshot.shards.len() {
            let compared = self.compare(system, world, shard);
            others.push(tokio::time::timeout(PATIENCE, compared).boxed());
        }
        let answers = futures::future::join_all(others).await;
        for of_one in answers.into_iter().flatten().flatten() {
            for (table, reason) in of_one {
                refused.entry(table).or_insert(reason);
            }
        }
        Ok(refused)
    }

    /// The tables of the world's manifest that `shard` refuses, and why.
    ///
    /// # Errors
    /// If its whole layout is another one, or it cannot be asked.
    pub(crate) async fn compare(
        &self,
        system: &System,
        world: &World,
        shard: usize,
    ) -> Result<BTreeMap<String, String>, BackendError> {
        match check(system, world, shard).await {
            Err(BackendError::Server { error, .. })
                if DENIED.contains(&error.code)
                    && world.snapshot.keeper == LayoutKeeper::FirstUser =>
            {
                if !self.unguarded.swap(true, Ordering::Relaxed) {
                    tracing::warn!(
                        shard, %error,
                        "The layout of the shards is not guarded: the topology has no system \
                         account, and its first user may not keep it"
                    );
                }
                Ok(BTreeMap::new())
            }
            // A client would take these for its own: they name the sidecar's account.
            Err(BackendError::Server { error, .. })
                if DENIED.contains(&error.code) || error.code == WRONG_PASSWORD =>
            {
                tracing::error!(shard, %error, "The sidecar's own account may not keep the layout");
                let reason = "its layout cannot be compared with the manifest, since the \
                     sidecar's own account was denied access; the sidecar's log says more";
                Err(refusal(shard, reason))
            }
            checked => checked,
        }
    }
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
