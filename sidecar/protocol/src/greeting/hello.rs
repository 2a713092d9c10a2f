//! The server's first packet, `HandshakeV10`.

use bytes::{BufMut, BytesMut};

use super::{NONCE, PROTOCOL_VERSION};
use crate::capability::{CapabilityFlags, StatusFlags};
use crate::error::{ProtocolError, Result};
use crate::wire::{Input, put_nul_bytes};

/// What a server says about itself before anybody logs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting<'a> {
    /// The server's version, `9.7.4` for example.
    pub version: &'a [u8],
    /// The connection's id, as KILL takes it.
    pub connection_id: u32,
    /// What the password is scrambled with.
    pub nonce: [u8; NONCE],
    /// What the server can do.
    pub capabilities: CapabilityFlags,
    /// The server's default collation, its lower byte.
    pub collation: u8,
    /// The session's status at its start.
    pub status: StatusFlags,
    /// The server's default authentication plugin.
    pub plugin: &'a [u8],
}

/// The nonce travels in two parts; this is the length of the first.
const FIRST_PART: usize = 8;

impl<'a> Greeting<'a> {
    /// Reads a greeting.
    pub fn decode(payload: &'a [u8]) -> Result<Self> {
        let mut input = Input(payload);
        if input.u8()? != PROTOCOL_VERSION {
            return Err(ProtocolError::Malformed(
                "not a greeting of protocol version 10",
            ));
        }
        let version = input.nul_bytes()?;
        let connection_id = input.u32()?;
        let mut nonce = [0; NONCE];
        nonce[..FIRST_PART].copy_from_slice(input.bytes(FIRST_PART)?);
        input.u8()?;
        let lower = u32::from(input.u16()?);
        let collation = input.u8()?;
        let status = StatusFlags::from_bits_retain(input.u16()?);
        let upper = u32::from(input.u16()?);
        let nonce_length = usize::from(input.u8()?);
        input.bytes(10)?;
        // The second part is at least 13 bytes, the last of which is a NUL.
        let second = input.bytes(nonce_length.saturating_sub(FIRST_PART).max(13))?;
        nonce[FIRST_PART..].copy_from_slice(&second[..NONCE - FIRST_PART]);
        let capabilities = CapabilityFlags::from_bits_retain(lower | upper << 16);
        let plugin = if capabilities.contains(CapabilityFlags::CLIENT_PLUGIN_AUTH) {
            input.nul_or_rest()
        } else {
            b""
        };
        Ok(Self {
            version,
            connection_id,
            nonce,
            capabilities,
            collation,
            status,
            plugin,
        })
    }

    /// Appends the greeting.
    pub fn encode(&self, out: &mut BytesMut) {
        let capabilities = self.capabilities.bits();
        out.put_u8(PROTOCOL_VERSION);
        put_nul_bytes(self.version, out);
        out.put_u32_le(self.connection_id);
        put_nul_bytes(&self.nonce[..FIRST_PART], out);
        out.put_u16_le(capabilities as u16);
        out.put_u8(self.collation);
        out.put_u16_le(self.status.bits());
        out.put_u16_le((capabilities >> 16) as u16);
        out.put_u8(NONCE as u8 + 1);
        out.put_bytes(0, 10);
        put_nul_bytes(&self.nonce[FIRST_PART..], out);
        put_nul_bytes(self.plugin, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capability::server_offer;

    fn greeting() -> Greeting<'static> {
        Greeting {
            version: b"9.7.4",
            connection_id: 0x0102_0304,
            nonce: *b"abcdefghijklmnopqrst",
            capabilities: server_offer(),
            collation: 255,
            status: StatusFlags::SERVER_STATUS_AUTOCOMMIT,
            plugin: b"caching_sha2_password",
        }
    }

    #[test]
    fn a_greeting_comes_back() {
        let mut out = BytesMut::new();
        greeting().encode(&mut out);
        assert_eq!(Greeting::decode(&out), Ok(greeting()));
    }

    #[test]
    fn the_bytes_are_those_of_mysql() {
        let mut out = BytesMut::new();
        greeting().encode(&mut out);
        let expected = [
            &b"\x0a9.7.4\0\x04\x03\x02\x01abcdefgh\0"[..],
            &(server_offer().bits() as u16).to_le_bytes(),
            b"\xff\x02\x00",
            &((server_offer().bits() >> 16) as u16).to_le_bytes(),
            b"\x15\0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0caching_sha2_password\0",
        ]
        .concat();
        assert_eq!(&out[..], &expected[..]);
    }

    #[test]
    fn every_cut_greeting_is_an_error_until_the_plugins_name() {
        let mut out = BytesMut::new();
        greeting().encode(&mut out);
        let name_at = out.len() - b"caching_sha2_password\0".len();
        for length in 0..name_at {
            assert!(Greeting::decode(&out[..length]).is_err(), "{length}");
        }
    }
}
