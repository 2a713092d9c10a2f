//! Calls the scripts beside this crate, which make what a node consists of.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

/// The crate's own folder, where `programs/`, `node/` and `images/` lie.
const CRATE: &str = env!("CARGO_MANIFEST_DIR");

/// The path of a script of this crate, such as `node/start`.
pub(crate) fn script(name: &str) -> PathBuf {
    Path::new(CRATE).join(name)
}

/// The folder with Kubernetes' programs, built on the first call (some ten minutes).
///
/// # Errors
/// If the Go module proxy or the compiler fails; its words are on standard error.
pub fn programs() -> Result<PathBuf> {
    folder_of(&mut Command::new(script("programs/build")))
}

/// The node's root file system, made on the first call (half a minute).
///
/// # Errors
/// If Debian's packages cannot be had; the reason is on standard error.
pub fn node_root() -> Result<PathBuf> {
    folder_of(&mut Command::new(script("node/root")))
}

/// Runs a script that prints, as its last line, the folder that it made.
pub(crate) fn folder_of(command: &mut Command) -> Result<PathBuf> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} ended with {}", output.status);
    }
    let text = String::from_utf8(output.stdout)?;
    let folder = text
        .lines()
        .last()
        .context("the script printed no folder")?;
    Ok(PathBuf::from(folder))
}
