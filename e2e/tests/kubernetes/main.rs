//! The road on a real Kubernetes. One cluster serves all steps, which run one after the
//! other: what a later one needs, an earlier one made.

#![expect(clippy::print_stdout, reason = "a test runner speaks to its reader")]

mod access;
mod install;
mod journey;
mod leaving;
mod node;
mod private;
mod reads;
mod replicas;
mod rows;
mod shop;
mod sql;
mod survival;
mod trust;
mod upgrades;
mod visitors;
mod volumes;

use std::process::ExitCode;

use journey::Journey;
use remora_e2e::kubernetes::HostState;

fn main() -> ExitCode {
    let host = HostState::observe();
    let mut journey = match Journey::begin() {
        Ok(journey) => journey,
        Err(error) => {
            println!("test a_node_comes_up ... FAILED\n{error:#}");
            println!(
                "test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out"
            );
            return ExitCode::FAILURE;
        }
    };
    node::steps(&mut journey);
    install::steps(&mut journey);
    rows::steps(&mut journey);
    reads::steps(&mut journey);
    replicas::steps(&mut journey);
    private::steps(&mut journey);
    access::steps(&mut journey);
    survival::steps(&mut journey);
    trust::steps(&mut journey);
    leaving::steps(&mut journey);
    replicas::last_steps(&mut journey);
    let verdict = journey.end(host);
    println!("{verdict}");
    if verdict.failed() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}
