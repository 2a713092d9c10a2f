//! The cluster that this crate's tests share.

use remora_crds::{Images, ShardingCluster, ShardingClusterStatus};

/// `examples/shop.yaml`, as the apiserver would give it after the operator first saw it, but with
/// one instance a shard and no encrypted columns: tests of replicas and keys add them.
pub(crate) fn shop() -> ShardingCluster {
    let mut cluster: ShardingCluster =
        serde_saphyr::from_str(include_str!("../../examples/shop.yaml")).unwrap();
    cluster.spec.instances_per_shard = 1;
    cluster.spec.encryption = None;
    for table in &mut cluster.spec.tables {
        table.encryption.clear();
    }
    cluster.metadata.namespace = Some("default".to_owned());
    cluster.metadata.uid = Some("11111111-2222-3333-4444-555555555555".to_owned());
    cluster.metadata.generation = Some(1);
    cluster.status = Some(ShardingClusterStatus {
        epoch: 1,
        images: Some(images()),
        ..ShardingClusterStatus::default()
    });
    cluster
}

/// Images of this version.
pub(crate) fn images() -> Images {
    Images {
        mysql: "docker.io/library/mysql:9.7".to_owned(),
        sidecar: "example.test/remora-sidecar:0.1.0".to_owned(),
        supervisor: "example.test/remora-supervisor:0.1.0".to_owned(),
    }
}
