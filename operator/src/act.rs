//! Does what was decided. Every step can be done again.

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret, Service};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{Api, DeleteParams, EvictParams, Patch, PatchParams};
use kube::{Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::build::{Kind, Object, ObjectKey, SIDECAR_CONTAINER};
use crate::classify::Action;
use crate::names::{CLUSTER, CLUSTER_NAMESPACE, Names, OPERATOR};

/// Why a step failed.
#[derive(Debug, thiserror::Error)]
pub enum ActError {
    /// The apiserver's answer.
    #[error("{step}: {source}")]
    Api {
        /// What was tried.
        step: String,
        /// The answer.
        #[source]
        source: Box<kube::Error>,
    },
    /// Somebody else's object bears the name.
    #[error("{0} exists and is not this cluster's; remove or rename it")]
    Foreign(ObjectKey),
}

/// Acts on one cluster's objects.
#[derive(Clone)]
pub struct Actor<'a> {
    client: Client,
    names: &'a Names,
}

impl<'a> Actor<'a> {
    /// For the cluster with these names.
    #[must_use]
    pub fn new(client: Client, names: &'a Names) -> Self {
        Self { client, names }
    }

    /// Does `action`.
    ///
    /// # Errors
    /// [`ActError`].
    pub async fn act(&self, action: &Action) -> Result<(), ActError> {
        match action {
            Action::Apply(object) => self.apply(object).await,
            Action::Delete(key) if key.kind == Kind::NetworkPolicy => {
                self.delete::<NetworkPolicy>(key).await
            }
            Action::Delete(key) => self.delete::<ConfigMap>(key).await,
            Action::PatchSidecar { pod, image } => self.patch_sidecar(pod, image).await,
            Action::Evict { pod } => self.evict(pod).await,
        }
    }

    /// Applies `object`, unless another's bears its name.
    ///
    /// # Errors
    /// [`ActError`].
    pub async fn apply(&self, object: &Object) -> Result<(), ActError> {
        let key = object.key();
        match object {
            Object::ConfigMap(object) => self.apply_one::<ConfigMap>(object, key).await,
            Object::Secret(object) => self.apply_one::<Secret>(object, key).await,
            Object::Service(object) => self.apply_one::<Service>(object, key).await,
            Object::PodDisruptionBudget(object) => {
                self.apply_one::<PodDisruptionBudget>(object, key).await
            }
            Object::NetworkPolicy(object) => self.apply_one::<NetworkPolicy>(object, key).await,
            Object::StatefulSet(object) => self.apply_one::<StatefulSet>(object, key).await,
        }
    }

    async fn apply_one<K>(&self, object: &K, key: ObjectKey) -> Result<(), ActError>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
            + Clone
            + DeserializeOwned
            + Serialize
            + std::fmt::Debug,
    {
        let api: Api<K> = self.api();
        let failed = |source| failed(format!("applying {key}"), source);
        let found = api.get_metadata_opt(&key.name).await.map_err(failed)?;
        // The second: the copy of a Secret that another namespace's cluster put here.
        if let Some(found) = found
            && (found.labels().get(CLUSTER) != Some(&self.names.cluster)
                || found.labels().contains_key(CLUSTER_NAMESPACE))
        {
            return Err(ActError::Foreign(key));
        }
        let parameters = PatchParams::apply(OPERATOR).force();
        api.patch(&key.name, &parameters, &Patch::Apply(object))
            .await
            .map_err(failed)?;
        tracing::info!(cluster = %self.names.cluster, %key, "applied");
        Ok(())
    }

    async fn delete<K>(&self, key: &ObjectKey) -> Result<(), ActError>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
            + Clone
            + DeserializeOwned
            + std::fmt::Debug,
    {
        let api: Api<K> = self.api();
        match api.delete(&key.name, &DeleteParams::default()).await {
            Ok(_) => Ok(()),
            Err(error) if is(&error, 404) => Ok(()),
            Err(error) => Err(failed(format!("deleting {key}"), error)),
        }
    }

    async fn patch_sidecar(&self, pod: &str, image: &str) -> Result<(), ActError> {
        let api: Api<Pod> = self.api();
        let patch = json!({
            "spec": { "initContainers": [{ "name": SIDECAR_CONTAINER, "image": image }] }
        });
        api.patch(pod, &PatchParams::default(), &Patch::Strategic(patch))
            .await
            .map_err(|error| failed(format!("giving pod {pod} another sidecar"), error))?;
        tracing::info!(cluster = %self.names.cluster, pod, image, "changed the sidecar");
        Ok(())
    }

    /// Asks for an eviction, which obeys the `PodDisruptionBudget`: refused for now is no error.
    async fn evict(&self, pod: &str) -> Result<(), ActError> {
        let api: Api<Pod> = self.api();
        match api.evict(pod, &EvictParams::default()).await {
            Ok(_) => {
                tracing::info!(cluster = %self.names.cluster, pod, "evicted");
                Ok(())
            }
            Err(error) if is(&error, 404) || is(&error, 429) => Ok(()),
            Err(error) => Err(failed(format!("evicting pod {pod}"), error)),
        }
    }

    fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), &self.names.namespace)
    }
}

fn failed(step: String, source: kube::Error) -> ActError {
    ActError::Api {
        step,
        source: Box::new(source),
    }
}

/// Whether the apiserver answered with this HTTP status.
pub(crate) fn is(error: &kube::Error, code: u16) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == code)
}
