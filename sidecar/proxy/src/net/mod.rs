//! Bytes on sockets: one stream type for TCP, Unix sockets and TLS, and a lazily sized buffer.

mod channel;
mod spare;
mod squeezed;
mod stream;
mod tls;

pub(crate) use channel::Channel;
pub(crate) use stream::Stream;
pub use tls::ShownCertificate;
pub(crate) use tls::{TlsError, accept_any_server, verify_server};
