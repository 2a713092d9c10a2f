//! Compressed bytes come out the same however they are cut, and never more at a time than is asked
//! for; what is compressed comes back.
#![no_main]

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use remora_protocol::{CompressedCodec, Compression};

/// What comes out, or that it is refused.
fn inflated(compression: Compression, wire: &[u8], cut: usize, most: usize) -> Option<Vec<u8>> {
    let mut codec = CompressedCodec::new(compression);
    let (mut raw, mut out, mut all) = (BytesMut::new(), BytesMut::new(), Vec::new());
    for piece in wire.chunks(cut) {
        raw.extend_from_slice(piece);
        while codec.decode(&mut raw, &mut out, most).ok()? {
            assert!(!out.is_empty() && out.len() <= most);
            all.extend_from_slice(&out);
            out.clear();
            if all.len() > 1 << 20 {
                return Some(all);
            }
        }
    }
    Some(all)
}

fuzz_target!(|input: (bool, u8, u8, Vec<u8>)| {
    let (zstd, cut, most, bytes) = input;
    let compression = match zstd {
        true => Compression::Zstd { level: 1 + cut % 5 },
        false => Compression::Zlib,
    };
    let (cut, most) = (1 + usize::from(cut), 1 + usize::from(most));
    let whole = inflated(compression, &bytes, bytes.len().max(1), 1 << 16);
    let pieces = inflated(compression, &bytes, cut, most);
    if let (Some(whole), Some(pieces)) = (whole, pieces) {
        let length = whole.len().min(pieces.len());
        assert_eq!(whole[..length], pieces[..length]);
    }
    let mut wire = BytesMut::new();
    CompressedCodec::new(compression).encode(&bytes, &mut wire);
    assert_eq!(inflated(compression, &wire, cut, most).as_deref(), Some(&bytes[..]));
});
