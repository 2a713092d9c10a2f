//! One round for one cluster: observe, classify, act, tell.

mod invalid;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, PostParams};
use kube::runtime::controller::Action as Next;
use kube::runtime::events::{Event, EventType, Recorder};
use kube::{Client, Resource, ResourceExt};
use remora_crds::{
    ConditionType, FieldError, Images, ShardingCluster, ShardingClusterStatus, validate,
};

use crate::act::{ActError, Actor, is};
use crate::build::{self, Site};
use crate::certificates::Trust;
use crate::classify::{self, RESTARTING_PRIMARY, Verdict, Wanted};
use crate::column_keys;
use crate::conditions::{self, Finding};
use crate::copies::{self, Copies};
use crate::metrics::Metrics;
use crate::names::Names;
use crate::observe::observe;
use crate::reports::Reports;
use crate::secrets::{self, ClusterSecrets, SecretError};
use crate::watched::{Guarded, Watched};
use invalid::not_understood;

/// A cluster that serves is looked at this often besides the watches: an agent that falls
/// silent wakes nobody.
const SETTLED: Duration = Duration::from_secs(30);
/// One that does not is looked at more often.
const UNSETTLED: Duration = Duration::from_secs(5);
/// What somebody else changed of an object of ours is set right after this.
const REFRESH: Duration = Duration::from_secs(300);
/// A manifest that makes no sense, or a Secret that is missing.
const REJECTED: Duration = Duration::from_secs(15);

/// What every round needs.
pub struct Context {
    /// The apiserver.
    pub client: Client,
    /// What builders need.
    pub site: Site,
    /// Issues the servers' certificates.
    pub trust: Arc<Trust>,
    /// Images of this version.
    pub images: Images,
    /// Where events go.
    pub recorder: Recorder,
    /// What agents say.
    pub reports: Arc<Reports>,
    /// Namespaces, for copies of Secrets.
    pub watched: Arc<Watched>,
    /// Where copies of Secrets are.
    pub copies: Arc<Copies>,
    /// When everything of a cluster was applied last.
    pub refreshes: Refreshes,
    /// Counters.
    pub metrics: Arc<Metrics>,
}

/// When everything of a cluster was applied last. A leader begins with all of them.
#[derive(Debug, Default)]
pub struct Refreshes(Mutex<HashMap<Names, Instant>>);

impl Refreshes {
    /// Whether it is time, and if so, takes note.
    fn due(&self, names: &Names) -> bool {
        let mut done = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let due = done.get(names).is_none_or(|at| at.elapsed() >= REFRESH);
        if due {
            done.insert(names.clone(), Instant::now());
        }
        due
    }
}

/// Why a round failed. The next one tries again.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    /// The apiserver's answer.
    #[error(transparent)]
    Api(Box<kube::Error>),
    /// A step failed.
    #[error(transparent)]
    Act(#[from] ActError),
    /// A Secret.
    #[error(transparent)]
    Secret(#[from] SecretError),
}

impl From<kube::Error> for ReconcileError {
    fn from(error: kube::Error) -> Self {
        Self::Api(Box::new(error))
    }
}

/// One round.
///
/// # Errors
/// [`ReconcileError`]; whatever was done stays done, and the next round goes on from there.
pub async fn reconcile(
    cluster: Arc<Guarded>,
    context: Arc<Context>,
) -> Result<Next, ReconcileError> {
    context.metrics.rounds.inc();
    let cluster = match &cluster.0 {
        Ok(cluster) => cluster,
        Err(invalid) => return again_if_changed(not_understood(invalid, &context).await),
    };
    if cluster.metadata.deletion_timestamp.is_some() {
        return Ok(Next::await_change());
    }
    let round = Round {
        names: build::names(cluster),
        context: &context,
    };
    again_if_changed(round.run(cluster).await)
}

fn again_if_changed(outcome: Result<Next, ReconcileError>) -> Result<Next, ReconcileError> {
    match outcome {
        Err(ReconcileError::Api(error)) if is(&error, 409) => {
            // Somebody changed the cluster meanwhile; the watch brings the newer one.
            Ok(Next::requeue(Duration::from_millis(500)))
        }
        other => other,
    }
}

/// When to try again after a round failed.
#[must_use]
#[expect(clippy::needless_pass_by_value, reason = "the signature is kube's")]
pub fn on_error(cluster: Arc<Guarded>, error: &ReconcileError, context: Arc<Context>) -> Next {
    context.metrics.failures.inc();
    let (namespace, cluster) = (cluster.namespace().unwrap_or_default(), cluster.name_any());
    tracing::warn!(%namespace, %cluster, %error, "a round failed");
    Next::requeue(UNSETTLED)
}

struct Round<'a> {
    names: Names,
    context: &'a Context,
}

