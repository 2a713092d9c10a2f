//! `with-mysql COMMAND…`: runs a command beside a fresh MySQL server of its own, and ends with
//! its exit code. The command finds a client that is logged in as root in `REMORA_TEST_MYSQL`.

use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result};
use clap::Parser;
use remora_e2e::mysql::{MysqlRoot, MysqlServer, ServerOptions};

#[derive(Parser)]
#[command(about = "Runs a command beside a MySQL server of its own.")]
struct Arguments {
    /// The command and its arguments.
    #[arg(trailing_var_arg = true, required = true)]
    command: Vec<String>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let (program, rest) = arguments
        .command
        .split_first()
        .context("there is no command")?;
    let root = MysqlRoot::get()?;
    let server = MysqlServer::start(&root, &ServerOptions::named("with-mysql")).await?;
    let status = Command::new(program)
        .args(rest)
        .env("REMORA_TEST_MYSQL", client(&root, &server)?)
        .status()
        .with_context(|| format!("cannot run {program}"))?;
    Ok(match status.code() {
        Some(0) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// The client's command, words separated by blanks.
fn client(root: &MysqlRoot, server: &MysqlServer) -> Result<String> {
    let socket = server
        .folder()
        .context("the server has no folder")?
        .join("mysql.sock");
    let client = root.command("usr/bin/mysql");
    let words = std::iter::once(client.get_program()).chain(client.get_args());
    let mut command: Vec<_> = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    command.push("--no-defaults".to_owned());
    command.push(format!("--socket={}", socket.display()));
    command.push("--user=root".to_owned());
    Ok(command.join(" "))
}
