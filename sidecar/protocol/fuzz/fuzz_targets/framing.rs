//! A stream cut anywhere gives the packets of the stream in one piece.
#![no_main]

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use remora_protocol::{PacketCodec, Result, payload};

const LIMIT: usize = 4096;

/// The packets of `pieces`, up to the first error.
fn packets<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<Vec<u8>>, Result<()>) {
    let (mut codec, mut buf, mut got) = (PacketCodec::new(LIMIT), BytesMut::new(), Vec::new());
    for piece in pieces {
        buf.extend_from_slice(piece);
        loop {
            match codec.decode(&mut buf) {
                Ok(Some(packet)) => got.push(packet.to_vec()),
                Ok(None) => break,
                Err(error) => return (got, Err(error)),
            }
        }
        assert!(codec.missing(&buf) > 0);
    }
    (got, Ok(()))
}

fuzz_target!(|input: (usize, &[u8])| {
    let (cut, stream) = input;
    let whole = packets(std::iter::once(stream));
    assert_eq!(packets(stream.chunks(cut % 64 + 1)), whole);
    let mut codec = PacketCodec::new(LIMIT);
    let mut wire = BytesMut::new();
    for packet in &whole.0 {
        codec.encode(packet, &mut wire);
    }
    assert_eq!(&wire[..], &stream[..wire.len()]);
    let _ = payload(stream);
});
