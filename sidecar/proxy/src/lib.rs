//! The data plane: sessions, backends, execution, console, telemetry.

pub mod admin;
pub mod agent;
pub mod atomic;
mod backend;
mod catalog;
mod charsets;
mod clients;
pub mod config;
mod console;
pub mod discovery;
mod execute;
mod failure;
mod following;
mod frontend;
mod instances;
mod layout;
mod locked;
mod names;
mod net;
mod node;
mod packet_limit;
mod pool;
mod proxy;
mod sequence;
mod server_defaults;
mod session;
pub mod snapshot;
mod snowflake;
mod system;
pub mod telemetry;
mod world;

pub use frontend::serve;
pub use net::ShownCertificate;
pub use proxy::{Proxy, ProxyError};
