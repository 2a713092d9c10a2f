//! latin1_swedish_ci: one weight for each byte.

use super::super::charset::latin1_byte;

/// The weight of each byte.
static TABLE: &[u8; 256] = include_bytes!("latin1_swedish_ci.bin");

pub(super) fn weights(text: &str, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend(
        text.chars()
            .filter_map(latin1_byte)
            .map(|byte| TABLE[usize::from(byte)]),
    );
    // Others than the space may weigh as much as it does.
    while out.len() > start && out.last() == Some(&b' ') {
        out.pop();
    }
}
