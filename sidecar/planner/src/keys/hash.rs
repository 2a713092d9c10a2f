//! The hash of a key's canonical bytes.

use xxhash_rust::xxh3::xxh3_64;

/// The hash of a key: XXH3, 64 bits, seed 0, of its canonical bytes.
#[must_use]
pub fn hash(canonical: &[u8]) -> u64 {
    xxh3_64(canonical)
}
