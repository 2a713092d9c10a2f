//! The last snapshot, kept for the next start of the same container.

use std::io::{self, Write};
use std::path::PathBuf;

use crate::Snapshot;

/// The last snapshot in a file. It holds passwords: the file belongs into a memory-backed
/// volume, and only its owner may read it.
#[derive(Clone, Debug)]
pub struct SnapshotFile {
    path: PathBuf,
}

impl SnapshotFile {
    /// The file at `path`, which need not exist yet.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// The snapshot, if there is one that this version understands. One that it does not is as
    /// good as none: the operator sends another.
    #[must_use]
    pub fn load(&self) -> Option<Snapshot> {
        let bytes = match std::fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!(path = %self.path.display(), %error, "cannot read the last snapshot");
                return None;
            }
        };
        match Snapshot::from_bytes(&bytes) {
            Ok(snapshot) => Some(snapshot),
            Err(error) => {
                tracing::warn!(path = %self.path.display(), %error, "ignoring the last snapshot");
                None
            }
        }
    }

    /// Puts `snapshot` in place of the one before, whole or not at all.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn save(&self, snapshot: &Snapshot) -> io::Result<()> {
        use std::os::unix::fs::OpenOptionsExt;
        let fresh = self.path.with_extension("new");
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&fresh)?;
        file.write_all(&snapshot.to_bytes())?;
        std::fs::rename(fresh, &self.path)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::snapshot::tests::shop;

    #[test]
    fn the_last_snapshot_is_read_back_and_only_its_owner_can() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("snapshot");
        let file = SnapshotFile::new(path.clone());
        assert_eq!(file.load(), None);
        file.save(&shop(1)).unwrap();
        file.save(&shop(2)).unwrap();
        assert_eq!(file.load(), Some(shop(2)));
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        std::fs::write(&path, b"\xff\xff").unwrap();
        assert_eq!(file.load(), None);
    }
}
