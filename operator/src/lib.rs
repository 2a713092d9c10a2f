//! The control plane: reconcile loops, injector webhook, discovery server.
//!
//! A manifest's way: [`reconcile`](mod@reconcile) observes, [`classify`](mod@classify) decides
//! (a pure function), `act` does it, status and events tell. [`directory`] tells sidecars.

pub mod access;
pub mod accounts;
pub mod act;
pub mod build;
pub mod ca_bundle;
pub mod certificates;
pub mod check;
pub mod classify;
mod column_keys;
pub mod conditions;
pub mod copies;
pub mod crowd;
pub mod directory;
#[cfg(test)]
mod fake;
#[cfg(test)]
mod fixtures;
pub mod injector;
pub mod lease;
pub mod metrics;
pub mod names;
pub mod observe;
pub mod probes;
pub mod reconcile;
pub mod reports;
pub mod run;
pub mod secrets;
pub mod settings;
pub mod shares;
pub mod watched;
pub mod webhook;

pub use run::{RunError, run};
pub use settings::{LogFormat, Settings};
