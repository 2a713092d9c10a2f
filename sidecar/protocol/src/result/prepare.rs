//! The head of PREPARE's answer; definitions of parameters and columns follow it.

use bytes::{BufMut, BytesMut};

use crate::error::{ProtocolError, Result};
use crate::wire::Input;

/// A statement that was prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrepareOk {
    /// The statement's id on its connection.
    pub statement: u32,
    /// How many columns it answers with.
    pub columns: u16,
    /// How many parameters it takes.
    pub params: u16,
    /// How many warnings preparing it gave.
    pub warnings: u16,
}

impl PrepareOk {
    /// Reads the packet.
    pub fn decode(payload: &[u8]) -> Result<Self> {
        let mut input = Input(payload);
        if input.u8()? != 0 {
            return Err(ProtocolError::Malformed("not an answer to PREPARE"));
        }
        let statement = input.u32()?;
        let columns = input.u16()?;
        let params = input.u16()?;
        input.u8()?;
        // Servers from before 5.0 leave the warnings out.
        let warnings = if input.is_empty() { 0 } else { input.u16()? };
        Ok(Self {
            statement,
            columns,
            params,
            warnings,
        })
    }

    /// Appends the packet.
    pub fn encode(&self, out: &mut BytesMut) {
        out.put_u8(0);
        out.put_u32_le(self.statement);
        out.put_u16_le(self.columns);
        out.put_u16_le(self.params);
        out.put_u8(0);
        out.put_u16_le(self.warnings);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_comes_back() {
        let sent = PrepareOk {
            statement: 7,
            columns: 2,
            params: 1,
            warnings: 0,
        };
        let mut out = BytesMut::new();
        sent.encode(&mut out);
        assert_eq!(&out[..], b"\0\x07\0\0\0\x02\0\x01\0\0\0\0");
        assert_eq!(PrepareOk::decode(&out), Ok(sent));
    }
}
