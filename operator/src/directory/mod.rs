//! Discovery: who may follow which cluster, and what they are told. Every replica answers,
//! from what it watches.

mod snapshot;
mod token;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::api::Api;
use kube::{Client, ResourceExt};
use remora_crds::{ShardingCluster, validate};
use remora_discovery::{Directory, Refusal, Report, Role, Snapshot, Snapshots, WatchedCluster};
use tokio::sync::{Mutex, watch};

use crate::access::{Applicant, granted_keys, granted_users};
use crate::build;
use crate::certificates::Trust;
use crate::crowd::Crowds;
use crate::metrics::Metrics;
use crate::names::{InstanceId, Names};
use crate::reports::Reports;
use crate::secrets::{self, ClusterSecrets};
use crate::shares::Shares;
use crate::watched::Watched;
use snapshot::{Granted, Recipient};
use token::{Bearer, Tokens};

/// Secrets are not watched: a changed password is seen after this.
const SECRETS_AGE: Duration = Duration::from_secs(15);

/// What answers sidecars.
pub struct Service(Arc<Inner>);

struct Inner {
    client: Client,
    domain: String,
    watched: Arc<Watched>,
    crowds: Arc<Crowds>,
    tokens: Tokens,
    secrets: Mutex<HashMap<Names, (Instant, Option<ClusterSecrets>)>>,
    reports: Arc<Reports>,
    leading: watch::Receiver<bool>,
    metrics: Arc<Metrics>,
    trust: Arc<Trust>,
}

impl Service {
    /// Answers from `watched` and `crowds`; takes reports while `leading`.
    #[expect(
        clippy::too_many_arguments,
        reason = "each is another part of the operator, and this is called once"
    )]
    #[must_use]
    pub fn new(
        client: Client,
        domain: String,
        watched: Arc<Watched>,
        crowds: Arc<Crowds>,
        reports: Arc<Reports>,
        leading: watch::Receiver<bool>,
        metrics: Arc<Metrics>,
        trust: Arc<Trust>,
    ) -> Self {
        let tokens = Tokens::new(client.clone());
        let secrets = Mutex::default();
        Self(Arc::new(Inner {
            client,
            domain,
            watched,
            crowds,
            tokens,
            secrets,
            reports,
            leading,
            metrics,
            trust,
        }))
    }
}

impl Directory for Service {
    fn watch(
        &self,
        token: String,
        wanted: WatchedCluster,
    ) -> BoxFuture<'_, Result<Snapshots, Refusal>> {
        Box::pin(async move {
            let bearer = self.0.tokens.bearer(&token).await?;
            let first = self.0.snapshot(&bearer, &wanted).await?;
            tracing::info!(
                namespace = %bearer.namespace, pod = %bearer.pod, cluster = %wanted.cluster,
                version = %wanted.version, "a sidecar follows"
            );
            Ok(follow(self.0.clone(), bearer, wanted, first))
        })
    }

    fn report(&self, token: String, report: Report) -> BoxFuture<'_, Result<(), Refusal>> {
        Box::pin(async move {
            if !*self.0.leading.borrow() {
                return Err(Refusal::Unavailable("another replica leads".to_owned()));
            }
            let bearer = self.0.tokens.bearer(&token).await?;
            self.0.metrics.reports.inc();
            let told = report.health.trust;
            self.0.trust.take(bearer.pod_uid.clone(), told);
            let names = Names::new(&report.namespace, &report.cluster);
            if let Some(health) = report.health.agent {
                let cluster = self.0.cluster(&names)?;
                let instance = self.0.instance_of(&bearer, &cluster).await?;
                let uid = report
                    .health
                    .in_force
                    .map(|identity| identity.uid)
                    .unwrap_or_default();
                self.0.reports.take(names, instance, uid, health);
            }
            Ok(())
        })
    }
}

/// Counts a follower for as long as its stream lives.
struct Follower(Arc<Metrics>);

impl Drop for Follower {
    fn drop(&mut self) {
        self.0.followers.dec();
    }
}

/// `first`, then each snapshot that differs. Ends when the sidecar may no longer follow; it
/// asks again, and is told why.
fn follow(inner: Arc<Inner>, bearer: Bearer, wanted: WatchedCluster, first: Snapshot) -> Snapshots {
    inner.metrics.followers.inc();
    let follower = Follower(inner.metrics.clone());
    let changes = (inner.watched.changes(), inner.crowds.changes());
    let last = first.identity.content_hash.clone();
    let later = stream::unfold(
        (changes, last, follower),
        move |(mut changes, last, follower)| {
            let (inner, bearer, wanted) = (inner.clone(), bearer.clone(), wanted.clone());
            async move {
                loop {
                    tokio::select! {
                        changed = changes.0.changed() => if changed.is_err() { return None },
                        changed = changes.1.changed() => if changed.is_err() { return None },
                        () = tokio::time::sleep(SECRETS_AGE) => {}
                    }
                    match inner.snapshot(&bearer, &wanted).await {
                        Ok(snapshot) if snapshot.identity.content_hash != last => {
                            let hash = snapshot.identity.content_hash.clone();
                            return Some((snapshot, (changes, hash, follower)));
                        }
                        // What cannot be answered now does not end what is being served.
                        Ok(_) | Err(Refusal::Unavailable(_)) => {}
                        Err(refusal) => {
                            tracing::info!(pod = %bearer.pod, %refusal, "a sidecar follows no longer");
                            return None;
                        }
                    }
                }
            }
        },
    );
    stream::once(async { first }).chain(later).boxed()
}

