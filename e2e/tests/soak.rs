//! Many sessions over few connections: no row, variable or message of one reaches another, and
//! nothing is left behind.
//!
//! `SOAK_SECONDS` says for how long, a minute by default (`make soak`: ten); `SOAK_SEED` repeats
//! what chance chose.

use std::env;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use remora_e2e::soak::{Options, Step, run};

/// What the environment says, or `otherwise`.
fn from_environment<T: FromStr>(name: &str, otherwise: T) -> Result<T> {
    match env::var(name) {
        Ok(text) => text
            .parse()
            .ok()
            .with_context(|| format!("{name}={text} is no number")),
        Err(_) => Ok(otherwise),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_that_share_connections_share_nothing_else() -> Result<()> {
    let options = Options {
        seed: from_environment("SOAK_SEED", 20_261_201)?,
        duration: Duration::from_secs(from_environment("SOAK_SECONDS", 60)?),
        sessions: from_environment("SOAK_SESSIONS", 200)?,
        connections: from_environment("SOAK_CONNECTIONS", 20)?,
        growth: 4e6,
    };
    println!("{options:?}");
    let report = run(options).await?;
    println!("{:?}", report.steps);
    println!(
        "at most {} connections to one server; {:.1} MB of memory at most, {:+.1} MB \
         over the second half",
        report.connections,
        report.memory.most() as f64 / 1e6,
        report.memory.growth() / 1e6
    );
    for step in [Step::Transaction, Step::ChangeUser, Step::LeaveHalfRead] {
        ensure!(report.steps.contains_key(&step), "{step:?} was never done");
    }
    Ok(())
}
