//! Which replica leads: whoever holds a Lease.
//!
//! As in client-go, a Lease counts as expired when it did not change for its duration on our
//! own clock since we first saw it so; clocks of others are not believed. The holder stops
//! leading well before that, so that two never lead at once.

use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::api::{Api, ObjectMeta, PostParams};
use tokio::sync::watch;

use crate::act::is;

/// A dead leader is replaced after this.
const DURATION: Duration = Duration::from_secs(15);
/// A leader that could not renew for so long no longer leads.
const RENEW_DEADLINE: Duration = Duration::from_secs(10);
/// How often it is tried.
const RETRY: Duration = Duration::from_secs(2);

/// One replica's claim to a Lease.
pub struct Election {
    leases: Api<Lease>,
    name: String,
    identity: String,
    /// The Lease as it was last seen, and since when it is so.
    seen: Option<(Lease, Instant)>,
}

/// What one attempt came to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Attempt {
    Held,
    HeldByAnother,
}

impl Election {
    /// For `identity`, which must be unique among the replicas.
    #[must_use]
    pub fn new(client: Client, namespace: &str, name: String, identity: String) -> Self {
        Self {
            leases: Api::namespaced(client, namespace),
            name,
            identity,
            seen: None,
        }
    }

    /// Tells through `leading` whether this replica leads, until `stop` is done; then it gives
    /// the Lease up, so that another one leads at once.
    pub async fn run(mut self, leading: watch::Sender<bool>, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop);
        let mut renewed = None;
        loop {
            let started = Instant::now();
            // An attempt that hangs must not outlive what it would renew.
            match tokio::time::timeout(RENEW_DEADLINE / 2, self.attempt()).await {
                Ok(Ok(Attempt::Held)) => renewed = Some(started),
                Ok(Ok(Attempt::HeldByAnother)) => renewed = None,
                Ok(Err(error)) => tracing::warn!(%error, "cannot renew the lease"),
                Err(_) => tracing::warn!("the apiserver does not answer about the lease"),
            }
            let leads = renewed.is_some_and(|at| at.elapsed() < RENEW_DEADLINE);
            if leading.send_if_modified(|led| std::mem::replace(led, leads) != leads) {
                tracing::info!(leads, identity = %self.identity, "leadership changed");
            }
            tokio::select! {
                () = tokio::time::sleep(RETRY) => {}
                () = &mut stop => break,
            }
        }
        if *leading.borrow() {
            leading.send_replace(false);
            if let Err(error) = self.give_up().await {
                tracing::debug!(%error, "cannot give the lease up; it will expire");
            }
        }
    }

    async fn attempt(&mut self) -> kube::Result<Attempt> {
        let Some(found) = self.leases.get_opt(&self.name).await? else {
            let lease = self.claim(None);
            return outcome(self.leases.create(&PostParams::default(), &lease).await);
        };
        self.see(&found);
        let spec = found.spec.clone().unwrap_or_default();
        let holder = spec.holder_identity.as_deref().unwrap_or_default();
        if holder != self.identity && !holder.is_empty() && !self.expired() {
            return Ok(Attempt::HeldByAnother);
        }
        let lease = self.claim(Some(found));
        outcome(
            self.leases
                .replace(&self.name, &PostParams::default(), &lease)
                .await,
        )
    }

    fn see(&mut self, found: &Lease) {
        let same = self
            .seen
            .as_ref()
            .is_some_and(|(lease, _)| lease.spec == found.spec);
        if !same {
            self.seen = Some((found.clone(), Instant::now()));
        }
    }

    fn expired(&self) -> bool {
        self.seen
            .as_ref()
            .is_some_and(|(_, since)| since.elapsed() >= DURATION)
    }

    /// The Lease with us as its holder; with the resourceVersion of `found`, so that it is
    /// only replaced if nobody else did.
    fn claim(&self, found: Option<Lease>) -> Lease {
        let now = MicroTime(Timestamp::now());
        let mut lease = found.unwrap_or_else(|| Lease {
            metadata: ObjectMeta {
                name: Some(self.name.clone()),
                ..ObjectMeta::default()
            },
            spec: None,
        });
        let before = lease.spec.take().unwrap_or_default();
        let ours = before.holder_identity.as_deref() == Some(&self.identity);
        let transitions = before.lease_transitions.unwrap_or_default();
        lease.spec = Some(LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: Some(DURATION.as_secs().try_into().unwrap_or(i32::MAX)),
            acquire_time: if ours {
                before.acquire_time
            } else {
                Some(now.clone())
            },
            renew_time: Some(now),
            lease_transitions: Some(if ours { transitions } else { transitions + 1 }),
            ..LeaseSpec::default()
        });
        lease
    }

    async fn give_up(&self) -> kube::Result<()> {
        let mut lease = self.leases.get(&self.name).await?;
        if let Some(spec) = &mut lease.spec
            && spec.holder_identity.as_deref() == Some(&self.identity)
        {
            spec.holder_identity = None;
            self.leases
                .replace(&self.name, &PostParams::default(), &lease)
                .await?;
        }
        Ok(())
    }
}

/// 409: another replica was faster.
fn outcome(answer: kube::Result<Lease>) -> kube::Result<Attempt> {
    match answer {
        Ok(_) => Ok(Attempt::Held),
        Err(error) if is(&error, 409) => Ok(Attempt::HeldByAnother),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;
