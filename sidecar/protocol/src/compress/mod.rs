//! The compressed protocol: packets that hold a piece of the plain stream each, deflated or as
//! it is, under sequence numbers of their own.

mod deflate;
mod inflate;

use bytes::{Buf as _, BytesMut};

use self::inflate::Inflate;
use crate::capability::CapabilityFlags;
use crate::error::{ProtocolError, Result};

/// How what is sent is compressed. What is received says itself whether it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// DEFLATE, as zlib frames it.
    Zlib,
    /// Zstandard, at the level that the client chose.
    Zstd {
        /// 1 to 22.
        level: u8,
    },
}

impl Compression {
    /// What was agreed on, with the level that the client gave for Zstandard. Where it named
    /// both, MySQL takes zlib.
    #[must_use]
    pub fn agreed(capabilities: CapabilityFlags, level: u8) -> Option<Self> {
        if capabilities.contains(CapabilityFlags::CLIENT_COMPRESS) {
            return Some(Self::Zlib);
        }
        capabilities
            .contains(CapabilityFlags::CLIENT_ZSTD_COMPRESSION_ALGORITHM)
            .then_some(Self::Zstd { level })
    }
}

/// The length of a compressed packet's header: length, number, length before compression.
const HEADER: usize = 7;
/// MySQL's `MIN_COMPRESS_LENGTH`: less is sent as it is.
const WORTHWHILE: usize = 50;
/// What is compressed at once. Each piece takes memory twice, and the peer may wait for none
/// larger than 16 MiB.
const PIECE: usize = 256 << 10;

/// One side of a compressed connection.
#[derive(Debug)]
pub struct CompressedCodec {
    compression: Compression,
    sequence: u8,
    open: Option<Open>,
    deflated: Vec<u8>,
}

/// The packet of which a part was read.
#[derive(Debug)]
struct Open {
    /// So many of its bytes are still to come.
    coming: usize,
    /// `None`: it holds plain bytes.
    inflate: Option<Inflate>,
}

impl CompressedCodec {
    /// A connection on which nothing was sent yet.
    #[must_use]
    pub fn new(compression: Compression) -> Self {
        Self {
            compression,
            sequence: 0,
            open: None,
            deflated: Vec::new(),
        }
    }

    /// Starts a new command. `ahead`: its first bytes came with those of the one before.
    pub fn restart(&mut self, ahead: bool) {
        self.sequence = u8::from(ahead);
    }

    /// Takes plain bytes out of what was received, at most so many: a packet of a few bytes may
    /// hold millions. Answers whether there were any; if not, more must be received.
    pub fn decode(&mut self, raw: &mut BytesMut, out: &mut BytesMut, most: usize) -> Result<bool> {
        loop {
            let open = match &mut self.open {
                Some(open) => open,
                None => match self.begin(raw)? {
                    Some(open) => self.open.insert(open),
                    None => return Ok(false),
                },
            };
            let here = open.coming.min(raw.len());
            let before = out.len();
            let (used, over) = match &mut open.inflate {
                None => {
                    let used = here.min(most);
                    out.extend_from_slice(&raw[..used]);
                    (used, used == open.coming)
                }
                Some(inflate) => {
                    let used = inflate.run(&raw[..here], out, most)?;
                    (used, inflate.is_over())
                }
            };
            raw.advance(used);
            open.coming -= used;
            let (produced, coming) = (out.len() > before, open.coming);
            if over {
                if coming > 0 {
                    return Err(ProtocolError::Uncompressible);
                }
                self.open = None;
            } else if coming == 0 && !produced {
                // The packet is used up, and holds less than it said.
                return Err(ProtocolError::Uncompressible);
            }
            if produced {
                return Ok(true);
            }
            if !over && used == 0 {
                return Ok(false);
            }
        }
    }

    fn begin(&mut self, raw: &mut BytesMut) -> Result<Option<Open>> {
        let Some(&[a, b, c, sequence, d, e, f]) = raw.first_chunk::<HEADER>() else {
            return Ok(None);
        };
        if sequence != self.sequence {
            return Err(ProtocolError::OutOfOrder {
                expected: self.sequence,
                got: sequence,
            });
        }
        self.sequence = sequence.wrapping_add(1);
        raw.advance(HEADER);
        let length = |[a, b, c]: [u8; 3]| u32::from_le_bytes([a, b, c, 0]) as usize;
        let (coming, plain) = (length([a, b, c]), length([d, e, f]));
        let inflate = match plain {
            0 => None,
            plain => Some(Inflate::new(self.compression, plain)?),
        };
        Ok(Some(Open { coming, inflate }))
    }

