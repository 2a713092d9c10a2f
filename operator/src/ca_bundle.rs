//! Puts the CA, and nothing else, into the webhook configuration that the chart installs.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};

use crate::certificates::Trust;
use crate::names::OPERATOR;

/// Applying the chart again may take the field away; without it no labelled pod starts.
const CHECK: Duration = Duration::from_secs(30);

/// The one field that the operator owns of the webhook configuration.
pub(crate) struct CaBundle {
    api: Api<MutatingWebhookConfiguration>,
    name: String,
    trust: Arc<Trust>,
}

impl CaBundle {
    pub(crate) fn new(client: Client, name: String, trust: Arc<Trust>) -> Self {
        Self {
            api: Api::all(client),
            name,
            trust,
        }
    }

    /// Keeps the field as it should be, for ever.
    pub(crate) async fn keep(&self) {
        let mut changed = self.trust.subscribe();
        loop {
            changed.borrow_and_update();
            if let Err(error) = self.bring().await {
                tracing::warn!(%error, name = %self.name, "cannot put the CA into the webhook");
            }
            tokio::select! {
                () = tokio::time::sleep(CHECK) => {}
                // Never an end: the sender lives as long as `trust`.
                _ = changed.changed() => {}
            }
        }
    }

    async fn bring(&self) -> kube::Result<()> {
        let found = self.api.get(&self.name).await?;
        let bundle = self.trust.bundle();
        if let Some(patch) = patch(&found, bundle.as_bytes()) {
            let parameters = PatchParams::apply(OPERATOR).force();
            self.api
                .patch(&self.name, &parameters, &Patch::Apply(patch))
                .await?;
            tracing::info!(name = %self.name, "put the CA into the webhook");
        }
        self.trust.webhook_has(bundle);
        Ok(())
    }
}

/// Server-side apply of the field alone; `None` if it is there already.
fn patch(found: &MutatingWebhookConfiguration, bundle: &[u8]) -> Option<Value> {
    let webhooks = found.webhooks.as_ref()?;
    let same = |bytes: &k8s_openapi::ByteString| bytes.0 == bundle;
    if webhooks
        .iter()
        .all(|webhook| webhook.client_config.ca_bundle.as_ref().is_some_and(same))
    {
        return None;
    }
    let encoded = STANDARD.encode(bundle);
    let webhooks: Vec<_> = webhooks
        .iter()
        .map(|webhook| json!({"name": webhook.name, "clientConfig": {"caBundle": encoded}}))
        .collect();
    Some(json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": found.metadata.name},
        "webhooks": webhooks,
    }))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::ByteString;
    use k8s_openapi::api::admissionregistration::v1::{MutatingWebhook, WebhookClientConfig};

    use super::*;

    fn configuration(bundles: &[Option<&str>]) -> MutatingWebhookConfiguration {
        let webhook = |(i, bundle): (usize, &Option<&str>)| MutatingWebhook {
            name: format!("w{i}.remora.dev"),
            client_config: WebhookClientConfig {
                ca_bundle: bundle.map(|text| ByteString(text.as_bytes().to_vec())),
                ..WebhookClientConfig::default()
            },
            ..MutatingWebhook::default()
        };
        let mut configuration = MutatingWebhookConfiguration::default();
        configuration.metadata.name = Some("remora-injector".to_owned());
        configuration.webhooks = Some(bundles.iter().enumerate().map(webhook).collect());
        configuration
    }

    #[test]
    fn the_field_is_applied_to_every_entry_and_only_when_it_differs() {
        assert_eq!(
            patch(&configuration(&[Some("CA"), Some("CA")]), b"CA"),
            None
        );
        let patch = patch(&configuration(&[Some("CA"), None]), b"CA").unwrap();
        assert_eq!(
            patch["webhooks"],
            json!([
                {"name": "w0.remora.dev", "clientConfig": {"caBundle": "Q0E="}},
                {"name": "w1.remora.dev", "clientConfig": {"caBundle": "Q0E="}},
            ])
        );
    }
}
