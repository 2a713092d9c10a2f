//! What all sessions share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use remora_crds::GeneratedKeyKind;
use remora_planner::veil::Veiler;
use remora_planner::{Needed, Planner};
use remora_protocol::{CapabilityFlags, ErrPacket, Password, RsaKey, backend_wish};
use tokio::sync::{Semaphore, watch};

use crate::atomic::Ledger;
use crate::backend::{Backend, BackendError, Login};
use crate::clients::Registry;
use crate::frontend::{Backoff, WaitingRoom};
use crate::instances::Servers;
use crate::layout::{self, LayoutGuard};
use crate::net::{ShownCertificate, TlsError};
use crate::node::Node;
use crate::packet_limit::PacketLimit;
use crate::sequence::Sequences;
use crate::session::HOME;
use crate::snapshot::{LayoutKeeper, Snapshots};
use crate::system::System;
use crate::telemetry::Metrics;
use crate::world::{World, WorldError};

/// What the greeting says until a backend was seen.
const DEFAULT_VERSION: &str = "9.7.4";
/// How long the first sessions wait for [`Proxy::first_look`].
const FIRST_LOOK: Duration = Duration::from_secs(1);
/// How many passwords MySQL is asked about at the same time. Each is a login there: whoever tries
/// many names must not make the servers busy.
const ASKED_ELSEWHERE: usize = 8;
/// What cached plans may take.
const PLAN_CACHE: u64 = 16 << 20;
/// The same for how statements on protected columns are veiled.
const VEIL_CACHE: u64 = 4 << 20;

/// The data plane of one process.
pub struct Proxy {
    /// What the sidecar was told.
    pub snapshots: Arc<Snapshots>,
    /// The certificate that clients are shown.
    pub shown: Arc<ShownCertificate>,
    /// Texts to plans, with a cache for all sessions.
    pub planner: Planner,
    /// Veils statements on protected columns.
    pub veiler: Veiler,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    world: ArcSwap<World>,
    /// What is known of the MySQL servers.
    pub(crate) servers: Servers,
    /// Wakes when another world is in force.
    worlds: watch::Sender<()>,
    system: System,
    guard: LayoutGuard,
    /// How large packets may be.
    pub(crate) packets: PacketLimit,
    sequences: Sequences,
    ledger: Ledger,
    node: Node,
    rsa: OnceLock<Arc<RsaKey>>,
    version: OnceLock<String>,
    connections: AtomicU32,
    /// Sessions that are served here, and not by a gateway.
    served_here: Arc<AtomicUsize>,
    clients: Arc<Registry>,
    /// Clients that are logging in.
    pub(crate) waiting_room: Arc<WaitingRoom>,
    /// Logins that failed.
    pub(crate) backoff: Backoff,
    /// Passwords that MySQL is asked about.
    elsewhere: Semaphore,
    /// Since when there is a snapshot.
    started: Instant,
    /// The first layout was compared with the rows, or that was tried.
    looked: watch::Sender<bool>,
    /// A shard was found to be laid out otherwise than it was when the layout came into force.
    other_layout: AtomicBool,
}

/// Why the data plane cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// The certificate for clients.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The snapshot.
    #[error(transparent)]
    World(#[from] WorldError),
}

/// MySQL's own error for a table that is not what a statement was made for.
pub(crate) fn table_changed() -> ErrPacket<'static> {
    ErrPacket::new(
        1412,
        *b"HY000",
        "Table definition has changed, please retry transaction",
    )
}

