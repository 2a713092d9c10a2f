//! The folders of runs, and the end of those whose owner is gone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

use super::scripts::script;
use crate::mysql::cache_directory;
use crate::process::start_ticks;

/// How long the kernel may take to end all the processes of a node.
const END: Duration = Duration::from_secs(20);

/// The first letter of a folder that is not complete yet.
const HIDDEN: char = '.';

/// Everything that one node writes, and who it is.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    /// Makes a folder whose name no other run has.
    ///
    /// # Errors
    /// If the cache folder cannot be written.
    pub fn create() -> Result<Self> {
        let runs = runs_directory()?;
        fs::create_dir_all(&runs)?;
        let hidden = tempfile::Builder::new()
            .prefix(&HIDDEN.to_string())
            .rand_bytes(8)
            .tempdir_in(&runs)?;
        fs::create_dir(hidden.path().join("log"))?;
        // Until the node runs, the folder is this process'. Nobody may see it before it says so.
        let run = Self {
            path: hidden.keep(),
        };
        run.belongs_to(std::process::id())?;
        let name = run
            .path
            .file_name()
            .and_then(|n| n.to_str())
            .unwrap_or_default();
        let path = runs.join(name.trim_start_matches(HIDDEN));
        fs::rename(&run.path, &path)?;
        Ok(Self { path })
    }

    /// The folder itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Records whose end is the end of the run. The time of its start goes with its id: an id
    /// alone may belong to a stranger by the time somebody reads it.
    pub(super) fn belongs_to(&self, pid: u32) -> Result<()> {
        Ok(fs::write(
            self.path.join("pid"),
            format!("{pid} {}", start_ticks(pid)?),
        )?)
    }

    /// The process whose end is the end of the run, while it lives.
    #[must_use]
    pub fn living(&self) -> Option<u32> {
        let text = fs::read_to_string(self.path.join("pid")).ok()?;
        let (pid, ticks) = text.split_once(' ')?;
        let pid = pid.parse().ok()?;
        let same = start_ticks(pid).ok()?.to_string() == ticks && !is_zombie(pid);
        same.then_some(pid)
    }

    /// Ends the node by its process id and removes what it wrote.
    ///
    /// # Errors
    /// If the process does not end, or its folder or cgroups cannot be removed.
    pub fn end(&self) -> Result<()> {
        if let Some(pid) = self.living()
            && let Some(pid) = Pid::from_raw(pid.cast_signed())
        {
            // It may have ended a moment ago.
            let _gone = kill_process(pid, Signal::KILL);
        }
        let deadline = Instant::now() + END;
        while self.living().is_some() {
            if Instant::now() > deadline {
                bail!("the node of {} does not end", self.path.display());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let status = Command::new(script("node/sweep"))
            .arg(&self.path)
            .stdin(Stdio::null())
            .status()
            .context("cannot run node/sweep")?;
        if !status.success() {
            bail!("node/sweep {} ended with {status}", self.path.display());
        }
        Ok(())
    }
}

/// All runs of this machine, living or not.
pub(super) fn all() -> Result<Vec<RunFolder>> {
    let runs = runs_directory()?;
    if !runs.is_dir() {
        return Ok(Vec::new());
    }
    let mut all = Vec::new();
    for entry in fs::read_dir(runs)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with(HIDDEN) {
            all.push(RunFolder { path: entry.path() });
        }
    }
    Ok(all)
}

/// Removes what runs left whose process was killed before it could.
///
/// # Errors
/// If something cannot be removed.
pub fn sweep() -> Result<()> {
    for run in all()? {
        if run.living().is_none() {
            run.end()?;
        }
    }
    Ok(())
}

/// Ends every node and removes what it wrote.
///
/// # Errors
/// If one does not end, or something of it cannot be removed.
pub fn end_all() -> Result<()> {
    all()?.iter().try_for_each(RunFolder::end)
}

fn runs_directory() -> Result<PathBuf> {
    Ok(cache_directory()?.join("runs"))
}

fn is_zombie(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .ok()
        .and_then(|stat| Some(stat.rsplit_once(')')?.1.trim_start().starts_with('Z')))
        .unwrap_or(true)
}
