//! The vocabulary of both sides: the `ShardingCluster` resource that people apply, the
//! `Topology` that the operator (or a file) adds to it, and the layout both agree on.
//!
//! Pure types and pure functions: no I/O, no clock.

#[expect(
    unreachable_pub,
    reason = "KubeSchema repeats each struct inside a function"
)]
mod cluster;
mod crd;
mod fingerprint;
#[cfg(test)]
mod fixtures;
pub mod layout;
mod reference;
mod topology;
mod validate;

pub use cluster::*;
pub use crd::{crd, crd_yaml};
pub use fingerprint::{Admission, LayoutDocument, layout_fingerprint};
pub use reference::manifest_reference;
pub use topology::*;
pub use validate::{FieldError, validate};
