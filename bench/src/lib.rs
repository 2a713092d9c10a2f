//! The load tests: Remora beside its peers, interleaved in one run.

mod contender;
mod results;
mod stage;
mod sysbench;

pub use contender::{Contender, Haproxy};
pub use results::{Results, Row};
pub use stage::Stage;
pub use sysbench::{Protocol, Sample, Sysbench};
