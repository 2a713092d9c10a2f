//! The configuration from the operator: snapshots down, health up.

mod convert;
mod following;
mod reporting;

pub use following::follow;
pub use reporting::Reporting;
