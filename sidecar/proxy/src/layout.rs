//! The layout guard: rows are where the layout says that was written when they came.
//!
//! Each shard holds its layout in `remora.layout`. A manifest that would look for rows
//! elsewhere is not served on that shard.

use std::collections::HashMap;

use remora_crds::LayoutDocument;
use remora_protocol::ErrPacket;
use tokio::sync::Mutex;

use crate::backend::BackendError;
use crate::sequence::CREATE_SCHEMA;
use crate::server_defaults;
use crate::system::System;
use crate::world::World;

/// What is known of the shards' layouts: the fingerprint under which each was admitted.
#[derive(Debug, Default)]
pub(crate) struct LayoutGuard {
    admitted: Mutex<HashMap<usize, String>>,
}

/// MySQL's numbers for "you may not": the system account may lack rights outside Kubernetes,
/// where nobody gave it any. Then there is no guard, which the log says.
const DENIED: [u16; 4] = [1044, 1045, 1142, 1227];
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

impl LayoutGuard {
    /// Lets sessions on to `shard`, once its layout was found to be the manifest's.
    ///
    /// # Errors
    /// If it is another one, or the shard cannot be asked.
    pub(crate) async fn admit(
        &self,
        system: &System,
        world: &World,
        shard: usize,
    ) -> Result<(), BackendError> {
        let wanted = LayoutDocument::of(&world.snapshot.spec);
        let fingerprint = wanted.fingerprint();
        if self.admitted.lock().await.get(&shard) == Some(&fingerprint) {
            return Ok(());
        }
        // Not locked meanwhile: a shard that is down must not hold up those of another.
        match check(system, world, shard, &wanted).await {
            Ok(()) => {}
            Err(BackendError::Server { error, .. }) if DENIED.contains(&error.code) => {
                tracing::warn!(shard, %error, "The layout of a shard is not guarded");
            }
            Err(error) => return Err(error),
        }
        server_defaults::check(system, world, shard).await?;
        self.admitted.lock().await.insert(shard, fingerprint);
        Ok(())
    }
}

async fn check(
    system: &System,
    world: &World,
    shard: usize,
    wanted: &LayoutDocument,
) -> Result<(), BackendError> {
    let select = "SELECT shard, document FROM remora.layout WHERE id = 1";
    let rows = match system.rows(world, shard, select).await {
        Err(BackendError::Server { error, .. }) if MISSING.contains(&error.code) => {
            bootstrap(system, world, shard).await?;
            Vec::new()
        }
        other => other?,
    };
    let Some(row) = rows.into_iter().next() else {
        return write(system, world, shard, wanted).await;
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
    let held = document
        .and_then(Result::ok)
        .and_then(|text| LayoutDocument::from_json(&text).ok())
        .ok_or_else(|| refusal(shard, "the layout that it holds cannot be read"))?;
    let next = held.admit(wanted).map_err(|errors| {
        let reasons: Vec<String> = errors.iter().map(ToString::to_string).collect();
        refusal(shard, &reasons.join("; "))
    })?;
    if next == held {
        Ok(())
    } else {
        write(system, world, shard, &next).await
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

async fn write(
    system: &System,
    world: &World,
    shard: usize,
    document: &LayoutDocument,
) -> Result<(), BackendError> {
    // A document is JSON of names: hexadecimal spares any quoting.
    let text = hex(document.to_json().as_bytes());
    let uid = hex(world.snapshot.uid.as_deref().unwrap_or_default().as_bytes());
    let fingerprint = document.fingerprint();
    let epoch = world.snapshot.epoch;
    let sql = format!(
        "INSERT INTO remora.layout (id, cluster_uid, shard, fingerprint, document, epoch) \
         VALUES (1, X'{uid}', {shard}, '{fingerprint}', X'{text}', {epoch}) AS new \
         ON DUPLICATE KEY UPDATE fingerprint = new.fingerprint, document = new.document"
    );
    system.run(world, shard, &sql).await.map(drop)
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
