//! A key in its versions, and what is derived of each.

use std::collections::BTreeMap;
use std::fmt;

use aes_gcm::{Aes256Gcm, KeyInit};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hkdf::Hkdf;
use hmac::Mac;
use rand::RngCore;
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::digest::HmacSha256;
use crate::envelope::{self, Envelope, Place, SealError};
use crate::ring::RingError;

/// The bytes of a blind index.
pub const TAG_BYTES: usize = 16;

/// The version whose tags are in the index. Tags of another version would not be found, and a
/// unique key would take a value twice.
const INDEX_VERSION: u32 = 1;

/// The 32 bytes of one version of a key, overwritten when they are dropped.
#[derive(Clone)]
pub struct KeyMaterial(Zeroizing<[u8; 32]>);

/// Bytes that are no key. It holds none of them.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a key is 32 bytes, raw or in base64 (openssl rand -base64 32)")]
pub struct MaterialError;

impl KeyMaterial {
    /// Takes 32 bytes.
    ///
    /// # Errors
    /// If there are not 32.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, MaterialError> {
        let mut material = Zeroizing::new([0; 32]);
        if bytes.len() != material.len() {
            return Err(MaterialError);
        }
        material.copy_from_slice(bytes);
        Ok(Self(material))
    }

    /// Reads base64, with blanks or a line break around it or not.
    ///
    /// # Errors
    /// If it is none of 32 bytes.
    pub fn from_base64(text: &str) -> Result<Self, MaterialError> {
        let decoded = BASE64_STANDARD.decode(text.trim());
        Self::from_bytes(&Zeroizing::new(decoded.map_err(|_| MaterialError)?))
    }

    /// The material in base64.
    #[must_use]
    pub fn to_base64(&self) -> Zeroizing<String> {
        Zeroizing::new(BASE64_STANDARD.encode(*self.0))
    }

    /// Reads what a Secret holds: 32 raw bytes, or base64 of them.
    ///
    /// # Errors
    /// If it is neither.
    pub fn from_secret(bytes: &[u8]) -> Result<Self, MaterialError> {
        Self::from_bytes(bytes).or_else(|_| {
            let text = std::str::from_utf8(bytes).map_err(|_| MaterialError)?;
            Self::from_base64(text)
        })
    }

    /// Tells this key from any other, and nothing of it: 16 hexadecimal digits.
    #[must_use]
    pub fn check(&self) -> String {
        let derived = self.derive(b"remora check 1");
        let (shown, _) = derived.split_at(8);
        shown.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// 32 bytes for one purpose.
    fn derive(&self, purpose: &[u8]) -> Zeroizing<[u8; 32]> {
        let mut out = Zeroizing::new([0; 32]);
        // HKDF refuses lengths above 8160 bytes alone.
        let expanded = Hkdf::<Sha256>::new(None, &*self.0).expand(purpose, &mut *out);
        debug_assert!(expanded.is_ok());
        out
    }
}

impl fmt::Debug for KeyMaterial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyMaterial(…)")
    }
}

/// How a value's nonce is chosen.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Nonce {
    /// At random: equal values look different.
    Random,
    /// Computed from value and column by a key of its own (a synthetic nonce): equal values are
    /// equal bytes, so MySQL sees that an UPDATE changes nothing. For columns with a blind index
    /// alone, which shows equality anyway.
    Synthetic,
}

struct Version {
    cipher: Aes256Gcm,
    nonces: HmacSha256,
}

/// A key: the highest version seals that is not settling, each opens, the first one makes tags
/// and digests.
pub struct Key {
    versions: BTreeMap<u32, Version>,
    sealing: u32,
    index: HmacSha256,
    digest: HmacSha256,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let versions: Vec<&u32> = self.versions.keys().collect();
        f.debug_struct("Key")
            .field("versions", &versions)
            .finish_non_exhaustive()
    }
}

impl Key {
    /// A key of these versions.
    ///
    /// # Errors
    /// If version 1 is not among them, or one stands twice.
    pub fn new(versions: impl IntoIterator<Item = (u32, KeyMaterial)>) -> Result<Self, RingError> {
        Self::with_settling(versions.into_iter().map(|(number, it)| (number, it, false)))
    }

