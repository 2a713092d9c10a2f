//! A manifest that this version does not understand: another version of the CRD let it in.

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;
use kube::Resource;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::ApiResource;
use kube::core::error_boundary::InvalidObject;
use kube::runtime::controller::Action as Next;
use kube::runtime::events::{Event, EventType};
use remora_crds::{ConditionType, ShardingCluster};
use serde_json::{Value, json};

use super::{Context, REJECTED, ReconcileError};
use crate::classify::INVALID;
use crate::conditions::{self, Finding};

/// Says so in the manifest's status, of which it changes that alone: the rest may not be
/// understood either. Nothing else is touched, and what runs goes on.
pub(super) async fn not_understood(
    invalid: &InvalidObject,
    context: &Context,
) -> Result<Next, ReconcileError> {
    let metadata = &invalid.metadata;
    let namespace = metadata.namespace.clone().unwrap_or_default();
    let name = metadata.name.clone().unwrap_or_default();
    if metadata.deletion_timestamp.is_some() {
        return Ok(Next::await_change());
    }
    tracing::warn!(%namespace, cluster = %name, error = %invalid.error, "a manifest is not understood");
    let resource = ApiResource::erase::<ShardingCluster>(&());
    let api: Api<DynamicObject> =
        Api::namespaced_with(context.client.clone(), &namespace, &resource);
    let Some(raw) = api.get_opt(&name).await? else {
        return Ok(Next::await_change());
    };
    let status = raw.data.get("status").unwrap_or(&Value::Null);
    let held: Vec<Condition> =
        serde_json::from_value(status["conditions"].clone()).unwrap_or_default();
    let generation = raw.metadata.generation.unwrap_or_default();
    let message = format!(
        "this version of the operator does not understand the manifest: {}; correct the field, or \
         use the operator that fits the CRD. What runs goes on",
        invalid.error
    );
    let finding = Finding {
        type_: ConditionType::Accepted,
        holds: Some(false),
        reason: INVALID,
        message: message.clone(),
    };
    let mut conditions = held.clone();
    let changed = conditions::update(&mut conditions, vec![finding], generation, Timestamp::now());
    if conditions != held {
        // With the version that was read: conditions are replaced as a whole.
        let patch = json!({
            "metadata": {"resourceVersion": raw.metadata.resource_version},
            "status": {"conditions": conditions, "observedGeneration": generation},
        });
        api.patch_status(&name, &PatchParams::default(), &Patch::Merge(&patch))
            .await?;
    }
    if !changed.is_empty() {
        let event = Event {
            type_: EventType::Warning,
            reason: INVALID.to_owned(),
            note: Some(message),
            action: ConditionType::Accepted.name().to_owned(),
            secondary: None,
        };
        let reference = ObjectReference {
            uid: metadata.uid.clone(),
            name: Some(name),
            namespace: Some(namespace),
            api_version: Some(ShardingCluster::api_version(&()).into_owned()),
            kind: Some(ShardingCluster::kind(&()).into_owned()),
            ..ObjectReference::default()
        };
        if let Err(error) = context.recorder.publish(&event, &reference).await {
            tracing::debug!(%error, "cannot publish an event");
        }
    }
    Ok(Next::requeue(REJECTED))
}
