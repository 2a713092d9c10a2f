//! The control channel: the operator streams snapshots, sidecars report health.
//!
//! The operator implements [`Directory`] and calls [`serve`]; a sidecar runs [`Client::watch`]
//! and [`Client::report`]. Both speak gRPC over TLS; the sidecar proves who it is by a service
//! account token of its own [`AUDIENCE`].

mod backoff;
mod client;
mod epochs;
mod file;
mod health;
mod orders;
mod proto;
mod server;
mod snapshot;
mod trust;

pub use client::{Client, ClientConfig};
pub use epochs::{EpochGuard, StaleEpoch};
pub use file::SnapshotFile;
pub use health::{AgentHealth, Health, ReplicationHealth, ServerData};
pub use orders::{Account, AgentOrders, LayoutOrder, Part, ReplicationOrder};
pub use proto::Role;
pub use server::{Directory, Refusal, Report, Snapshots, WatchedCluster, serve};
pub use snapshot::{Identity, MalformedSnapshot, Snapshot};
pub use trust::{Fingerprint, GatewayCertificate, ServerTls, Trust, fingerprint, fingerprints};

/// The audience of the tokens that sidecars present: they open nothing else.
pub const AUDIENCE: &str = "remora.dev/discovery";
