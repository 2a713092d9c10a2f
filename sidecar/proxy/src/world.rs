//! What is derived from a snapshot once, and read by every command.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use remora_crds::{Gateway, Instance, Role};
use remora_planner::CatalogError;

use crate::backend::{Backend, BackendConnector, BackendError, Login};
use crate::catalog::Catalogs;
use crate::instances::{Fleet, Member, Policy, Server, Servers};
use crate::names::Names;
use crate::net::{ShownCertificate, TlsError};
use crate::pool::{Seat, is_full};
use crate::session::HOME;
use crate::snapshot::Snapshot;
use crate::telemetry::Metrics;

/// A snapshot and what follows from it.
pub struct World {
    /// The snapshot.
    pub snapshot: Arc<Snapshot>,
    /// Physical and logical names.
    pub names: Names,
    /// The tables as the shards have them.
    pub catalogs: Catalogs,
    /// Tables that are not served, and why: the rows are not laid out as the manifest says.
    pub closed: BTreeMap<String, String>,
    /// The servers of each shard.
    pub(crate) fleets: Vec<Fleet>,
    /// How replicas are read from; `None` where they are not.
    pub(crate) reads: Option<Policy>,
    /// TLS towards clients.
    pub(crate) client_tls: Arc<rustls::ServerConfig>,
    connector: BackendConnector,
    metrics: Arc<Metrics>,
}

/// Why a snapshot cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// The certificate authorities of the backends, or of clients.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The tables.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}

impl World {
    /// Derives what sessions need of a snapshot, of which some tables are closed.
    ///
    /// # Errors
    /// If its certificate authorities are not valid.
    pub(crate) fn new(
        snapshot: Arc<Snapshot>,
        closed: BTreeMap<String, String>,
        servers: &Servers,
        metrics: Arc<Metrics>,
        shown: &Arc<ShownCertificate>,
    ) -> Result<Self, WorldError> {
        let names = Names::new(&snapshot.spec);
        let catalogs = Catalogs::empty(&snapshot.spec, &closed)?;
        let resilience = snapshot.spec.resilience.clone().unwrap_or_default();
        let patience = resilience.connect_timeout.into();
        let connector = BackendConnector::new(snapshot.backend_tls.clone(), patience)?;
        let fleets = servers.fleets(&snapshot, &metrics);
        let reads = snapshot.spec.reads.as_ref().map(|reads| Policy {
            consistency: reads.consistency,
            balancing: reads.balancing,
            max_lag: reads.max_replica_lag.into(),
        });
        Ok(Self {
            fleets,
            reads,
            names,
            catalogs,
            closed,
            client_tls: shown.server_config(snapshot.client_ca.as_deref())?,
            snapshot,
            connector,
            metrics,
        })
    }

    /// Opens a connection to the primary of `shard`.
    ///
    /// # Errors
    /// If there is none, it cannot be reached, or it refuses the login.
    pub async fn connect(&self, shard: usize, login: Login) -> Result<Backend, BackendError> {
        let Some(primary) = self.fleets.get(shard).and_then(Fleet::primary) else {
            return Err(BackendError::no_primary(shard));
        };
        self.connect_counted(primary, login).await
    }