impl Proxy {
    /// Prepares to serve what `snapshots` says.
    ///
    /// # Errors
    /// If a certificate is not valid or cannot be made.
    pub fn new(snapshots: Arc<Snapshots>, metrics: Arc<Metrics>) -> Result<Self, ProxyError> {
        let servers = Servers::default();
        let none = BTreeMap::new();
        let shown = ShownCertificate::self_made()?;
        let world = World::new(snapshots.load(), none, &servers, metrics.clone(), &shown)?;
        snapshots.adopted(&world.snapshot.backend_tls);
        metrics.pools.has_share(world.snapshot.connections.share);
        Ok(Self {
            shown,
            planner: Planner::new(PLAN_CACHE),
            veiler: Veiler::new(VEIL_CACHE),
            metrics,
            world: ArcSwap::from_pointee(world),
            servers,
            worlds: watch::Sender::new(()),
            system: System::default(),
            guard: LayoutGuard::default(),
            packets: PacketLimit::default(),
            sequences: Sequences::default(),
            ledger: Ledger::default(),
            node: Node::default(),
            rsa: OnceLock::new(),
            version: OnceLock::new(),
            connections: AtomicU32::new(0),
            served_here: Arc::default(),
            clients: Arc::default(),
            waiting_room: Arc::default(),
            backoff: Backoff::default(),
            elsewhere: Semaphore::new(ASKED_ELSEWHERE),
            started: Instant::now(),
            looked: watch::Sender::new(false),
            other_layout: AtomicBool::new(false),
            snapshots,
        })
    }

    /// The current world.
    #[must_use]
    pub fn world(&self) -> Arc<World> {
        self.world.load_full()
    }

    /// The clients that are logged in.
    pub(crate) fn clients(&self) -> &Arc<Registry> {
        &self.clients
    }

    /// Counts the sessions that are served here.
    pub(crate) fn served_here(&self) -> &Arc<AtomicUsize> {
        &self.served_here
    }

    /// Whether a gateway does everything, and the sidecar needs no connection to MySQL.
    pub(crate) fn is_passive(&self) -> bool {
        let through = self.snapshots.load().connections.through().is_some();
        through && self.served_here.load(Ordering::SeqCst) == 0
    }

    /// Gives up the connections that the sidecar has for itself.
    pub(crate) async fn rest(&self) {
        self.system.rest().await;
        self.node.rest().await;
    }

    /// How many connections of a user there may be.
    pub(crate) fn limit_of(&self, user: &[u8]) -> Option<u32> {
        self.snapshots.load().user(user)?.max_connections
    }

    /// The sidecar's own connections.
    pub(crate) fn system(&self) -> &System {
        &self.system
    }

    /// What is known and to be done about transactions over several shards.
    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Until the first layout was compared with the rows, so that the first sessions find closed
    /// the tables that must be. A first shard that hangs does not hold them up for long.
    pub(crate) async fn first_look(&self) {
        let mut looked = self.looked.subscribe();
        let rest = FIRST_LOOK.saturating_sub(self.started.elapsed());
        // In time or not: each shard is looked at when a session comes to it.
        drop(tokio::time::timeout(rest, looked.wait_for(|looked| *looked)).await);
    }

    /// The first layout was compared with the rows, or that was tried.
    pub(crate) fn has_looked(&self) {
        self.looked.send_replace(true);
    }

    /// Puts another world into force.
    pub(crate) fn put_world(&self, world: World) {
        self.servers.retain(&world.fleets, &self.metrics);
        if !world.snapshot.has_users_of(&self.world().snapshot) {
            // Whoever has another password, or may not come any more.
            for member in world.fleets.iter().flat_map(|fleet| &fleet.members) {
                member.server.pool().clear();
            }
        }
        let share = world.snapshot.connections.share;
        self.metrics.pools.has_share(share);
        self.snapshots.adopted(&world.snapshot.backend_tls);
        self.world.store(Arc::new(world));
        self.worlds.send_replace(());
    }

    /// Wakes when another world is in force.
    pub(crate) fn worlds(&self) -> watch::Receiver<()> {
        self.worlds.subscribe()
    }

    /// The tables of the world's manifest that rows forbid or a shard is not prepared for.
    ///
    /// # Errors
    /// If the first shard's whole layout is another one, or it cannot be asked.
    pub(crate) async fn refused(
        &self,
        world: &World,
    ) -> Result<BTreeMap<String, String>, BackendError> {
        self.guard.refused(&self.system, world).await
    }

