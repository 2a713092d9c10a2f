//! `make bench`: the parts that were asked for, or all, each with its place on the page of results.

use std::path::Path;

use anyhow::Result;
use clap::{Parser, ValueEnum as _};
use remora_bench::{Pace, Part, busy, hostile, idle, large, load, put, say};

/// Where the results go.
const RESULTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/RESULTS.md");

#[derive(Parser)]
#[command(about = "Remora beside a direct connection and its peers.")]
struct Arguments {
    /// What to measure; all by default.
    parts: Vec<Part>,
    /// Short runs on few rows: minutes, not an hour.
    #[arg(long)]
    quick: bool,
    /// Rounds; the median of them counts.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let pace = Pace {
        quick: arguments.quick,
        rounds: arguments.rounds,
    };
    let parts = match arguments.parts.is_empty() {
        true => Part::value_variants().to_vec(),
        false => arguments.parts,
    };
    for part in parts {
        let text = match part {
            Part::Load => load::measure(pace).await?.markdown(),
            Part::Idle => idle::measure().await?.markdown(),
            Part::Busy => busy::measure(pace).await?.markdown(),
            Part::Large => large::measure(pace).await?.markdown(),
            Part::Hostile => hostile::measure(pace).await?.markdown(),
        };
        say(&format!("\n{text}"));
        put(Path::new(RESULTS), part, &text)?;
    }
    Ok(())
}
