//! The nonce, and what is made of it and the password.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use mysql_common::auth::plugins::caching_sha2_password::scramble_sha256;
use rand::Rng;
use zeroize::Zeroizing;

use crate::greeting::NONCE;

/// A nonce as MySQL makes them: no byte of it is NUL, which ends it on the
/// wire, or `$`, which ends it in `authentication_string`.
pub(crate) fn new_nonce() -> [u8; NONCE] {
    let mut rng = rand::rng();
    std::array::from_fn(|_| match rng.random_range(1..=0x7E) {
        b'$' => 0x7F,
        byte => byte,
    })
}

/// Whether `scramble` is what a client that knows `password` makes of `nonce`.
pub(super) fn is_right(scramble: &[u8], nonce: &[u8; NONCE], password: &[u8]) -> bool {
    scramble_sha256(nonce, password)
        .map(Zeroizing::new)
        .is_some_and(|right| equal(&right[..], scramble))
}

/// Compares in a time that depends on the lengths alone.
pub(super) fn equal(a: &[u8], b: &[u8]) -> bool {
    verify_slices_are_equal(a, b).is_ok()
}

/// Lays `nonce` over `bytes`, again and again; twice is not at all.
pub(super) fn mask(bytes: &mut [u8], nonce: &[u8; NONCE]) {
    for (byte, key) in bytes.iter_mut().zip(nonce.iter().cycle()) {
        *byte ^= key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_scramble_is_right() {
        // XOR(SHA256(p), SHA256(SHA256(SHA256(p)), nonce)), computed by other means.
        let nonce = b"NR3HP:qIYa_9=db?Sd{`";
        let scramble =
            hex::decode("4f97bbfd202401c42a69deaae53bda077ed7578563c1a80eb816c82119b68d2e")
                .unwrap();
        assert!(is_right(&scramble, nonce, b"G!ider27"));
        assert!(!is_right(&scramble, nonce, b"G!ider28"));
        assert!(!is_right(&scramble[..31], nonce, b"G!ider27"));
        assert!(!is_right(b"", nonce, b""));
    }

    #[test]
    fn nonces_differ_and_hold_no_special_bytes() {
        let nonces: Vec<_> = (0..200).map(|_| new_nonce()).collect();
        assert!(
            nonces
                .iter()
                .flatten()
                .all(|&byte| byte != 0 && byte != b'$' && byte < 0x80)
        );
        assert_ne!(nonces[0], nonces[1]);
    }

    #[test]
    fn a_mask_laid_twice_is_gone() {
        let nonce = new_nonce();
        let mut bytes = *b"a password that is longer than the nonce";
        mask(&mut bytes, &nonce);
        assert_ne!(&bytes, b"a password that is longer than the nonce");
        mask(&mut bytes, &nonce);
        assert_eq!(&bytes, b"a password that is longer than the nonce");
    }
}