    /// Whether the first shard holds the world's layout, as far as that can be told.
    pub(crate) async fn still_fits(&self, world: &World) -> bool {
        let compared = self.guard.compare(&self.system, world, HOME).await;
        compared.map_or(true, |refused| refused.is_empty())
    }

    /// Those of `tables` that the first shard has.
    ///
    /// # Errors
    /// If it cannot be asked.
    pub(crate) async fn there(
        &self,
        world: &World,
        tables: &[&str],
    ) -> Result<BTreeSet<String>, BackendError> {
        layout::there(&self.system, world, HOME, tables).await
    }

    /// Whether a session met a shard with another layout since this was asked last.
    pub(crate) fn met_another_layout(&self) -> bool {
        self.other_layout.swap(false, Ordering::Relaxed)
    }

    /// Makes the key with which clients without TLS encrypt their passwords. It takes a tenth
    /// of a second, which the start does not wait for: until then such clients use TLS or the
    /// fast exchange, as with a MySQL server that has no key.
    pub fn make_rsa_key(&self) {
        match RsaKey::generate() {
            Ok(key) => drop(self.rsa.set(Arc::new(key))),
            Err(error) => tracing::warn!(%error, "No RSA key: clients need TLS"),
        }
    }

    /// The key of [`make_rsa_key`](Self::make_rsa_key), once it is there.
    #[must_use]
    pub fn rsa_key(&self) -> Option<Arc<RsaKey>> {
        self.rsa.get().cloned()
    }

    /// The server version that clients are greeted with: MySQL's own.
    #[must_use]
    pub fn server_version(&self) -> String {
        self.version
            .get()
            .map_or_else(|| DEFAULT_VERSION.to_owned(), Clone::clone)
    }

    /// Notes the version of a backend.
    pub fn saw_version(&self, version: &[u8]) {
        if self.version.get().is_none() {
            // Two sessions may see their first backend at once; they see the same version.
            let _ = self
                .version
                .set(String::from_utf8_lossy(version).into_owned());
        }
    }

    /// A number for a new client's connection.
    pub fn next_connection_id(&self) -> u32 {
        self.connections
            .fetch_add(1, Ordering::Relaxed)
            .wrapping_add(1)
    }

    /// Asks MySQL whether it knows this account, which the snapshot does not name. A gateway asks
    /// MySQL for those who go through it.
    pub async fn verify_elsewhere(&self, user: &[u8], password: Password) -> bool {
        // It is never closed.
        let Ok(_permit) = self.elsewhere.acquire().await else {
            return false;
        };
        let world = self.world();
        let login = Login {
            user: user.to_vec(),
            password,
            database: None,
            capabilities: backend_wish(CapabilityFlags::empty()),
            collation: 255,
            attributes: Vec::new(),
            packet_limit: self.packets.bytes(),
        };
        let known = async |connected: Result<Backend, BackendError>| match connected {
            Ok(backend) => {
                backend.quit().await;
                Some(true)
            }
            Err(BackendError::Server { .. }) => Some(false),
            // It is down; another one knows the account as well.
            Err(_) => None,
        };
        if let Some(gateway) = self.snapshots.load().connections.through() {
            let connected = world.connect_gateway(gateway, login.clone()).await;
            if let Some(known) = known(connected).await {
                return known;
            }
        }
        for shard in 0..world.snapshot.shards.len() {
            let connected = world.connect_in_turn(shard, login.clone()).await;
            if let Some(known) = known(connected).await {
                return known;
            }
        }
        false
    }

    /// Lets a session on to a shard whose layout is the manifest's. One that did not answer when
    /// the layout came into force may differ in a table, which is then closed instead of the shard.
    ///
    /// # Errors
    /// If it is another one, or the shard cannot be asked.
    pub(crate) async fn admit(&self, world: &World, shard: usize) -> Result<(), BackendError> {
        let admitted = self
            .guard
            .admit(&self.system, world, shard, &self.packets)
            .await;
        if let Err(BackendError::Server { .. }) = admitted {
            self.other_layout.store(true, Ordering::Relaxed);
        }
        admitted
    }

