//! What is derived from a snapshot once, and read by every command.

use std::collections::BTreeMap;
use std::sync::Arc;

use remora_planner::CatalogError;

use crate::backend::{Backend, BackendConnector, BackendError, Login};
use crate::catalog::Catalogs;
use crate::names::Names;
use crate::net::TlsError;
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
    connector: BackendConnector,
    metrics: Arc<Metrics>,
}

/// Why a snapshot cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// The certificate authorities of the backends.
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
    pub fn new(
        snapshot: Arc<Snapshot>,
        closed: BTreeMap<String, String>,
        metrics: Arc<Metrics>,
    ) -> Result<Self, WorldError> {
        let names = Names::new(&snapshot.spec);
        let catalogs = Catalogs::empty(&snapshot.spec, &closed)?;
        let connector = BackendConnector::new(snapshot.backend_tls.clone())?;
        Ok(Self {
            snapshot,
            names,
            catalogs,
            closed,
            connector,
            metrics,
        })
    }

    /// Opens a connection to the primary of `shard`.
    ///
    /// # Errors
    /// If there is none, it cannot be reached, or it refuses the login.
    pub async fn connect(&self, shard: usize, login: Login) -> Result<Backend, BackendError> {
        let connected = match self.snapshot.primary(shard) {
            Some(primary) => self.connector.connect(shard, primary, login).await,
            None => {
                let reason = "the shard has no primary".to_owned();
                Err(BackendError::Connect { shard, reason })
            }
        };
        match connected {
            Ok(mut backend) => {
                backend.count(self.metrics.backend_connected(shard));
                Ok(backend)
            }
            // A server that refuses someone is there.
            Err(error @ BackendError::Server { .. }) => Err(error),
            Err(error) => {
                self.metrics.backend_failed(shard, error.to_string());
                Err(error)
            }
        }
    }
}
