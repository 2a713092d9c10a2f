//! The file on disk: read at the start, and again whenever it changes.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::{PollWatcher, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;

use super::{ConfigError, parse};
use crate::snapshot::{Snapshot, Snapshots};
use crate::telemetry::Metrics;

/// Editors write a file in several steps; after this long the steps are mostly over. If they
/// are not, the half of it is refused and the rest is read with the next step.
const SETTLE: Duration = Duration::from_millis(100);
/// How often the file is looked at where the kernel has no more watches to give.
const POLL: Duration = Duration::from_secs(2);

/// A configuration file that is in force.
#[derive(Debug)]
pub struct ConfigFile {
    path: PathBuf,
    /// Of the text that was read last, whether it was taken or refused.
    seen: u64,
}

impl ConfigFile {
    /// Reads the file for the first time.
    ///
    /// # Errors
    /// If it cannot be read, or is wrong.
    pub fn open(path: &Path) -> Result<(Self, Snapshot), ConfigError> {
        let text = read(path)?;
        let snapshot = parse(path, &text, None)?;
        Ok((
            Self {
                path: path.into(),
                seen: fingerprint(&text),
            },
            snapshot,
        ))
    }

    /// Publishes each change of the file for as long as the process lives. A change that is
    /// wrong is logged, and what is in force stays so.
    ///
    /// # Errors
    /// If the file's folder cannot be watched.
    pub async fn follow(
        mut self,
        snapshots: Arc<Snapshots>,
        metrics: Arc<Metrics>,
    ) -> Result<(), notify::Error> {
        let changed = Arc::new(Notify::new());
        let _watcher = watch(&self.path, changed.clone())?;
        loop {
            // At first too: it may have changed since it was opened.
            self.read_again(&snapshots, &metrics);
            changed.notified().await;
            tokio::time::sleep(SETTLE).await;
        }
    }

    fn read_again(&mut self, snapshots: &Snapshots, metrics: &Metrics) {
        match self.changed(&snapshots.load()) {
            Ok(None) => {}
            Ok(Some(next)) => {
                let epoch = next.epoch;
                if snapshots.publish(next) {
                    metrics.in_force(epoch);
                    tracing::info!(epoch, "The changed configuration is in force");
                }
            }
            Err(error) => {
                metrics.refused_snapshot();
                tracing::error!(%error, "The changed configuration is refused; the one before stays");
            }
        }
    }

    /// What the file says now, if that is not what it said before.
    fn changed(&mut self, current: &Snapshot) -> Result<Option<Snapshot>, ConfigError> {
        let text = read(&self.path)?;
        let fingerprint = fingerprint(&text);
        if fingerprint == self.seen {
            return Ok(None);
        }
        self.seen = fingerprint;
        parse(&self.path, &text, Some(current)).map(Some)
    }
}

fn read(path: &Path) -> Result<String, ConfigError> {
    std::fs::read_to_string(path).map_err(|source| ConfigError::Read {
        path: path.into(),
        source,
    })
}

fn fingerprint(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// Watches the file's folder rather than the file: editors and ConfigMaps put another file (or
/// link) in its place, and a watch on the old one would never wake again.
fn watch(path: &Path, changed: Arc<Notify>) -> Result<Box<dyn Watcher + Send>, notify::Error> {
    let folder = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let wake = move |_: notify::Result<notify::Event>| changed.notify_one();
    let by_kernel =
        RecommendedWatcher::new(wake.clone(), notify::Config::default()).and_then(|mut watcher| {
            watcher.watch(folder, RecursiveMode::NonRecursive)?;
            Ok(watcher)
        });
    match by_kernel {
        Ok(watcher) => Ok(Box::new(watcher)),
        Err(error) => {
            tracing::warn!(%error, "No watch on the configuration's folder; looking now and then");
            let often = notify::Config::default().with_poll_interval(POLL);
            let mut watcher = PollWatcher::new(wake, often)?;
            watcher.watch(folder, RecursiveMode::NonRecursive)?;
            Ok(Box::new(watcher))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "
apiVersion: remora.dev/v1alpha1
kind: ShardingCluster
metadata: {name: shop}
spec: {shards: 1, database: shop}
---
apiVersion: remora.dev/v1alpha1
kind: Topology
metadata: {name: shop}
epoch: 1
shards: [{instances: [{host: a, port: 1, role: Primary}]}]
users: [{name: app, password: app}]
";

    fn at(epoch: u64) -> String {
        FILE.replace("epoch: 1", &format!("epoch: {epoch}"))
    }

    async fn until(snapshots: &Snapshots, epoch: u64) {
        let mut changes = snapshots.subscribe();
        let wait = changes.wait_for(|seen| *seen == epoch);
        tokio::time::timeout(Duration::from_secs(10), wait)
            .await
            .unwrap()
            .unwrap();
    }

    #[tokio::test]
    async fn a_file_written_in_place_or_renamed_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shop.yaml");
        std::fs::write(&path, at(1)).unwrap();
        let (file, first) = ConfigFile::open(&path).unwrap();
        let snapshots = Arc::new(Snapshots::new(first));
        let following = tokio::spawn(file.follow(snapshots.clone(), Arc::default()));

        std::fs::write(&path, at(2)).unwrap();
        until(&snapshots, 2).await;

        let other = folder.path().join(".shop.yaml.swp");
        std::fs::write(&other, at(3)).unwrap();
        std::fs::rename(&other, &path).unwrap();
        until(&snapshots, 3).await;

        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "nonsense").unwrap();
        tokio::time::sleep(SETTLE * 3).await;
        assert_eq!(snapshots.load().epoch, 3);

        std::fs::write(&path, at(4)).unwrap();
        until(&snapshots, 4).await;
        following.abort();
    }

    #[tokio::test]
    async fn a_change_between_the_first_reading_and_the_watch_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shop.yaml");
        std::fs::write(&path, at(1)).unwrap();
        let (file, first) = ConfigFile::open(&path).unwrap();
        std::fs::write(&path, at(2)).unwrap();
        let snapshots = Arc::new(Snapshots::new(first));
        let following = tokio::spawn(file.follow(snapshots.clone(), Arc::default()));
        until(&snapshots, 2).await;
        following.abort();
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = ConfigFile::open(Path::new("/nowhere/shop.yaml"))
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("/nowhere/shop.yaml: No such file"),
            "{error}"
        );
    }
}
