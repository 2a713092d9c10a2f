//! Making bytes smaller.

use std::cell::RefCell;

use flate2::{Compress, FlushCompress, Status};
use zstd::bulk::Compressor;

use super::Compression;

/// zlib's own default, and MySQL's.
const ZLIB_LEVEL: u32 = 6;

thread_local! {
    // The state takes some 300 KB, which thousands of idle clients must not hold each.
    static ZLIB: RefCell<Compress> =
        RefCell::new(Compress::new(flate2::Compression::new(ZLIB_LEVEL), true));
    static ZSTD: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
}

/// Appends `plain`, compressed, to `out`. Whether that succeeded; what is in `out` is not of use
/// otherwise.
pub(super) fn deflate(compression: Compression, plain: &[u8], out: &mut Vec<u8>) -> bool {
    match compression {
        Compression::Zlib => ZLIB.with_borrow_mut(|state| {
            state.reset();
            // Longer is of no use to anybody.
            out.reserve(plain.len());
            let status = state.compress_vec(plain, out, FlushCompress::Finish);
            matches!(status, Ok(Status::StreamEnd))
        }),
        Compression::Zstd { level } => ZSTD.with_borrow_mut(|state| {
            if state.is_none() {
                *state = Compressor::new(i32::from(level)).ok();
            }
            let Some(state) = state else {
                return false;
            };
            out.resize(plain.len(), 0);
            let level = i32::from(level.clamp(1, 22));
            let written = state
                .set_compression_level(level)
                .and_then(|()| state.compress_to_buffer(plain, &mut out[..]));
            match written {
                Ok(length) => {
                    out.truncate(length);
                    true
                }
                Err(_) => false,
            }
        }),
    }
}
