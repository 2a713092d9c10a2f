//! The injector's webhook: from an `AdmissionReview` to a patched pod, or a denial that says
//! what to change. It asks nothing of the API server: it answers from watched objects.

mod patch;
mod server;

use std::sync::Arc;

use axum::{Json, Router, extract::State, routing::post};
use k8s_openapi::api::core::v1::Pod;
use kube::core::{
    DynamicObject, Status,
    admission::{AdmissionRequest, AdmissionResponse, AdmissionReview},
};

use crate::{
    access::{Applicant, granted_users},
    build::sidecar_resources,
    certificates::Trust,
    injector::{
        ClusterName, Denied, Grant, InvalidReference, Outcome, SidecarOptions, asks, inject,
        requested,
    },
    names::Names,
    watched::Watched,
};

pub use server::serve;

/// Why a pod is not started. The text is what the ReplicaSet's events show.
#[derive(Debug, thiserror::Error)]
enum Denial {
    #[error(transparent)]
    Reference(#[from] InvalidReference),
    #[error(
        "there is no ShardingCluster {0}; apply it, or correct annotation remora.dev/cluster. The pod is tried again by its controller"
    )]
    Unknown(ClusterName),
    #[error(
        "ShardingCluster {cluster} does not grant service account {service_account} of namespace {namespace}; its spec.access decides"
    )]
    NotGranted {
        cluster: ClusterName,
        namespace: String,
        service_account: String,
    },
    #[error(
        "the operator does not look after namespace {namespace}, so the Secret of the user's password is not copied there; add the namespace to the operator's watchNamespaces, or run the pod in the namespace of ShardingCluster {cluster}"
    )]
    NotWatched {
        cluster: ClusterName,
        namespace: String,
    },
    #[error(transparent)]
    Pod(#[from] Denied),
    #[error("the patch could not be made: {0}")]
    Patch(#[from] serde_json::Error),
    #[error("the patch could not be encoded: {0}")]
    Encode(#[from] kube::core::admission::SerializePatchError),
}

/// What the webhook answers from.
pub struct Webhook {
    watched: Arc<Watched>,
    /// Its `resources` are replaced by those of each cluster, its `ca_bundle` by the present one.
    options: SidecarOptions,
    trust: Arc<Trust>,
}

impl Webhook {
    /// Answers from what `watched` holds.
    pub fn new(watched: Arc<Watched>, options: SidecarOptions, trust: Arc<Trust>) -> Self {
        Self {
            watched,
            options,
            trust,
        }
    }

    /// The HTTP routes.
    pub fn routes(self) -> Router {
        Router::new()
            .route("/inject", post(review))
            .with_state(Arc::new(self))
    }

    /// A pod that asks for the sidecar itself is not started without it. One that is here for its
    /// namespace's label alone is left as it is where it cannot have the sidecar: a namespace
    /// has other pods too.
    fn admit(&self, request: &AdmissionRequest<Pod>) -> Result<AdmissionResponse, Denial> {
        let (Some(pod), Some(namespace)) = (&request.object, &request.namespace) else {
            return Ok(AdmissionResponse::from(request));
        };
        match self.decide(request, pod, namespace) {
            Err(denial) if !asks(pod) => {
                tracing::info!(namespace, reason = %denial, "Left a pod alone");
                let mut allowed = AdmissionResponse::from(request);
                allowed.warnings = Some(vec![format!("Remora: no sidecar: {denial}")]);
                Ok(allowed)
            }
            decided => decided,
        }
    }

    fn decide(
        &self,
        request: &AdmissionRequest<Pod>,
        pod: &Pod,
        namespace: &String,
    ) -> Result<AdmissionResponse, Denial> {
        let allowed = AdmissionResponse::from(request);
        let only = self.watched.only_cluster(namespace);
        let wanted = requested(pod, namespace, only.as_deref())?;
        let names = Names::new(&wanted.cluster.namespace, &wanted.cluster.name);
        let cluster = self
            .watched
            .cluster(&names)
            .filter(|cluster| cluster.metadata.deletion_timestamp.is_none())
            .ok_or_else(|| Denial::Unknown(wanted.cluster.clone()))?;
        let labels = self.watched.namespace_labels(namespace);
        let applicant = Applicant {
            namespace,
            namespace_labels: &labels,
            service_account: &wanted.service_account,
        };
        let users = granted_users(&cluster.spec, &wanted.cluster.namespace, applicant).ok_or_else(
            || Denial::NotGranted {
                cluster: wanted.cluster.clone(),
                namespace: namespace.clone(),
                service_account: wanted.service_account.clone(),
            },
        )?;
        let grant = Grant {
            cluster: &wanted.cluster,
            namespace,
            database: &cluster.spec.database,
            users: &users,
        };
        let options = SidecarOptions {
            resources: sidecar_resources(&cluster.spec.sidecar.resources),
            ca_bundle: self.trust.bundle(),
            ..self.options.clone()
        };
        match inject(pod, &grant, &options)? {
            Outcome::Unchanged => Ok(allowed),
            Outcome::Injected(_)
                if !users.is_empty()
                    && *namespace != wanted.cluster.namespace
                    && !self.watched.scope().covers(namespace) =>
            {
                Err(Denial::NotWatched {
                    cluster: wanted.cluster.clone(),
                    namespace: namespace.clone(),
                })
            }
            Outcome::Injected(injected) => {
                let (before, after) = (serde_json::to_value(pod)?, serde_json::to_value(injected)?);
                let patch = patch::additions(&before, &after);
                Ok(allowed.with_patch(patch)?)
            }
        }
    }
}

async fn review(
    State(webhook): State<Arc<Webhook>>,
    Json(review): Json<AdmissionReview<Pod>>,
) -> Json<AdmissionReview<DynamicObject>> {
    let response = match TryInto::<AdmissionRequest<Pod>>::try_into(review) {
        Err(error) => AdmissionResponse::invalid(error.to_string()),
        Ok(request) => webhook.admit(&request).unwrap_or_else(|denial| {
            let namespace = request.namespace.as_deref().unwrap_or_default();
            tracing::info!(namespace, reason = %denial, "Denied a pod");
            deny(&request, &denial)
        }),
    };
    Json(response.into_review())
}

/// 403 with a message: the API server shows it as `admission webhook … denied the request: …`.
fn deny(request: &AdmissionRequest<Pod>, denial: &Denial) -> AdmissionResponse {
    let mut response = AdmissionResponse::from(request);
    response.allowed = false;
    response.result = Status::failure(&denial.to_string(), "Forbidden").with_code(403);
    response
}

#[cfg(test)]
mod tests;
