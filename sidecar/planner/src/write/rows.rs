//! UPDATE and DELETE of more than one place.

use crate::binding::Binding;
use crate::bound::{Count, Place, Writes};

/// The client's statement on each of these places, which are in order.
pub(crate) fn row_writes<'a>(binding: &Binding<'a>, places: &[Place]) -> Writes<'a> {
    let shards = places
        .chunk_by(|left, right| left.shard == right.shard)
        .filter_map(|places| {
            let shard = places.first()?.shard;
            Some((
                shard,
                places
                    .iter()
                    .map(|place| binding.statement(&[*place]))
                    .collect(),
            ))
        })
        .collect();
    Writes {
        shards,
        count: Count::Sum,
    }
}

/// A write to broadcast tables: the client's statement on every shard.
pub(crate) fn everywhere<'a>(binding: &Binding<'a>) -> Writes<'a> {
    let shards = binding
        .catalog
        .shard_indexes()
        .map(|shard| (shard, vec![binding.statement(&[])]))
        .collect();
    Writes {
        shards,
        count: Count::First,
    }
}