    /// Likewise; a version that is `true` settles: other sidecars may still lack it, so that it
    /// opens, and one before it seals.
    ///
    /// # Errors
    /// Likewise.
    pub fn with_settling(
        versions: impl IntoIterator<Item = (u32, KeyMaterial, bool)>,
    ) -> Result<Self, RingError> {
        let mut made = BTreeMap::new();
        let mut first = None;
        // Whoever has the key has its first version.
        let mut sealing = INDEX_VERSION;
        for (number, material, settling) in versions {
            if !settling {
                sealing = sealing.max(number);
            }
            let version = Version {
                cipher: Aes256Gcm::new((&*material.derive(b"remora seal 1")).into()),
                nonces: mac(&material.derive(b"remora nonce 1")),
            };
            if made.insert(number, version).is_some() {
                return Err(RingError::Twice(number));
            }
            if number == INDEX_VERSION {
                first = Some(material);
            }
        }
        let first = first.ok_or(RingError::NoFirst)?;
        Ok(Self {
            versions: made,
            sealing,
            index: mac(&first.derive(b"remora index 1")),
            digest: mac(&first.0),
        })
    }

    /// Seals a value with the highest version that is not settling.
    ///
    /// # Errors
    /// If it is longer than AES-GCM takes.
    pub fn seal(&self, place: &Place, nonce: Nonce, value: &[u8]) -> Result<Vec<u8>, SealError> {
        let version = self.versions.get(&self.sealing);
        let version = version.ok_or(SealError::NoVersion(self.sealing))?;
        let mut bytes = [0; 12];
        match nonce {
            Nonce::Random => rand::rng().fill_bytes(&mut bytes),
            Nonce::Synthetic => {
                let mut mac = version.nonces.clone();
                place.feed(|part| mac.update(part));
                mac.update(value);
                let computed = mac.finalize().into_bytes();
                bytes
                    .iter_mut()
                    .zip(computed)
                    .for_each(|(byte, it)| *byte = it);
            }
        }
        envelope::seal(&version.cipher, self.sealing, bytes, place, value)
    }

    /// Opens a stored value.
    ///
    /// # Errors
    /// If it is none that this key sealed for this column.
    pub fn open(&self, place: &Place, stored: &[u8]) -> Result<Vec<u8>, SealError> {
        let envelope = Envelope::decode(stored)?;
        let version = self.versions.get(&envelope.version);
        let version = version.ok_or(SealError::NoVersion(envelope.version))?;
        envelope.open(&version.cipher, place)
    }

    /// The tag of a value's canonical bytes. Its first bit is set: whatever prints a tag as text
    /// has to escape it, so that no message shows one that passes for a client's text.
    #[must_use]
    pub fn tag(&self, canonical: &[u8]) -> [u8; TAG_BYTES] {
        let mut mac = self.index.clone();
        mac.update(canonical);
        let computed = mac.finalize().into_bytes();
        let mut tag = [0; TAG_BYTES];
        tag.copy_from_slice(computed.split_at(TAG_BYTES).0);
        tag[0] |= 0x80;
        tag
    }

    pub(crate) fn digest_mac(&self) -> HmacSha256 {
        self.digest.clone()
    }
}

