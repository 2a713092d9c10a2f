//! The hash of a key's canonical bytes.

use xxhash_rust::xxh3::xxh3_64;

/// The hash of a key of one column: XXH3, 64 bits, seed 0, of its canonical bytes.
#[must_use]
pub fn hash(canonical: &[u8]) -> u64 {
    xxh3_64(canonical)
}

/// The hash of a key of several columns: that of each column's canonical bytes behind their
/// length (4 bytes, little-endian). A key of one column has no length in front.
#[must_use]
pub fn hash_columns(columns: &[&[u8]]) -> u64 {
    if let [canonical] = columns {
        return hash(canonical);
    }
    let mut joined = Vec::with_capacity(columns.iter().map(|column| column.len() + 4).sum());
    for column in columns {
        joined.extend_from_slice(&(column.len() as u32).to_le_bytes());
        joined.extend_from_slice(column);
    }
    hash(&joined)
}
