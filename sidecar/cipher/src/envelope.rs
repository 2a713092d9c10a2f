//! What an encrypted value is on disk.
//!
//! | bytes | what |
//! | --- | --- |
//! | 1 | `0xE1`: an envelope of this format |
//! | 4 | the key's version, big-endian |
//! | 12 | the nonce |
//! | as the plaintext | the ciphertext of AES-256-GCM |
//! | 16 | its tag |
//!
//! The associated data are the first five bytes and the [`Place`]: database, table and column.
//! A value that is copied to another column, or whose version is changed, does not open. A row
//! is not part of it: two values of one column can be exchanged by whoever can write to MySQL.

use aes_gcm::aead::AeadInPlace;
use aes_gcm::{Aes256Gcm, Nonce, Tag};

/// The first byte of every envelope.
const FORMAT: u8 = 0xE1;
const HEADER: usize = 5;
const NONCE: usize = 12;
const TAG: usize = 16;
/// How much longer an envelope is than what is in it.
pub const OVERHEAD: usize = HEADER + NONCE + TAG;

/// The column that an envelope belongs to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Place(Box<[u8]>);

impl Place {
    /// A column by its logical names. Shards and physical tables are no part of it: a row may
    /// move between them.
    #[must_use]
    pub fn new(database: &str, table: &str, column: &str) -> Self {
        let column = column.to_ascii_lowercase();
        let mut bytes = Vec::new();
        for name in [database, table, &column] {
            bytes.extend_from_slice(&(name.len() as u32).to_be_bytes());
            bytes.extend_from_slice(name.as_bytes());
        }
        Self(bytes.into())
    }

    /// Gives its bytes to a MAC.
    pub(crate) fn feed(&self, mut update: impl FnMut(&[u8])) {
        update(&self.0);
    }
}

/// Why a value does not open. It holds no byte of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum SealError {
    /// It is none that was ever sealed.
    #[error("the stored value is no envelope")]
    NotSealed,
    /// The key has no such version.
    #[error("the stored value needs version {0} of the key, which is not there")]
    NoVersion(u32),
    /// The tag does not fit: another key, another column, or changed bytes.
    #[error("the stored value was changed, moved, or sealed with another key")]
    Forged,
    /// More than AES-GCM takes.
    #[error("the value is too long to be encrypted")]
    TooLong,
}

/// An envelope, taken apart.
#[derive(Clone, Copy, Debug)]
pub struct Envelope<'a> {
    /// The version of the key.
    pub version: u32,
    nonce: &'a [u8],
    ciphertext: &'a [u8],
    tag: &'a [u8],
}

impl<'a> Envelope<'a> {
    /// Takes a stored value apart.
    ///
    /// # Errors
    /// If it is no envelope.
    pub fn decode(stored: &'a [u8]) -> Result<Self, SealError> {
        let [FORMAT, rest @ ..] = stored else {
            return Err(SealError::NotSealed);
        };
        let (version, rest) = rest.split_first_chunk().ok_or(SealError::NotSealed)?;
        let (nonce, rest) = rest.split_at_checked(NONCE).ok_or(SealError::NotSealed)?;
        let length = rest.len().checked_sub(TAG).ok_or(SealError::NotSealed)?;
        let (ciphertext, tag) = rest.split_at(length);
        Ok(Self {
            version: u32::from_be_bytes(*version),
            nonce,
            ciphertext,
            tag,
        })
    }

    /// The plaintext.
    pub(crate) fn open(&self, cipher: &Aes256Gcm, place: &Place) -> Result<Vec<u8>, SealError> {
        let mut plain = self.ciphertext.to_vec();
        cipher
            .decrypt_in_place_detached(
                Nonce::from_slice(self.nonce),
                &associated(self.version, place),
                &mut plain,
                Tag::from_slice(self.tag),
            )
            .map_err(|_| SealError::Forged)?;
        Ok(plain)
    }
}

/// Seals a value.
pub(crate) fn seal(
    cipher: &Aes256Gcm,
    version: u32,
    nonce: [u8; NONCE],
    place: &Place,
    value: &[u8],
) -> Result<Vec<u8>, SealError> {
    let mut out = Vec::with_capacity(value.len() + OVERHEAD);
    out.push(FORMAT);
    out.extend_from_slice(&version.to_be_bytes());
    out.extend_from_slice(&nonce);
    out.extend_from_slice(value);
    let body = out.get_mut(HEADER + NONCE..).unwrap_or_default();
    let tag = cipher
        .encrypt_in_place_detached(Nonce::from_slice(&nonce), &associated(version, place), body)
        .map_err(|_| SealError::TooLong)?;
    out.extend_from_slice(&tag);
    Ok(out)
}

