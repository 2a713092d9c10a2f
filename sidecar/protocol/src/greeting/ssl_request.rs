//! The client's wish to go on over TLS: the head of its handshake response, sent alone.

use bytes::{BufMut, BytesMut};

use crate::capability::CapabilityFlags;
use crate::error::{ProtocolError, Result};
use crate::wire::Input;

/// A request for TLS. What follows it on the stream is TLS's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SslRequest {
    /// What the client wants, [`CapabilityFlags::CLIENT_SSL`] among it.
    pub capabilities: CapabilityFlags,
    /// The largest packet that the client sends.
    pub max_packet: u32,
    /// The client's collation, its lower byte.
    pub collation: u8,
}

/// The fixed head that a request and a response share.
const LENGTH: usize = 32;

impl SslRequest {
    /// The request in `payload`, or nothing where it is a whole response.
    pub fn decode(payload: &[u8]) -> Result<Option<Self>> {
        let head = Self::take(&mut Input(payload))?;
        let alone = payload.len() == LENGTH;
        Ok((alone && head.capabilities.contains(CapabilityFlags::CLIENT_SSL)).then_some(head))
    }

    pub(super) fn take(input: &mut Input<'_>) -> Result<Self> {
        let capabilities = CapabilityFlags::from_bits_retain(input.u32()?);
        if !capabilities.contains(CapabilityFlags::CLIENT_PROTOCOL_41) {
            return Err(ProtocolError::Malformed(
                "the client does not speak protocol 4.1",
            ));
        }
        let max_packet = input.u32()?;
        let collation = input.u8()?;
        input.bytes(23)?;
        Ok(Self {
            capabilities,
            max_packet,
            collation,
        })
    }

    /// Appends the request.
    pub fn encode(&self, out: &mut BytesMut) {
        out.put_u32_le(self.capabilities.bits());
        out.put_u32_le(self.max_packet);
        out.put_u8(self.collation);
        out.put_bytes(0, 23);
    }
}
