//! Services.

use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::owned;
use crate::names::{MYSQL_PORT, Names, SERVER_PORT};

/// `NAME`: the ready gateways, for those outside the mesh.
pub(super) fn gateway(names: &Names, owner: &OwnerReference) -> Service {
    Service {
        metadata: owned(names, owner, names.gateway()),
        spec: Some(ServiceSpec {
            type_: Some("ClusterIP".to_owned()),
            selector: Some(names.selector()),
            ports: Some(vec![port("mysql", MYSQL_PORT)]),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    }
}

/// `NAME-SHARD`: a name for each MySQL server. Also for those that are not ready, which the
/// sidecars find out by themselves and sooner.
pub(super) fn headless(names: &Names, owner: &OwnerReference, shard: u16) -> Service {
    let mut metadata = owned(names, owner, names.shard(shard));
    metadata.labels = Some(names.shard_labels(shard));
    Service {
        metadata,
        spec: Some(ServiceSpec {
            cluster_ip: Some("None".to_owned()),
            publish_not_ready_addresses: Some(true),
            selector: Some(names.shard_selector(shard)),
            ports: Some(vec![port("mysqld", SERVER_PORT)]),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    }
}

fn port(name: &str, port: i32) -> ServicePort {
    ServicePort {
        name: Some(name.to_owned()),
        port,
        protocol: Some("TCP".to_owned()),
        target_port: Some(IntOrString::Int(port)),
        ..ServicePort::default()
    }
}
