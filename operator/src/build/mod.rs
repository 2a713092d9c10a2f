//! Pure builders: from a manifest to the Kubernetes objects that it asks for.

mod budget;
mod config;
mod mycnf;
mod network;
mod object;
mod pod;
mod secret;
mod service;
mod volumes;
mod workload;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Resource;
use remora_crds::{Images, ShardingCluster};

use crate::names::Names;

pub use mycnf::{max_connections, my_cnf};
pub(crate) use object::stamp;
pub use object::{Kind, Object, ObjectKey};
pub use pod::{MYSQL_CONTAINER, SIDECAR_CONTAINER};
pub(crate) use pod::{pod_spec_hash, sidecar_resources};
pub use secret::{
    CA_KEY, CERTIFICATE_KEY, KEY_KEY, REPLICATION_KEY, SystemPasswords, keys_secret, system_secret,
    tls_secret, user_secret,
};

/// What builders need besides the manifest.
#[derive(Clone, Debug)]
pub struct Site {
    /// Where sidecars find the operator: `https://RELEASE-discovery.NAMESPACE.svc:8443`.
    pub discovery: String,
    /// The DNS domain of the Kubernetes cluster.
    pub domain: String,
    /// The operator's CAs, as PEM.
    pub ca: String,
    /// `json` or `text`.
    pub log_format: String,
    /// For images of ours.
    pub image_pull_policy: String,
    /// Let nobody but sidecars and MySQL pods reach mysqld.
    pub network_policy: bool,
}

/// Everything but Secrets, which hold values that are not in the manifest.
#[must_use]
pub fn objects(cluster: &ShardingCluster, images: &Images, site: &Site) -> Vec<Object> {
    let (names, owner) = (names(cluster), owner(cluster));
    let my_cnf = config::my_cnf_map(cluster, &names, &owner);
    let my_cnf_name = my_cnf.metadata.name.clone().unwrap_or_default();
    let mut objects = vec![
        Object::from(my_cnf),
        config::ca_map(&names, &owner, &site.ca).into(),
        service::gateway(&names, &owner).into(),
        budget::budget(&names, &owner).into(),
    ];
    if site.network_policy {
        objects.push(network::policy(&names, &owner).into());
    }
    for shard in 0..cluster.spec.shards {
        objects.push(service::headless(&names, &owner, shard).into());
        let template = pod::template(cluster, &names, images, site, &my_cnf_name, shard);
        objects.push(workload::stateful_set(cluster, &names, &owner, shard, template).into());
    }
    objects.into_iter().map(Object::stamped).collect()
}

/// The names of `cluster`'s objects.
#[must_use]
pub fn names(cluster: &ShardingCluster) -> Names {
    let metadata = &cluster.metadata;
    Names::new(
        metadata.namespace.as_deref().unwrap_or_default(),
        metadata.name.as_deref().unwrap_or_default(),
    )
}

/// Makes an object go when its cluster goes.
fn owner(cluster: &ShardingCluster) -> OwnerReference {
    OwnerReference {
        api_version: ShardingCluster::api_version(&()).into_owned(),
        kind: ShardingCluster::kind(&()).into_owned(),
        name: cluster.metadata.name.clone().unwrap_or_default(),
        uid: cluster.metadata.uid.clone().unwrap_or_default(),
        controller: Some(true),
        // The operator may be gone; nothing waits for it.
        block_owner_deletion: Some(false),
    }
}

/// Metadata of an object that goes with its cluster.
fn owned(names: &Names, owner: &OwnerReference, name: String) -> ObjectMeta {
    ObjectMeta {
        name: Some(name),
        namespace: Some(names.namespace.clone()),
        labels: Some(names.labels()),
        owner_references: Some(vec![owner.clone()]),
        ..ObjectMeta::default()
    }
}

#[cfg(test)]
mod tests;
