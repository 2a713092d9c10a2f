//! Brings everything up, and down.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{Pod, ResourceRequirements, Secret};
use kube::api::Api;
use kube::runtime::controller::{Config, Controller};
use kube::runtime::events::{Recorder, Reporter};
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher;
use kube::{Client, ResourceExt};
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::ca_bundle::CaBundle;
use crate::certificates::{self, CertificateError, Keeper, ServingCertificate, StoreError, Trust};
use crate::copies::{self, Copies};
use crate::crowd::Crowds;
use crate::directory;
use crate::injector::SidecarOptions;
use crate::lease::Election;
use crate::metrics::Metrics;
use crate::names::{CLUSTER, OPERATOR};
use crate::probes;
use crate::reconcile::{Context, Refreshes, on_error, reconcile};
use crate::reports::Reports;
use crate::settings::Settings;
use crate::watched::{Guarded, Scope, Watched};
use crate::webhook::{self, Webhook};

/// How often it is looked for what deleted clusters left, besides when one changes.
const SWEEP: Duration = Duration::from_secs(300);
/// Changes come in crowds, and each look lists ConfigMaps.
const SWEEP_REST: Duration = Duration::from_secs(5);
/// Clusters that are reconciled at once: each round waits for the apiserver most of the time.
const CONCURRENCY: u16 = 8;

