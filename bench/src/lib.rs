//! The load tests: Remora beside its peers, interleaved in one run.

pub mod busy;
mod contender;
pub mod hostile;
pub mod idle;
pub mod large;
pub mod load;
mod page;
mod results;
mod stage;
mod sysbench;

pub use contender::{Contender, Haproxy};
pub use page::{Part, put};
pub use results::{Results, Row, Spread};
pub use stage::Stage;
pub use sysbench::{Protocol, Sample, Sysbench};

/// How long and how often is measured.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Short runs on few rows.
    pub quick: bool,
    /// How many rounds.
    pub rounds: usize,
}

/// Tells whoever waits for the numbers.
#[expect(clippy::print_stdout, reason = "somebody waits for the numbers")]
pub fn say(line: &str) {
    println!("{line}");
}
