//! Where a row lives: from the 64-bit hash of its key to a shard and a slot.
//!
//! Pinned for ever: rows on disk are where these functions once said.

use std::fmt;

/// Index of a shard, from 0.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ShardIndex(pub u16);

/// Index of a physical table within its shard, from 0.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Slot(pub u16);

/// Contiguous ranges of the 64-bit hash space, one for each shard, equal by default.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ShardMap {
    /// The first hash of each shard's range; ascending, the first is 0.
    starts: Vec<u64>,
}

impl ShardMap {
    /// Splits the hash space into `shards` equal ranges.
    ///
    /// # Panics
    /// If `shards` is 0; the manifest's schema demands at least 1.
    #[must_use]
    pub fn equal(shards: u16) -> Self {
        assert!(shards > 0, "a cluster has at least one shard");
        let n = u128::from(shards);
        let starts = (0..n).map(|i| ((i << 64).div_ceil(n)) as u64).collect();
        Self { starts }
    }

    /// The shard whose range holds `hash`.
    #[must_use]
    pub fn shard(&self, hash: u64) -> ShardIndex {
        ShardIndex((self.starts.partition_point(|start| *start <= hash) - 1) as u16)
    }

    /// How many shards there are.
    #[must_use]
    pub fn shards(&self) -> u16 {
        self.starts.len() as u16
    }
}

/// The slot of `hash` among `tables_per_shard` physical tables. It uses the low 32 bits,
/// the shard the high ones, so that neither predicts the other.
#[must_use]
pub fn slot(hash: u64, tables_per_shard: u16) -> Slot {
    Slot((((hash & 0xffff_ffff) * u64::from(tables_per_shard)) >> 32) as u16)
}

/// The schema (MySQL's database) that holds slot `slot` of a table of `database`.
///
/// With one table for each shard that is `database` itself.
pub fn schema(database: &str, tables_per_shard: u16, slot: Slot) -> SchemaName<'_> {
    SchemaName {
        database,
        slot: (tables_per_shard > 1).then_some(slot),
    }
}

/// Displays a physical schema's name, without quotes.
#[derive(Clone, Copy, Debug)]
pub struct SchemaName<'a> {
    database: &'a str,
    slot: Option<Slot>,
}

impl fmt::Display for SchemaName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.slot {
            None => f.write_str(self.database),
            Some(Slot(slot)) => write!(f, "{}__{slot:04}", self.database),
        }
    }
}