impl Round<'_> {
    async fn run(&self, cluster: &ShardingCluster) -> Result<Next, ReconcileError> {
        let context = self.context;
        let errors = validate(&cluster.spec);
        if !errors.is_empty() {
            return self.reject(cluster, &errors).await;
        }
        let images = images(cluster, &context.images);
        let cluster = &self.found(cluster, &images).await?;
        let ensured = secrets::ensure(
            &context.client,
            cluster,
            &context.trust,
            &context.site.domain,
        );
        let secrets = match ensured.await {
            Ok(secrets) => secrets,
            Err(error) => return self.without_secrets(cluster, error).await,
        };
        let cluster = &self.known(cluster, &secrets).await?;
        let site = Site {
            ca: context.trust.bundle(),
            ..context.site.clone()
        };
        let objects = build::objects(cluster, &images, &site);
        let uid = cluster.metadata.uid.as_deref().unwrap_or_default();
        let seen = observe(&context.client, &self.names, &context.reports, uid).await?;
        let refresh = context.refreshes.due(&self.names);
        let wanted = Wanted {
            cluster,
            images: &images,
            objects: &objects,
            refresh,
        };
        let mut verdict = classify::classify(wanted, &seen, Timestamp::now());
        let acted = self.act(&verdict).await;
        self.copy_secrets(cluster, &secrets).await;
        if let Err(error) = &acted {
            failed(cluster, &mut verdict, error.to_string());
        }
        self.tell(cluster, &verdict).await?;
        acted?;
        let conditions = &verdict.status.conditions;
        let settled = verdict.actions.is_empty()
            && verdict.status.ready_shards == cluster.spec.shards
            && !conditions::holds(conditions, ConditionType::Progressing)
            && context.trust.is_settled(&self.names);
        Ok(Next::requeue(if settled { SETTLED } else { UNSETTLED }))
    }

    /// A Secret that the manifest names and that is not there is the manifest's mistake.
    async fn without_secrets(
        &self,
        cluster: &ShardingCluster,
        error: SecretError,
    ) -> Result<Next, ReconcileError> {
        let path = match &error {
            SecretError::Missing { path, .. }
            | SecretError::Unusable { path, .. }
            | SecretError::Key { path, .. } => path.clone(),
            // The apiserver's answers pass; these stay until somebody does something.
            SecretError::Certificate(_) | SecretError::Act(_) => {
                let mut verdict = classify::keep(cluster);
                failed(cluster, &mut verdict, error.to_string());
                self.tell(cluster, &verdict).await?;
                return Err(error.into());
            }
            SecretError::Api { .. } | SecretError::Copies { .. } | SecretError::Volumes { .. } => {
                return Err(error.into());
            }
        };
        let text = error.to_string();
        let reason = text
            .strip_prefix(&format!("{path}: "))
            .unwrap_or(&text)
            .to_owned();
        self.reject(cluster, &[FieldError { path, reason }]).await
    }

    async fn copy_secrets(&self, cluster: &ShardingCluster, secrets: &ClusterSecrets) {
        let (client, watched) = (&self.context.client, &self.context.watched);
        let copies = &self.context.copies;
        if let Err(error) = copies::settle(client, cluster, secrets, watched, copies).await {
            tracing::warn!(cluster = %self.names.cluster, %error, "cannot copy users' Secrets");
        }
    }

    /// Before anything is made, the status says with which images and from which epoch on.
    async fn found(
        &self,
        cluster: &ShardingCluster,
        images: &Images,
    ) -> Result<ShardingCluster, ReconcileError> {
        let status = cluster.status.clone().unwrap_or_default();
        if status.epoch > 0 && status.images.is_some() {
            return Ok(cluster.clone());
        }
        let founded = ShardingClusterStatus {
            epoch: status.epoch.max(1),
            images: Some(images.clone()),
            ..status
        };
        self.replace_status(cluster, founded).await
    }

    /// Before a key is handed out, the status says by which check it is known.
    async fn known(
        &self,
        cluster: &ShardingCluster,
        secrets: &ClusterSecrets,
    ) -> Result<ShardingCluster, ReconcileError> {
        let status = cluster.status.clone().unwrap_or_default();
        let known = column_keys::known(&status.column_keys, &secrets.keys, Timestamp::now());
        if known == status.column_keys {
            return Ok(cluster.clone());
        }
        let status = ShardingClusterStatus {
            column_keys: known,
            ..status
        };
        self.replace_status(cluster, status).await
    }

    async fn act(&self, verdict: &Verdict) -> Result<(), ActError> {
        let actor = Actor::new(self.context.client.clone(), &self.names);
        let mut outcome = Ok(());
        for action in &verdict.actions {
            // One object that fails does not keep the others from being made.
            outcome = outcome.and(actor.act(action).await);
        }
        outcome
    }

    async fn reject(
        &self,
        cluster: &ShardingCluster,
        errors: &[FieldError],
    ) -> Result<Next, ReconcileError> {
        self.tell(
            cluster,
            &classify::reject(cluster, errors, Timestamp::now()),
        )
        .await?;
        Ok(Next::requeue(REJECTED))
    }

    /// Status first: an event that nobody sees is no loss.
    async fn tell(
        &self,
        cluster: &ShardingCluster,
        verdict: &Verdict,
    ) -> Result<(), ReconcileError> {
        if cluster.status.as_ref() != Some(&verdict.status) {
            self.replace_status(cluster, verdict.status.clone()).await?;
        }
        let reference = cluster.object_ref(&());
        for event in verdict
            .changed
            .iter()
            .filter_map(|finding| event(cluster, finding))
        {
            if let Err(error) = self.context.recorder.publish(&event, &reference).await {
                tracing::debug!(%error, "cannot publish an event");
            }
        }
        Ok(())
    }

    /// Compare-and-swap: refused if anybody changed the cluster since it was read.
    async fn replace_status(
        &self,
        cluster: &ShardingCluster,
        status: ShardingClusterStatus,
    ) -> Result<ShardingCluster, ReconcileError> {
        let api: Api<ShardingCluster> =
            Api::namespaced(self.context.client.clone(), &self.names.namespace);
        let mut cluster = cluster.clone();
        cluster.status = Some(status);
        cluster.metadata.managed_fields = None;
        Ok(api
            .replace_status(&self.names.cluster, &PostParams::default(), &cluster)
            .await?)
    }
}

