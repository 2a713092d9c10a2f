//! The manifest that this crate's tests share.

use crate::{ShardingCluster, ShardingClusterSpec};

/// `examples/shop.yaml`.
pub(crate) fn example() -> ShardingCluster {
    serde_saphyr::from_str(include_str!("../../examples/shop.yaml")).unwrap()
}

/// The example without what a manifest may leave out: tests add what they are of.
pub(crate) fn shop_cluster() -> ShardingCluster {
    let mut cluster = example();
    let spec = &mut cluster.spec;
    spec.instances_per_shard = 1;
    spec.replication = None;
    spec.reads = None;
    spec.resilience = None;
    spec.encryption = None;
    for table in &mut spec.tables {
        table.encryption.clear();
    }
    cluster
}

/// The spec of [`shop_cluster`].
pub(crate) fn shop() -> ShardingClusterSpec {
    shop_cluster().spec
}
