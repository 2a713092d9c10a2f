//! Putting snapshots into force, as far as the rows on the shards allow.
//!
//! Sidecars adopt a layout up to [`AGAIN`] apart. Meanwhile one takes a new table for one that is
//! not sharded, and would write all rows of one that another let be created to the first shard.
//! So tables whose layout changed, and which are not there yet, stay closed until all follow.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use remora_crds::LayoutDocument;
use tokio::time::Instant;

use crate::proxy::Proxy;
use crate::snapshot::Snapshot;
use crate::world::{World, WorldError};

/// How long a layout that the rows forbid, or that could not be compared with them, rests
/// before the first shard is asked again.
const AGAIN: Duration = Duration::from_secs(2);
/// How long a table whose layout changed stays closed. Others that look each [`AGAIN`] have
/// looked by then, with time for their questions.
const ALL_FOLLOW: Duration = AGAIN.saturating_mul(2);

/// What is known from one attempt to the next.
#[derive(Default)]
struct Following {
    /// The layout in force was found to be that of the rows.
    fits: bool,
    /// A snapshot whose layout was not taken, and what is in force in its place.
    kept: Option<(Arc<Snapshot>, Arc<Snapshot>)>,
    /// What was logged last.
    said: String,
    /// The tables of the layout in force that rows forbid, and why.
    forbidden: BTreeMap<String, String>,
    waiting: Waiting,
}

impl Following {
    /// The tables of the layout in force that are closed, and why.
    fn closed(&mut self) -> BTreeMap<String, String> {
        let mut closed = self.waiting.closed(Instant::now());
        closed.extend(self.forbidden.clone());
        closed
    }
}

/// Tables whose layout changed, and until when they stay closed.
#[derive(Default)]
struct Waiting(BTreeMap<String, Instant>);

impl Waiting {
    /// Why such a table is closed.
    fn reason() -> String {
        format!(
            "its layout just changed, and sidecars follow within {} s; try again then",
            ALL_FOLLOW.as_secs()
        )
    }

    fn begin(&mut self, tables: impl Iterator<Item = String>, now: Instant) {
        self.0.extend(tables.map(|table| (table, now + ALL_FOLLOW)));
    }

    /// The tables whose time is not over, as closed ones.
    fn closed(&mut self, now: Instant) -> BTreeMap<String, String> {
        self.0.retain(|_, until| now < *until);
        let tables = self.0.keys().cloned();
        tables.map(|table| (table, Self::reason())).collect()
    }
}

impl Proxy {
    /// Follows the snapshots for as long as the process lives.
    pub async fn follow_snapshots(&self) {
        let mut changed = self.snapshots.subscribe();
        if !self.is_passive() {
            self.refresh_catalog(&self.world()).await;
        }
        let mut following = Following::default();
        loop {
            changed.borrow_and_update();
            if let Err(error) = self.take(&mut following).await {
                tracing::error!(%error, "A snapshot was refused");
            }
            self.has_looked();
            if let Ok(Err(_)) = tokio::time::timeout(AGAIN, changed.changed()).await {
                return;
            }
            following.fits &= !self.met_another_layout();
        }
    }

    /// Puts the current snapshot into force. While the layout that it asks for has yet to be
    /// compared with the rows, or contradicts them, the tables stay as they are, and everything
    /// else of the snapshot is in force.
    ///
    /// What fits is compared with the first shard again and again: others may be ahead, and a
    /// table that they shard must not be taken for one that is not.
    async fn take(&self, following: &mut Following) -> Result<(), WorldError> {
        let told = self.snapshots.load();
        let current = self.world();
        if self.is_passive() {
            // A gateway keeps to the layout. Whoever serves clients here again compares it first.
            following.fits = false;
            self.rest().await;
            if !Arc::ptr_eq(&told, &current.snapshot) {
                self.put_world(self.world_of(told, following.closed())?);
            }
            return Ok(());
        }
        let same = LayoutDocument::of(&told.spec) == LayoutDocument::of(&current.snapshot.spec);
        let candidate = if Arc::ptr_eq(&told, &current.snapshot) {
            current.clone()
        } else {
            Arc::new(self.world_of(told.clone(), BTreeMap::new())?)
        };
        if same && following.fits {
            following.fits = self.still_fits(&candidate).await;
            if following.fits {
                return self.put(told, following.closed(), &current).await;
            }
        }
        match self.refused(&candidate).await {
            Ok(refused) if refused.is_empty() => {
                following.fits = true;
                following.said.clear();
                following.forbidden.clear();
                self.wait_for_others(following, &candidate, &current).await;
                self.put(told, following.closed(), &current).await
            }
            // Nothing was in force before: there is no other layout to go on with.
            Ok(refused) if same => {
                self.say(following, &reasons(&refused));
                following.forbidden = refused;
                self.put(told, following.closed(), &current).await
            }
            Ok(refused) => {
                self.say(following, &reasons(&refused));
                let unmade = self.unmade(&candidate, refused).await;
                self.keep_tables(following, &told, &current, unmade).await
            }
            // A first shard that is down keeps nobody from the others; each is looked at when a
            // session first comes to it.
            Err(_) if same => self.put(told, following.closed(), &current).await,
            Err(error) => {
                self.say(following, &error.to_string());
                let none = BTreeMap::new();
                self.keep_tables(following, &told, &current, none).await
            }
        }
    }

