//! The StatefulSet of a shard.

use k8s_openapi::api::apps::v1::{
    StatefulSet, StatefulSetPersistentVolumeClaimRetentionPolicy, StatefulSetSpec,
    StatefulSetUpdateStrategy,
};
use k8s_openapi::api::core::v1::{
    PersistentVolumeClaim, PersistentVolumeClaimSpec, PodTemplateSpec, VolumeResourceRequirements,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, OwnerReference};
use remora_crds::ShardingCluster;

use super::owned;
use super::pod::DATA_VOLUME;
use crate::names::{Names, RETAINED};

/// The StatefulSet of a shard. It replaces no pod by itself (`OnDelete`): the operator knows
/// which one may go. Its volumes outlive it.
pub(super) fn stateful_set(
    cluster: &ShardingCluster,
    names: &Names,
    owner: &OwnerReference,
    shard: u16,
    template: PodTemplateSpec,
) -> StatefulSet {
    let mut metadata = owned(names, owner, names.shard(shard));
    metadata.labels = Some(names.shard_labels(shard));
    let retain = "Retain".to_owned();
    StatefulSet {
        metadata,
        spec: Some(StatefulSetSpec {
            service_name: Some(names.shard(shard)),
            replicas: Some(cluster.spec.instances_per_shard.into()),
            pod_management_policy: Some("Parallel".to_owned()),
            update_strategy: Some(StatefulSetUpdateStrategy {
                type_: Some("OnDelete".to_owned()),
                rolling_update: None,
            }),
            persistent_volume_claim_retention_policy: Some(
                StatefulSetPersistentVolumeClaimRetentionPolicy {
                    when_deleted: Some(retain.clone()),
                    when_scaled: Some(retain),
                },
            ),
            selector: LabelSelector {
                match_labels: Some(names.shard_selector(shard)),
                ..LabelSelector::default()
            },
            template,
            volume_claim_templates: Some(vec![volume_claim(cluster, names, shard)]),
            ..StatefulSetSpec::default()
        }),
        ..StatefulSet::default()
    }
}

fn volume_claim(cluster: &ShardingCluster, names: &Names, shard: u16) -> PersistentVolumeClaim {
    let storage = &cluster.spec.mysql.storage;
    let mut labels = names.shard_selector(shard);
    labels.insert(RETAINED.to_owned(), "true".to_owned());
    PersistentVolumeClaim {
        metadata: ObjectMeta {
            name: Some(DATA_VOLUME.to_owned()),
            labels: Some(labels),
            ..ObjectMeta::default()
        },
        spec: Some(PersistentVolumeClaimSpec {
            access_modes: Some(vec!["ReadWriteOnce".to_owned()]),
            storage_class_name: storage.storage_class_name.clone(),
            volume_mode: Some("Filesystem".to_owned()),
            resources: Some(VolumeResourceRequirements {
                requests: Some([("storage".to_owned(), storage.size.0.clone())].into()),
                limits: None,
            }),
            ..PersistentVolumeClaimSpec::default()
        }),
        ..PersistentVolumeClaim::default()
    }
}
