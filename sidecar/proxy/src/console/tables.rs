//! The answers as tables of text.

use std::time::{Duration, Instant};

use remora_crds::Role;
use remora_planner::ExplainRow;

use crate::instances::{Fleet, Member};
use crate::snapshot::Snapshot;

/// An answer: columns' names and rows.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Table {
    pub(crate) columns: &'static [&'static str],
    pub(crate) rows: Vec<Vec<String>>,
}

/// SHOW REMORA SHARDS: each shard's part of the hash space and its primary.
pub(crate) fn shards(snapshot: &Snapshot) -> Table {
    let count = snapshot.shards.len();
    let row = |shard: usize| {
        let primary = snapshot
            .primary(shard)
            .map(|p| format!("{}:{}", p.host, p.port));
        let instances = snapshot.shards.get(shard).map_or(0, |s| s.instances.len());
        vec![
            shard.to_string(),
            format!("{:016x}", first_hash(shard, count)),
            primary.unwrap_or_default(),
            instances.to_string(),
        ]
    };
    Table {
        columns: &["shard", "first_hash", "primary", "instances"],
        rows: (0..count).map(row).collect(),
    }
}

/// The first hash of a shard's range, as `ShardMap::equal` splits.
fn first_hash(shard: usize, count: usize) -> u64 {
    let (shard, count) = (shard as u128, (count as u128).max(1));
    u64::try_from((shard << 64).div_ceil(count)).unwrap_or(u64::MAX)
}

/// SHOW REMORA INSTANCES: each MySQL server, and what this sidecar knows of it.
pub(crate) fn instances(fleets: &[Fleet], now: Instant) -> Table {
    let members = fleets.iter().flat_map(|fleet| &fleet.members);
    let row = |member: &Member| {
        let (server, instance) = (&member.server, &member.instance);
        let known = server.known();
        let role = match instance.role {
            Role::Primary => "primary",
            Role::Replica => "replica",
        };
        vec![
            server.address().shard.to_string(),
            format!("{}:{}", instance.host, instance.port),
            role.to_owned(),
            member.weight.to_string(),
            known.health.label().to_owned(),
            lag(known.freshness.and_then(|freshness| freshness.lag(now))),
            server.breaker().label().to_owned(),
            member.reads.get().to_string(),
            known.last_error,
        ]
    };
    Table {
        columns: &[
            "shard",
            "instance",
            "role",
            "weight",
            "health",
            "lag_seconds",
            "breaker",
            "reads",
            "last_error",
        ],
        rows: members.map(row).collect(),
    }
}

/// How far a replica may be behind; nothing where nobody knows, or for a primary.
fn lag(lag: Option<(Duration, bool)>) -> String {
    match lag {
        Some((lag, false)) => format!("{:.1}", lag.as_secs_f64()),
        Some((lag, true)) => format!(">{:.1}", lag.as_secs_f64()),
        None => String::new(),
    }
}

/// EXPLAIN REMORA: which shards, which SQL, how merged.
pub(crate) fn explain(rows: &[ExplainRow]) -> Table {
    let row = |row: &ExplainRow| {
        vec![
            row.shard.clone(),
            row.slots.to_string(),
            row.sql.clone(),
            row.merge.clone(),
        ]
    };
    Table {
        columns: &["shard", "tables", "sql", "merge"],
        rows: rows.iter().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use remora_crds::layout::{ShardIndex, ShardMap};

    use super::*;

    #[test]
    fn the_ranges_shown_are_those_of_the_shard_map() {
        for count in [1_u16, 2, 3, 4, 7, 256] {
            let map = ShardMap::equal(count);
            for shard in 0..count {
                let first = first_hash(shard.into(), count.into());
                assert_eq!(map.shard(first), ShardIndex(shard));
                if let Some(before) = first.checked_sub(1) {
                    assert_eq!(map.shard(before), ShardIndex(shard - 1));
                }
            }
        }
    }
}
