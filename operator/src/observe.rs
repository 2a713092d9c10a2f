//! What is there: objects and pods of one cluster, as the apiserver has them, and what the
//! agents report.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};
use remora_discovery::AgentHealth;
use serde::de::DeserializeOwned;

use crate::build::{Kind, ObjectKey, SIDECAR_CONTAINER, stamp};
use crate::names::{CLUSTER, InstanceId, Names, POD_SPEC};
use crate::reports::Reports;

/// What is there.
#[derive(Clone, Debug, Default)]
pub struct Observations {
    /// The cluster's objects, each with the hash of what was applied last.
    pub objects: BTreeMap<ObjectKey, Option<String>>,
    /// The pod of each instance.
    pub pods: BTreeMap<InstanceId, PodView>,
    /// What each instance's agent reported lately.
    pub agents: BTreeMap<InstanceId, AgentHealth>,
    /// Whether an agent that did not report is cut off or dead: false while this leader is new.
    pub heeds_silence: bool,
}

/// What matters of a MySQL pod.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct PodView {
    /// Its name.
    pub name: String,
    /// Kubernetes finds it ready.
    pub ready: bool,
    /// It is on its way out.
    pub ending: bool,
    /// Hash of what it was made from.
    pub pod_spec: String,
    /// The image of its sidecar.
    pub sidecar_image: String,
    /// The my.cnf that it mounts.
    pub my_cnf: String,
    /// Why it does not run, in the kubelet's or the scheduler's words.
    pub trouble: Option<String>,
}

/// Asks the apiserver, and `reports` about the cluster with this UID.
///
/// # Errors
/// Those of the apiserver.
pub async fn observe(
    client: &Client,
    names: &Names,
    reports: &Reports,
    uid: &str,
) -> kube::Result<Observations> {
    let mut objects = BTreeMap::new();
    let mut note = |kind: Kind, found: Vec<ObjectMeta>| {
        for metadata in found {
            let hash = stamp(&metadata).map(str::to_owned);
            objects.insert(
                ObjectKey {
                    kind,
                    name: metadata.name.unwrap_or_default(),
                },
                hash,
            );
        }
    };
    note(Kind::ConfigMap, list::<ConfigMap>(client, names).await?);
    note(Kind::Service, list::<Service>(client, names).await?);
    note(
        Kind::PodDisruptionBudget,
        list::<PodDisruptionBudget>(client, names).await?,
    );
    note(
        Kind::NetworkPolicy,
        list::<NetworkPolicy>(client, names).await?,
    );
    note(Kind::StatefulSet, list::<StatefulSet>(client, names).await?);
    let pods: Api<Pod> = Api::namespaced(client.clone(), &names.namespace);
    let pods = pods.list(&of_cluster(names)).await?;
    let pods = pods.iter().filter_map(|pod| {
        Some((
            names.instance_of_pod(pod.metadata.name.as_deref()?)?,
            PodView::of(pod),
        ))
    });
    Ok(Observations {
        objects,
        pods: pods.collect(),
        agents: reports.of(names, uid),
        heeds_silence: reports.heeds_silence(),
    })
}

/// Metadata of the cluster's objects of one kind.
///
/// # Errors
/// Those of the apiserver.
pub(crate) async fn list<K>(client: &Client, names: &Names) -> kube::Result<Vec<ObjectMeta>>
where
    K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>
        + Clone
        + std::fmt::Debug
        + DeserializeOwned,
{
    let api: Api<K> = Api::namespaced(client.clone(), &names.namespace);
    let found = api.list_metadata(&of_cluster(names)).await?;
    Ok(found
        .items
        .into_iter()
        .map(|object| object.metadata)
        .collect())
}

fn of_cluster(names: &Names) -> ListParams {
    ListParams::default().labels(&format!("{CLUSTER}={}", names.cluster))
}

impl PodView {
    /// The view of `pod`.
    #[must_use]
    pub fn of(pod: &Pod) -> Self {
        let status = pod.status.clone().unwrap_or_default();
        let conditions = status.conditions.unwrap_or_default();
        let spec = pod.spec.clone().unwrap_or_default();
        let sidecar = spec.init_containers.unwrap_or_default();
        let sidecar = sidecar
            .into_iter()
            .find(|container| container.name == SIDECAR_CONTAINER);
        let maps = spec
            .volumes
            .unwrap_or_default()
            .into_iter()
            .filter_map(|v| v.config_map);
        let my_cnf = maps
            .map(|map| map.name)
            .find(|name| name.contains("-mycnf-"));
        let unschedulable = conditions
            .iter()
            .find(|c| c.type_ == "PodScheduled" && c.status == "False")
            .map(|c| {
                c.message
                    .clone()
                    .unwrap_or_else(|| "not scheduled".to_owned())
            });
        let containers = status.init_container_statuses.into_iter().flatten();
        let waiting = containers
            .chain(status.container_statuses.into_iter().flatten())
            .filter_map(|container| Some((container.name, container.state?.waiting?)))
            // These two are the ordinary way of a pod that starts.
            .find(|(_, waiting)| {
                !matches!(
                    waiting.reason.as_deref(),
                    None | Some("PodInitializing" | "ContainerCreating")
                )
            })
            .map(|(name, waiting)| {
                let reason = waiting.reason.unwrap_or_default();
                format!(
                    "container {name}: {reason}: {}",
                    waiting.message.unwrap_or_default()
                )
            });
        Self {
            name: pod.name_any(),
            ready: conditions
                .iter()
                .any(|c| c.type_ == "Ready" && c.status == "True"),
            ending: pod.metadata.deletion_timestamp.is_some(),
            pod_spec: pod.annotations().get(POD_SPEC).cloned().unwrap_or_default(),
            sidecar_image: sidecar
                .and_then(|container| container.image)
                .unwrap_or_default(),
            my_cnf: my_cnf.unwrap_or_default(),
            trouble: unschedulable.or(waiting),
        }
    }
}