    /// Keeps closed what `next` lays out otherwise than `current` does, or serves again, unless it
    /// is there already: whoever let it be created waited.
    async fn wait_for_others(&self, following: &mut Following, next: &World, current: &World) {
        let wanted = LayoutDocument::of(&next.snapshot.spec);
        let before = LayoutDocument::of(&current.snapshot.spec);
        let over = Waiting::reason();
        let closed_by_rows = current.closed.iter().filter(|(_, reason)| **reason != over);
        let served_again = closed_by_rows.map(|(table, _)| table.as_str());
        let changed: Vec<_> = before.changed(&wanted).chain(served_again).collect();
        // A first shard that no longer answers has nothing created meanwhile.
        let there = self.there(next, &changed).await.unwrap_or_default();
        let missing = changed.into_iter().filter(|table| !there.contains(*table));
        let missing = missing.map(str::to_owned);
        following.waiting.begin(missing, Instant::now());
    }

    /// Those of `refused` that the first shard does not have: made now, they would be made as the
    /// old layout says, while shards that have followed hold the new one.
    async fn unmade(
        &self,
        next: &World,
        mut refused: BTreeMap<String, String>,
    ) -> BTreeMap<String, String> {
        let tables: Vec<_> = refused.keys().map(String::as_str).collect();
        let Ok(there) = self.there(next, &tables).await else {
            return BTreeMap::new();
        };
        refused.retain(|table, _| !there.contains(table));
        refused
    }

    /// Takes everything of `told` but its tables, of which `unmade` are closed. What has other
    /// shards is not taken at all.
    async fn keep_tables(
        &self,
        following: &mut Following,
        told: &Arc<Snapshot>,
        current: &World,
        unmade: BTreeMap<String, String>,
    ) -> Result<(), WorldError> {
        let before = &current.snapshot.spec;
        if told.spec.shards != before.shards || told.spec.database != before.database {
            return Ok(());
        }
        let kept = match &following.kept {
            Some((other, kept)) if Arc::ptr_eq(other, told) => kept.clone(),
            _ => {
                let mut kept = Snapshot::clone(told);
                kept.spec.tables.clone_from(&before.tables);
                Arc::new(kept)
            }
        };
        following.kept = Some((told.clone(), kept.clone()));
        let mut closed = following.closed();
        closed.extend(unmade);
        self.put(kept, closed, current).await
    }

    fn world_of(
        &self,
        snapshot: Arc<Snapshot>,
        closed: BTreeMap<String, String>,
    ) -> Result<World, WorldError> {
        World::new(
            snapshot,
            closed,
            &self.servers,
            self.metrics.clone(),
            &self.shown,
        )
    }

    /// Puts `snapshot` with `closed` tables in the place of `current`, unless it is the same.
    async fn put(
        &self,
        snapshot: Arc<Snapshot>,
        closed: BTreeMap<String, String>,
        current: &World,
    ) -> Result<(), WorldError> {
        if Arc::ptr_eq(&snapshot, &current.snapshot) && closed == current.closed {
            return Ok(());
        }
        let next = self.world_of(snapshot, closed)?;
        self.reload_catalog(&next).await;
        self.put_world(next);
        Ok(())
    }

    /// Logs why a layout is not in force, once.
    fn say(&self, following: &mut Following, reason: &str) {
        if following.said != reason {
            tracing::error!(
                reason,
                "The manifest's layout is not in force; the tables stay as they were"
            );
            self.metrics.refused_snapshot();
            following.said = reason.to_owned();
        }
    }
}

fn reasons(refused: &BTreeMap<String, String>) -> String {
    let reasons = refused
        .iter()
        .map(|(table, reason)| format!("spec.tables[{table}]: {reason}"));
    reasons.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_whose_layout_changed_is_closed_until_all_follow() {
        let mut waiting = Waiting::default();
        let begun = Instant::now();
        waiting.begin(["note".to_owned()].into_iter(), begun);
        let closed = waiting.closed(begun + AGAIN);
        assert!(closed["note"].contains("follow within 4 s"), "{closed:?}");
        assert_eq!(waiting.closed(begun + ALL_FOLLOW), BTreeMap::new());
    }
}
