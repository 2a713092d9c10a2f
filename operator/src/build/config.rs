//! ConfigMaps: my.cnf, and the operator's CA.

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use remora_crds::ShardingCluster;

use super::object::short_hash;
use super::{my_cnf, owned};
use crate::names::Names;

/// my.cnf. Its name is its content's, and it is immutable: a pod that restarts finds the one
/// it started with, and another manifest brings another map.
pub(super) fn my_cnf_map(
    cluster: &ShardingCluster,
    names: &Names,
    owner: &OwnerReference,
) -> ConfigMap {
    let content = my_cnf(&cluster.spec);
    ConfigMap {
        metadata: owned(names, owner, names.my_cnf(&short_hash(content.as_bytes()))),
        data: Some([("my.cnf".to_owned(), content)].into()),
        immutable: Some(true),
        ..ConfigMap::default()
    }
}

/// The CA by which sidecars in MySQL pods know the operator. The kubelet brings changes into
/// running pods.
pub(super) fn ca_map(names: &Names, owner: &OwnerReference, ca: &str) -> ConfigMap {
    ConfigMap {
        metadata: owned(names, owner, names.ca()),
        data: Some([("ca.crt".to_owned(), ca.to_owned())].into()),
        ..ConfigMap::default()
    }
}
