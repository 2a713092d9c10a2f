//! Following the CA's Secret, and leading its rotation.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use futures::stream::StreamExt;
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::Client;
use kube::api::{Api, ObjectMeta, Patch, PatchParams};
use serde_json::json;

use super::audience::{self, Audience, Member, Place};
use super::replicas::Replicas;
use super::rotation::{Phase, Situation, decide};
use super::state::{CaState, STATUS, StoreError};
use super::{CertificateError, Trust, store};
use crate::access::{Applicant, granted_users};
use crate::act::is;
use crate::injector::CA_ANNOTATION;
use crate::names::Names;
use crate::settings::Settings;
use crate::watched::Watched;

/// How often each replica reads the Secret.
const READ: Duration = Duration::from_secs(5);
/// How often the leader looks at pods while something waits for them.
const BUSY: Duration = Duration::from_secs(3);
/// How often while a cluster's certificates have yet to come into force.
const CALM: Duration = Duration::from_secs(10);
/// How often otherwise.
const IDLE: Duration = Duration::from_secs(60);
/// Pods that are patched at once.
const PATCHES: usize = 16;
/// How many of those that are waited for are named.
const NAMED: usize = 3;

/// Keeps `trust` as the Secret has it, for as long as the process lives.
pub async fn follow(secrets: Api<Secret>, name: String, trust: Arc<Trust>) {
    loop {
        tokio::time::sleep(READ).await;
        match store::load(&secrets, &name).await {
            Ok(Some((state, _))) => trust.publish(state),
            // The leader makes it again from what it knows.
            Ok(None) => tracing::warn!(name, "the CA's Secret is gone"),
            Err(error) => tracing::warn!(%error, "cannot read the CA"),
        }
    }
}

