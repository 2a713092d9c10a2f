//! The row of `remora.layout`: reading it, and writing it where sidecars keep it.

use remora_crds::LayoutDocument;

use super::refusal;
use crate::backend::BackendError;
use crate::sequence::CREATE_SCHEMA;
use crate::snapshot::LayoutKeeper;
use crate::system::System;
use crate::world::World;

/// The schema or the table is not there.
const MISSING: [u16; 2] = [1049, 1146];

/// The table of the layout: one row.
pub(crate) const CREATE_TABLE: &str = "CREATE TABLE IF NOT EXISTS remora.layout (\
     id TINYINT UNSIGNED PRIMARY KEY, \
     cluster_uid VARCHAR(64) CHARACTER SET ascii NOT NULL, \
     shard SMALLINT UNSIGNED NOT NULL, \
     fingerprint CHAR(64) CHARACTER SET ascii NOT NULL, \
     document LONGTEXT CHARACTER SET utf8mb4 NOT NULL, \
     epoch BIGINT UNSIGNED NOT NULL)";

/// What a shard holds.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) document: LayoutDocument,
    /// As it is stored: whoever mended the document by hand may have left another.
    fingerprint: Vec<u8>,
    /// The highest epoch of those who wrote the row.
    pub(super) epoch: u64,
}

/// What the shard holds; `None` before anyone wrote it.
pub(super) async fn read(
    system: &System,
    world: &World,
    shard: usize,
) -> Result<Option<Held>, BackendError> {
    let select = "SELECT shard, document, fingerprint, epoch FROM remora.layout WHERE id = 1";
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
    let mut values = row.into_iter().map(Option::unwrap_or_default);
    let mut next = || values.next().unwrap_or_default();
    let (index, document, fingerprint, epoch) = (next(), next(), next(), next());
    if index != shard.to_string().as_bytes() {
        let reason = "its rows belong to another shard of the cluster";
        return Err(refusal(shard, reason));
    }
    let number = |text: &[u8]| str::from_utf8(text).ok()?.parse().ok();
    let document = str::from_utf8(&document)
        .ok()
        .and_then(|text| LayoutDocument::from_json(text).ok());
    match (document, number(&epoch)) {
        (Some(document), Some(epoch)) => Ok(Some(Held {
            document,
            fingerprint,
            epoch,
        })),
        _ => Err(refusal(shard, "the layout that it holds cannot be read")),
    }
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
pub(super) async fn write(
    system: &System,
    world: &World,
    shard: usize,
    held: Option<&Held>,
    document: &LayoutDocument,
) -> Result<bool, BackendError> {
    if held.is_some_and(|held| held.document == *document) {
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
            "UPDATE remora.layout SET fingerprint = '{fingerprint}', document = X'{text}', \
             epoch = GREATEST(epoch, {epoch}) WHERE id = 1 AND fingerprint = X'{}'",
            hex(&held.fingerprint)
        ),
    };
    let ended = system.run(world, shard, &sql).await?;
    Ok(ended.affected_rows > 0)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
