//! `caching_sha2_password`, the only plugin that MySQL 9 has, and those of older clients.
//!
//! A client proves its password by a scramble (the fast way). Where the server
//! cannot judge that, it asks for the password itself, over a secure transport
//! as it is, else encrypted by RSA (the full way).

mod exchange;
mod packet;
mod password;
mod plugin;
mod rsa;
mod scramble;

pub(crate) use exchange::{Exchange, Progress};
pub(crate) use packet::{AuthSwitch, decode_more_data, encode_more_data};
pub use password::Password;
pub(crate) use plugin::{Plugin, is_right_native};
pub(crate) use rsa::public_key_der;
pub use rsa::{RsaKey, RsaKeyError};
pub(crate) use scramble::new_nonce;

/// The plugin's name.
pub(crate) const PLUGIN: &[u8] = b"caching_sha2_password";

/// What the server and the client tell each other, in packets of one byte.
mod signal {
    /// From the client: send the public key.
    pub(super) const KEY_PLEASE: u8 = 2;
    /// From the server: the scramble was right.
    pub(super) const FAST_OK: u8 = 3;
    /// From the server: send the password.
    pub(super) const FULL: u8 = 4;
}
