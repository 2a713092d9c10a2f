//! The manifest that this crate's tests share.

use crate::{ShardingCluster, ShardingClusterSpec};

/// `examples/shop.yaml`.
pub(crate) fn shop_cluster() -> ShardingCluster {
    serde_saphyr::from_str(include_str!("../../examples/shop.yaml")).unwrap()
}

/// The spec of `examples/shop.yaml`.
pub(crate) fn shop() -> ShardingClusterSpec {
    shop_cluster().spec
}
