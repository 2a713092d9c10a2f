//! The drivers' own test suites, on plain MySQL and through the sidecar: `test-drivers [SUITE…]`.
//! A run of all of them writes docs/compatibility.md. It fails where a test passes on MySQL and
//! not here, and is not one of e2e/drivers/refusals.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use remora_e2e::drivers::{Comparison, Refusals, Suite, Verdict, write_table};
use remora_e2e::mysql::MysqlRoot;
use tokio::signal::unix::{SignalKind, signal};

const REFUSALS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/drivers/refusals");
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/compatibility.md");

#[derive(Parser)]
#[command(about = "The drivers' own test suites, on plain MySQL and through the sidecar.")]
struct Arguments {
    /// The suites to run: all by default.
    suites: Vec<String>,
    /// Where the suites' output goes.
    #[arg(long, default_value = "target/drivers")]
    logs: PathBuf,
}

#[tokio::main]
async fn main() -> Result<ExitCode> {
    // What the run started ends with it, and only what is dropped ends what it started.
    let mut terminated = signal(SignalKind::terminate())?;
    tokio::select! {
        outcome = run() => outcome,
        _ = terminated.recv() => bail!("terminated"),
        _ = tokio::signal::ctrl_c() => bail!("interrupted"),
    }
}

#[expect(clippy::print_stdout, reason = "the run speaks to a person")]
async fn run() -> Result<ExitCode> {
    let Arguments { suites, logs } = Arguments::parse();
    let refusals = fs::read_to_string(REFUSALS).context("cannot read e2e/drivers/refusals")?;
    let refusals = Refusals::parse(&refusals)?;
    fs::create_dir_all(&logs)?;
    let all = suites.is_empty();
    let suites = match all {
        true => Suite::ALL.iter().collect(),
        false => suites
            .iter()
            .map(|name| Suite::named(name))
            .collect::<Result<Vec<_>>>()?,
    };
    let root = MysqlRoot::get()?;
    let mut comparisons = Vec::new();
    let (mut passed, mut failed) = (0, 0);
    for suite in suites {
        let version = suite.install().await?;
        let started = Instant::now();
        let comparison = suite.compare(&root, version, &logs).await?;
        let mistakes = show(&comparison, &refusals, started);
        failed += mistakes;
        passed += comparison.mysql.ended(Verdict::Passed).count() - mistakes;
        comparisons.push(comparison);
    }
    if all {
        write_table(Path::new(PAGE), &root.version()?, &comparisons, &refusals)?;
    }
    println!(
        "test result: {}. {passed} passed; {failed} failed; 0 ignored; output is in {}",
        if failed == 0 { "ok" } else { "FAILED" },
        logs.display()
    );
    Ok(ExitCode::from(u8::from(failed > 0)))
}

/// Shows a suite's counts and its differences; answers how many are mistakes.
#[expect(clippy::print_stdout, reason = "the run speaks to a person")]
fn show(comparison: &Comparison, refusals: &Refusals, started: Instant) -> usize {
    let passed = comparison.mysql.ended(Verdict::Passed).count();
    let differences = comparison.differences(refusals);
    println!(
        "{} {}: {passed} pass on MySQL, {} of these through the sidecar; {:.0} s",
        comparison.suite.name,
        comparison.version,
        passed - differences.len(),
        started.elapsed().as_secs_f64()
    );
    for difference in &differences {
        match &difference.reason {
            Some(reason) => println!("  refused {}: {reason}", difference.test),
            None => println!("  FAILED  {}", difference.test),
        }
    }
    differences.iter().filter(|d| d.reason.is_none()).count()
}
