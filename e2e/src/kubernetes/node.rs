//! Starts and ends the node.

use std::fs;
use std::io::PipeWriter;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::runs::{self, RunFolder};
use super::scripts::{node_root, programs, script};

/// Longer than the sum of what `node/boot` waits for.
const START: Duration = Duration::from_secs(240);

/// A node that runs. Dropping it ends it, unless it was left running.
#[derive(Debug)]
pub struct Kubernetes {
    run: RunFolder,
    programs: PathBuf,
    child: Option<Child>,
    /// The node ends when this end is closed, also by this process' death.
    lifeline: Option<PipeWriter>,
}

impl Kubernetes {
    /// Brings up a node that ends with this process. `progress` hears of each step.
    ///
    /// # Errors
    /// If it does not come up; the text says what did not, and the end of its log.
    pub fn start(progress: impl FnMut(&str)) -> Result<Self> {
        let (reader, writer) = std::io::pipe()?;
        let mut node = Self::launch(Stdio::from(OwnedFd::from(reader)))?;
        node.lifeline = Some(writer);
        node.wait_for_boot(progress)?;
        Ok(node)
    }

    /// Brings up a node that outlives this process, until [`RunFolder::end`].
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_to_stay(progress: impl FnMut(&str)) -> Result<Self> {
        let mut node = Self::launch(Stdio::null())?;
        node.wait_for_boot(progress)?;
        node.child = None;
        Ok(node)
    }

    /// The node of an earlier [`Self::start_to_stay`] that is still there.
    ///
    /// # Errors
    /// If the runs or the programs cannot be read.
    pub fn running() -> Result<Option<Self>> {
        for run in runs::all()? {
            let progress = fs::read_to_string(run.path().join("progress")).unwrap_or_default();
            if run.living().is_some() && progress.lines().last() == Some("ready") {
                return Ok(Some(Self {
                    run,
                    programs: programs()?,
                    child: None,
                    lifeline: None,
                }));
            }
        }
        Ok(None)
    }

    /// Where the node writes, its logs in `log/`.
    #[must_use]
    pub fn run(&self) -> &RunFolder {
        &self.run
    }

    /// Where `kubectl` and `helm` lie.
    #[must_use]
    pub fn programs(&self) -> &Path {
        &self.programs
    }

    /// The administrator's kubeconfig, usable on this machine.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.run.path().join("kubeconfig")
    }

    /// A command that runs inside the node's namespaces, such as `ctr`.
    ///
    /// # Errors
    /// If the node has ended.
    pub fn inside(&self, program: &str) -> Result<Command> {
        let pid = self.run.living().context("the node has ended")?;
        let mut command = Command::new("nsenter");
        command
            .arg(format!("--target={pid}"))
            .args([
                "--mount", "--net", "--ipc", "--uts", "--root", "--wd=/", "--", program,
            ])
            .env("PATH", "/programs:/usr/sbin:/usr/bin:/sbin:/bin")
            .stdin(Stdio::null());
        Ok(command)
    }

    fn launch(lifeline: Stdio) -> Result<Self> {
        runs::sweep()?;
        let (programs, root) = (programs()?, node_root()?);
        // A socket of the host's loopback that the node inherits: its only way out.
        let door = TcpListener::bind(("127.0.0.1", 0))?;
        let port = door.local_addr()?.port();
        let run = RunFolder::create()?;
        let child = Command::new(script("node/start"))
            .arg(run.path())
            .arg(root)
            .arg(&programs)
            .arg(port.to_string())
            .stdin(lifeline)
            .stdout(OwnedFd::from(door))
            .spawn()
            .context("cannot run node/start")?;
        let node = Self {
            run,
            programs,
            child: Some(child),
            lifeline: None,
        };
        node.run
            .belongs_to(node.child.as_ref().map_or(0, Child::id))?;
        Ok(node)
    }

    fn wait_for_boot(&mut self, mut progress: impl FnMut(&str)) -> Result<()> {
        let deadline = Instant::now() + START;
        let mut seen = 0;
        loop {
            let text = fs::read_to_string(self.run.path().join("progress")).unwrap_or_default();
            for line in text
                .split_inclusive('\n')
                .filter(|l| l.ends_with('\n'))
                .skip(seen)
            {
                seen += 1;
                match line.trim_end() {
                    "ready" => return Ok(()),
                    line if line.starts_with("failed: ") => bail!("{line}\n{}", self.log_ends()),
                    line => progress(line),
                }
            }
            if let Some(child) = &mut self.child
                && let Some(status) = child.try_wait()?
            {
                bail!("the node ended with {status}\n{}", self.log_ends());
            }
            if Instant::now() > deadline {
                bail!("the node is not ready after {START:?}\n{}", self.log_ends());
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// The last lines of each log: the folder goes with the node.
    fn log_ends(&self) -> String {
        const LINES: usize = 8;
        let mut text = String::new();
        let Ok(logs) = fs::read_dir(self.run.path().join("log")) else {
            return text;
        };
        for log in logs.flatten() {
            let content = fs::read_to_string(log.path()).unwrap_or_default();
            let lines: Vec<&str> = content.lines().collect();
            if !lines.is_empty() {
                text += &format!("--- {}\n", log.file_name().to_string_lossy());
                text += &lines[lines.len().saturating_sub(LINES)..].join("\n");
                text.push('\n');
            }
        }
        text
    }
}

impl Drop for Kubernetes {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else {
            return;
        };
        // Killing it, unlike closing the lifeline, can be waited for.
        let _gone = child.kill();
        let _reaped = child.wait();
        if let Err(error) = self.run.end() {
            eprintln!("the node left something behind: {error:#}");
        }
    }
}
