//! The server's key pair, by which a client sends its password without TLS.

use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::rsa::{KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, PrivateDecryptingKey};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use super::Password;
use super::scramble::mask;
use crate::greeting::NONCE;

/// A key pair for the full exchange without TLS.
///
/// Making one takes about a tenth of a second, sometimes several: it is made
/// once, off the path of a start, and shared by all connections.
pub struct RsaKey {
    private: OaepPrivateDecryptingKey,
    public_pem: Vec<u8>,
}

/// No key pair could be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot make an RSA key pair")]
pub struct RsaKeyError(());

impl From<Unspecified> for RsaKeyError {
    fn from(_: Unspecified) -> Self {
        Self(())
    }
}

impl std::fmt::Debug for RsaKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RsaKey(…)")
    }
}

impl RsaKey {
    /// A new key pair of 2048 bits, which is MySQL's size.
    pub fn generate() -> Result<Self, RsaKeyError> {
        let private = PrivateDecryptingKey::generate(KeySize::Rsa2048)?;
        let public_pem = pem(private.public_key().as_der()?.as_ref());
        Ok(Self {
            private: OaepPrivateDecryptingKey::new(private)?,
            public_pem,
        })
    }

    /// The public key, as clients want it.
    pub(super) fn public_pem(&self) -> &[u8] {
        &self.public_pem
    }

    /// The password in `encrypted`: masked with the nonce, ended by a NUL.
    pub(super) fn decrypt(&self, encrypted: &[u8], nonce: &[u8; NONCE]) -> Option<Password> {
        let mut room = Zeroizing::new(vec![0; self.private.min_output_size()]);
        let plain = self
            .private
            .decrypt(&OAEP_SHA1_MGF1SHA1, encrypted, &mut room, None)
            .ok()?;
        mask(plain, nonce);
        plain.strip_suffix(b"\0").map(Password::new)
    }
}

const LINE: usize = 64;

fn pem(der: &[u8]) -> Vec<u8> {
    let mut pem = String::from("-----BEGIN PUBLIC KEY-----\n");
    for line in STANDARD.encode(der).as_bytes().chunks(LINE) {
        pem.extend(line.iter().map(|&byte| char::from(byte)));
        pem.push('\n');
    }
    pem.push_str("-----END PUBLIC KEY-----\n");
    pem.into_bytes()
}

/// The key inside of a PEM text, or nothing where it is no public key.
pub(crate) fn public_key_der(pem: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(pem).ok()?.trim();
    let body = text
        .strip_prefix("-----BEGIN PUBLIC KEY-----")?
        .strip_suffix("-----END PUBLIC KEY-----")?;
    STANDARD
        .decode(body.split_ascii_whitespace().collect::<String>())
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_comes_through_and_a_forgery_does_not() {
        let key = RsaKey::generate().unwrap();
        let nonce = super::super::new_nonce();
        let mut masked = b"secret\0".to_vec();
        mask(&mut masked, &nonce);
        // Encrypted as clients do, by mysql_common rather than by our own library.
        let mut encrypted = mysql_common::crypto::encrypt(&masked, key.public_pem()).unwrap();
        assert_eq!(key.decrypt(&encrypted, &nonce).unwrap().expose(), b"secret");

        encrypted[0] ^= 1;
        assert!(key.decrypt(&encrypted, &nonce).is_none());
        assert!(key.decrypt(b"short", &nonce).is_none());
        assert!(key.decrypt(b"", &nonce).is_none());
    }
}
