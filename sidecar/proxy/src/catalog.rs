//! The columns of the manifest's tables, as the shards have them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use remora_crds::ShardingClusterSpec;
use remora_planner::catalog::load_sql;
use remora_planner::{Catalog, CatalogBuilder, CatalogError, LoadedColumn};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::backend::BackendError;
use crate::world::World;
use crate::system::System;

/// Errors of statements reload the catalog at most this often.
const RELOAD_INTERVAL: Duration = Duration::from_secs(1);

/// Orders catalogs over all worlds of the process, since plans are cached over all of them.
static VERSION: AtomicU64 = AtomicU64::new(0);

/// The current catalog of one snapshot.
#[derive(Debug)]
pub struct Catalogs {
    current: ArcSwap<Catalog>,
    loaded: Mutex<Option<Instant>>,
}

/// Why a catalog could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// No shard could be asked.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The shards' tables contradict the manifest.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}

impl Catalogs {
    /// The catalog before any shard was asked: no table exists.
    ///
    /// # Errors
    /// If the manifest was never validated.
    pub fn empty(spec: &ShardingClusterSpec) -> Result<Self, CatalogError> {
        let catalog = CatalogBuilder::new(spec).build(next_version())?;
        Ok(Self { current: ArcSwap::from_pointee(catalog), loaded: Mutex::new(None) })
    }

    /// The current catalog.
    #[must_use]
    pub fn load(&self) -> Arc<Catalog> {
        self.current.load_full()
    }

    /// Asks the shards anew. All have the same tables; the first one that answers will do.
    ///
    /// # Errors
    /// If none answers, or its tables contradict the manifest. The old catalog then stays.
    pub async fn reload(&self, system: &System, world: &World) -> Result<(), LoadError> {
        let mut loaded = self.loaded.lock().await;
        self.reload_locked(system, world).await?;
        *loaded = Some(Instant::now());
        Ok(())
    }

    /// The same, unless that was done a moment ago.
    ///
    /// # Errors
    /// As [`reload`](Self::reload).
    pub async fn refresh(&self, system: &System, world: &World) -> Result<(), LoadError> {
        let mut loaded = self.loaded.lock().await;
        if loaded.is_none_or(|at| at.elapsed() > RELOAD_INTERVAL) {
            self.reload_locked(system, world).await?;
            *loaded = Some(Instant::now());
        }
        Ok(())
    }

    async fn reload_locked(&self, system: &System, world: &World) -> Result<(), LoadError> {
        let spec = &world.snapshot.spec;
        let sql = load_sql(spec);
        let mut outcome = Err(BackendError::Connect { shard: 0, reason: "no shards".to_owned() });
        for shard in 0..world.snapshot.shards.len() {
            outcome = system.rows(world, shard, &sql).await;
            if outcome.is_ok() {
                break;
            }
        }
        let columns = outcome?.into_iter().filter_map(|row| {
            let texts = row.into_iter().map(|v| v.and_then(|v| String::from_utf8(v).ok()));
            let row: [Option<String>; 7] = texts.collect::<Vec<_>>().try_into().ok()?;
            Some(LoadedColumn::from_row(row))
        });
        let catalog = CatalogBuilder::new(spec).loaded(columns).build(next_version())?;
        self.current.store(Arc::new(catalog));
        Ok(())
    }
}

fn next_version() -> u64 {
    VERSION.fetch_add(1, Ordering::Relaxed) + 1
}
