//! The server's side of `caching_sha2_password`.

use std::sync::Arc;

use bytes::BytesMut;

use super::scramble::is_right;
use super::{Password, RsaKey, encode_more_data, signal};
use crate::error::{ProtocolError, Result};
use crate::frame::PacketCodec;
use crate::greeting::NONCE;

/// One client's proof of its password, packet by packet.
#[derive(Debug)]
pub(crate) struct Exchange {
    nonce: [u8; NONCE],
    secure: bool,
    rsa: Option<Arc<RsaKey>>,
    awaits: Awaits,
}

/// What the client's next packet must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaits {
    /// Its password, or, over an insecure transport, a request for the key.
    Password,
    /// Its password, encrypted.
    Encrypted,
}

/// How the exchange stands.
#[derive(Debug)]
pub(crate) enum Progress {
    /// The client's turn.
    Continue,
    /// The scramble is right.
    Right,
    /// The client gave this password.
    Given(Password),
    /// The client has not the password, or cannot send it. Whether it used one
    /// is part of the error's text.
    Wrong { used_password: bool },
}

/// MySQL's own limit for passwords of this plugin.
const MAX_PASSWORD: usize = 256;

impl Exchange {
    pub(crate) fn new(nonce: [u8; NONCE], secure: bool, rsa: Option<Arc<RsaKey>>) -> Self {
        Self {
            nonce,
            secure,
            rsa,
            awaits: Awaits::Password,
        }
    }

    /// Whether the client's first answer says that it has no password: clients
    /// send nothing, or a NUL.
    pub(crate) fn is_empty(answer: &[u8]) -> bool {
        matches!(answer, [] | [0])
    }

    /// Judges a first answer by a password that is known.
    pub(crate) fn judge(
        &self,
        answer: &[u8],
        password: &Password,
        codec: &mut PacketCodec,
        out: &mut BytesMut,
    ) -> Progress {
        let used_password = !Self::is_empty(answer);
        if !used_password && password.is_empty() {
            return Progress::Right;
        }
        if used_password && is_right(answer, &self.nonce, password.expose()) {
            codec.encode_with(out, |payload| encode_more_data(&[signal::FAST_OK], payload));
            return Progress::Right;
        }
        Progress::Wrong { used_password }
    }

    /// Asks the client for the password itself, which [`Exchange::feed`] then takes.
    pub(crate) fn ask(answer: &[u8], codec: &mut PacketCodec, out: &mut BytesMut) -> Progress {
        if Self::is_empty(answer) {
            return Progress::Given(Password::default());
        }
        codec.encode_with(out, |payload| encode_more_data(&[signal::FULL], payload));
        Progress::Continue
    }

    /// Takes the password that a client gave as it is.
    pub(crate) fn given(answer: &[u8]) -> Progress {
        limited(Password::new(answer.strip_suffix(b"\0").unwrap_or(answer)))
    }

    /// Takes the client's next packet.
    pub(crate) fn feed(
        &mut self,
        payload: &[u8],
        codec: &mut PacketCodec,
        out: &mut BytesMut,
    ) -> Result<Progress> {
        let wrong = Progress::Wrong {
            used_password: true,
        };
        match (self.awaits, self.secure, &self.rsa) {
            (Awaits::Password, true, _) => {
                let password = payload
                    .strip_suffix(b"\0")
                    .ok_or(ProtocolError::Malformed("a password has no end"))?;
                Ok(limited(Password::new(password)))
            }
            (Awaits::Password, false, Some(rsa)) if payload == [signal::KEY_PLEASE] => {
                codec.encode_with(out, |answer| encode_more_data(rsa.public_pem(), answer));
                self.awaits = Awaits::Encrypted;
                Ok(Progress::Continue)
            }
            // A client that has the public key from a file sends its password at once.
            (_, false, Some(rsa)) => Ok(rsa.decrypt(payload, &self.nonce).map_or(wrong, limited)),
            (_, _, None) | (Awaits::Encrypted, true, _) => Ok(wrong),
        }
    }
}

fn limited(password: Password) -> Progress {
    if password.expose().len() > MAX_PASSWORD {
        return Progress::Wrong {
            used_password: true,
        };
    }
    Progress::Given(password)
}
