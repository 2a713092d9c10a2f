//! What a shard holds, compared with what the manifest wants.

use std::collections::BTreeMap;

use remora_crds::{Admission, LayoutDocument};

use super::row::{self, Held};
use super::{refusal, there};
use crate::backend::BackendError;
use crate::session::HOME;
use crate::snapshot::LayoutKeeper;
use crate::system::System;
use crate::world::World;

/// How often another sidecar may be faster with the row.
const ATTEMPTS: usize = 3;

/// Tables that are refused, and why.
pub(super) type Refused = BTreeMap<String, String>;

/// Compares what `shard` holds with the manifest, and brings it up to date where this sidecar
/// keeps it. Gives the tables that are refused.
///
/// # Errors
/// If the whole layout is another one, or the shard cannot be asked.
pub(super) async fn check(
    system: &System,
    world: &World,
    shard: usize,
) -> Result<Refused, BackendError> {
    for _ in 0..ATTEMPTS {
        let held = row::read(system, world, shard).await?;
        if world.snapshot.keeper == LayoutKeeper::Agents {
            let Some(held) = held else {
                return Err(refusal(shard, "its agent has yet to prepare it"));
            };
            return kept_by_agent(system, world, shard, &held.document).await;
        }
        let (refused, document) = kept_by_sidecars(system, world, shard, held.as_ref()).await?;
        // A layout comes into force as a whole or not at all: sidecars that started before and
        // after would serve different tables otherwise.
        if !refused.is_empty() || row::write(system, world, shard, held.as_ref(), &document).await?
        {
            return Ok(refused);
        }
    }
    Err(refusal(
        shard,
        "others write its layout at the same time; try again",
    ))
}

/// What the rows would allow is still the agent's to say: it makes the schemas first. That a
/// table was taken out, the first shard alone says: others may forget it before.
async fn kept_by_agent(
    system: &System,
    world: &World,
    shard: usize,
    held: &LayoutDocument,
) -> Result<Refused, BackendError> {
    let wanted = LayoutDocument::of(&world.snapshot.spec);
    let mut refused = admission(system, world, shard, held, &wanted)
        .await?
        .refused;
    let behind: Vec<_> = match shard {
        HOME => held.changed(&wanted).collect(),
        _ => held.uncovered(&wanted).collect(),
    };
    for name in behind {
        refused.entry(name.to_owned()).or_insert_with(|| {
            format!(
                "the agent of shard {shard} has yet to follow the manifest; try again in a moment"
            )
        });
    }
    Ok(refused)
}

/// What is refused, and what the shard should hold if nothing is.
async fn kept_by_sidecars(
    system: &System,
    world: &World,
    shard: usize,
    held: Option<&Held>,
) -> Result<(Refused, LayoutDocument), BackendError> {
    let wanted = LayoutDocument::of(&world.snapshot.spec);
    let before = held.map_or_else(|| wanted.without_tables(), |held| held.document.clone());
    if shard != HOME && before.uncovered(&wanted).next().is_some() {
        // The first shard decides on what changes, and what it refuses is on no other.
        let refused = Box::pin(check(system, world, HOME)).await?;
        if !refused.is_empty() {
            return Ok((refused, before));
        }
    }
    let admission = admission(system, world, shard, &before, &wanted).await?;
    let mut refused = admission.refused;
    let mut document = admission.document;
    if let Some(held) = held.filter(|held| held.epoch >= world.snapshot.epoch) {
        let kept = document.keep(&held.document);
        if shard == HOME {
            refused.extend(kept.into_iter().map(|name| (name, newer(held.epoch))));
        }
    }
    Ok((refused, document))
}

/// Somebody with an older file must not take away what those with a newer one added.
fn newer(epoch: u64) -> String {
    format!(
        "the shards lay the table out otherwise than this configuration does; bring the file up \
         to date, or raise the topology's epoch above {epoch} if this one is the newer"
    )
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
