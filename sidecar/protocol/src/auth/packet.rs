//! The two packets in which a server goes on with a login.

use bytes::{BufMut, BytesMut};

use crate::error::{ProtocolError, Result};
use crate::greeting::NONCE;
use crate::wire::{Input, put_nul_bytes};

/// A server's wish to authenticate by another plugin, with a nonce of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AuthSwitch<'a> {
    pub(crate) plugin: &'a [u8],
    pub(crate) data: &'a [u8],
}

impl<'a> AuthSwitch<'a> {
    pub(crate) const TAG: u8 = 0xFE;

    pub(crate) fn decode(payload: &'a [u8]) -> Result<Self> {
        let mut input = Input(payload);
        if input.u8()? != Self::TAG {
            return Err(ProtocolError::Malformed("not an authentication switch"));
        }
        let plugin = input.nul_bytes()?;
        let data = input.rest();
        Ok(Self {
            plugin,
            data: data.strip_suffix(b"\0").unwrap_or(data),
        })
    }

    pub(crate) fn nonce(&self) -> Result<[u8; NONCE]> {
        self.data
            .try_into()
            .map_err(|_| ProtocolError::Malformed("a nonce of a wrong length"))
    }

    pub(crate) fn encode(&self, out: &mut BytesMut) {
        out.put_u8(Self::TAG);
        put_nul_bytes(self.plugin, out);
        put_nul_bytes(self.data, out);
    }
}

/// The first byte of a packet that a plugin's data are in.
pub(crate) const MORE_DATA: u8 = 0x01;

/// A plugin's data, without the byte in front of them.
pub(crate) fn decode_more_data(payload: &[u8]) -> Result<&[u8]> {
    match payload {
        [MORE_DATA, data @ ..] => Ok(data),
        _ => Err(ProtocolError::Malformed("not a part of an authentication")),
    }
}

pub(crate) fn encode_more_data(data: &[u8], out: &mut BytesMut) {
    out.put_u8(MORE_DATA);
    out.put_slice(data);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_comes_back() {
        let sent = AuthSwitch {
            plugin: b"caching_sha2_password",
            data: b"abcdefghijklmnopqrst",
        };
        let mut out = BytesMut::new();
        sent.encode(&mut out);
        assert_eq!(
            &out[..],
            b"\xfecaching_sha2_password\0abcdefghijklmnopqrst\0"
        );
        let got = AuthSwitch::decode(&out).unwrap();
        assert_eq!(got, sent);
        assert_eq!(got.nonce(), Ok(*b"abcdefghijklmnopqrst"));
        assert!(
            AuthSwitch {
                data: b"short",
                ..sent
            }
            .nonce()
            .is_err()
        );
    }
}
