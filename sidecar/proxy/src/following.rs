//! Putting snapshots into force, as far as the rows on the shards allow.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use remora_crds::LayoutDocument;

use crate::proxy::Proxy;
use crate::snapshot::Snapshot;
use crate::world::{World, WorldError};

/// How long a layout that the rows forbid, or that could not be compared with them, rests
/// before the first shard is asked again.
const AGAIN: Duration = Duration::from_secs(2);

/// What is known from one attempt to the next.
#[derive(Default)]
struct Following {
    /// The layout in force was found to be that of the rows.
    fits: bool,
    /// A snapshot whose layout was not taken, and what is in force in its place.
    kept: Option<(Arc<Snapshot>, Arc<Snapshot>)>,
    /// What was logged last.
    said: String,
}

impl Proxy {
    /// Follows the snapshots for as long as the process lives.
    pub async fn follow_snapshots(&self) {
        let mut changed = self.snapshots.subscribe();
        self.refresh_catalog(&self.world()).await;
        let mut following = Following::default();
        loop {
            changed.borrow_and_update();
            let settled = match self.take(&mut following).await {
                Ok(settled) => settled,
                Err(error) => {
                    tracing::error!(%error, "A snapshot was refused");
                    true
                }
            };
            self.has_looked();
            if settled {
                if changed.changed().await.is_err() {
                    return;
                }
            } else if let Ok(Err(_)) = tokio::time::timeout(AGAIN, changed.changed()).await {
                return;
            }
        }
    }

    /// Puts the current snapshot into force. Answers whether that was all: `false` if the
    /// layout that it asks for has yet to be compared with the rows, or contradicts them. Then
    /// the tables stay as they are, and everything else of the snapshot is in force.
    async fn take(&self, following: &mut Following) -> Result<bool, WorldError> {
        let told = self.snapshots.load();
        let current = self.world();
        let same = LayoutDocument::of(&told.spec) == LayoutDocument::of(&current.snapshot.spec);
        let candidate = self.world_of(told.clone(), BTreeMap::new())?;
        if same && following.fits {
            self.put(candidate, &current).await;
            return Ok(true);
        }
        match self.refused(&candidate).await {
            Ok(refused) if refused.is_empty() => {
                following.fits = true;
                following.said.clear();
                self.put(candidate, &current).await;
                Ok(true)
            }
            // Nothing was in force before: there is no other layout to go on with.
            Ok(refused) if same => {
                self.say(following, &reasons(&refused));
                self.put(self.world_of(told, refused)?, &current).await;
                Ok(false)
            }
            Ok(refused) => {
                self.say(following, &reasons(&refused));
                self.keep_tables(following, &told, &current).await
            }
            // A first shard that is down keeps nobody from the others; each is looked at when a
            // session first comes to it.
            Err(_) if same => {
                self.put(self.world_of(told, current.closed.clone())?, &current)
                    .await;
                Ok(false)
            }
            Err(error) => {
                self.say(following, &error.to_string());
                self.keep_tables(following, &told, &current).await
            }
        }
    }

    /// Takes everything of `told` but its tables. What has other shards is not taken at all.
    async fn keep_tables(
        &self,
        following: &mut Following,
        told: &Arc<Snapshot>,
        current: &World,
    ) -> Result<bool, WorldError> {
        let before = &current.snapshot.spec;
        if told.spec.shards != before.shards || told.spec.database != before.database {
            return Ok(false);
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
        self.put(self.world_of(kept, current.closed.clone())?, current)
            .await;
        Ok(false)
    }

    fn world_of(
        &self,
        snapshot: Arc<Snapshot>,
        closed: BTreeMap<String, String>,
    ) -> Result<World, WorldError> {
        World::new(snapshot, closed, self.metrics.clone())
    }

    /// Puts `next` in the place of `current`, unless it is the same.
    async fn put(&self, next: World, current: &World) {
        if Arc::ptr_eq(&next.snapshot, &current.snapshot) && next.closed == current.closed {
            return;
        }
        self.reload_catalog(&next).await;
        self.put_world(next);
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
