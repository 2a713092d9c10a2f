//! The columns of the manifest's tables, as the shards have them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use remora_crds::ShardingClusterSpec;
use remora_planner::catalog::load_sql;
use remora_planner::{Catalog, CatalogBuilder, CatalogError, LoadedColumn};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::backend::{BackendError, Row};
use crate::system::System;
use crate::world::World;

/// Errors of statements reload the catalog at most this often.
const RELOAD_INTERVAL: Duration = Duration::from_secs(1);

/// Orders catalogs over all worlds of the process, since plans are cached over all of them.
static VERSION: AtomicU64 = AtomicU64::new(0);

/// The current catalog of one snapshot.
#[derive(Debug)]
pub struct Catalogs {
    current: ArcSwap<Catalog>,
    loaded: Mutex<Loaded>,
    /// When what is current was read.
    read_at: ArcSwapOption<Instant>,
}

/// What the shards said last.
#[derive(Debug, Default)]
struct Loaded {
    at: Option<Instant>,
    /// Who answered last, and is asked first: one that hangs costs a time-out each time.
    shard: usize,
    rows: Option<Vec<Row>>,
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
    /// The catalog before any shard was asked: no table exists, and some are `closed`.
    ///
    /// # Errors
    /// If the manifest was never validated.
    pub fn empty(
        spec: &ShardingClusterSpec,
        closed: &BTreeMap<String, String>,
    ) -> Result<Self, CatalogError> {
        let catalog = CatalogBuilder::new(spec)
            .closed(closed)
            .build(next_version())?;
        Ok(Self {
            current: ArcSwap::from_pointee(catalog),
            loaded: Mutex::default(),
            read_at: ArcSwapOption::empty(),
        })
    }

    /// The current catalog.
    #[must_use]
    pub fn load(&self) -> Arc<Catalog> {
        self.current.load_full()
    }

    /// When the current catalog was read from the shards, if it was.
    #[must_use]
    pub fn loaded_at(&self) -> Option<std::time::Instant> {
        self.read_at.load().as_ref().map(|at| at.into_std())
    }

    /// Asks the shards anew. All have the same tables; the first one that answers will do.
    ///
    /// # Errors
    /// If none answers, or its tables contradict the manifest. The old catalog then stays.
    pub async fn reload(&self, system: &System, world: &World) -> Result<(), LoadError> {
        let mut loaded = self.loaded.lock().await;
        self.load_into(&mut loaded, system, world, true).await
    }

    /// The same, where a statement hangs on it: plans of what did not change stay.
    ///
    /// # Errors
    /// As [`reload`](Self::reload).
    pub async fn read(&self, system: &System, world: &World) -> Result<(), LoadError> {
        let mut loaded = self.loaded.lock().await;
        self.load_into(&mut loaded, system, world, false).await
    }

    /// The same, unless that was tried a moment ago.
    ///
    /// # Errors
    /// As [`reload`](Self::reload).
    pub async fn refresh(&self, system: &System, world: &World) -> Result<(), LoadError> {
        let mut loaded = self.loaded.lock().await;
        if loaded.at.is_some_and(|at| at.elapsed() < RELOAD_INTERVAL) {
            return Ok(());
        }
        self.load_into(&mut loaded, system, world, false).await
    }

    async fn load_into(
        &self,
        loaded: &mut Loaded,
        system: &System,
        world: &World,
        changed: bool,
    ) -> Result<(), LoadError> {
        let spec = &world.snapshot.spec;
        let answer = ask_any(system, world, loaded.shard, &load_sql(spec)).await;
        loaded.at = Some(Instant::now());
        let (shard, rows) = answer?;
        loaded.shard = shard;
        // A new version voids all plans, and what sessions know of columns: not for what did
        // not change. DDL may have changed an index, which shows in columns' flags only.
        if !changed && loaded.rows.as_ref() == Some(&rows) {
            return Ok(());
        }
        let columns = rows.iter().filter_map(|row| {
            let text = |value: &Option<Vec<u8>>| {
                value
                    .as_ref()
                    .and_then(|v| String::from_utf8(v.clone()).ok())
            };
            let row: [Option<String>; 9] =
                row.iter().map(text).collect::<Vec<_>>().try_into().ok()?;
            Some(LoadedColumn::from_row(row))
        });
        let catalog = CatalogBuilder::new(spec)
            .loaded(columns)
            .closed(&world.closed)
            .build(next_version())?;
        self.read_at.store(Some(Arc::new(Instant::now())));
        self.current.store(Arc::new(catalog));
        loaded.rows = Some(rows);
        Ok(())
    }
}

async fn ask_any(
    system: &System,
    world: &World,
    first: usize,
    sql: &str,
) -> Result<(usize, Vec<Row>), BackendError> {
    let mut outcome = Err(BackendError::Connect {
        shard: 0,
        reason: "there are no shards".to_owned(),
    });
    let shards = 0..world.snapshot.shards.len();
    for shard in shards.clone().skip(first).chain(shards.take(first)) {
        outcome = system
            .rows(world, shard, sql)
            .await
            .map(|rows| (shard, rows));
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

fn next_version() -> u64 {
    VERSION.fetch_add(1, Ordering::Relaxed) + 1
}
