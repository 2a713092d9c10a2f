//! Physical schema names, and the logical one that clients see in their place.

use std::borrow::Cow;

use memchr::memmem::Finder;
use remora_planner::catalog::COMPANION_PREFIX;
use remora_protocol::ErrPacket;

use crate::world::World;

/// Knows the physical schemas of one cluster (`shop__0017` for `shop`).
#[derive(Clone, Debug)]
pub struct Names {
    database: Vec<u8>,
    /// Finds `shop__`; `None` where every physical schema is the logical one.
    prefix: Option<Finder<'static>>,
    /// Finds the names of encrypted columns' companions, if there are encrypted columns.
    companion: Option<Finder<'static>>,
}

/// A slot's number has at least this many digits.
const DIGITS: usize = 4;

impl Names {
    /// The names of a manifest.
    #[must_use]
    pub fn new(spec: &remora_crds::ShardingClusterSpec) -> Self {
        let sliced = spec.tables.iter().any(|t| {
            t.sharding
                .as_ref()
                .is_some_and(|s| spec.tables_per_shard(s) > 1)
        });
        let prefix =
            sliced.then(|| Finder::new(format!("{}__", spec.database).as_bytes()).into_owned());
        let encrypts = spec.tables.iter().any(|table| !table.encryption.is_empty());
        let companion = encrypts.then(|| Finder::new(COMPANION_PREFIX));
        Self {
            database: spec.database.clone().into_bytes(),
            prefix,
            companion,
        }
    }

    /// Whether there are physical schemas: some table is several on each shard.
    #[must_use]
    pub fn are_physical(&self) -> bool {
        self.prefix.is_some()
    }

    /// Whether some table has encrypted columns.
    #[must_use]
    pub fn encrypts(&self) -> bool {
        self.companion.is_some()
    }

    /// The logical name of `schema`, where it is a physical one.
    #[must_use]
    pub fn logical(&self, schema: &[u8]) -> Option<&[u8]> {
        let digits = schema.strip_prefix(self.prefix.as_ref()?.needle())?;
        (digits.len() >= DIGITS && digits.iter().all(u8::is_ascii_digit))
            .then_some(&self.database[..])
    }

    /// Whether clients must not see `schema`: a physical one, or that of what Remora keeps on
    /// the shards.
    #[must_use]
    pub fn is_hidden(&self, schema: &[u8]) -> bool {
        schema.eq_ignore_ascii_case(b"remora") || self.logical(schema).is_some()
    }

    /// Whether `text` may mention a physical schema, so that its answer may too.
    #[must_use]
    pub fn mentioned(&self, text: &[u8]) -> bool {
        [&self.prefix, &self.companion]
            .into_iter()
            .flatten()
            .any(|prefix| prefix.find(text).is_some())
    }

    /// `text` with logical names in place of physical ones.
    #[must_use]
    pub fn in_text<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        match &self.companion {
            Some(prefix) if prefix.find(text).is_some() => {
                let mut plain = Vec::with_capacity(text.len());
                let mut rest = text;
                while let Some(at) = prefix.find(rest) {
                    plain.extend_from_slice(&rest[..at]);
                    rest = &rest[at + prefix.needle().len()..];
                }
                plain.extend_from_slice(rest);
                Cow::Owned(self.schemas_in_text(&plain).into_owned())
            }
            _ => self.schemas_in_text(text),
        }
    }

    fn schemas_in_text<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        let Some(prefix) = &self.prefix else {
            return Cow::Borrowed(text);
        };
        if prefix.find(text).is_none() {
            return Cow::Borrowed(text);
        }
        let mut out = Vec::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = prefix.find(rest) {
            let after = &rest[at + prefix.needle().len()..];
            let digits = after.iter().take_while(|b| b.is_ascii_digit()).count();
            if digits >= DIGITS {
                out.extend_from_slice(&rest[..at]);
                out.extend_from_slice(&self.database);
                rest = &after[digits..];
            } else {
                out.extend_from_slice(&rest[..at + prefix.needle().len()]);
                rest = after;
            }
        }
        out.extend_from_slice(rest);
        Cow::Owned(out)
    }
}

/// An error with logical names.
pub(crate) fn logical(world: &World, mut error: ErrPacket<'static>) -> ErrPacket<'static> {
    if let Cow::Owned(text) = world.names.in_text(&error.message) {
        error.message = text.into();
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shop() -> Names {
        let prefix = Some(Finder::new("shop__").into_owned());
        Names {
            database: b"shop".to_vec(),
            prefix,
            companion: None,
        }
    }

    #[test]
    fn a_physical_schema_has_a_logical_name() {
        assert_eq!(shop().logical(b"shop__0017"), Some(&b"shop"[..]));
        for other in ["shop", "shop__", "shop__17", "shop__001x", "xshop__0017"] {
            assert_eq!(shop().logical(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn nobody_enters_a_physical_schema_or_remoras_own() {
        for hidden in ["shop__0017", "remora", "Remora"] {
            assert!(shop().is_hidden(hidden.as_bytes()), "{hidden}");
        }
        for open in ["shop", "remora2", "mysql"] {
            assert!(!shop().is_hidden(open.as_bytes()), "{open}");
        }
    }

    #[test]
    fn texts_lose_every_physical_name() {
        let text = b"Table 'shop__0003.a' or `shop__1023`.`b`, not shop__x or shop__";
        let expected = b"Table 'shop.a' or `shop`.`b`, not shop__x or shop__";
        assert_eq!(&shop().in_text(text)[..], &expected[..]);
    }

    #[test]
    fn without_slots_nothing_is_physical() {
        let names = Names {
            database: b"shop".to_vec(),
            prefix: None,
            companion: None,
        };
        assert_eq!(names.logical(b"shop__0017"), None);
        assert!(!names.mentioned(b"SELECT * FROM shop__0017.t"));
        assert_eq!(&names.in_text(b"shop__0017")[..], b"shop__0017");
    }
}
