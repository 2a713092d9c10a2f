//! Processes that a demo leaves running for the newcomer, and their end.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

use crate::mysql::cache_directory;
use crate::process::start_ticks;

/// How long a process may take to end.
const GRACE: Duration = Duration::from_secs(15);

fn state_file() -> Result<PathBuf> {
    Ok(cache_directory()?.join("demo-local"))
}

/// Writes down processes, each with the folder that vanishes with it.
///
/// # Errors
/// If one of them has ended, or the list cannot be written.
pub fn record(left: &[(u32, PathBuf)]) -> Result<()> {
    let mut text = String::new();
    // One line for each: its id, when it started, its folder.
    for (pid, folder) in left {
        let ticks = start_ticks(*pid)?;
        text += &format!("{pid} {ticks} {}\n", folder.display());
    }
    Ok(fs::write(state_file()?, text)?)
}

/// Ends the processes that were written down, and only those: an id that another process has now
/// has another start.
///
/// # Errors
/// If one of them cannot be ended.
pub fn end_all() -> Result<usize> {
    let path = state_file()?;
    let Ok(text) = fs::read_to_string(&path) else {
        return Ok(0);
    };
    let mut ended = 0;
    for line in text.lines() {
        let mut words = line.splitn(3, ' ');
        let (Some(pid), Some(ticks), Some(folder)) = (words.next(), words.next(), words.next())
        else {
            bail!("{} is not as demo-local writes it", path.display());
        };
        let (pid, ticks): (u32, u64) = (pid.parse()?, ticks.parse()?);
        if start_ticks(pid).is_ok_and(|now| now == ticks) {
            end(pid, ticks)?;
            ended += 1;
        }
        if Path::new(folder).starts_with(std::env::temp_dir()) {
            fs::remove_dir_all(folder).or_else(|error| match error.kind() {
                std::io::ErrorKind::NotFound => Ok(()),
                _ => Err(error),
            })?;
        }
    }
    fs::remove_file(path)?;
    Ok(ended)
}

fn end(pid: u32, ticks: u64) -> Result<()> {
    let id = Pid::from_raw(pid.cast_signed()).context("no such process id")?;
    kill_process(id, Signal::TERM)?;
    let deadline = Instant::now() + GRACE;
    while start_ticks(pid).is_ok_and(|now| now == ticks) && is_running(pid) {
        if Instant::now() > deadline {
            kill_process(id, Signal::KILL)?;
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// A process that ended and that nobody waited for is a zombie: its id is taken, nothing runs.
fn is_running(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit_once(") ")
        .and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| state != 'Z')
}
