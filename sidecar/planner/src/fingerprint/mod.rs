//! From a statement to its plan without parsing: the text without its literals' values is
//! the key of a cache.
//!
//! One pass of the lexer copies the statement into a reused buffer, each literal's value
//! replaced by its kind. Everything else stays as it is, blanks and case too, because result
//! headers show them. A hit compares the buffer with the entry's bytes, so a collision of
//! hashes costs a miss and never a wrong plan.

mod cache;
mod normalize;

pub use cache::{PlanCache, Weight};
pub use normalize::{Fingerprint, Normalizer};

#[cfg(test)]
mod tests;
