//! The configuration from the operator: snapshots down, health up.

mod convert;
mod following;
mod gateway;
mod reporting;

pub use convert::OwnServer;
pub use following::follow;
pub use gateway::show;
pub use reporting::{Certificates, Reporting};