impl Inner {
    /// What `bearer` is told about the cluster it wants.
    async fn snapshot(
        &self,
        bearer: &Bearer,
        wanted: &WatchedCluster,
    ) -> Result<Snapshot, Refusal> {
        let cluster = self.cluster(&Names::new(&wanted.namespace, &wanted.cluster))?;
        let recipient = match wanted.role {
            Role::Agent => Recipient::Agent(self.instance_of(bearer, &cluster).await?),
            Role::Application => Recipient::Application(self.granted(bearer, &cluster)?),
            Role::Unspecified => {
                return Err(Refusal::Denied("the request says no role".to_owned()));
            }
        };
        let status = cluster.status.clone().unwrap_or_default();
        if status.epoch == 0 {
            return Err(Refusal::Unavailable(
                "the operator has yet to begin with it".to_owned(),
            ));
        }
        if let Some(error) = validate(&cluster.spec).first() {
            return Err(Refusal::Unavailable(format!(
                "the manifest is refused: {error}"
            )));
        }
        let Some(secrets) = self.secrets(&cluster).await? else {
            return Err(Refusal::Unavailable(
                "its accounts are yet to be made".to_owned(),
            ));
        };
        let names = build::names(&cluster);
        let Some(applications) = self.crowds.applications(&names) else {
            return Err(Refusal::Unavailable(
                "its sidecars are yet to be counted".to_owned(),
            ));
        };
        let shares = Shares::of(&cluster.spec, applications);
        Ok(snapshot::snapshot(
            &cluster,
            &secrets,
            &recipient,
            shares,
            &self.domain,
        ))
    }

    fn cluster(&self, names: &Names) -> Result<Arc<ShardingCluster>, Refusal> {
        self.watched.cluster(names).ok_or_else(|| {
            Refusal::NotFound(format!(
                "there is no ShardingCluster {} in namespace {}",
                names.cluster, names.namespace
            ))
        })
    }

    fn granted(&self, bearer: &Bearer, cluster: &ShardingCluster) -> Result<Granted, Refusal> {
        let labels: BTreeMap<String, String> = self.watched.namespace_labels(&bearer.namespace);
        let applicant = Applicant {
            namespace: &bearer.namespace,
            namespace_labels: &labels,
            service_account: &bearer.service_account,
        };
        let names = build::names(cluster);
        let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
        let users = granted_users(&cluster.spec, &names.namespace, applicant);
        let keys = granted_keys(&cluster.spec, &names.namespace, applicant);
        users
            .zip(keys)
            .map(|(users, keys)| Granted {
                users: owned(users),
                keys: owned(keys),
            })
            .ok_or_else(|| {
                Refusal::Denied(format!(
                    "spec.access of ShardingCluster {}/{} grants nothing to service account {} \
                     of namespace {}",
                    names.namespace, names.cluster, bearer.service_account, bearer.namespace
                ))
            })
    }

    /// The instance whose MySQL pod `bearer` is. A name is not enough: whoever may make pods in
    /// the namespace may choose it. The pod must be there under the token's UID and belong to
    /// the shard's StatefulSet.
    async fn instance_of(
        &self,
        bearer: &Bearer,
        cluster: &ShardingCluster,
    ) -> Result<InstanceId, Refusal> {
        let names = build::names(cluster);
        let deny = || {
            Refusal::Denied(format!(
                "pod {} of namespace {} is no MySQL pod of ShardingCluster {}/{}",
                bearer.pod, bearer.namespace, names.namespace, names.cluster
            ))
        };
        let instance = names.instance_of_pod(&bearer.pod).ok_or_else(deny)?;
        if bearer.namespace != names.namespace
            || instance.shard >= cluster.spec.shards
            || instance.ordinal >= cluster.spec.instances_per_shard
        {
            return Err(deny());
        }
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &names.namespace);
        let pod = pods.get_opt(&bearer.pod).await.map_err(|error| {
            Refusal::Unavailable(format!(
                "the apiserver does not show pod {}: {error}",
                bearer.pod
            ))
        })?;
        let pod = pod.ok_or_else(deny)?;
        let of_shard = pod.owner_references().iter().any(|owner| {
            owner.kind == "StatefulSet"
                && owner.name == names.shard(instance.shard)
                && owner.controller == Some(true)
        });
        if pod.metadata.uid.as_deref() == Some(&bearer.pod_uid) && of_shard {
            Ok(instance)
        } else {
            Err(deny())
        }
    }

    async fn secrets(&self, cluster: &ShardingCluster) -> Result<Option<ClusterSecrets>, Refusal> {
        let names = build::names(cluster);
        let mut known = self.secrets.lock().await;
        known.retain(|_, (at, _)| at.elapsed() < SECRETS_AGE);
        let users = |secrets: &ClusterSecrets| {
            let mut keys = cluster.spec.encryption.iter().flat_map(|it| &it.keys);
            cluster
                .spec
                .users
                .iter()
                .all(|user| secrets.users.contains_key(&user.name))
                && keys.all(|key| secrets.keys.iter().any(|it| it.name == key.name))
        };
        if let Some((_, Some(secrets))) = known.get(&names)
            && users(secrets)
        {
            return Ok(Some(secrets.clone()));
        }
        let secrets = secrets::read(&self.client, cluster)
            .await
            .map_err(|error| Refusal::Unavailable(error.to_string()))?;
        known.insert(names, (Instant::now(), secrets.clone()));
        Ok(secrets)
    }
}

#[cfg(test)]
mod tests;
