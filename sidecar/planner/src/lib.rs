//! SQL text to plan: which shards, which bytes, how the parts are merged. Pure.

pub mod fingerprint;
pub mod keys;
pub mod lexer;
pub mod utility;