/// Why a round failed. The next one tries again.
#[derive(Debug, thiserror::Error)]
enum KeepError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the apiserver: {0}")]
    Api(#[from] Box<kube::Error>),
    #[error(transparent)]
    Certificate(#[from] CertificateError),
}

/// Leads the rotation of the CA. There is one for each time that a replica leads.
pub struct Keeper {
    client: Client,
    secrets: Api<Secret>,
    name: String,
    discovery: String,
    replicas: Replicas,
    trust: Arc<Trust>,
    watched: Arc<Watched>,
    phase: Phase,
    since: Instant,
}

impl Keeper {
    /// A leader that has done nothing yet.
    #[must_use]
    pub fn new(
        client: Client,
        settings: &Settings,
        trust: Arc<Trust>,
        watched: Arc<Watched>,
    ) -> Self {
        let namespace = settings.namespace.clone();
        Self {
            secrets: Api::namespaced(client.clone(), &namespace),
            name: settings.ca_secret(),
            discovery: settings.discovery(),
            replicas: Replicas {
                client: client.clone(),
                namespace,
                own: settings.pod_name.clone(),
                port: settings.discovery_listen.port(),
                name: settings.discovery_host(),
            },
            phase: trust.state().phase(),
            since: Instant::now(),
            client,
            trust,
            watched,
        }
    }

    /// Works for as long as this replica leads. Each step stands alone: the next leader finds it
    /// in the Secret.
    pub async fn keep(mut self) {
        let mut changed = self.trust.subscribe();
        loop {
            changed.borrow_and_update();
            let rest = match self.round(SystemTime::now()).await {
                Ok(rest) => rest,
                Err(error) => {
                    tracing::warn!(%error, "the CA could not be looked after");
                    BUSY
                }
            };
            let asked = async {
                let mut waited = Duration::ZERO;
                while waited < rest && !self.trust.state().requested() {
                    if waited >= CALM && self.trust.has_unsettled() {
                        break;
                    }
                    tokio::time::sleep(BUSY).await;
                    waited += BUSY;
                }
            };
            tokio::select! {
                () = asked => {}
                // Never an end: the sender lives as long as `trust`.
                _ = changed.changed() => {}
            }
        }
    }

    async fn round(&mut self, now: SystemTime) -> Result<Duration, KeepError> {
        let Some((state, metadata)) = store::load(&self.secrets, &self.name).await? else {
            // Pods trust what it held: it is made again from what this replica knows.
            store::create(&self.secrets, &self.name, &self.trust.state()).await?;
            return Ok(BUSY);
        };
        self.trust.publish(state.clone());
        if self.phase != state.phase() {
            self.phase = state.phase();
            self.since = Instant::now();
        }
        self.trust.forget_all_but(&self.watched.all());
        self.look().await?;
        let waiting = self.waiting(&state).await?;
        let situation = Situation {
            phase: self.phase,
            lasted: self.since.elapsed(),
            validity: state.leaving(),
            requested: state.requested(),
            waiting: !waiting.is_empty(),
        };
        if let Some(step) = decide(&situation, now) {
            let next = state.after(step, &self.name, now)?;
            if store::replace(&self.secrets, &next, metadata).await? {
                tracing::info!(?step, ca = %next.issuer.fingerprint(), "the CA rotates");
                self.trust.publish(next);
            }
            return Ok(BUSY);
        }
        self.say(&state, metadata, &waiting).await?;
        Ok(match self.phase {
            Phase::Settled if waiting.is_empty() => IDLE,
            Phase::Settled => CALM,
            Phase::Distributing | Phase::Issuing => BUSY,
        })
    }

    /// Gives applications' pods the CAs to trust, and sees who trusts what.
    async fn look(&self) -> Result<(), KeepError> {
        let scope = self.watched.scope();
        let gathered = audience::gather(&self.client, scope, &self.discovery).await;
        let mut members = gathered.map_err(Box::new)?;
        members.retain(|member| self.concerns(member));
        for member in &mut members {
            member.told = self.trust.told(&member.uid);
        }
        let audience = Audience::new(members);
        let bundle = self.trust.bundle();
        // One that cannot be patched is waited for by name, and keeps nobody else back.
        futures::stream::iter(audience.outdated(&bundle))
            .for_each_concurrent(PATCHES, |member| self.give(member, &bundle))
            .await;
        self.trust.gathered(audience);
        Ok(())
    }

    /// Whether a pod is told anything: one whose cluster is gone, or no longer grants it anything,
    /// is not, and nobody waits for it.
    fn concerns(&self, member: &Member) -> bool {
        let Some(cluster) = self.watched.cluster(&member.cluster) else {
            return self.watched.has(&member.cluster);
        };
        let labels = self.watched.namespace_labels(&member.namespace);
        let applicant = Applicant {
            namespace: &member.namespace,
            namespace_labels: &labels,
            service_account: &member.service_account,
        };
        member.place != Place::Application
            || granted_users(&cluster.spec, &member.cluster.namespace, applicant).is_some()
    }

    async fn give(&self, member: &Member, bundle: &str) {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &member.namespace);
        // Not another pod that took the name meanwhile.
        let patch = json!({
            "metadata": { "uid": member.uid, "annotations": { CA_ANNOTATION: bundle } }
        });
        let patched = pods
            .patch(&member.pod, &PatchParams::default(), &Patch::Merge(patch))
            .await;
        match patched {
            Err(error) if !is(&error, 404) && !is(&error, 409) => {
                tracing::warn!(pod = member.name(), %error, "cannot give it the CAs to trust");
            }
            _ => {}
        }
    }

    /// Who is behind, as people name them.
    async fn waiting(&self, state: &CaState) -> Result<Vec<String>, KeepError> {
        let audience = self.trust.audience();
        let mut waiting = match state.phase() {
            Phase::Distributing => audience.without(state.coming().fingerprint()),
            Phase::Issuing | Phase::Settled => Vec::new(),
        };
        if state.phase() != Phase::Distributing {
            let unsettled = |names: &Names| !self.trust.is_settled(names);
            let clusters = self.watched.all().into_iter().filter(unsettled);
            waiting.extend(clusters.map(|names| {
                format!(
                    "certificates of cluster {}/{}",
                    names.namespace, names.cluster
                )
            }));
        }
        if !self.trust.is_webhook_current() {
            waiting.push("the webhook's caBundle".to_owned());
        }
        if state.phase() == Phase::Issuing {
            let authority = state.issuer.certificate_pem();
            let behind = self.replicas.without(authority).await;
            waiting.extend(behind.map_err(Box::new)?);
        }
        Ok(waiting)
    }

    /// Leaves on the Secret, for people, where the rotation stands.
    async fn say(
        &self,
        state: &CaState,
        mut metadata: ObjectMeta,
        waiting: &[String],
    ) -> Result<(), KeepError> {
        let text = status(state.phase(), waiting);
        if metadata
            .annotations
            .as_ref()
            .and_then(|all| all.get(STATUS))
            == Some(&text)
        {
            return Ok(());
        }
        tracing::info!(status = text, "the CA");
        let annotations = metadata.annotations.get_or_insert_default();
        annotations.insert(STATUS.to_owned(), text);
        store::replace(&self.secrets, state, metadata).await?;
        Ok(())
    }
}

fn status(phase: Phase, waiting: &[String]) -> String {
    let doing = match phase {
        Phase::Settled => "Settled",
        Phase::Distributing => "Distributing: the next CA is being trusted",
        Phase::Issuing => "Issuing: the new CA's certificates come into force",
    };
    let named = waiting.iter().take(NAMED).cloned().collect::<Vec<_>>();
    let named = named.join(", ");
    match waiting.len() {
        0 => doing.to_owned(),
        1..=NAMED => format!("{doing}; waiting for {named}"),
        all => format!("{doing}; waiting for {named} and {} more", all - NAMED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_names_whom_it_waits_for() {
        let waiting: Vec<_> = (0..5).map(|i| format!("pod shop/app-{i}")).collect();
        assert_eq!(status(Phase::Settled, &[]), "Settled");
        let text = status(Phase::Distributing, &waiting);
        assert!(
            text.ends_with("waiting for pod shop/app-0, pod shop/app-1, pod shop/app-2 and 2 more"),
            "{text}"
        );
    }
}
