//! What a suite runs against: a server of its own, alone or behind a sidecar.

use anyhow::{Context as _, Result};
use mysql_async::prelude::Queryable as _;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::mysql::{MysqlRoot, MysqlServer, ServerOptions, login};
use crate::sidecar::Sidecar;

/// Against which of the two a suite runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Side {
    /// A plain MySQL server.
    Mysql,
    /// The sidecar, on one such server and with tables that are not sharded.
    Remora,
}

impl Side {
    /// Both, MySQL first: it says what is right.
    pub const BOTH: [Self; 2] = [Self::Mysql, Self::Remora];

    /// For file names and messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mysql => "mysql",
            Self::Remora => "remora",
        }
    }
}

/// The database that tests use.
pub(super) const DATABASE: &str = "test";

/// What differs from an ordinary server of a test: as MySQL is by default, and what the drivers'
/// own pipelines set.
const FLAGS: [&str; 9] = [
    "--performance-schema=ON",
    "--log-bin=binlog",
    "--gtid-mode=ON",
    "--enforce-gtid-consistency=ON",
    "--local-infile=ON",
    "--max-allowed-packet=64M",
    "--max-connections=500",
    "--xa-detach-on-prepare=ON",
    "--character-set-server=utf8mb4",
];

/// A running target. The sidecar ends before its server.
#[derive(Debug)]
pub(super) struct Target {
    sidecar: Option<Sidecar>,
    server: MysqlServer,
    /// Where the sidecar's configuration and log lie.
    _folder: TempDir,
}

impl Target {
    /// Starts it, with an empty database for the tests.
    pub(super) async fn start(root: &MysqlRoot, side: Side) -> Result<Self> {
        let mut options = ServerOptions::named(&format!("drivers-{}", side.name()));
        options.flags = FLAGS.map(str::to_owned).to_vec();
        let server = MysqlServer::start(root, &options).await?;
        let mut connection =
            mysql_async::Conn::new(server.login(&MysqlServer::APPLICATION)).await?;
        let create = format!("CREATE DATABASE IF NOT EXISTS {DATABASE}");
        connection.query_drop(create).await?;
        connection.disconnect().await?;
        let folder = TempDir::with_prefix("remora-drivers-")?;
        let sidecar = match side {
            Side::Mysql => None,
            Side::Remora => {
                let port = [server.port()];
                Some(Sidecar::start(folder.path(), &manifest(), &port).await?)
            }
        };
        let target = Self {
            sidecar,
            server,
            _folder: folder,
        };
        let login = login(target.port(), &MysqlServer::APPLICATION).db_name(Some(DATABASE));
        let connection = mysql_async::Conn::new(login)
            .await
            .with_context(|| format!("cannot use {DATABASE} on {}", side.name()))?;
        connection.disconnect().await?;
        Ok(target)
    }

    /// Where clients connect.
    pub(super) fn port(&self) -> u16 {
        let sidecar = self.sidecar.as_ref().map(Sidecar::port);
        sidecar.unwrap_or_else(|| self.server.port())
    }

    /// The end of the sidecar's log, for whoever looks into a failure.
    pub(super) fn log_end(&self) -> String {
        let sidecar = self.sidecar.as_ref();
        sidecar.map_or_else(String::new, |sidecar| sidecar.process().log_end())
    }
}

/// One shard and no sharded table.
fn manifest() -> Value {
    json!({
        "apiVersion": "remora.dev/v1alpha1",
        "kind": "ShardingCluster",
        "metadata": {"name": "drivers"},
        "spec": {"shards": 1, "database": DATABASE, "tables": []},
    })
}
