//! Knowing again what was set, without being able to read it back.

use aws_lc_rs::hmac;

/// Makes seals of texts. Who reads a seal but lacks the key cannot try passwords on it.
#[derive(Debug)]
pub(super) struct Sealer(hmac::Key);

impl Sealer {
    /// With the agent's own password as the key: who has that needs no other.
    pub(super) fn new(secret: &str) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()))
    }

    /// The seal of `parts`, in hexadecimal.
    pub(super) fn seal<'a>(&self, parts: impl IntoIterator<Item = &'a str>) -> String {
        let mut context = hmac::Context::with_key(&self.0);
        for part in parts {
            // With its length, or ["ab", "c"] would seem to be ["a", "bc"].
            context.update(&(part.len() as u64).to_be_bytes());
            context.update(part.as_bytes());
        }
        context
            .sign()
            .as_ref()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_depends_on_every_part_and_on_the_key() {
        let sealer = Sealer::new("key");
        let seals = [
            sealer.seal(["ab", "c"]),
            sealer.seal(["a", "bc"]),
            sealer.seal(["ab", "c", ""]),
            Sealer::new("other").seal(["ab", "c"]),
        ];
        for (number, seal) in seals.iter().enumerate() {
            assert_eq!(seal.len(), 64);
            assert!(!seals[number + 1..].contains(seal));
        }
        assert_eq!(seals[0], sealer.seal(["ab", "c"]));
    }
}
