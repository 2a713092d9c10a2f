//! One process that a test started: it ends with its owner, and its log is shown when it fails.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};

/// How long a process may take to end by itself before it is killed.
const GRACE: Duration = Duration::from_secs(15);

/// A child process that is ended (SIGTERM, then SIGKILL) when this value is dropped.
#[derive(Debug)]
pub struct OwnedProcess {
    child: Option<Child>,
    name: String,
    log: PathBuf,
}

impl OwnedProcess {
    /// Starts `command` with its output in the file `log`.
    ///
    /// # Errors
    /// If the log cannot be made or the program cannot be started.
    pub fn start(name: &str, mut command: Command, log: &Path) -> Result<Self> {
        let output = File::create(log).with_context(|| format!("cannot make {}", log.display()))?;
        let child = command
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .with_context(|| format!("cannot start {name}: {command:?}"))?;
        Ok(Self {
            child: Some(child),
            name: name.to_owned(),
            log: log.to_owned(),
        })
    }

    /// The process' id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.as_ref().map_or(0, Child::id)
    }

    /// Fails with the end of the log when the process has ended.
    ///
    /// # Errors
    /// If it has ended.
    pub fn check(&mut self) -> Result<()> {
        if let Some(child) = &mut self.child
            && let Some(status) = child.try_wait()?
        {
            anyhow::bail!("{} ended with {status}:\n{}", self.name, self.log_end());
        }
        Ok(())
    }

    /// The last lines of the log, for an error's text.
    #[must_use]
    pub fn log_end(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }

    /// The processor time that the process has used so far, of all its threads.
    ///
    /// # Errors
    /// If the process is gone.
    pub fn cpu_time(&self) -> Result<Duration> {
        cpu_time(self.pid())
    }

    /// The process' resident memory in bytes.
    ///
    /// # Errors
    /// If the process is gone.
    pub fn resident_memory(&self) -> Result<u64> {
        resident_memory(self.pid())
    }

    /// Sends the process a signal: STOP freezes it, CONT lets it go on.
    pub fn signal(&self, signal: Signal) {
        if let Some(child) = &self.child
            && let Some(pid) = Pid::from_raw(child.id().cast_signed())
        {
            // Fails only when the process has ended already.
            let _gone = kill_process(pid, signal);
        }
    }

    /// Kills the process without a chance to do anything (SIGKILL), and waits until it is gone.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _gone = child.kill();
            let _reaped = child.wait();
        }
    }

    /// Lets the process live on when this value is gone, and gives its id.
    #[must_use]
    pub fn leave_running(mut self) -> u32 {
        let pid = self.pid();
        self.child = None;
        pid
    }

    /// Ends the process now, as dropping does, and waits for it.
    pub fn stop(&mut self) {
        let Some(mut child) = self.child.take() else {
            return;
        };
        if let Some(pid) = Pid::from_raw(child.id().cast_signed()) {
            // Fails only when the process has ended already. A frozen one hears of it when it
            // goes on.
            let _gone = kill_process(pid, Signal::TERM);
            let _gone = kill_process(pid, Signal::CONT);
        }
        let deadline = Instant::now() + GRACE;
        while Instant::now() < deadline {
            if !matches!(child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        let _gone = child.kill();
        let _reaped = child.wait();
    }
}

impl Drop for OwnedProcess {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Processor time of the process `pid`, from `/proc`: user and system, all threads.
///
/// # Errors
/// If the process is gone.
pub fn cpu_time(pid: u32) -> Result<Duration> {
    // The kernel counts in USER_HZ, which is 100 on every Linux that MySQL runs on.
    const TICK: Duration = Duration::from_millis(10);
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let (_, fields) = stat.rsplit_once(')').context("unreadable /proc/PID/stat")?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let user: u32 = fields.get(11).context("no utime")?.parse()?;
    let system: u32 = fields.get(12).context("no stime")?.parse()?;
    Ok(TICK * (user + system))
}

/// Resident memory of the process `pid` in bytes.
///
/// # Errors
/// If the process is gone.
pub fn resident_memory(pid: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .context("no VmRSS")?;
    let kilobytes = line
        .split_whitespace()
        .nth(1)
        .context("VmRSS without a number")?;
    Ok(kilobytes.parse::<u64>()? * 1024)
}

/// Lets this process, and those that it starts, have as many sockets as the machine allows, and
/// says how many those are.
///
/// # Errors
/// If the kernel refuses.
pub fn raise_socket_limit() -> Result<u64> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    setrlimit(Resource::Nofile, raised)?;
    Ok(maximum.unwrap_or(u64::MAX))
}

/// When the process `pid` started, in the kernel's ticks: with the id it names one process
/// for ever, an id alone may be given to another one.
///
/// # Errors
/// If the process is gone.
pub fn start_ticks(pid: u32) -> Result<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let (_, fields) = stat.rsplit_once(')').context("unreadable /proc/PID/stat")?;
    Ok(fields
        .split_whitespace()
        .nth(19)
        .context("no starttime")?
        .parse()?)
}

/// A TCP port on loopback that is free now, and that this process was not given before: the
/// kernel may name one again before the server that it was for listens.
///
/// # Errors
/// If there is none.
pub fn free_port() -> Result<u16> {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let port = listener.local_addr()?.port();
        if given.insert(port) {
            return Ok(port);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_port_is_given_twice() {
        let ports: BTreeSet<_> = (0..500).map(|_| free_port().unwrap()).collect();
        assert_eq!(ports.len(), 500);
    }

    #[test]
    fn a_dropped_process_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let mut command = Command::new("sleep");
        command.arg("600");
        let process = OwnedProcess::start("sleep", command, &dir.path().join("log")).unwrap();
        let pid = process.pid();
        assert!(start_ticks(pid).unwrap() > 0);
        drop(process);
        assert!(start_ticks(pid).is_err());
    }

    #[test]
    fn a_process_that_ended_shows_its_log() {
        let dir = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "echo no such option >&2; exit 3"]);
        let mut process = OwnedProcess::start("sh", command, &dir.path().join("log")).unwrap();
        let deadline = Instant::now() + GRACE;
        let error = loop {
            if let Err(error) = process.check() {
                break error.to_string();
            }
            assert!(Instant::now() < deadline);
        };
        assert!(error.contains("no such option"), "{error}");
    }
}
