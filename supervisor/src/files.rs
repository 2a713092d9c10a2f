//! The files that supervisor, mysqld and the agent share.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The folder that all containers of the pod mount.
pub(crate) struct RunDir(PathBuf);

impl RunDir {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// mysqld's socket.
    pub(crate) fn socket(&self) -> PathBuf {
        self.0.join("mysql.sock")
    }

    /// mysqld's pid file.
    pub(crate) fn pid_file(&self) -> PathBuf {
        self.0.join("mysqld.pid")
    }

    /// While this file exists, mysqld must not run. The agent writes and removes it.
    pub(crate) fn fence(&self) -> PathBuf {
        self.0.join("fenced")
    }

    /// While this file exists, the pod is not ready: its text says why. The agent of a replica
    /// writes it until the replica follows its primary.
    pub(crate) fn unready(&self) -> PathBuf {
        self.0.join("unready")
    }

    /// Why the agent holds the pod back, if it does.
    pub(crate) fn held_back(&self) -> Option<String> {
        fs::read_to_string(self.unready()).ok()
    }

    /// Whether mysqld must not run. A fence that cannot be looked at counts as one: not
    /// running is the safe side of a split brain.
    pub(crate) fn is_fenced(&self) -> bool {
        self.fence().try_exists().unwrap_or(true)
    }

    /// Removes what a killed mysqld left behind. A stale lock makes the next one refuse to
    /// start when its pid was given to another process, which in a container is likely.
    pub(crate) fn remove_stale(&self) -> io::Result<()> {
        for name in ["mysql.sock", "mysql.sock.lock", "mysqld.pid"] {
            remove_if_exists(&self.0.join(name))?;
        }
        Ok(())
    }
}

fn remove_if_exists(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stale_files_go_and_missing_ones_are_no_error() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::new(folder.path().to_owned());
        fs::write(run.socket(), b"").unwrap();
        fs::write(folder.path().join("mysql.sock.lock"), b"17").unwrap();

        run.remove_stale().unwrap();
        run.remove_stale().unwrap();

        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_fence_file_fences() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::new(folder.path().to_owned());
        assert!(!run.is_fenced());
        fs::write(run.fence(), b"epoch 7").unwrap();
        assert!(run.is_fenced());
    }
}
