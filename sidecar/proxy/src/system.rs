//! The sidecar's own connections: catalog, sequences, layout. One for each shard, opened when
//! needed, never lent to a client.

use remora_crds::Instance;
use remora_protocol::{CapabilityFlags, ErrPacket, Password, backend_wish};
use secrecy::ExposeSecret;
use tokio::sync::Mutex;

use crate::backend::{Backend, BackendError, Ended, Login, Row};
use crate::instances::Fleet;
use crate::world::World;

/// Connections of the system account.
#[derive(Debug, Default)]
pub struct System {
    connections: Mutex<Vec<Option<Resting>>>,
}

/// A connection that waits, and whose server it is: a topology that names another server for the
/// shard must not be answered by the one before.
#[derive(Debug)]
struct Resting {
    server: Instance,
    backend: Backend,
}

impl System {
    /// Runs a query on `shard` and gives its rows.
    ///
    /// # Errors
    /// If the shard cannot be reached, or MySQL refuses.
    pub async fn rows(
        &self,
        world: &World,
        shard: usize,
        sql: &str,
    ) -> Result<Vec<Row>, BackendError> {
        let mut backend = self.take(world, shard).await?;
        let rows = backend.rows(sql.as_bytes()).await?;
        self.put_back(world, backend).await;
        rows.map_err(|error| BackendError::Server { shard, error })
    }

    /// Runs a statement without rows on `shard`.
    ///
    /// # Errors
    /// If the shard cannot be reached, or MySQL refuses.
    pub async fn run(&self, world: &World, shard: usize, sql: &str) -> Result<Ended, BackendError> {
        let mut backend = self.take(world, shard).await?;
        let ended: Result<Ended, ErrPacket<'static>> =
            backend.query(sql.as_bytes()).await?.finish().await?;
        self.put_back(world, backend).await;
        ended.map_err(|error| BackendError::Server { shard, error })
    }

    /// Takes the resting connection, or opens one: callers do not wait for each other.
    async fn take(&self, world: &World, shard: usize) -> Result<Backend, BackendError> {
        let resting = self
            .connections
            .lock()
            .await
            .get_mut(shard)
            .and_then(Option::take);
        if let Some(Resting {
            server,
            mut backend,
        }) = resting
            && world.snapshot.primary(shard) == Some(&server)
            && !backend.is_gone()
        {
            return Ok(backend);
        }
        self.connect(world, shard).await
    }

    /// Closes the connections that rest.
    pub(crate) async fn rest(&self) {
        let resting = std::mem::take(&mut *self.connections.lock().await);
        for Resting { backend, .. } in resting.into_iter().flatten() {
            backend.quit().await;
        }
    }

    /// Opens a connection that the caller keeps.
    ///
    /// # Errors
    /// If the shard cannot be reached, or refuses the system account.
    pub(crate) async fn connect(
        &self,
        world: &World,
        shard: usize,
    ) -> Result<Backend, BackendError> {
        world.connect_in_turn(shard, login(world)).await
    }

    async fn put_back(&self, world: &World, backend: Backend) {
        let shard = backend.shard();
        let primary = world.fleets.get(shard).and_then(Fleet::primary);
        let Some(primary) = primary.filter(|primary| !primary.server.pool().takes_turns()) else {
            // Other sidecars wait for connections.
            return backend.quit().await;
        };
        let server = primary.instance.clone();
        let mut connections = self.connections.lock().await;
        if connections.len() <= shard {
            connections.resize_with(shard + 1, || None);
        }
        connections[shard] = Some(Resting { server, backend });
    }
}

/// How the system account logs in.
pub(crate) fn login(world: &World) -> Login {
    let account = &world.snapshot.system;
    Login {
        user: account.name.clone().into_bytes(),
        password: Password::new(account.password.expose_secret().as_bytes()),
        database: None,
        capabilities: backend_wish(
            // Procedures of the ledger give rows.
            CapabilityFlags::CLIENT_DEPRECATE_EOF | CapabilityFlags::CLIENT_MULTI_RESULTS,
        ),
        collation: UTF8MB4,
        attributes: vec![(b"program_name".to_vec(), b"remora-sidecar".to_vec())],
        // What is sent here is small.
        packet_limit: usize::MAX,
    }
}

/// utf8mb4_0900_ai_ci.
const UTF8MB4: u8 = 255;
