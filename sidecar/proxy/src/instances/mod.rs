//! The MySQL servers: which of them is well, how far behind, and which answers a read.
//!
//! What is known of a server outlives snapshots and is shared by all sessions. Sessions read it
//! without a lock; a task for each server (`monitor`) and failures write it.

mod balance;
mod breaker;
mod budget;
mod fleet;
mod freshness;
mod gtid;
mod monitor;
mod registry;
mod server;

pub(crate) use breaker::State as BreakerState;
pub(crate) use fleet::{Fleet, Member, Policy};
pub(crate) use gtid::GtidSet;
pub(crate) use registry::Servers;
pub(crate) use server::{Health, Server, SocketGuard};