/// Why the operator cannot run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// No apiserver.
    #[error("the apiserver: {0}")]
    Client(#[from] Box<kube::Error>),
    /// No CA.
    #[error("the CA: {0}")]
    Store(#[from] StoreError),
    /// No server certificate.
    #[error("the server certificate: {0}")]
    Certificate(#[from] CertificateError),
    /// An address is taken.
    #[error("listening on {address}: {source}")]
    Listen {
        /// The address.
        address: std::net::SocketAddr,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
}

/// Runs until `stop` is cancelled.
///
/// # Errors
/// [`RunError`], at the start only.
pub async fn run(settings: Settings, stop: CancellationToken) -> Result<(), RunError> {
    let client = Client::try_default().await.map_err(Box::new)?;
    let secrets: Api<Secret> = Api::namespaced(client.clone(), &settings.namespace);
    let name = settings.ca_secret();
    let ca = certificates::load_or_create(&secrets, &name, SystemTime::now()).await?;
    let trust = Arc::new(Trust::new(ca));
    tokio::spawn(certificates::follow(secrets, name, trust.clone()));
    let operator = Operator::new(settings, client, trust);
    operator.run(stop).await
}

struct Operator {
    settings: Settings,
    client: Client,
    trust: Arc<Trust>,
    scope: Scope,
    watched: Arc<Watched>,
    crowds: Arc<Crowds>,
    reports: Arc<Reports>,
    metrics: Arc<Metrics>,
    ready: Arc<AtomicBool>,
}

impl Operator {
    fn new(settings: Settings, client: Client, trust: Arc<Trust>) -> Self {
        let scope = Scope::new(settings.watch_namespaces.clone());
        let watched = Watched::start(&client, &scope);
        let crowds = Crowds::start(&client, &scope, settings.discovery());
        Self {
            settings,
            client,
            trust,
            scope,
            watched,
            crowds,
            reports: Arc::default(),
            metrics: Arc::default(),
            ready: Arc::default(),
        }
    }

    async fn run(self, stop: CancellationToken) -> Result<(), RunError> {
        let probes = listen(self.settings.probes_listen).await?;
        let discovery = listen(self.settings.discovery_listen).await?;
        let (leading_sender, leading) = watch::channel(false);
        let probing = tokio::spawn(axum::serve(probes, self.probes()).into_future());
        let webhook = listen(self.settings.webhook_listen).await?;
        let issuer = self.trust.state().issuer.clone();
        let certificate = ServingCertificate::new(&issuer, self.settings.server_names())?;
        tokio::spawn(certificate.clone().renew(self.trust.clone()));
        let tls = certificate.server_config()?;
        let injecting = tokio::spawn(self.webhook(webhook, tls.clone(), stop.clone()));
        let serving = tokio::spawn(self.discovery(discovery, tls, leading.clone(), stop.clone()));

        tokio::select! {
            () = self.watched.ready() => {}
            () = stop.cancelled() => return Ok(()),
        }
        self.ready.store(true, Ordering::Relaxed);
        tracing::info!("ready");

        let election = Election::new(
            self.client.clone(),
            &self.settings.namespace,
            self.settings.lease(),
            self.settings.pod_name.clone(),
        );
        let election = tokio::spawn(election.run(leading_sender, stop.clone().cancelled_owned()));
        self.lead(leading, stop).await;
        // The Lease is given up, so that another replica leads at once.
        if let Err(error) = election.await {
            tracing::warn!(%error, "the election ended badly");
        }
        for task in [serving, injecting] {
            task.abort();
        }
        probing.abort();
        Ok(())
    }

    fn probes(&self) -> axum::Router {
        let mut registry = Registry::default();
        self.metrics.register(&mut registry);
        probes::router(registry, self.ready.clone())
    }

    /// The injector.
    fn webhook(
        &self,
        listener: TcpListener,
        tls: rustls::ServerConfig,
        stop: CancellationToken,
    ) -> impl Future<Output = ()> + Send + use<> {
        let options = SidecarOptions {
            image: self.settings.sidecar_image.clone(),
            image_pull_policy: self.settings.image_pull_policy.clone(),
            discovery: self.settings.discovery(),
            ca_bundle: self.trust.bundle(),
            log_format: self.settings.log_format.name().to_owned(),
            resources: ResourceRequirements::default(),
        };
        let routes = Webhook::new(self.watched.clone(), options, self.trust.clone()).routes();
        webhook::serve(listener, tls, routes, stop.cancelled_owned())
    }

    /// The discovery server.
    fn discovery(
        &self,
        listener: TcpListener,
        tls: rustls::ServerConfig,
        leading: watch::Receiver<bool>,
        stop: CancellationToken,
    ) -> impl Future<Output = ()> + Send + use<> {
        let service = directory::Service::new(
            self.client.clone(),
            self.settings.cluster_domain.clone(),
            self.watched.clone(),
            self.crowds.clone(),
            self.reports.clone(),
            leading,
            self.metrics.clone(),
            self.trust.clone(),
        );
        async move {
            let stopped = stop.cancelled_owned();
            let served =
                remora_discovery::serve(listener, Arc::new(tls), Arc::new(service), stopped).await;
            if let Err(error) = served {
                tracing::error!(%error, "discovery ended");
            }
        }
    }

    /// Reconciles for as long as this replica leads. A round that is under way when the Lease
    /// is lost is dropped: every write stands alone, and the next leader goes on from there.
    async fn lead(&self, mut leading: watch::Receiver<bool>, stop: CancellationToken) {
        loop {
            tokio::select! {
                led = leading.wait_for(|leads| *leads) => if led.is_err() { return },
                () = stop.cancelled() => return,
            }
            self.metrics.leading.set(1);
            self.reports.begin();
            let bundle = CaBundle::new(
                self.client.clone(),
                self.settings.injector(),
                self.trust.clone(),
            );
            let keeper = Keeper::new(
                self.client.clone(),
                &self.settings,
                self.trust.clone(),
                self.watched.clone(),
            );
            let copies = Arc::new(Copies::default());
            tokio::select! {
                () = self.reconcile_all(copies.clone()) => {}
                () = self.sweep(&copies) => {}
                () = bundle.keep() => {}
                () = keeper.keep() => {}
                _ = leading.wait_for(|leads| !*leads) => {}
                () = stop.cancelled() => {}
            }
            self.metrics.leading.set(0);
        }
    }

    /// Removes what deleted clusters left in other namespaces: a deletion starts no round.
    async fn sweep(&self, copies: &Copies) {
        let mut changes = self.watched.changes();
        loop {
            copies::sweep(&self.client, &self.watched, copies).await;
            tokio::select! {
                // Never an end: the sender lives as long as `self`.
                _ = changes.changed() => tokio::time::sleep(SWEEP_REST).await,
                () = tokio::time::sleep(SWEEP) => {}
            }
        }
    }

    async fn reconcile_all(&self, copies: Arc<Copies>) {
        let reporter = Reporter {
            controller: OPERATOR.to_owned(),
            instance: Some(self.settings.pod_name.clone()),
        };
        let context = Arc::new(Context {
            client: self.client.clone(),
            site: self.settings.site(&self.trust.bundle()),
            trust: self.trust.clone(),
            images: self.settings.images(),
            recorder: Recorder::new(self.client.clone(), reporter),
            reports: self.reports.clone(),
            watched: self.watched.clone(),
            copies,
            refreshes: Refreshes::default(),
            metrics: self.metrics.clone(),
        });
        let clusters = self.scope.apis::<Guarded>(&self.client);
        let sets = self.scope.apis::<StatefulSet>(&self.client);
        let pods = self.scope.apis::<Pod>(&self.client);
        let controllers: FuturesUnordered<_> = clusters
            .into_iter()
            .zip(sets)
            .zip(pods)
            .map(|((clusters, sets), pods)| {
                let of_clusters = watcher::Config::default().labels(CLUSTER);
                Controller::new(clusters, watcher::Config::default())
                    .owns(sets, of_clusters.clone())
                    .watches(pods, of_clusters, |pod| cluster_of(&pod))
                    .reconcile_all_on(self.reports.changes())
                    .reconcile_all_on(self.trust.changes())
                    .with_config(Config::default().concurrency(CONCURRENCY))
                    .run(reconcile, on_error, context.clone())
                    .for_each(|_| std::future::ready(()))
            })
            .collect();
        controllers.collect::<Vec<()>>().await;
    }
}

/// The cluster of a MySQL pod.
fn cluster_of(pod: &Pod) -> Option<ObjectRef<Guarded>> {
    let cluster = pod.labels().get(CLUSTER)?;
    Some(ObjectRef::new(cluster).within(pod.metadata.namespace.as_deref()?))
}

async fn listen(address: std::net::SocketAddr) -> Result<TcpListener, RunError> {
    TcpListener::bind(address)
        .await
        .map_err(|source| RunError::Listen { address, source })
}
