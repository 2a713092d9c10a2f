//! utf8mb3_general_ci and utf8mb4_general_ci: one weight for each character.

/// Pairs of a code point and its weight, 16 bits each, little-endian, ascending: all
/// characters whose weight is not their own code point.
static TABLE: &[u8] = include_bytes!("general_ci.bin");

/// What all characters beyond the first 65,536 weigh.
const REPLACEMENT: u16 = 0xfffd;
const SPACE: [u8; 2] = [0, b' '];

pub(super) fn weights(text: &str, out: &mut Vec<u8>) {
    let start = out.len();
    for c in text.chars() {
        out.extend_from_slice(&weight(c).to_be_bytes());
    }
    // Others than the space may weigh as much as it does.
    while out.len() > start && out.ends_with(&SPACE) {
        out.truncate(out.len() - SPACE.len());
    }
}

fn weight(c: char) -> u16 {
    if c.is_ascii() {
        return u16::from(c.to_ascii_uppercase() as u8);
    }
    let Ok(code) = u16::try_from(u32::from(c)) else {
        return REPLACEMENT;
    };
    let pair = |index: usize| {
        let bytes = &TABLE[index * 4..index * 4 + 4];
        (
            u16::from_le_bytes([bytes[0], bytes[1]]),
            u16::from_le_bytes([bytes[2], bytes[3]]),
        )
    };
    let (mut low, mut high) = (0, TABLE.len() / 4);
    while low < high {
        let middle = usize::midpoint(low, high);
        let (found, weight) = pair(middle);
        match found.cmp(&code) {
            std::cmp::Ordering::Equal => return weight,
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    code
}
