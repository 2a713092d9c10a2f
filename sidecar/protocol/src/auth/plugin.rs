//! The plugins by which a client may prove its password.

use mysql_common::auth::plugins::mysql_native_password::scramble_native;
use zeroize::Zeroizing;

use super::Password;
use super::scramble::equal;
use crate::greeting::NONCE;

/// A plugin that both sides have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plugin {
    /// `caching_sha2_password`, the only one that MySQL 9 itself has.
    Sha2,
    /// `mysql_native_password`, of clients from before. Only who knows the password can judge it.
    Native,
    /// `mysql_clear_password`: the password itself, over TLS alone.
    Clear,
}

impl Plugin {
    /// The plugin with this name.
    pub(crate) fn named(name: &[u8]) -> Option<Self> {
        [Self::Sha2, Self::Native, Self::Clear]
            .into_iter()
            .find(|plugin| plugin.name() == name)
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static [u8] {
        match self {
            Self::Sha2 => super::PLUGIN,
            Self::Native => b"mysql_native_password",
            Self::Clear => b"mysql_clear_password",
        }
    }
}

/// Whether `scramble` is what `mysql_native_password` makes of the nonce and the password.
pub(crate) fn is_right_native(scramble: &[u8], nonce: &[u8; NONCE], password: &Password) -> bool {
    scramble_native(nonce, password.expose())
        .map(Zeroizing::new)
        .is_some_and(|right| equal(&right[..], scramble))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_native_scramble_is_right_for_its_password_and_nonce_alone() {
        let (nonce, other) = (b"NR3HP:qIYa_9=db?Sd{`", b"NR3HP:qIYa_9=db?Sd{a");
        // SHA1(p) XOR SHA1(nonce, SHA1(SHA1(p))), computed by other means.
        let scramble = hex::decode("2b37b4ea3c8910d11571697ad316aa94a6534e54").unwrap();
        let is_right =
            |nonce, password: &str| is_right_native(&scramble, nonce, &Password::new(password));
        assert!(is_right(nonce, "secret"));
        assert!(!is_right(other, "secret") && !is_right(nonce, "Secret"));
        assert!(!is_right_native(b"", nonce, &Password::default()));
    }

    #[test]
    fn a_plugin_is_known_by_its_name() {
        for plugin in [Plugin::Sha2, Plugin::Native, Plugin::Clear] {
            assert_eq!(Plugin::named(plugin.name()), Some(plugin));
        }
        assert_eq!(Plugin::named(b"sha256_password"), None);
    }
}
