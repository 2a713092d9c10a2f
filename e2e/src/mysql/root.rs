//! The root file system with MySQL 9.7, made once for each machine.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

/// Where the scripts that make and use the root lie.
const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/mysql");

/// MySQL 9.7's programs, and a data directory that servers start from.
#[derive(Clone, Debug)]
pub struct MysqlRoot {
    directory: PathBuf,
}

impl MysqlRoot {
    /// The root of this machine; the first call makes it, which takes a minute or two.
    ///
    /// # Errors
    /// If it cannot be made; the text says what is missing.
    pub fn get() -> Result<Self> {
        let cache = cache_directory()?;
        fs::create_dir_all(&cache)?;
        let directory = cache.join("mysql-9.7");
        // Tests that start at the same time must not make it twice.
        let lock = File::create(cache.join("mysql-9.7.lock"))?;
        lock.lock()?;
        let status = Command::new(format!("{SCRIPTS}/build-root.sh"))
            .arg(&directory)
            .status()?;
        if !status.success() {
            bail!("e2e/mysql/build-root.sh could not make the MySQL root: {status}");
        }
        Ok(Self { directory })
    }

    /// The server's version, such as `9.7.4`.
    ///
    /// # Errors
    /// If the root was taken away.
    pub fn version(&self) -> Result<String> {
        Ok(fs::read_to_string(self.directory.join("version"))?
            .trim()
            .to_owned())
    }

    /// The root as a tar archive, for an image.
    #[must_use]
    pub fn tar(&self) -> PathBuf {
        self.directory.join("root.tar")
    }

    /// The unpacked root. It is shared: nobody writes into it.
    #[must_use]
    pub fn root(&self) -> PathBuf {
        self.directory.join("root")
    }

    /// A data directory that no server has run on.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    /// A command that runs one of the root's programs (`usr/bin/mysql`) on this machine's paths.
    #[must_use]
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(format!("{SCRIPTS}/run-in-root.sh"));
        command.arg(self.root()).arg(program);
        command
    }

    /// Copies the data directory that no server has run on to `target`.
    ///
    /// # Errors
    /// If the copy fails.
    pub fn copy_data(&self, target: &Path) -> Result<()> {
        let status = Command::new("cp")
            .args(["-a", "--reflink=auto"])
            .arg(self.data())
            .arg(target)
            .status()
            .context("cannot run cp")?;
        if !status.success() {
            bail!(
                "cannot copy {} to {}",
                self.data().display(),
                target.display()
            );
        }
        Ok(())
    }
}

/// Where what is made once for each machine is kept: `~/.cache/remora`, or `$REMORA_CACHE`.
///
/// # Errors
/// If neither that variable nor `HOME` is set.
pub fn cache_directory() -> Result<PathBuf> {
    if let Some(cache) = env::var_os("REMORA_CACHE") {
        return Ok(cache.into());
    }
    let home = env::var_os("HOME").context("neither REMORA_CACHE nor HOME is set")?;
    Ok(PathBuf::from(home).join(".cache/remora"))
}