    /// The same, which waits while the server has no room for another connection: for as long as
    /// sessions do.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub(crate) async fn connect_in_turn(
        &self,
        shard: usize,
        login: Login,
    ) -> Result<Backend, BackendError> {
        let Some(primary) = self.fleets.get(shard).and_then(Fleet::primary) else {
            return Err(BackendError::no_primary(shard));
        };
        in_turn(primary, || self.connect_counted(primary, login.clone())).await
    }

    /// Opens a connection to a server, which takes a seat among those of its pool: `seat`, which
    /// stays there if none comes about.
    ///
    /// # Errors
    /// If it cannot be reached or refuses the login.
    pub(crate) async fn connect_seated(
        &self,
        member: &Member,
        login: Login,
        seat: &mut Option<Seat>,
    ) -> Result<Backend, BackendError> {
        let mut backend = self.connect_counted(member, login).await?;
        if let Some(seat) = seat.take() {
            backend.seat(seat);
        }
        Ok(backend)
    }

    async fn connect_counted(
        &self,
        member: &Member,
        login: Login,
    ) -> Result<Backend, BackendError> {
        let shard = member.server.address().shard;
        let of_primary = member.instance.role == Role::Primary;
        match self.connect_member(member, login).await {
            Ok(mut backend) => {
                backend.count(match of_primary {
                    true => self.metrics.backend_connected(shard),
                    false => self.metrics.replica_connected(),
                });
                Ok(backend)
            }
            // A server that refuses someone is there.
            Err(error @ BackendError::Server { .. }) => {
                if is_full(&error) {
                    self.metrics.pools.was_full();
                }
                Err(error)
            }
            Err(error) => {
                if of_primary {
                    self.metrics.backend_failed(shard, error.to_string());
                }
                Err(error)
            }
        }
    }

    /// Opens a connection to a gateway, which is none of a shard's.
    ///
    /// # Errors
    /// If it cannot be reached or refuses the login.
    pub(crate) async fn connect_gateway(
        &self,
        gateway: &Gateway,
        login: Login,
    ) -> Result<Backend, BackendError> {
        let server = Instance {
            host: gateway.host.clone(),
            port: gateway.port,
            role: Role::Primary,
            weight: 1,
            socket: None,
        };
        self.connector.connect(HOME, &server, login).await
    }

    /// Opens a connection to see how a server is, whatever its breaker says.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub(crate) async fn connect_monitor(
        &self,
        member: &Member,
        login: Login,
    ) -> Result<Backend, BackendError> {
        let shard = member.server.address().shard;
        let mut backend = self
            .connector
            .connect(shard, &member.instance, login)
            .await?;
        backend.count(self.metrics.replica_connected());
        Ok(backend)
    }

    /// Whether all rows are on one server, under their own names.
    pub(crate) fn is_one_server(&self) -> bool {
        self.snapshot.spec.shards == 1 && !self.names.are_physical()
    }

    /// Opens a connection to a server beside those that work for clients, whatever its breaker
    /// says.
    ///
    /// # Errors
    /// If it is not in the snapshot any more, cannot be reached or refuses the login.
    pub(crate) async fn connect_beside(
        &self,
        server: &Arc<Server>,
        login: Login,
    ) -> Result<Backend, BackendError> {
        let shard = server.address().shard;
        let members = self.fleets.get(shard).map(|fleet| &fleet.members[..]);
        let mut members = members.unwrap_or_default().iter();
        let Some(member) = members.find(|member| Arc::ptr_eq(&member.server, server)) else {
            return Err(BackendError::gone(shard));
        };
        let connect = || {
            self.connector
                .connect(shard, &member.instance, login.clone())
        };
        in_turn(member, connect).await
    }

    /// Whether tasks look after the servers. Without replicas, and without a word about reads or
    /// resilience, what statements meet says enough, and thousands of sidecars cost the servers
    /// nothing.
    pub(crate) fn is_watched(&self) -> bool {
        let spec = &self.snapshot.spec;
        spec.reads.is_some()
            || spec.resilience.is_some()
            || self.fleets.iter().any(Fleet::has_replicas)
    }

    async fn connect_member(&self, member: &Member, login: Login) -> Result<Backend, BackendError> {
        let server = &member.server;
        let shard = server.address().shard;
        if !server.admits() {
            let reason = "it failed several times in a row, and is tried again soon".to_owned();
            return Err(BackendError::Connect { shard, reason });
        }
        let connecting = self.connector.connect(shard, &member.instance, login);
        let connected = tokio::select! {
            biased;
            connected = connecting => connected,
            () = server.cut_off() => {
                let reason = "the server does not answer".to_owned();
                return Err(BackendError::Connect { shard, reason });
            }
        };
        match &connected {
            // A server that refuses someone is there.
            Ok(_) | Err(BackendError::Server { .. }) => server.succeeded(),
            Err(error) => server.failed(&error.to_string()),
        }
        let mut backend = connected?;
        backend.leads_to(server);
        if self.is_watched() {
            backend.end_with(server);
        }
        Ok(backend)
    }
}

/// Tries to connect to a server while it has no room: for as long as sessions do.
async fn in_turn<F>(member: &Member, connect: impl Fn() -> F) -> Result<Backend, BackendError>
where
    F: Future<Output = Result<Backend, BackendError>>,
{
    let pool = member.server.pool();
    let deadline = Instant::now() + pool.bounds().queue;
    loop {
        match connect().await {
            Err(error) if is_full(&error) && Instant::now() < deadline => {
                tokio::time::sleep(pool.was_full()).await;
                pool.try_again(false);
            }
            connected => return connected,
        }
    }
}
