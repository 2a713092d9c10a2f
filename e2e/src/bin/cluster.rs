//! A real Kubernetes by hand: `cluster up`, `cluster down`, and programs that speak to it.

use std::os::unix::process::CommandExt as _;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};
use remora_e2e::kubernetes::{Images, Kubernetes, end_all};

#[derive(Parser)]
#[command(about = "A Kubernetes of one node, in namespaces of its own.")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Brings it up, or says where it is.
    Up,
    /// Builds the images and gives them to it.
    Images,
    /// Ends every node of this user and removes what it wrote.
    Down,
    /// Runs kubectl, helm, helm3, or (inside the node) ctr or another program of the node.
    Run {
        /// The program.
        program: String,
        /// Its arguments.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

fn main() -> Result<ExitCode> {
    match Arguments::parse().command {
        Command::Up => {
            let node = match Kubernetes::running()? {
                Some(node) => node,
                None => Kubernetes::start_to_stay(|step| eprintln!("          {step}"))?,
            };
            eprintln!(
                "Kubernetes is ready: export KUBECONFIG={}",
                node.kubeconfig().display()
            );
        }
        Command::Images => there()?.import(&Images::build()?)?,
        Command::Down => end_all()?,
        Command::Run { program, arguments } => {
            let node = there()?;
            let mut command = match program.as_str() {
                "kubectl" | "helm" | "helm3" => node.command(&program),
                _ => node.inside(&program)?,
            };
            command
                .args(arguments)
                .stdin(std::process::Stdio::inherit());
            return Err(command.exec()).with_context(|| format!("cannot run {program}"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn there() -> Result<Kubernetes> {
    Kubernetes::running()?.context("no Kubernetes is running here: `e2e/cluster up` starts one")
}