fn associated(version: u32, place: &Place) -> Vec<u8> {
    let mut data = Vec::with_capacity(HEADER + place.0.len());
    data.push(FORMAT);
    data.extend_from_slice(&version.to_be_bytes());
    data.extend_from_slice(&place.0);
    data
}

#[cfg(test)]
mod tests {
    use aes_gcm::{Aes256Gcm, KeyInit};
    use proptest::prelude::*;

    use super::*;

    fn bytes(text: &str) -> Vec<u8> {
        hex::decode(text).unwrap()
    }

    /// Test cases 14, 15 and 16 of the GCM specification that NIST SP 800-38D stands on.
    #[test]
    fn gcm_gives_the_vectors_of_its_specification() {
        let key = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308";
        let plain = "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39";
        let cipher = "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662";
        let cases = [
            (
                "00".repeat(32),
                "00".repeat(12),
                "00".repeat(16),
                String::new(),
                "cea7403d4d606b6e074ec5d3baf39d18".to_owned(),
                "d0d1c8a799996bf0265b98b5d48ab919",
            ),
            (
                key.to_owned(),
                "cafebabefacedbaddecaf888".to_owned(),
                plain.to_owned(),
                "feedfacedeadbeeffeedfacedeadbeefabaddad2".to_owned(),
                cipher.to_owned(),
                "76fc6ece0f4e1768cddf8853bb2d551b",
            ),
        ];
        for (key, nonce, plain, data, expected, tag) in cases {
            let gcm = Aes256Gcm::new_from_slice(&bytes(&key)).unwrap();
            let mut body = bytes(&plain);
            let got = gcm
                .encrypt_in_place_detached(
                    Nonce::from_slice(&bytes(&nonce)),
                    &bytes(&data),
                    &mut body,
                )
                .unwrap();
            assert_eq!(hex::encode(body), expected);
            assert_eq!(hex::encode(got), tag);
        }
    }

    fn gcm() -> Aes256Gcm {
        Aes256Gcm::new_from_slice(&[7; 32]).unwrap()
    }

    #[test]
    fn no_changed_byte_goes_unnoticed() {
        let place = Place::new("shop", "t", "c");
        let sealed = seal(&gcm(), 3, [9; NONCE], &place, b"13912345678").unwrap();
        assert_eq!(sealed.len(), 11 + OVERHEAD);
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            let opened = Envelope::decode(&changed).and_then(|it| it.open(&gcm(), &place));
            assert!(opened.is_err(), "byte {at}");
        }
    }

    #[test]
    fn a_value_opens_in_its_own_column_alone() {
        let place = Place::new("shop", "t", "c");
        let sealed = seal(&gcm(), 1, [9; NONCE], &place, b"x").unwrap();
        let envelope = Envelope::decode(&sealed).unwrap();
        assert_eq!(
            envelope
                .open(&gcm(), &Place::new("shop", "t", "C"))
                .unwrap(),
            b"x"
        );
        for (database, table, column) in
            [("shop", "t", "d"), ("shop", "u", "c"), ("sho", "pt", "c")]
        {
            let other = Place::new(database, table, column);
            assert_eq!(envelope.open(&gcm(), &other), Err(SealError::Forged));
        }
    }

    proptest! {
        #[test]
        fn what_is_sealed_opens(value: Vec<u8>, nonce: [u8; NONCE], version: u32) {
            let place = Place::new("d", "t", "c");
            let sealed = seal(&gcm(), version, nonce, &place, &value).unwrap();
            let envelope = Envelope::decode(&sealed).unwrap();
            prop_assert_eq!(envelope.version, version);
            prop_assert_eq!(envelope.open(&gcm(), &place).unwrap(), value);
        }

        #[test]
        fn no_bytes_make_it_panic(stored: Vec<u8>) {
            if let Ok(envelope) = Envelope::decode(&stored) {
                prop_assert!(envelope.open(&gcm(), &Place::new("d", "t", "c")).is_err());
            }
        }
    }
}