/// MySQL's image is the manifest's, else the one the cluster was made with, else this
/// version's. Sidecars follow the operator: they are changed without touching mysqld.
fn images(cluster: &ShardingCluster, own: &Images) -> Images {
    let pinned = cluster
        .status
        .as_ref()
        .and_then(|status| status.images.as_ref());
    let mysql = cluster.spec.mysql.image.as_ref();
    Images {
        mysql: mysql
            .or(pinned.map(|images| &images.mysql))
            .unwrap_or(&own.mysql)
            .clone(),
        ..own.clone()
    }
}

/// Says that a step failed. What `verdict` found of progress does not count: a round that
/// fails like the one before it must not change the condition's time, or each would write.
fn failed(cluster: &ShardingCluster, verdict: &mut Verdict, message: String) {
    let progressing = ConditionType::Progressing;
    let is = |condition: &&Condition| condition.type_ == progressing.name();
    let conditions = cluster.status.iter().flat_map(|status| &status.conditions);
    if let Some(before) = conditions.into_iter().find(is) {
        let mut found = verdict.status.conditions.iter_mut();
        if let Some(found) = found.find(|found| found.type_ == before.type_) {
            found.clone_from(before);
        }
    }
    verdict
        .changed
        .retain(|finding| finding.type_ != progressing);
    let finding = Finding {
        type_: progressing,
        holds: Some(true),
        reason: "Failing",
        message,
    };
    let generation = verdict.status.observed_generation;
    let changed = conditions::update(
        &mut verdict.status.conditions,
        vec![finding],
        generation,
        Timestamp::now(),
    );
    verdict.changed.extend(changed);
}

/// What is worth an event: a manifest refused, a cluster that serves, no longer or at last,
/// something lost or found again, a primary that is about to be replaced, a step that fails.
fn event(cluster: &ShardingCluster, finding: &Finding) -> Option<Event> {
    let held = |type_| {
        let status = cluster.status.as_ref();
        status.is_some_and(|status| conditions::holds(&status.conditions, type_))
    };
    let served = held(ConditionType::Available);
    let degraded = held(ConditionType::Degraded);
    let type_ = match (finding.type_, finding.holds) {
        (ConditionType::Accepted, Some(false)) | (ConditionType::Degraded, Some(true)) => {
            EventType::Warning
        }
        (ConditionType::Available, Some(false)) if served => EventType::Warning,
        (ConditionType::Available, Some(true)) => EventType::Normal,
        (ConditionType::Degraded, Some(false)) if degraded => EventType::Normal,
        (ConditionType::Progressing, Some(true)) if finding.reason == "Failing" => {
            EventType::Warning
        }
        (ConditionType::Progressing, Some(true)) if finding.reason == RESTARTING_PRIMARY => {
            EventType::Normal
        }
        _ => return None,
    };
    Some(Event {
        type_,
        reason: finding.reason.to_owned(),
        note: Some(finding.message.clone()),
        action: finding.type_.name().to_owned(),
        secondary: None,
    })
}

#[cfg(test)]
mod tests;
