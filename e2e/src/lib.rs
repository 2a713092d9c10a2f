//! Whole journeys on real MySQL servers and a real Kubernetes, and what brings those up.

pub mod client;
pub mod differential;
pub mod drivers;
pub mod gate;
pub mod kubernetes;
pub mod left_running;
pub mod load;
pub mod mysql;
pub mod patience;
pub mod process;
pub mod replication;
pub mod shards;
pub mod sidecar;
pub mod soak;
