//! What the scanner must know of a packet's inside.

use crate::capability::StatusFlags;
use crate::error::Result;
use crate::frame::MAX_FRAME;
use crate::wire::Input;

/// The first byte of a request for a file.
pub(super) const INFILE: u8 = 0xFB;

/// The first bytes that can end rows.
pub(super) struct Ends;

impl Ends {
    const ERR: u8 = 0xFF;
    const END: u8 = 0xFE;
    /// An EOF packet is shorter than this. A row that begins with `0xFE` holds a
    /// string of 16 MiB or more, so it is longer, and its first frame is full.
    const EOF_BELOW: usize = 9;

    /// Whether a packet that begins with `tag` ends rows rather than being one.
    #[inline]
    pub(super) fn rows(tag: u8, length: usize, deprecates_eof: bool) -> bool {
        if tag < Self::END {
            return false;
        }
        tag == Self::ERR
            || length
                < if deprecates_eof {
                    MAX_FRAME
                } else {
                    Self::EOF_BELOW
                }
    }
}

/// The status in an OK packet, without reading what follows it.
pub(super) fn status_of_ok(payload: &[u8]) -> Result<StatusFlags> {
    let mut input = Input(payload);
    input.u8()?;
    input.lenenc()?;
    input.lenenc()?;
    input.u16().map(StatusFlags::from_bits_retain)
}