    /// Learns how large packets may be, if no server was asked yet. A gateway knows for itself.
    pub(crate) async fn learn_packets(&self) {
        if self.packets.must_be_asked() && !self.is_passive() {
            let world = self.world();
            // If the first shard is down or refused, sessions hear it when they come to it.
            drop(tokio::time::timeout(FIRST_LOOK, self.admit(&world, HOME)).await);
        }
    }

    /// Loads the catalog anew, after DDL. A failure is logged: statements then meet tables
    /// that the catalog does not know, and ask again.
    pub(crate) async fn reload_catalog(&self, world: &World) {
        if let Err(error) = world.catalogs.reload(&self.system, world).await {
            tracing::warn!(%error, "The catalog could not be loaded");
        }
    }

    /// Reads the catalog where a statement would go wrong by an old one.
    ///
    /// # Errors
    /// If no shard tells what its tables are now.
    pub(crate) async fn read_catalog(&self, world: &World) -> Result<(), ErrPacket<'static>> {
        let read = world.catalogs.read(&self.system, world).await;
        read.map_err(|error| {
            tracing::warn!(%error, "The catalog could not be read");
            table_changed()
        })
    }

    /// The same, but not more often than once in a while: statements with mistakes in them
    /// must not make the shards busy.
    pub(crate) async fn refresh_catalog(&self, world: &World) {
        if let Err(error) = world.catalogs.refresh(&self.system, world).await {
            tracing::warn!(%error, "The catalog could not be loaded");
        }
    }

    /// Makes a physical schema, for which a client's account may lack the right. Where there are
    /// agents, theirs made it before the layout was admitted.
    ///
    /// # Errors
    /// If the shard cannot be reached or refuses.
    pub(crate) async fn create_schema(
        &self,
        world: &World,
        shard: usize,
        schema: &str,
    ) -> Result<(), BackendError> {
        if world.snapshot.keeper == LayoutKeeper::Agents {
            return Ok(());
        }
        let name = schema.replace('`', "``");
        let sql = format!("CREATE DATABASE IF NOT EXISTS `{name}`");
        self.system.run(world, shard, &sql).await.map(drop)
    }

    /// Values for a generated key; `None` if its sequence was not begun.
    ///
    /// # Errors
    /// If shard 0, which keeps the sequences, is needed and cannot be reached.
    pub(crate) async fn generate(
        &self,
        world: &World,
        needed: &Needed,
    ) -> Result<Option<Vec<u64>>, BackendError> {
        let (table, count) = (needed.table.as_str(), needed.count);
        match needed.kind {
            GeneratedKeyKind::Sequence => {
                self.sequences.take(&self.system, world, table, count).await
            }
            GeneratedKeyKind::Snowflake => {
                let node = self.node.take(&self.sequences, &self.system, world, count);
                Ok(Some(node.await?))
            }
        }
    }

    /// Begins the sequence of `table` above `used`.
    ///
    /// # Errors
    /// If shard 0 cannot be reached.
    pub(crate) async fn begin_sequence(
        &self,
        world: &World,
        table: &str,
        used: u64,
    ) -> Result<(), BackendError> {
        self.sequences.begin(&self.system, world, table, used).await
    }

    /// Keeps the sequence of `table` from giving out what a client inserted itself. Answers
    /// whether the sequence was begun.
    ///
    /// # Errors
    /// If shard 0 must hear of it and cannot be reached.
    pub(crate) async fn pass_sequence(
        &self,
        world: &World,
        table: &str,
        id: u64,
    ) -> Result<bool, BackendError> {
        self.sequences.pass(&self.system, world, table, id).await
    }

    /// Lets the sequence of `table` begin again.
    ///
    /// # Errors
    /// If shard 0 cannot be reached.
    pub(crate) async fn restart_sequence(
        &self,
        world: &World,
        table: &str,
    ) -> Result<(), BackendError> {
        self.sequences.restart(&self.system, world, table).await
    }
}
