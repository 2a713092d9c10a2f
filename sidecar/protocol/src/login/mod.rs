//! Logging in, as two state machines: [`ServerLogin`] lets a client in,
//! [`ClientLogin`] gets into MySQL.
//!
//! Both are driven in the same way: give them each packet that arrives, write
//! what they append to the output, and do what the returned step says.

mod client;
mod client_options;
mod server;
mod server_error;
mod server_options;
#[cfg(test)]
mod tests;

pub use client::{ClientLogin, ClientStep, ServerIdentity};
pub use client_options::{ClientOptions, LoginError, TlsMode};
pub use server::ServerLogin;
pub use server_options::{ClientIdentity, Credential, ServerOptions, ServerStep};

/// The largest packet to accept before a client is authenticated. Connect
/// attributes are the largest part of a login; MySQL takes at most 64 KiB of them.
pub const MAX_LOGIN_PACKET: usize = 128 << 10;
