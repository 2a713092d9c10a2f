//! PID 1 of the `mysql` container.
//!
//! A MySQL pod cannot leave mysqld's restarts to the kubelet: its back-off grows to minutes,
//! CLONE ends mysqld on purpose, and a fenced primary must stop at once, without the API
//! server. This small static program is copied into the container and stays with mysqld.

mod events;
mod files;
mod install;
mod mysqld;
mod probe;
mod restart;
mod run;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::{Parser, Subcommand, ValueEnum};

use crate::files::RunDir;

/// PID 1 of the mysql container: starts mysqld, restarts it, fences it.
#[derive(Parser)]
#[command(name = "remora-supervisor", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Copies this program into a folder that the mysql container mounts.
    Install {
        /// The folder.
        directory: PathBuf,
    },
    /// Runs mysqld until SIGTERM.
    Run {
        /// MySQL's data directory; made by `--initialize-insecure` when it does not exist.
        /// Its parent must be the volume, so that a half-made one can be told from a whole one.
        #[arg(long)]
        data_dir: PathBuf,
        /// Where the socket, the pid file and the fence are: an emptyDir of the pod.
        #[arg(long)]
        run_dir: PathBuf,
        /// The server id of the first instance of the shard.
        #[arg(long, requires = "pod_name")]
        first_server_id: Option<u32>,
        /// The pod's name, which ends in the instance's ordinal.
        #[arg(long)]
        pod_name: Option<String>,
        /// mysqld and its arguments, without `--datadir`, `--socket` and `--pid-file`.
        #[arg(last = true, required = true)]
        mysqld: Vec<String>,
    },
    /// Asks mysqld through its socket; the kubelet's exec probe.
    Probe {
        /// What is asked.
        question: Question,
        /// As given to `run`.
        #[arg(long)]
        run_dir: PathBuf,
        /// How long mysqld may take for its whole answer.
        #[arg(long, default_value_t = 1000)]
        timeout_ms: u64,
    },
}

/// What a probe asks.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Question {
    /// Does mysqld answer? The startup probe: until then no other is asked.
    Started,
    /// Would a restart of the container help? Only when mysqld runs and does not answer.
    Live,
    /// Does it answer, is it not fenced, and has its agent no reason against it?
    Ready,
}

fn main() -> ExitCode {
    match perform(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            events::error(format_args!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn perform(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Install { directory } => Ok(install::install(&directory)?),
        Command::Run {
            data_dir,
            run_dir,
            first_server_id,
            pod_name,
            mut mysqld,
        } => {
            if let Some(first) = first_server_id {
                let pod = pod_name.unwrap_or_default();
                mysqld.push(mysqld::server_id(first, &pod)?);
            }
            Ok(run::run(&data_dir, &RunDir::new(run_dir), &mysqld)?)
        }
        Command::Probe {
            question,
            run_dir,
            timeout_ms,
        } => Ok(probe::probe(
            &RunDir::new(run_dir),
            question,
            Duration::from_millis(timeout_ms),
        )?),
    }
}
