//! The demo's application: an ordinary MySQL client that learns from its environment whom to
//! speak to, as every injected application does.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, ensure};
use clap::Parser;
use remora_e2e::load::Options;

#[derive(Parser)]
#[command(about = "Three kinds of transaction on a MySQL, measured.")]
struct Arguments {
    /// Where MySQL's protocol is spoken.
    #[arg(long, env = "MYSQL_HOST", default_value = "127.0.0.1")]
    host: String,
    /// Its port.
    #[arg(long, env = "MYSQL_PORT", default_value_t = 3306)]
    port: u16,
    /// The account.
    #[arg(long, env = "MYSQL_USER")]
    user: String,
    /// Its password. On a command line others could read it.
    #[arg(env = "MYSQL_PASSWORD", hide_env_values = true, hide = true)]
    password: String,
    /// The database with the tables.
    #[arg(long, env = "MYSQL_DATABASE", default_value = "shop")]
    database: String,
    /// Connections that work at the same time.
    #[arg(long, default_value_t = 8)]
    clients: usize,
    /// How long they work, in seconds.
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// Orders that are there before the load starts.
    #[arg(long, default_value_t = 2_000)]
    rows: usize,
    /// Work for ever, half of the clients on a new connection for each transaction, and say each
    /// second what came of it.
    #[arg(long)]
    visits: bool,
    /// Sleep when all is done: the pod stays, to be looked at.
    #[arg(long)]
    stay: bool,
}

#[tokio::main]
#[expect(
    clippy::print_stdout,
    reason = "the report is what this program is for"
)]
async fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let options = Options {
        host: arguments.host,
        port: arguments.port,
        user: arguments.user,
        password: arguments.password,
        database: arguments.database,
        clients: arguments.clients,
        duration: Duration::from_secs(arguments.seconds),
    };
    options.prepare(arguments.rows).await?;
    if arguments.visits {
        options.visit(|line| println!("{line}")).await?;
    }
    println!(
        "{} clients work for {} s",
        options.clients, arguments.seconds
    );
    let report = options.run().await?;
    println!("{report}");
    ensure!(
        report.failures() == 0,
        "{} transactions failed",
        report.failures()
    );
    if arguments.stay {
        println!("done");
        std::future::pending::<()>().await;
    }
    Ok(ExitCode::SUCCESS)
}
