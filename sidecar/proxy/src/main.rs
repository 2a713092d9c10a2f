//! `remora-sidecar`: makes the shards of a `ShardingCluster` look like one MySQL server.

mod arguments;
mod descriptors;
mod run;

use std::process::ExitCode;

use clap::Parser;
use remora_sidecar::telemetry::start_logs;

use crate::arguments::{Arguments, Command};

fn main() -> ExitCode {
    let Command::Run(arguments) = Arguments::parse().command;
    match start(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // For people: a wrong configuration has a line for each mistake.
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn start(arguments: arguments::Run) -> anyhow::Result<()> {
    start_logs(arguments.log_format).map_err(anyhow::Error::from_boxed)?;
    descriptors::raise_limit();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(run::run(arguments))
}
