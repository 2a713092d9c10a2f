//! Digests in hexadecimal, as MySQL's `MD5()` and `SHA2(…, 256)` write them.

use hmac::{Hmac, Mac};
use md5::Md5;
use sha2::{Digest, Sha256};

use crate::Key;

/// How a digest column's values are made.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DigestKind {
    /// MD5: for columns that other systems fill so. Short inputs are found by trying them all.
    Md5,
    /// SHA-256: likewise without a key.
    Sha256,
    /// HMAC with SHA-256: nobody without the key can try inputs.
    HmacSha256,
}

impl DigestKind {
    /// The digest of `value`. The key counts for [`Self::HmacSha256`] alone: it is the 32 bytes
    /// of the first version, so that other systems can compute the same.
    #[must_use]
    pub fn of(self, value: &[u8], key: Option<&Key>) -> Option<String> {
        Some(match self {
            Self::Md5 => hex::encode(Md5::digest(value)),
            Self::Sha256 => hex::encode(Sha256::digest(value)),
            Self::HmacSha256 => {
                let mut mac = key?.digest_mac();
                mac.update(value);
                hex::encode(mac.finalize().into_bytes())
            }
        })
    }

    /// The characters of a digest.
    #[must_use]
    pub fn characters(self) -> u32 {
        match self {
            Self::Md5 => 32,
            Self::Sha256 | Self::HmacSha256 => 64,
        }
    }
}

/// HMAC with SHA-256.
pub(crate) type HmacSha256 = Hmac<Sha256>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KeyMaterial;

    #[test]
    fn digests_are_those_that_mysql_computes() {
        // SELECT MD5('abc'), SHA2('abc', 256)
        assert_eq!(
            DigestKind::Md5.of(b"abc", None).unwrap(),
            "900150983cd24fb0d6963f7d28e17f72"
        );
        assert_eq!(
            DigestKind::Sha256.of(b"abc", None).unwrap(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn a_keyed_digest_needs_its_key() {
        assert_eq!(DigestKind::HmacSha256.of(b"abc", None), None);
        let of = |byte: u8| {
            let material = KeyMaterial::from_bytes(&[byte; 32]).unwrap();
            let key = Key::new([(1, material)]).unwrap();
            DigestKind::HmacSha256.of(b"abc", Some(&key)).unwrap()
        };
        assert_eq!(of(1).len(), 64);
        assert_ne!(of(1), of(2));
    }

    /// RFC 4231, test cases 1, 2, 3, 4 and 6.
    #[test]
    fn hmac_gives_the_vectors_of_rfc_4231() {
        let counted: Vec<u8> = (1..=25).collect();
        let cases: [(&[u8], &[u8], &str); 5] = [
            (
                &[0x0b; 20],
                b"Hi There",
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                &[0xaa; 20],
                &[0xdd; 50],
                "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
            ),
            (
                &counted,
                &[0xcd; 50],
                "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
            ),
            (
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ];
        for (key, data, expected) in cases {
            let mut mac = HmacSha256::new_from_slice(key).unwrap();
            mac.update(data);
            assert_eq!(hex::encode(mac.finalize().into_bytes()), expected);
        }
    }
}
