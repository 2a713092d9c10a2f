//! What the sidecar says of itself: `SHOW REMORA …` and `EXPLAIN REMORA`.

mod connections;
mod encode;
mod memory;
mod tables;

pub(crate) use connections::connections;
pub(crate) use encode::encode;
pub(crate) use tables::{Table, explain, instances, shards};
