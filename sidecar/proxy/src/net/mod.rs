//! Bytes on sockets: one stream type for TCP, Unix sockets and TLS, and a lazily sized buffer.

mod channel;
mod stream;
mod tls;

pub use channel::Channel;
pub use stream::Stream;
pub use tls::{TlsError, accept_any_server, self_made_server_config, verify_server};
