//! Remora without Kubernetes: servers and sidecar as processes, from the manifest that the
//! cluster would get. They stay up for the newcomer until `make clean-up`.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use remora_e2e::left_running;
use remora_e2e::load::Options;
use remora_e2e::mysql::{MysqlRoot, MysqlServer, ServerOptions};
use remora_e2e::process::free_port;
use remora_e2e::sidecar::Sidecar;
use serde_json::Value;

/// The manifest of the demo, with and without Kubernetes.
const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/shop.yaml");
/// Connections that work at the same time, as in the load test that Remora answers.
const CLIENTS: usize = 20;
/// Orders that are there before the load starts.
const ROWS: usize = 2_000;
/// Where the demo's sidecar listens; a fixed port can be written into a README.
const PORT: u16 = 33306;
#[derive(Parser)]
#[command(about = "Remora on this machine, without Kubernetes.")]
struct Arguments {
    /// How long the load runs, in seconds.
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// The port for MySQL clients.
    #[arg(long, default_value_t = PORT)]
    port: u16,
    /// Ends everything when the load is over.
    #[arg(long)]
    exit: bool,
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the demo speaks to a person")]
async fn main() -> Result<()> {
    let Arguments {
        seconds,
        port,
        exit,
    } = Arguments::parse();
    // An earlier demo has the port.
    left_running::end_all()?;
    let root = MysqlRoot::get()?;
    let text = fs::read_to_string(MANIFEST).with_context(|| format!("cannot read {MANIFEST}"))?;
    let manifest: Value = serde_saphyr::from_str(&text)?;
    let shards = manifest["spec"]["shards"]
        .as_u64()
        .context("the manifest has no shards")?;

    println!(
        "starting MySQL {} for each of {shards} shards",
        root.version()?
    );
    let servers = futures::future::try_join_all((0..shards).map(async |shard| {
        MysqlServer::start(&root, &ServerOptions::named(&format!("demo-shard-{shard}"))).await
    }))
    .await?;
    let folder = tempfile::TempDir::with_prefix("remora-demo-sidecar-")?;
    let ports: Vec<u16> = servers.iter().map(MysqlServer::port).collect();
    let admin = free_port()?;
    let sidecar = Sidecar::start_on(folder.path(), &manifest, &ports, port, admin).await?;
    println!(
        "the sidecar is ready after {:.0} ms; it listens on 127.0.0.1:{port}",
        sidecar.ready_after().as_secs_f64() * 1000.0
    );

    let account = MysqlServer::APPLICATION;
    let load = Options {
        host: "127.0.0.1".to_owned(),
        port,
        user: account.name.to_owned(),
        password: account.password.to_owned(),
        database: manifest["spec"]["database"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
        clients: CLIENTS,
        duration: Duration::from_secs(seconds),
    };
    load.prepare(ROWS).await?;
    println!("{CLIENTS} connections work for {seconds} s");
    let report = load.run().await?;
    println!("{report}");
    if report.failures() > 0 {
        bail!("{} transactions failed", report.failures());
    }
    if exit {
        return Ok(());
    }

    let mut left = Vec::new();
    left.push((sidecar.leave_running(), folder.keep()));
    for server in servers {
        if let (pid, Some(folder)) = server.leave_running() {
            left.push((pid, folder));
        }
    }
    left_running::record(&left)?;
    print_next_steps(&root, port, admin, &load);
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the demo speaks to a person")]
fn print_next_steps(root: &MysqlRoot, port: u16, admin: u16, load: &Options) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/mysql/run-in-root.sh");
    println!("Servers and sidecar stay up. Try next:\n");
    println!(
        "  {script} {} usr/bin/mysql --no-defaults -h 127.0.0.1 -P {port} -u {} -p{} {}\n",
        root.root().display(),
        load.user,
        load.password,
        load.database
    );
    println!("  mysql> SHOW REMORA SHARDS;");
    println!("  mysql> EXPLAIN REMORA SELECT * FROM pressure_test WHERE id = 7;");
    println!("  mysql> SELECT COUNT(*), SUM(amount) FROM pressure_test WHERE amount > 1000;");
    println!("  $ curl http://127.0.0.1:{admin}/metrics");
    println!("\nmake clean-up ends all of it.");
}
