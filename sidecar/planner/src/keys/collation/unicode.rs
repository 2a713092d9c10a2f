//! The 0900 collations: weights of up to three levels for each character.
//!
//! The table, all numbers little-endian:
//!
//! | part | content |
//! | --- | --- |
//! | head | 4 × u32: number of runs, number of pages, bytes of pairs, bytes of entries |
//! | runs | u32 first code point, u32 base: characters without an entry weigh `base`, then their own number |
//! | index | one u16 for each 256 code points: their page, or 0xFFFF |
//! | pages | 256 × u32: where the entry is, or 0xFFFFFFFF |
//! | pairs | u8, u8, then so many u16: weights of the second and the third level |
//! | entries | u16 place of the pair, u8, then so many u16: weights of the first level |
//!
//! No character's weight depends on its neighbours: these collations have no contractions.

static TABLE: &[u8] = include_bytes!("unicode_0900.bin");

const HEAD: usize = 16;
const INDEX_LENGTH: usize = 0x11_0000 >> 8;
const NO_PAGE: u16 = 0xffff;
const NO_ENTRY: u32 = 0xffff_ffff;

/// The weights of the second and third level of a character without an entry.
const COMMON: [u8; 4] = [0x20, 0, 0x02, 0];

/// A character's weights by level, each a list of u16.
struct Weights {
    first: First,
    second: &'static [u8],
    third: &'static [u8],
}

enum First {
    Listed(&'static [u8]),
    Computed([u16; 2]),
}

/// Appends the weights of the first `levels` levels, a zero between two levels.
pub(super) fn weights(text: &str, levels: u8, out: &mut Vec<u8>) {
    for level in 1..=levels {
        if level > 1 {
            out.extend_from_slice(&[0, 0]);
        }
        for c in text.chars() {
            let weights = find(c);
            match (level, weights.first) {
                (1, First::Computed(pair)) => {
                    out.extend(pair.into_iter().flat_map(u16::to_be_bytes));
                }
                (1, First::Listed(list)) => swap(list, out),
                (2, _) => swap(weights.second, out),
                _ => swap(weights.third, out),
            }
        }
    }
}

/// WEIGHT_STRING() is big-endian.
fn swap(list: &[u8], out: &mut Vec<u8>) {
    for weight in list.chunks_exact(2) {
        out.extend_from_slice(&[weight[1], weight[0]]);
    }
}

fn find(c: char) -> Weights {
    let code = u32::from(c);
    let [runs, pages, pairs, _] = [0, 4, 8, 12].map(|at| u32_at(at) as usize);
    let index = HEAD + runs * 8;
    let pages_at = index + INDEX_LENGTH * 2;
    let pairs_at = pages_at + pages * 1024;
    let entries_at = pairs_at + pairs;

    let page = u16_at(index + (code >> 8) as usize * 2);
    let entry = match page {
        NO_PAGE => NO_ENTRY,
        _ => u32_at(pages_at + usize::from(page) * 1024 + (code & 0xff) as usize * 4),
    };
    if entry == NO_ENTRY {
        let pair = [base(code, runs), (code & 0x7fff) as u16 | 0x8000];
        let (second, third) = COMMON.split_at(2);
        return Weights {
            first: First::Computed(pair),
            second,
            third,
        };
    }
    let entry = entries_at + entry as usize;
    let pair = pairs_at + usize::from(u16_at(entry));
    let first = list(entry + 3, TABLE[entry + 2]);
    let second = list(pair + 2, TABLE[pair]);
    let third = list(pair + 2 + second.len(), TABLE[pair + 1]);
    Weights {
        first: First::Listed(first),
        second,
        third,
    }
}

/// The base of the last run that begins at or before `code`.
fn base(code: u32, runs: usize) -> u16 {
    let (mut low, mut high) = (0, runs);
    while low < high {
        let middle = usize::midpoint(low, high);
        if u32_at(HEAD + middle * 8) <= code {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    u32_at(HEAD + low.saturating_sub(1) * 8 + 4) as u16
}

fn list(at: usize, length: u8) -> &'static [u8] {
    &TABLE[at..at + usize::from(length) * 2]
}

fn u16_at(at: usize) -> u16 {
    u16::from_le_bytes([TABLE[at], TABLE[at + 1]])
}

fn u32_at(at: usize) -> u32 {
    u32::from(u16_at(at)) | u32::from(u16_at(at + 2)) << 16
}
