//! The protocol's primitive types: little-endian integers and the three kinds of strings.

use bytes::{BufMut, BytesMut};

use crate::error::{ProtocolError, Result};

/// A cursor over the payload of one packet. Each method takes something from
/// its front or fails; none of them allocates.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Input<'a>(pub(crate) &'a [u8]);

const SHORT: ProtocolError = ProtocolError::Malformed("the packet ends too early");

impl<'a> Input<'a> {
    pub(crate) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(count).ok_or(SHORT)?;
        self.0 = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (head, tail) = self.0.split_first_chunk::<N>().ok_or(SHORT)?;
        self.0 = tail;
        Ok(*head)
    }

    pub(crate) fn u8(&mut self) -> Result<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// A length-encoded integer.
    pub(crate) fn lenenc(&mut self) -> Result<u64> {
        let (value, used) = get_lenenc(self.0)?;
        self.0 = &self.0[used..];
        Ok(value)
    }

    /// A string after a length-encoded length.
    pub(crate) fn lenenc_bytes(&mut self) -> Result<&'a [u8]> {
        let length = usize::try_from(self.lenenc()?).map_err(|_| SHORT)?;
        self.bytes(length)
    }

    /// A string up to a NUL, which is taken too.
    pub(crate) fn nul_bytes(&mut self) -> Result<&'a [u8]> {
        let end =
            memchr::memchr(0, self.0).ok_or(ProtocolError::Malformed("a string has no end"))?;
        let text = &self.0[..end];
        self.0 = &self.0[end + 1..];
        Ok(text)
    }

    /// As [`Input::nul_bytes`], but the packet's end is an end too: some clients
    /// leave the last NUL out, and MySQL accepts it.
    pub(crate) fn nul_or_rest(&mut self) -> &'a [u8] {
        self.nul_bytes().unwrap_or_else(|_| self.rest())
    }
}

/// Reads a length-encoded integer at the front of `input`: its value and how
/// many bytes it took. The prefixes for NULL (`0xFB`) and ERR (`0xFF`) are no integers.
pub fn get_lenenc(input: &[u8]) -> Result<(u64, usize)> {
    let Some((&first, tail)) = input.split_first() else {
        return Err(SHORT);
    };
    let width = match first {
        0xFC => 2,
        0xFD => 3,
        0xFE => 8,
        0xFB | 0xFF => return Err(ProtocolError::Malformed("not a length-encoded integer")),
        small => return Ok((u64::from(small), 1)),
    };
    let digits = tail.get(..width).ok_or(SHORT)?;
    let mut value = [0; 8];
    value[..width].copy_from_slice(digits);
    Ok((u64::from_le_bytes(value), width + 1))
}

/// Appends `value` as a length-encoded integer in its shortest form.
pub fn put_lenenc(value: u64, out: &mut BytesMut) {
    match value {
        0..=0xFA => out.put_u8(value as u8),
        0xFB..=0xFFFF => {
            out.put_u8(0xFC);
            out.put_u16_le(value as u16);
        }
        0x1_0000..=0xFF_FFFF => {
            out.put_u8(0xFD);
            out.put_uint_le(value, 3);
        }
        _ => {
            out.put_u8(0xFE);
            out.put_u64_le(value);
        }
    }
}

/// Appends `bytes` after their length-encoded length.
pub fn put_lenenc_bytes(bytes: &[u8], out: &mut BytesMut) {
    put_lenenc(bytes.len() as u64, out);
    out.put_slice(bytes);
}

pub(crate) fn put_nul_bytes(bytes: &[u8], out: &mut BytesMut) {
    out.put_slice(bytes);
    out.put_u8(0);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_length_encoded_integer_comes_back(value: u64, tail: Vec<u8>) {
            let mut out = BytesMut::new();
            put_lenenc(value, &mut out);
            let width = out.len();
            out.extend_from_slice(&tail);
            prop_assert_eq!(get_lenenc(&out), Ok((value, width)));
        }
    }

    #[test]
    fn each_width_begins_where_the_smaller_one_ends() {
        let width = |value| {
            let mut out = BytesMut::new();
            put_lenenc(value, &mut out);
            out.len()
        };
        assert_eq!(
            [250, 251, 0xFFFF, 0x1_0000, 0xFF_FFFF, 0x100_0000].map(width),
            [1, 3, 3, 4, 4, 9]
        );
    }

    #[test]
    fn a_claimed_length_beyond_the_packet_is_an_error() {
        let mut input = Input(&[0xFE, 255, 255, 255, 255, 255, 255, 255, 255, 1]);
        assert_eq!(input.lenenc_bytes(), Err(SHORT));
    }

    #[test]
    fn null_and_err_prefixes_are_no_integers() {
        assert!(get_lenenc(&[0xFB]).is_err());
        assert!(get_lenenc(&[0xFF]).is_err());
        assert!(get_lenenc(&[]).is_err());
    }
}