    /// Appends `plain` in packets.
    pub fn encode(&mut self, plain: &[u8], out: &mut BytesMut) {
        for piece in plain.chunks(PIECE) {
            self.deflated.clear();
            let pays = piece.len() >= WORTHWHILE
                && deflate::deflate(self.compression, piece, &mut self.deflated)
                && self.deflated.len() < piece.len();
            let (sent, plain) = match pays {
                true => (&self.deflated[..], piece.len()),
                false => (piece, 0),
            };
            out.reserve(HEADER + sent.len());
            out.extend_from_slice(&(sent.len() as u32).to_le_bytes()[..3]);
            out.extend_from_slice(&[self.sequence]);
            out.extend_from_slice(&(plain as u32).to_le_bytes()[..3]);
            out.extend_from_slice(sent);
            self.sequence = self.sequence.wrapping_add(1);
        }
        if self.deflated.capacity() > WORTHWHILE * 100 {
            self.deflated = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BOTH: [Compression; 2] = [Compression::Zlib, Compression::Zstd { level: 3 }];

    fn all(codec: &mut CompressedCodec, wire: &[u8], cut: usize, most: usize) -> Result<Vec<u8>> {
        let (mut raw, mut out) = (BytesMut::new(), BytesMut::new());
        let mut got = Vec::new();
        for piece in wire.chunks(cut) {
            raw.extend_from_slice(piece);
            while codec.decode(&mut raw, &mut out, most)? {
                assert!(out.len() <= most);
                got.extend_from_slice(&out);
                out.clear();
            }
        }
        Ok(got)
    }

    #[test]
    fn what_is_short_or_does_not_shrink_travels_as_it_is() {
        let mut codec = CompressedCodec::new(Compression::Zlib);
        let mut out = BytesMut::new();
        codec.encode(b"\x01\0\0\0\x0e", &mut out);
        assert_eq!(&out[..], b"\x05\0\0\0\0\0\0\x01\0\0\0\x0e");
        out.clear();
        codec.encode(&[7; 50], &mut out);
        assert_eq!(out[3], 1);
        assert_eq!(&out[4..7], b"\x32\0\0");
        assert!(out.len() < 50);
    }

    #[test]
    fn a_large_answer_is_several_packets_and_takes_little_at_a_time() {
        for compression in BOTH {
            let plain: Vec<u8> = (0..3 * PIECE + 1).map(|at| (at / 100) as u8).collect();
            let mut wire = BytesMut::new();
            CompressedCodec::new(compression).encode(&plain, &mut wire);
            assert!(wire.len() < plain.len() / 10);
            let mut codec = CompressedCodec::new(compression);
            assert!(all(&mut codec, &wire, 1000, 4096).unwrap() == plain);
            assert_eq!(codec.sequence, 4);
        }
    }

    #[test]
    fn a_packet_that_holds_more_or_less_than_it_says_is_refused() {
        for compression in BOTH {
            let mut wire = BytesMut::new();
            CompressedCodec::new(compression).encode(&[7; 5000], &mut wire);
            for wrong in [4999_u32, 5001] {
                let mut wire = wire.clone();
                wire[4..7].copy_from_slice(&wrong.to_le_bytes()[..3]);
                let mut codec = CompressedCodec::new(compression);
                let got = all(&mut codec, &wire, 9999, 1 << 20);
                assert_eq!(got, Err(ProtocolError::Uncompressible), "{wrong}");
            }
            let mut garbage = wire.clone();
            garbage[HEADER..].fill(0xA5);
            let mut codec = CompressedCodec::new(compression);
            assert!(all(&mut codec, &garbage, 9999, 1 << 20).is_err());
        }
    }

    #[test]
    fn numbers_are_counted_over_both_directions() {
        let mut server = CompressedCodec::new(Compression::Zlib);
        let (mut raw, mut out) = (BytesMut::new(), BytesMut::new());
        raw.extend_from_slice(b"\x01\0\0\0\0\0\0a\x01\0\0\x01\0\0\0b");
        assert_eq!(server.decode(&mut raw, &mut out, 9), Ok(true));
        assert_eq!(server.decode(&mut raw, &mut out, 9), Ok(true));
        assert_eq!(&out[..], b"ab");
        out.clear();
        server.encode(b"c", &mut out);
        assert_eq!(out[3], 2);
        server.restart(false);
        raw.extend_from_slice(b"\x01\0\0\x03\0\0\0d");
        assert!(matches!(
            server.decode(&mut raw, &mut out, 9),
            Err(ProtocolError::OutOfOrder {
                expected: 0,
                got: 3
            })
        ));
    }

    #[test]
    fn mysqls_own_choice_between_both_is_zlib() {
        let both =
            CapabilityFlags::CLIENT_COMPRESS | CapabilityFlags::CLIENT_ZSTD_COMPRESSION_ALGORITHM;
        assert_eq!(Compression::agreed(both, 9), Some(Compression::Zlib));
        let one = CapabilityFlags::CLIENT_ZSTD_COMPRESSION_ALGORITHM;
        assert_eq!(
            Compression::agreed(one, 9),
            Some(Compression::Zstd { level: 9 })
        );
        assert_eq!(Compression::agreed(CapabilityFlags::empty(), 9), None);
    }

    proptest! {
        #[test]
        fn what_is_sent_comes_back(
            pieces in prop::collection::vec((any::<u8>(), 0usize..3000), 0..6),
            cut in 1usize..2000,
            zstd: bool,
        ) {
            let compression = BOTH[usize::from(zstd)];
            let mut plain = Vec::new();
            let mut wire = BytesMut::new();
            let mut sender = CompressedCodec::new(compression);
            for (byte, length) in pieces {
                let piece = vec![byte; length];
                sender.encode(&piece, &mut wire);
                plain.extend(piece);
            }
            let mut receiver = CompressedCodec::new(compression);
            prop_assert_eq!(all(&mut receiver, &wire, cut, 700).unwrap(), plain);
        }

        #[test]
        fn no_bytes_make_it_panic(wire: Vec<u8>, zstd: bool) {
            let mut codec = CompressedCodec::new(BOTH[usize::from(zstd)]);
            let _ = all(&mut codec, &wire, 9, 100);
        }
    }
}
