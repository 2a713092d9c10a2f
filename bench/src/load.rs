//! Point selects: every contender in turn, several rounds.

use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result};
use remora_e2e::mysql::{MysqlRoot, MysqlServer};
use remora_e2e::sidecar::Sidecar;
use serde_json::json;

use crate::{Pace, Protocol, Results, Row, Stage, Sysbench, say};

/// The load.
const TEST: &str = "oltp_point_select";
/// Shards and physical tables of each.
const LAYOUT: (u16, u16) = (4, 16);
/// Connections that work at the same time.
const THREADS: u32 = 16;
/// How often the sidecar is started to see how long it takes.
const STARTS: usize = 5;

/// Measures all contenders in turn.
///
/// # Errors
/// If one of them does not come up.
pub async fn measure(pace: Pace) -> Result<Results> {
    let (seconds, rows) = match pace.quick {
        true => (5, 10_000),
        false => (30, 100_000),
    };
    let mut results = Results::default();
    (results.idle_memory, results.ready_after) = alone().await?;
    let stage = Stage::start(LAYOUT.0, LAYOUT.1, rows).await?;
    results.setting = setting(pace.rounds, seconds, rows)?;
    for protocol in [Protocol::Text, Protocol::Prepared] {
        let load = format!("{TEST}, {}, {THREADS} threads", protocol.name());
        let contenders = stage.contenders();
        let mut measured: Vec<Row> = contenders
            .iter()
            .map(|contender| Row {
                load: load.clone(),
                contender: contender.name,
                rounds: Vec::new(),
            })
            .collect();
        for round in 1..=pace.rounds {
            for (contender, row) in contenders.iter().zip(&mut measured) {
                let sysbench = Sysbench {
                    port: contender.port,
                    account: MysqlServer::APPLICATION,
                    rows,
                };
                let before = contender.cpu()?;
                let sample = sysbench.measure(TEST, protocol, THREADS, seconds)?;
                let cpu = contender.cpu()?.saturating_sub(before);
                say(&format!(
                    "{load}, round {round}, {}: {sample:?}, CPU {cpu:?}",
                    contender.name
                ));
                row.rounds.push((sample, cpu));
            }
        }
        results.rows.append(&mut measured);
    }
    Ok(results)
}

/// The sidecar without clients and without servers: its memory, and how soon it is ready.
async fn alone() -> Result<(u64, Vec<std::time::Duration>)> {
    let manifest = json!({
        "apiVersion": "remora.dev/v1alpha1",
        "kind": "ShardingCluster",
        "metadata": {"name": "alone"},
        "spec": {"shards": 1, "database": "shop"},
    });
    let root = MysqlRoot::get()?;
    let shards = remora_e2e::shards::LocalShards::start(&root, &manifest, &[]).await?;
    let memory = shards.sidecar.process().resident_memory()?;
    let port = [shards.servers[0].port()];
    let mut times = vec![shards.sidecar.ready_after()];
    for _ in 1..STARTS {
        let folder = tempfile::tempdir()?;
        times.push(
            Sidecar::start(folder.path(), &manifest, &port)
                .await?
                .ready_after(),
        );
    }
    Ok((memory, times))
}

/// Machine, versions and command, for whoever wants to repeat the run.
fn setting(rounds: usize, seconds: u64, rows: u64) -> Result<Vec<String>> {
    let first_line = |command: &mut Command| -> Result<String> {
        let output = command
            .output()
            .with_context(|| format!("cannot run {command:?}"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(text.lines().next().unwrap_or_default().to_owned())
    };
    let cpu = fs::read_to_string("/proc/cpuinfo")?;
    let model = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .unwrap_or_default();
    let cores = std::thread::available_parallelism()?;
    Ok(vec![
        format!(
            "{} rounds of {seconds} s; {rows} rows; {} shards × {} tables for Remora, one table \
             on one server for the others",
            rounds, LAYOUT.0, LAYOUT.1
        ),
        format!(
            "{cores} cores of {}",
            model.trim_start_matches(['\t', ' ', ':'])
        ),
        format!("MySQL {}", MysqlRoot::get()?.version()?),
        first_line(Command::new("sysbench").arg("--version"))?,
        first_line(Command::new("haproxy").arg("-v"))?,
        format!("Remora {}", env!("CARGO_PKG_VERSION")),
        format!(
            "the load: `sysbench {TEST} --threads={THREADS} --rand-type=uniform`, text with \
                 `--db-ps-mode=disable`; servers, proxies and load on this one machine"
        ),
    ])
}
