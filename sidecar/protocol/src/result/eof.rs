//! The EOF packet, which ends column definitions and rows for clients without `CLIENT_DEPRECATE_EOF`.

use bytes::{BufMut, BytesMut};

use super::ok::{END_TAG, OkPacket};
use crate::capability::{CapabilityFlags, StatusFlags};
use crate::error::{ProtocolError, Result};
use crate::wire::Input;

/// The end of a part of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EofPacket {
    /// How many warnings there are.
    pub warnings: u16,
    /// The session's status.
    pub status: StatusFlags,
}

impl EofPacket {
    /// Reads an EOF packet.
    pub fn decode(payload: &[u8]) -> Result<Self> {
        let mut input = Input(payload);
        if input.u8()? != END_TAG || payload.len() >= 9 {
            return Err(ProtocolError::Malformed("not an EOF packet"));
        }
        let warnings = input.u16()?;
        Ok(Self {
            warnings,
            status: StatusFlags::from_bits_retain(input.u16()?),
        })
    }

    /// Appends the packet.
    pub fn encode(&self, out: &mut BytesMut) {
        out.put_u8(END_TAG);
        out.put_u16_le(self.warnings);
        out.put_u16_le(self.status.bits());
    }
}

/// Reads the packet that ends rows, in the style that `capabilities` name. From
/// an EOF packet, what it does not have is zero or empty.
pub fn decode_end(payload: &[u8], capabilities: CapabilityFlags) -> Result<OkPacket<'_>> {
    if capabilities.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF) {
        return OkPacket::decode(payload, capabilities);
    }
    let EofPacket { warnings, status } = EofPacket::decode(payload)?;
    Ok(OkPacket {
        warnings,
        status,
        ..OkPacket::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_end_is_read() {
        let ok = OkPacket {
            warnings: 2,
            ..OkPacket::default()
        };
        for capabilities in [
            CapabilityFlags::empty(),
            CapabilityFlags::CLIENT_DEPRECATE_EOF,
        ] {
            let mut out = BytesMut::new();
            ok.encode_end(capabilities, &mut out);
            assert_eq!(decode_end(&out, capabilities), Ok(ok));
        }
    }

    #[test]
    fn a_long_packet_is_no_eof() {
        assert!(EofPacket::decode(b"\xfe\0\0\0\0\0\0\0\0").is_err());
    }
}