fn mac(key: &[u8; 32]) -> HmacSha256 {
    // A whole block, zeros behind the key, is what HMAC makes of a shorter key itself; and unlike
    // a slice it cannot be of a wrong length.
    let mut block = Zeroizing::new([0; 64]);
    block.split_at_mut(key.len()).0.copy_from_slice(key);
    <HmacSha256 as Mac>::new((&*block).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn material(byte: u8) -> KeyMaterial {
        KeyMaterial::from_bytes(&[byte; 32]).unwrap()
    }

    fn place() -> Place {
        Place::new("shop", "pressure_test", "mobile_cipher")
    }

    #[test]
    fn a_new_version_seals_and_old_ones_open() {
        let old = Key::new([(1, material(1))]).unwrap();
        let both = Key::new([(1, material(1)), (2, material(2))]).unwrap();
        let before = old.seal(&place(), Nonce::Random, b"139").unwrap();
        let after = both.seal(&place(), Nonce::Random, b"139").unwrap();
        assert_eq!(both.open(&place(), &before).unwrap(), b"139");
        assert_eq!(both.open(&place(), &after).unwrap(), b"139");
        assert_eq!(old.open(&place(), &after), Err(SealError::NoVersion(2)));
        assert_eq!(old.tag(b"139"), both.tag(b"139"));
    }

    #[test]
    fn a_version_that_settles_opens_and_does_not_seal() {
        let settled = Key::new([(1, material(1)), (2, material(2)), (3, material(3))]).unwrap();
        let of = |second, third| {
            let versions = [
                (1, material(1), false),
                (2, material(2), second),
                (3, material(3), third),
            ];
            let key = Key::with_settling(versions).unwrap();
            let sealed = settled.seal(&place(), Nonce::Random, b"139").unwrap();
            assert_eq!(key.open(&place(), &sealed).unwrap(), b"139");
            let sealed = key.seal(&place(), Nonce::Random, b"139").unwrap();
            Envelope::decode(&sealed).unwrap().version
        };
        assert_eq!(
            [of(false, false), of(false, true), of(true, true)],
            [3, 2, 1]
        );
        // A key is never without a version that seals.
        let only = Key::with_settling([(1, material(1), true)]).unwrap();
        assert!(only.seal(&place(), Nonce::Synthetic, b"139").is_ok());
    }

    #[test]
    fn a_check_is_the_same_for_ever_and_another_for_another_key() {
        assert_eq!(material(1).check(), "3a155183e4eb0047");
        assert_ne!(material(1).check(), material(2).check());
    }

    #[test]
    fn another_key_opens_nothing() {
        let sealed = Key::new([(1, material(1))])
            .unwrap()
            .seal(&place(), Nonce::Random, b"139");
        let other = Key::new([(1, material(2))]).unwrap();
        assert_eq!(
            other.open(&place(), &sealed.unwrap()),
            Err(SealError::Forged)
        );
        assert_eq!(other.open(&place(), b"139"), Err(SealError::NotSealed));
    }

    #[test]
    fn a_synthetic_nonce_makes_equal_values_equal_and_others_different() {
        let key = Key::new([(1, material(1))]).unwrap();
        let seal = |nonce, value: &[u8]| key.seal(&place(), nonce, value).unwrap();
        assert_eq!(seal(Nonce::Synthetic, b"a"), seal(Nonce::Synthetic, b"a"));
        assert_ne!(
            seal(Nonce::Synthetic, b"a")[5..17],
            seal(Nonce::Synthetic, b"b")[5..17]
        );
        assert_ne!(seal(Nonce::Random, b"a"), seal(Nonce::Random, b"a"));
    }

    #[test]
    fn every_tag_needs_escaping() {
        let key = Key::new([(1, material(1))]).unwrap();
        for value in 0..=255_u8 {
            assert!(key.tag(&[value])[0] >= 0x80);
        }
        assert_ne!(key.tag(b"a"), key.tag(b"b"));
    }

    #[test]
    fn a_key_needs_its_first_version_and_none_twice() {
        assert_eq!(
            Key::new([(2, material(1))]).unwrap_err(),
            RingError::NoFirst
        );
        let twice = Key::new([(1, material(1)), (1, material(2))]);
        assert_eq!(twice.unwrap_err(), RingError::Twice(1));
    }

    #[test]
    fn a_secret_holds_raw_bytes_or_base64() {
        let text = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=\n";
        for secret in [&[7; 32][..], text.as_bytes()] {
            assert_eq!(*KeyMaterial::from_secret(secret).unwrap().0, [7; 32]);
        }
        for wrong in [&b"short"[..], &[7; 31], b"", b"BwcH"] {
            assert!(KeyMaterial::from_secret(wrong).is_err());
        }
        assert_eq!(&*material(7).to_base64(), text.trim());
    }

    #[test]
    fn nothing_of_a_key_shows_in_debug() {
        let key = Key::new([(1, material(0xAB))]).unwrap();
        let shown = format!("{:?} {:?} {:?}", material(0xAB), key, MaterialError);
        assert!(
            !shown.contains("171") && !shown.to_lowercase().contains("ab, "),
            "{shown}"
        );
    }
}
