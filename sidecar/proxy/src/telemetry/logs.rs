//! Logs, as text for people or as JSON for machines.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

/// The form of the logs.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, clap::ValueEnum)]
pub enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object on each line.
    Json,
}

/// Sends logs to stderr from now on. `RUST_LOG` says which; `info` and worse by default.
///
/// # Errors
/// If the process has logs already.
pub fn start_logs(
    format: LogFormat,
) -> Result<(), Box<dyn std::error::Error + Send + Sync + 'static>> {
    let filter = EnvFilter::builder()
        .with_default_directive(LevelFilter::INFO.into())
        .from_env_lossy();
    // Its debug logs show the statements that it parses, and with them values.
    let filter = match "sqlparser=off".parse() {
        Ok(silence) => filter.add_directive(silence),
        Err(_) => filter,
    };
    let logs = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Text => logs.try_init(),
        LogFormat::Json => logs.json().flatten_event(true).try_init(),
    }
}
