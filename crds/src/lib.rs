//! The vocabulary of both sides: the `ShardingCluster` resource that people apply, the
//! `Topology` that the operator (or a file) adds to it, and the layout both agree on.
//!
//! Pure types and pure functions: no I/O, no clock.

mod cluster;
pub mod layout;
mod topology;

pub use cluster::*;
pub use topology::*;
