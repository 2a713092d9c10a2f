//! Rows of many shards become one result: streaming k-way merge, aggregates, limits.
//! Pure: it is fed packets and gives packets; no I/O, no tasks.

mod spec;

pub use spec::*;
