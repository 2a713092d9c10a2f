//! The packets that open a connection: the server's greeting and the client's answer.

mod attributes;
mod hello;
mod response;
mod ssl_request;

pub use attributes::Attributes;
pub(crate) use attributes::encode_pairs;
pub use hello::Greeting;
pub use response::HandshakeResponse;
pub(crate) use response::{put_short_auth, take_short_auth};
pub use ssl_request::SslRequest;

/// The length of the nonce that a password is scrambled with.
pub(crate) const NONCE: usize = 20;

const PROTOCOL_VERSION: u8 = 10;
