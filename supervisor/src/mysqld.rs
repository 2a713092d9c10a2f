//! mysqld's command lines.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
};

use crate::{events, files::RunDir};

/// Why there is no data directory.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InitializeError {
    /// A file could not be made, moved or removed.
    #[error("cannot prepare {path}", path = path.display())]
    File { path: PathBuf, source: io::Error },
    /// mysqld could not be started.
    #[error("cannot start {program}")]
    Start { program: String, source: io::Error },
    /// mysqld said no.
    #[error("mysqld --initialize-insecure ended with {0}; its reason is in the lines above")]
    Failed(ExitStatus),
}

/// mysqld with the arguments that the pod gives, and those that the supervisor owns.
pub(crate) struct Mysqld<'a> {
    program: &'a str,
    arguments: &'a [String],
    data_dir: &'a Path,
    run_dir: &'a RunDir,
}

impl<'a> Mysqld<'a> {
    /// `None` if `command` is empty.
    pub(crate) fn new(
        command: &'a [String],
        data_dir: &'a Path,
        run_dir: &'a RunDir,
    ) -> Option<Self> {
        let (program, arguments) = command.split_first()?;
        Some(Self {
            program,
            arguments,
            data_dir,
            run_dir,
        })
    }

    /// The server. `MYSQLD_PARENT_PID` tells it that SQL `RESTART` has someone to turn to.
    pub(crate) fn server(&self) -> Command {
        let mut command = self.with_data_dir(self.data_dir);
        command
            .arg(option("--socket=", &self.run_dir.socket()))
            .arg(option("--pid-file=", &self.run_dir.pid_file()))
            .env("MYSQLD_PARENT_PID", std::process::id().to_string());
        command
    }

    /// Makes the data directory if there is none. It is made beside its place and renamed:
    /// whoever is killed in between leaves nothing that looks like a server's data.
    pub(crate) fn initialize(&self) -> Result<(), InitializeError> {
        if self.data_dir.exists() {
            return Ok(());
        }
        let unfinished = self.data_dir.with_extension("initializing");
        let file = |source| InitializeError::File {
            path: unfinished.clone(),
            source,
        };
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished).map_err(file)?;
        }
        events::info(format_args!(
            "making the data directory {}",
            self.data_dir.display()
        ));
        let status = self
            .with_data_dir(&unfinished)
            .arg("--initialize-insecure")
            .status()
            .map_err(|source| InitializeError::Start {
                program: self.program.into(),
                source,
            })?;
        if !status.success() {
            return Err(InitializeError::Failed(status));
        }
        fs::rename(&unfinished, self.data_dir).map_err(file)
    }

    fn with_data_dir(&self, data_dir: &Path) -> Command {
        let mut command = Command::new(self.program);
        command
            .args(self.arguments)
            .arg(option("--datadir=", data_dir));
        command
    }
}

/// The pod's name ends in no ordinal, so the server has no id of its own.
#[derive(Debug, thiserror::Error)]
#[error("the pod's name {0:?} does not end in an instance's ordinal")]
pub(crate) struct NoOrdinal(String);

/// The option by which the server differs from the others of its shard.
pub(crate) fn server_id(first: u32, pod: &str) -> Result<String, NoOrdinal> {
    let ordinal = pod.rsplit_once('-').map(|(_, ordinal)| ordinal.parse());
    match ordinal {
        Some(Ok(ordinal)) => Ok(format!("--server-id={}", first.saturating_add(ordinal))),
        _ => Err(NoOrdinal(pod.to_owned())),
    }
}

fn option(name: &str, value: &Path) -> OsString {
    let mut argument = OsString::from(name);
    argument.push(value);
    argument
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_of_a_shard_have_server_ids_of_their_own() {
        assert_eq!(server_id(17, "shop-1-0").unwrap(), "--server-id=17");
        assert_eq!(server_id(17, "shop-1-8").unwrap(), "--server-id=25");
        assert!(server_id(17, "shop").is_err());
        assert!(server_id(17, "shop-1-x").is_err());
    }
}
