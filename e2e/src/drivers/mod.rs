//! The drivers' own test suites, on plain MySQL and through the sidecar: whatever passes there
//! has to pass here.

mod comparison;
mod refusals;
mod suite;
mod table;
mod target;
mod verdicts;

pub use comparison::{Comparison, Difference};
pub use refusals::Refusals;
pub use suite::Suite;
pub use table::write_table;
pub use target::Side;
pub use verdicts::{Verdict, Verdicts};
