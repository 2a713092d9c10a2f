//! The ERR packet: number, SQLSTATE and text of an error.

use std::borrow::Cow;

use bytes::{BufMut, BytesMut};

use crate::error::{ProtocolError, Result};
use crate::wire::Input;

/// An error as MySQL reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrPacket<'a> {
    /// The error's number, 1045 for example.
    pub code: u16,
    /// Its SQLSTATE.
    pub state: [u8; 5],
    /// Its text, in the session's character set.
    pub message: Cow<'a, [u8]>,
}

/// The SQLSTATE of errors that have none of their own.
const GENERAL: [u8; 5] = *b"HY000";

impl<'a> ErrPacket<'a> {
    pub(crate) const TAG: u8 = 0xFF;

    /// An error of the sidecar's own.
    #[must_use]
    pub fn new(code: u16, state: [u8; 5], message: impl Into<Cow<'a, str>>) -> Self {
        let message = match message.into() {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        };
        Self {
            code,
            state,
            message,
        }
    }

    /// Reads an ERR packet. A server that refuses a connection before the
    /// greeting sends no SQLSTATE; it then is `HY000`.
    pub fn decode(payload: &'a [u8]) -> Result<Self> {
        let mut input = Input(payload);
        if input.u8()? != Self::TAG {
            return Err(ProtocolError::Malformed("not an ERR packet"));
        }
        let code = input.u16()?;
        let rest = input.rest();
        let (state, message) = match rest {
            [b'#', a, b, c, d, e, message @ ..] => ([*a, *b, *c, *d, *e], message),
            message => (GENERAL, message),
        };
        Ok(Self {
            code,
            state,
            message: Cow::Borrowed(message),
        })
    }

    /// Appends the packet.
    pub fn encode(&self, out: &mut BytesMut) {
        out.put_u8(Self::TAG);
        out.put_u16_le(self.code);
        out.put_u8(b'#');
        out.put_slice(&self.state);
        out.put_slice(&self.message);
    }

    /// The same error, free of the packet that it was read from.
    #[must_use]
    pub fn into_owned(self) -> ErrPacket<'static> {
        ErrPacket {
            message: Cow::Owned(self.message.into_owned()),
            ..self
        }
    }
}

impl std::fmt::Display for ErrPacket<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = String::from_utf8_lossy(&self.state);
        let message = String::from_utf8_lossy(&self.message);
        write!(f, "{} ({state}): {message}", self.code)
    }
}

impl std::error::Error for ErrPacket<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_comes_back() {
        let sent = ErrPacket::new(1146, *b"42S02", "Table 'shop.t' doesn't exist");
        let mut out = BytesMut::new();
        sent.encode(&mut out);
        assert_eq!(&out[..9], b"\xff\x7a\x04#42S02");
        assert_eq!(ErrPacket::decode(&out), Ok(sent.clone()));
        assert_eq!(
            sent.to_string(),
            "1146 (42S02): Table 'shop.t' doesn't exist"
        );
    }

    #[test]
    fn an_error_before_the_greeting_has_no_state() {
        let got = ErrPacket::decode(b"\xff\x10\x04Too many connections").unwrap();
        assert_eq!(got, ErrPacket::new(1040, *b"HY000", "Too many connections"));
    }
}
