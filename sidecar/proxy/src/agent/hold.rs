//! Holding the pod back: while a file says why, the supervisor's probe finds mysqld not ready.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The file's name in the folder that the pod's containers share; the supervisor knows it too.
const NAME: &str = "unready";

/// The file.
#[derive(Debug)]
pub(super) struct Hold {
    path: PathBuf,
}

impl Hold {
    /// Beside mysqld's socket.
    pub(super) fn beside(socket: &Path) -> Self {
        Self {
            path: socket.with_file_name(NAME),
        }
    }

    /// Holds the pod back for `reason`, or lets it serve.
    pub(super) fn set(&self, reason: Option<&str>) {
        let done = match reason {
            Some(reason) if fs::read_to_string(&self.path).is_ok_and(|held| held == reason) => {
                Ok(())
            }
            Some(reason) => fs::write(&self.path, reason),
            None => match fs::remove_file(&self.path) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            },
        };
        if let Err(error) = done {
            tracing::warn!(path = %self.path.display(), %error, "The pod's readiness cannot be told");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_held_back_for_a_reason_until_it_is_let_go() {
        let folder = tempfile::tempdir().unwrap();
        let hold = Hold::beside(&folder.path().join("mysql.sock"));
        let file = folder.path().join("unready");
        hold.set(Some("it is being cloned"));
        assert_eq!(fs::read_to_string(&file).unwrap(), "it is being cloned");
        hold.set(None);
        hold.set(None);
        assert!(!file.exists());
    }
}
