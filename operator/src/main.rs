//! `remora-operator`: the control plane.

use anyhow::Context;
use clap::{Parser, Subcommand};
use remora_operator::{LogFormat, Settings, check, run};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

/// Turns ShardingCluster manifests into MySQL servers, and tells sidecars about them.
#[derive(Parser)]
#[command(name = "remora-operator", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs until SIGTERM.
    Run(Box<Settings>),
    /// Says whether the operator is reached through its Services; `helm test` runs it.
    Check(check::Targets),
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Run(settings) => serve(*settings).await,
        Command::Check(targets) => {
            log(LogFormat::Text);
            let checked = check::check(&targets).await;
            checked.context("the operator cannot be reached")
        }
    }
}

async fn serve(settings: Settings) -> anyhow::Result<()> {
    log(settings.log_format);
    rustls::crypto::aws_lc_rs::default_provider()
        .install_default()
        .map_err(|_| anyhow::anyhow!("another TLS provider was installed before"))?;
    let stop = CancellationToken::new();
    let mut terminate = signal(SignalKind::terminate()).context("listening for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("listening for SIGINT")?;
    let stopper = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping");
        stopper.cancel();
    });
    run(settings, stop).await.context("the operator cannot run")
}

fn log(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let lines = tracing_subscriber::fmt().with_env_filter(filter);
    match format {
        LogFormat::Json => lines.json().init(),
        LogFormat::Text => lines.init(),
    }
}
