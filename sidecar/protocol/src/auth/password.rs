//! A password in memory.

use zeroize::Zeroizing;

/// A password: overwritten when it is dropped, never shown.
#[derive(Clone, Default)]
pub struct Password(Zeroizing<Vec<u8>>);

impl Password {
    /// Takes the password over.
    #[must_use]
    pub fn new(password: impl Into<Vec<u8>>) -> Self {
        Self(Zeroizing::new(password.into()))
    }

    /// The password itself.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// Whether there is no password.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Compares in a time that tells nothing about where two passwords differ.
    #[must_use]
    pub fn matches(&self, other: &Self) -> bool {
        super::scramble::equal(&self.0, &other.0)
    }
}

impl std::fmt::Debug for Password {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Password(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_nothing() {
        assert_eq!(format!("{:?}", Password::new("secret")), "Password(…)");
    }

    #[test]
    fn passwords_match_by_their_bytes() {
        assert!(Password::new("a").matches(&Password::new("a")));
        assert!(!Password::new("a").matches(&Password::new("b")));
        assert!(!Password::new("a").matches(&Password::default()));
    }
}
