//! Connect attributes: what a client says about itself, such as its program's name.

use bytes::BytesMut;

use crate::error::Result;
use crate::wire::{Input, put_lenenc, put_lenenc_bytes};

/// Pairs of keys and values, still encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Attributes<'a>(pub(super) &'a [u8]);

impl<'a> Attributes<'a> {
    /// The pairs, each an error where it is malformed, after which there are no more.
    pub fn iter(self) -> impl Iterator<Item = Result<(&'a [u8], &'a [u8])>> {
        let mut input = Input(self.0);
        std::iter::from_fn(move || {
            if input.is_empty() {
                return None;
            }
            let pair = input
                .lenenc_bytes()
                .and_then(|key| Ok((key, input.lenenc_bytes()?)));
            if pair.is_err() {
                input = Input(&[]);
            }
            Some(pair)
        })
    }

    /// Takes the attributes with their length from a packet. Clients leave the
    /// length out where there are none, so a packet that ends here has none.
    pub(crate) fn take(input: &mut Input<'a>) -> Result<Self> {
        if input.is_empty() {
            return Ok(Self::default());
        }
        input.lenenc_bytes().map(Self)
    }

    pub(crate) fn owned(self) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        self.iter()
            .map(|pair| pair.map(|(key, value)| (key.to_vec(), value.to_vec())))
            .collect()
    }

    pub(crate) fn encode(self, out: &mut BytesMut) {
        put_lenenc_bytes(self.0, out);
    }
}

/// Writes pairs as [`Attributes`] reads them.
pub(crate) fn encode_pairs(pairs: &[(Vec<u8>, Vec<u8>)], out: &mut BytesMut) {
    for (key, value) in pairs {
        put_lenenc(key.len() as u64, out);
        out.extend_from_slice(key);
        put_lenenc_bytes(value, out);
    }
}

impl<'a> From<&'a [u8]> for Attributes<'a> {
    /// Pairs that are encoded already.
    fn from(encoded: &'a [u8]) -> Self {
        Self(encoded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_come_back() {
        let pairs = vec![
            (b"_client_name".to_vec(), b"libmysql".to_vec()),
            (b"program_name".to_vec(), vec![b'x'; 300]),
        ];
        let mut out = BytesMut::new();
        encode_pairs(&pairs, &mut out);
        assert_eq!(Attributes(&out).owned(), Ok(pairs));
    }

    #[test]
    fn a_malformed_pair_is_the_last() {
        let mut pairs = Attributes(b"\x01k\x01v\x01k\x09v").iter();
        assert_eq!(pairs.next(), Some(Ok((&b"k"[..], &b"v"[..]))));
        assert!(pairs.next().unwrap().is_err());
        assert!(pairs.next().is_none());
    }
}
