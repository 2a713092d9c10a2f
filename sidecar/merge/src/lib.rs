//! Rows of many shards become one result: streaming k-way merge, aggregates, limits.
//!
//! Pure: it is fed packets and gives packets; no I/O, no tasks. The planner says in a
//! [`MergeSpec`] what is to be done; a [`Merger`] does it, asking for one row of one part at a
//! time, so that whoever reads the parts reads no more than is needed.
//!
//! Rows stay the bytes that MySQL sent. Only keys and aggregates are looked into, by the types
//! in the result set's metadata; where MySQL's order or arithmetic cannot be had exactly, there
//! is a [`MergeError`] instead of a row.

mod aggregate;
mod client_row;
mod column;
mod comparator;
mod decimal;
mod double;
mod error;
mod group;
mod key;
mod merger;
mod number;
mod pad;
mod resort;
mod row;
mod source;
mod spec;
mod sum;
mod temporal;
mod tournament;
mod widening;
mod writer;

pub use column::{Column, Format};
pub use error::MergeError;
pub use merger::{Limits, Merger, Step};
pub use spec::*;
