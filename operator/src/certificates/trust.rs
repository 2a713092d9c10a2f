//! What the parts of one replica share about certificates.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use futures::stream::{Stream, StreamExt};
use remora_discovery::{Fingerprint, GatewayCertificate, Trust as Told};
use tokio::sync::watch;
use tokio_stream::wrappers::WatchStream;

use super::{Audience, CaState};
use crate::names::Names;

/// Sidecars tell every ten seconds; three in a row may be lost.
const FRESH: Duration = Duration::from_secs(35);
/// Somebody may have removed a Secret that was found right.
const RECHECK: Duration = Duration::from_secs(300);

/// The CA, who trusts it, and how far its certificates have come.
pub struct Trust {
    state: watch::Sender<Arc<CaState>>,
    audience: ArcSwap<Audience>,
    /// What each pod told last, by its UID.
    told: Mutex<HashMap<String, (Instant, Told)>>,
    progress: Mutex<HashMap<Names, Progress>>,
    /// What the apiserver was last told to trust of the webhook.
    webhook: Mutex<String>,
}

/// How far a cluster's certificates have come. Known to the leader alone.
#[derive(Clone)]
pub(super) struct Progress {
    /// The CA by which they are issued.
    pub(super) issuer: Fingerprint,
    /// What is trusted besides.
    pub(super) bundle: String,
    /// How many shards there are.
    pub(super) shards: u16,
    /// Every server and gateway shows its latest certificate, and it is the issuer's.
    pub(super) settled: bool,
    /// What the Secrets hold, for snapshots.
    pub(super) servers: ServerSide,
    /// When it was looked at.
    pub(super) at: Instant,
}

/// What sidecars are told of a cluster's certificates.
#[derive(Clone, PartialEq)]
pub struct ServerSide {
    /// The CAs by which servers are verified, as PEM.
    pub ca: String,
    /// What gateways show.
    pub gateway: GatewayCertificate,
}

impl Trust {
    /// Begins with a CA.
    #[must_use]
    pub fn new(state: CaState) -> Self {
        Self {
            state: watch::Sender::new(Arc::new(state)),
            audience: ArcSwap::default(),
            told: Mutex::default(),
            progress: Mutex::default(),
            webhook: Mutex::default(),
        }
    }

    /// The CA.
    #[must_use]
    pub fn state(&self) -> Arc<CaState> {
        self.state.borrow().clone()
    }

    /// All certificates to trust, as PEM.
    #[must_use]
    pub fn bundle(&self) -> String {
        self.state.borrow().bundle()
    }

    /// Takes what the Secret holds. Wakes others only if that matters to them.
    pub fn publish(&self, state: CaState) {
        self.state.send_if_modified(|held| {
            let differs = !held.same(&state);
            *held = Arc::new(state);
            differs
        });
    }

    /// Wakes when another CA issues, or others are to be trusted.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<Arc<CaState>> {
        self.state.subscribe()
    }

    /// The same as a stream.
    pub fn changes(&self) -> impl Stream<Item = ()> + Send + use<> {
        WatchStream::from_changes(self.state.subscribe()).map(drop)
    }

    /// Takes what the pod with this UID tells.
    pub fn take(&self, pod: String, told: Told) {
        let mut all = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(pod, (Instant::now(), told));
    }

    /// What the pod with this UID told lately.
    #[must_use]
    pub fn told(&self, pod: &str) -> Option<Told> {
        let all = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, told) = all.get(pod)?;
        (at.elapsed() < FRESH).then(|| told.clone())
    }

    /// The pods that must trust the CA, as they were seen last.
    #[must_use]
    pub fn audience(&self) -> Arc<Audience> {
        self.audience.load_full()
    }

    /// Takes note of them, and forgets what those told that are gone.
    pub fn gathered(&self, audience: Audience) {
        let mut all = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, (at, _)| at.elapsed() < FRESH);
        drop(all);
        self.audience.store(Arc::new(audience));
    }

    /// The apiserver trusts `bundle` when it calls the webhook.
    pub fn webhook_has(&self, bundle: String) {
        *self.webhook.lock().unwrap_or_else(PoisonError::into_inner) = bundle;
    }

    /// Whether the apiserver trusts what it should.
    #[must_use]
    pub fn is_webhook_current(&self) -> bool {
        *self.webhook.lock().unwrap_or_else(PoisonError::into_inner) == self.bundle()
    }

    /// What the Secrets of a cluster hold, if that needs no other look.
    #[must_use]
    pub(super) fn known(&self, names: &Names, shards: u16) -> Option<ServerSide> {
        let all = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.get(names)?;
        let current = known.settled
            && known.shards == shards
            && known.at.elapsed() < RECHECK
            && self.is_of_issuer(known);
        current.then(|| known.servers.clone())
    }

    pub(super) fn note(&self, names: Names, progress: Progress) {
        let mut all = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(names, progress);
    }

    /// Whether every server and gateway of the cluster shows a certificate of the CA that issues.
    #[must_use]
    pub fn is_settled(&self, names: &Names) -> bool {
        let all = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(names)
            .is_some_and(|known| known.settled && self.is_of_issuer(known))
    }

    /// Whether some cluster's certificates have yet to come into force.
    #[must_use]
    pub(super) fn has_unsettled(&self) -> bool {
        let all = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        all.values().any(|known| !known.settled)
    }

    /// Forgets clusters that are gone.
    pub(super) fn forget_all_but(&self, clusters: &[Names]) {
        let mut all = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|names, _| clusters.contains(names));
    }

    fn is_of_issuer(&self, known: &Progress) -> bool {
        let state = self.state.borrow();
        known.issuer == *state.issuer.fingerprint() && known.bundle == state.bundle()
    }
}

impl std::fmt::Debug for Trust {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trust").finish_non_exhaustive()
    }
}
