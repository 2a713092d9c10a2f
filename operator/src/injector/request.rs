//! What a pod asks for.

use std::fmt;

use k8s_openapi::api::core::v1::Pod;

use super::CLUSTER_ANNOTATION;
use crate::names::INJECT;

/// A cluster's namespace and name.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ClusterName {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl fmt::Display for ClusterName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A pod that reached the webhook.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Requested {
    /// The cluster it wants.
    pub cluster: ClusterName,
    /// Its service account.
    pub service_account: String,
}

/// The annotation is missing or malformed.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum InvalidReference {
    /// No annotation, and none or several to choose from.
    #[error(
        "the pod asks for the sidecar but annotation remora.dev/cluster does not name a ShardingCluster, of which its namespace has not exactly one; set it to [namespace/]name"
    )]
    Missing,
    /// Not `[namespace/]name`.
    #[error("annotation remora.dev/cluster: \"{0}\" is not [namespace/]name")]
    Malformed(String),
}

/// Whether `pod` asks for the sidecar itself, by its label or its annotation. Otherwise only its
/// namespace does, which has other pods too.
#[must_use]
pub fn asks(pod: &Pod) -> bool {
    let labels = pod.metadata.labels.as_ref();
    let labelled = labels.and_then(|map| map.get(INJECT));
    labelled.is_some_and(|value| value == "true") || annotation(pod).is_some()
}

fn annotation(pod: &Pod) -> Option<&String> {
    let annotations = pod.metadata.annotations.as_ref()?;
    annotations.get(CLUSTER_ANNOTATION)
}

/// Reads what `pod`, which is made in `namespace`, is to use: the cluster that its annotation
/// names, else `only`, which is the namespace's own if there is exactly one. A pod's own
/// namespace field is empty when a controller makes it, so the admission request's is used.
///
/// # Errors
/// [`InvalidReference`], with a text for the user.
pub fn requested(
    pod: &Pod,
    namespace: &str,
    only: Option<&str>,
) -> Result<Requested, InvalidReference> {
    let reference = annotation(pod).map(String::as_str);
    let reference = reference.or(only).ok_or(InvalidReference::Missing)?;
    let (namespace, name) = reference.split_once('/').unwrap_or((namespace, reference));
    if !is_label(namespace) || !is_label(name) {
        return Err(InvalidReference::Malformed(reference.to_owned()));
    }
    let service_account = pod
        .spec
        .as_ref()
        .and_then(|spec| spec.service_account_name.clone())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "default".into());
    Ok(Requested {
        cluster: ClusterName {
            namespace: namespace.into(),
            name: name.into(),
        },
        service_account,
    })
}

/// RFC 1123's label, which Kubernetes asks of namespaces, and the CRD of a cluster's name.
fn is_label(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = name.as_bytes();
    matches!((bytes.first(), bytes.last()), (Some(first), Some(last)) if inner(*first) && inner(*last))
        && bytes.len() <= 63
        && bytes.iter().all(|byte| inner(*byte) || *byte == b'-')
}
