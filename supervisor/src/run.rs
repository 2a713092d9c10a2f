//! The supervisor's loop: one mysqld at a time, until SIGTERM.

use std::{
    io,
    path::Path,
    process::Command,
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait};
use signal_hook::{
    consts::{SIGCHLD, SIGINT, SIGTERM},
    iterator::Signals,
};

use crate::{
    events,
    files::RunDir,
    mysqld::{InitializeError, Mysqld},
    restart::{Ended, Restarts},
};

/// How soon a fence is seen. A promotion elsewhere waits for longer than this.
const FENCE_CHECK: Duration = Duration::from_millis(200);

/// Why the supervisor ended other than by SIGTERM.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    /// Nothing to run.
    #[error("no mysqld to run: give it and its arguments after --")]
    NoCommand,
    /// No data directory.
    #[error(transparent)]
    Initialize(#[from] InitializeError),
    /// A process or a file of its own could not be handled.
    #[error("cannot {what}")]
    Io {
        what: &'static str,
        source: io::Error,
    },
}

/// Runs mysqld until SIGTERM or SIGINT, which are passed on; returns when mysqld has ended.
pub(crate) fn run(data_dir: &Path, run_dir: &RunDir, command: &[String]) -> Result<(), RunError> {
    let mysqld = Mysqld::new(command, data_dir, run_dir).ok_or(RunError::NoCommand)?;
    let signals = receive_signals()?;
    mysqld.initialize()?;
    let mut supervisor = Supervisor {
        run_dir,
        signals,
        child: None,
        restarts: Restarts::default(),
        start_at: Instant::now(),
        stopping: false,
    };
    supervisor.run(|| mysqld.server())
}

/// Signals as messages, from a thread that lives as long as the process.
fn receive_signals() -> Result<Receiver<i32>, RunError> {
    let io_error = |source| RunError::Io {
        what: "receive signals",
        source,
    };
    let mut signals = Signals::new([SIGCHLD, SIGINT, SIGTERM]).map_err(io_error)?;
    let (sender, receiver) = mpsc::channel();
    thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            for signal in signals.forever() {
                if sender.send(signal).is_err() {
                    return;
                }
            }
        })
        .map_err(io_error)?;
    Ok(receiver)
}

/// A running mysqld.
struct Child {
    pid: Pid,
    since: Instant,
}

struct Supervisor<'a> {
    run_dir: &'a RunDir,
    signals: Receiver<i32>,
    child: Option<Child>,
    restarts: Restarts,
    start_at: Instant,
    stopping: bool,
}

impl Supervisor<'_> {
    fn run(&mut self, server: impl Fn() -> Command) -> Result<(), RunError> {
        loop {
            match self.signals.recv_timeout(self.patience()) {
                Ok(SIGCHLD) | Err(RecvTimeoutError::Timeout) => {}
                Ok(signal) => self.stop(signal),
                Err(RecvTimeoutError::Disconnected) => self.stop(SIGTERM),
            }
            self.reap();
            if self.stopping && self.child.is_none() {
                return Ok(());
            }
            let fenced = self.run_dir.is_fenced();
            match &self.child {
                Some(child) if fenced => {
                    // SIGKILL: a fenced primary that shuts down in order would still
                    // acknowledge commits until it is through.
                    events::info(format_args!("fenced: killing mysqld"));
                    signal_child(child.pid, Signal::KILL);
                }
                None if !fenced && !self.stopping && self.start_at <= Instant::now() => {
                    self.start(server())?;
                }
                _ => {}
            }
        }
    }

    /// How long to wait for a signal before looking at fence and clock again.
    fn patience(&self) -> Duration {
        match self.child {
            Some(_) => FENCE_CHECK,
            None => FENCE_CHECK.min(self.start_at.saturating_duration_since(Instant::now())),
        }
    }

    fn start(&mut self, mut server: Command) -> Result<(), RunError> {
        self.run_dir.remove_stale().map_err(|source| RunError::Io {
            what: "remove stale files",
            source,
        })?;
        let child = server.spawn().map_err(|source| RunError::Io {
            what: "start mysqld",
            source,
        })?;
        events::info(format_args!("mysqld started with pid {}", child.id()));
        self.child = Some(Child {
            pid: Pid::from_child(&child),
            since: Instant::now(),
        });
        Ok(())
    }

    /// Passes SIGTERM on: mysqld ends in order, and the loop after it.
    fn stop(&mut self, signal: i32) {
        events::info(format_args!("signal {signal}: stopping mysqld"));
        self.stopping = true;
        if let Some(child) = &self.child {
            signal_child(child.pid, Signal::TERM);
        }
    }

    /// Collects every child that ended. As PID 1 the supervisor also inherits orphans, which
    /// would stay as zombies.
    fn reap(&mut self) {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if let Some(child) = self.child.take_if(|child| child.pid == pid) {
                self.ended(&child, status);
            }
        }
    }

    fn ended(&mut self, child: &Child, status: WaitStatus) {
        let ended = match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Ended::Code(code),
            (None, Some(signal)) => Ended::Signal(signal),
            (None, None) => Ended::Signal(0),
        };
        let wait = self.restarts.wait(ended, child.since.elapsed());
        self.start_at = Instant::now() + wait;
        events::info(format_args!("mysqld ended: {ended:?}"));
    }
}

/// A child that is gone already needs no signal; it will be reaped.
fn signal_child(pid: Pid, signal: Signal) {
    if let Err(error) = kill_process(pid, signal) {
        events::error(format_args!("cannot signal mysqld: {error}"));
    }
}
