//! Envelopes, blind indexes, digests and key rings of encrypted columns. Pure but for the
//! random bytes of nonces.
//!
//! | part | what it is |
//! | --- | --- |
//! | [`KeyRing`] | the keys that a sidecar was given, each in one or more versions |
//! | [`Key::seal`], [`Key::open`] | AES-256-GCM with a header and associated data: see [`envelope`](mod@envelope) |
//! | [`Key::tag`] | the blind index: equal values have equal tags, under the key's first version for ever |
//! | [`DigestKind`] | what a digest column holds in place of what the application writes |

mod digest;
pub mod envelope;
mod key;
mod ring;

pub use digest::DigestKind;
pub use envelope::{Envelope, OVERHEAD, Place, SealError};
pub use key::{Key, KeyMaterial, MaterialError, Nonce, TAG_BYTES};
pub use ring::{KeyRing, RingError};
