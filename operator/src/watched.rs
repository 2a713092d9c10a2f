//! What every replica watches: clusters, and the labels of namespaces.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

use futures::StreamExt;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::Resource;
use kube::api::{Api, PartialObjectMeta};
use kube::core::DeserializeGuard;
use kube::runtime::reflector::{ObjectRef, Store, store::Writer};
use kube::runtime::{WatchStreamExt, reflector, watcher};
use remora_crds::ShardingCluster;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use crate::names::Names;

/// A cluster, or what a newer CRD let in and this version does not understand. Without the
/// guard one such object would stop the watch for all.
pub type Guarded = DeserializeGuard<ShardingCluster>;

/// Which namespaces the operator looks after.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Scope {
    /// All of them.
    All,
    /// These.
    Namespaces(Vec<String>),
}

impl Scope {
    /// From a list; an empty one means all.
    #[must_use]
    pub fn new(namespaces: Vec<String>) -> Self {
        let named: Vec<_> = namespaces
            .into_iter()
            .filter(|name| !name.is_empty())
            .collect();
        if named.is_empty() {
            Self::All
        } else {
            Self::Namespaces(named)
        }
    }

    /// Whether the operator looks after `namespace`.
    #[must_use]
    pub fn covers(&self, namespace: &str) -> bool {
        match self {
            Self::All => true,
            Self::Namespaces(names) => names.iter().any(|name| name == namespace),
        }
    }

    /// One `Api` for each namespace, or one for all of them.
    pub fn apis<K>(&self, client: &Client) -> Vec<Api<K>>
    where
        K: Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>,
    {
        match self {
            Self::All => vec![Api::all(client.clone())],
            Self::Namespaces(names) => names
                .iter()
                .map(|name| Api::namespaced(client.clone(), name))
                .collect(),
        }
    }
}

/// What every replica watches.
#[derive(Debug)]
pub struct Watched {
    scope: Scope,
    clusters: Vec<Store<Guarded>>,
    namespaces: Store<PartialObjectMeta<Namespace>>,
    changed: watch::Sender<()>,
}

impl Watched {
    /// Begins to watch, in tasks of their own.
    #[must_use]
    pub fn start(client: &Client, scope: &Scope) -> Arc<Self> {
        let changed = watch::Sender::new(());
        let clusters = scope
            .apis::<Guarded>(client)
            .into_iter()
            .map(|api| {
                let (store, writer) = reflector::store();
                let stream = watcher(api, watcher::Config::default());
                tokio::spawn(keep(stream, writer, changed.clone()));
                store
            })
            .collect();
        let (namespaces, writer) = reflector::store();
        let api: Api<PartialObjectMeta<Namespace>> = Api::all(client.clone());
        let stream = watcher(api, watcher::Config::default());
        tokio::spawn(keep(stream, writer, changed.clone()));
        Arc::new(Self {
            scope: scope.clone(),
            clusters,
            namespaces,
            changed,
        })
    }

    /// What these stores hold, which somebody else fills.
    #[cfg(test)]
    pub(crate) fn holding(
        clusters: Store<Guarded>,
        namespaces: Store<PartialObjectMeta<Namespace>>,
    ) -> Arc<Self> {
        Self::holding_within(Scope::All, clusters, namespaces)
    }

    /// The same, of an operator that looks after `scope`.
    #[cfg(test)]
    pub(crate) fn holding_within(
        scope: Scope,
        clusters: Store<Guarded>,
        namespaces: Store<PartialObjectMeta<Namespace>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            scope,
            clusters: vec![clusters],
            namespaces,
            changed: watch::Sender::new(()),
        })
    }

    /// Which namespaces the operator looks after.
    #[must_use]
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Until everything was listed once.
    pub async fn ready(&self) {
        for store in &self.clusters {
            // It fails only when the watching task is gone, which ends with the process.
            let _ = store.wait_until_ready().await;
        }
        let _ = self.namespaces.wait_until_ready().await;
    }

    /// The cluster, as it was last seen.
    #[must_use]
    pub fn cluster(&self, names: &Names) -> Option<Arc<ShardingCluster>> {
        let reference = ObjectRef::new(&names.cluster).within(&names.namespace);
        let found = self
            .clusters
            .iter()
            .find_map(|store| store.get(&reference))?;
        found
            .0
            .as_ref()
            .ok()
            .map(|cluster| Arc::new(cluster.clone()))
    }

    /// Whether the cluster is there and not on its way out, understood or not.
    #[must_use]
    pub fn has(&self, names: &Names) -> bool {
        self.alive()
            .any(|metadata| is(&metadata, &names.namespace, &names.cluster))
    }

    /// The name of the only cluster of a namespace; none, if there is none or several.
    #[must_use]
    pub fn only_cluster(&self, namespace: &str) -> Option<String> {
        let mut found = self
            .alive()
            .filter(|metadata| metadata.namespace.as_deref() == Some(namespace));
        match (found.next(), found.next()) {
            (Some(only), None) => only.name,
            _ => None,
        }
    }

    /// Metadata of the clusters that are not on their way out.
    fn alive(&self) -> impl Iterator<Item = ObjectMeta> {
        let all = self.clusters.iter().flat_map(Store::state);
        all.map(|cluster| cluster.meta().clone())
            .filter(|metadata| metadata.deletion_timestamp.is_none())
    }

    /// The clusters that are not on their way out, understood or not.
    #[must_use]
    pub fn all(&self) -> Vec<Names> {
        let names = |metadata: ObjectMeta| Some(Names::new(&metadata.namespace?, &metadata.name?));
        self.alive().filter_map(names).collect()
    }

    /// The labels of a namespace; none, if there is none.
    #[must_use]
    pub fn namespace_labels(&self, name: &str) -> BTreeMap<String, String> {
        let namespace = self.namespaces.get(&ObjectRef::new(name));
        namespace
            .and_then(|found| found.metadata.labels.clone())
            .unwrap_or_default()
    }

    /// The namespaces that the operator looks after, with their labels.
    #[must_use]
    pub fn namespaces(&self) -> Vec<(String, BTreeMap<String, String>)> {
        let all = self.namespaces.state().into_iter();
        all.filter_map(|namespace| {
            let labels = namespace.metadata.labels.clone().unwrap_or_default();
            Some((namespace.metadata.name.clone()?, labels))
        })
        .filter(|(name, _)| self.scope.covers(name))
        .collect()
    }

    /// Wakes when anything changed.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }
}

fn is(metadata: &ObjectMeta, namespace: &str, name: &str) -> bool {
    metadata.namespace.as_deref() == Some(namespace) && metadata.name.as_deref() == Some(name)
}

/// Fills a store with what `stream` brings, and wakes those who follow `changed`.
pub(crate) async fn keep<K>(
    stream: impl futures::Stream<Item = watcher::Result<watcher::Event<K>>> + Send,
    writer: Writer<K>,
    changed: watch::Sender<()>,
) where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    let stream = stream.default_backoff().reflect(writer);
    let mut stream = std::pin::pin!(stream);
    while let Some(event) = stream.next().await {
        match event {
            Ok(watcher::Event::Init | watcher::Event::InitApply(_)) => {}
            Ok(_) => changed.send_replace(()),
            Err(error) => tracing::warn!(%error, kind = %K::kind(&()), "watching was interrupted"),
        }
    }
}
