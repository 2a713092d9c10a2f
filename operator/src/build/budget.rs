//! The PodDisruptionBudget.

use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, OwnerReference};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::owned;
use crate::names::Names;

/// One MySQL server of the cluster at a time. It covers the cluster, not each shard: with one
/// instance a shard, a budget of its own would either block every drain or hold none back.
pub(super) fn budget(names: &Names, owner: &OwnerReference) -> PodDisruptionBudget {
    PodDisruptionBudget {
        metadata: owned(names, owner, names.gateway()),
        spec: Some(PodDisruptionBudgetSpec {
            max_unavailable: Some(IntOrString::Int(1)),
            // Two servers that do not start, for an option that is wrong, would keep each
            // other from being replaced by what the corrected manifest asks for.
            unhealthy_pod_eviction_policy: Some("AlwaysAllow".to_owned()),
            selector: Some(LabelSelector {
                match_labels: Some(names.selector()),
                ..LabelSelector::default()
            }),
            ..PodDisruptionBudgetSpec::default()
        }),
        ..PodDisruptionBudget::default()
    }
}
