//! Shards of several MySQL servers: a primary, and replicas that follow it by GTID.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use futures::future::try_join_all;
use mysql_async::Conn;
use mysql_async::prelude::Queryable as _;
use serde_json::Value;
use tempfile::TempDir;

use crate::mysql::{Account, MysqlRoot, MysqlServer, ServerOptions};
use crate::sidecar::{Endpoint, Sidecar};

/// How long a replica may take to have what its primary has.
const FOLLOW_LIMIT: Duration = Duration::from_secs(60);

/// The account that replicas read the primary's binary log as.
const REPLICATION: Account = Account {
    name: "replication",
    password: "replication-secret",
    grants: "REPLICATION SLAVE ON *.*",
};

/// A primary and its replicas. All of them have the accounts of [`ServerOptions::named`], and
/// their binary logs begin empty.
#[derive(Debug)]
pub struct ReplicatedShard {
    /// Takes writes.
    pub primary: MysqlServer,
    /// Follow it, `super_read_only`.
    pub replicas: Vec<MysqlServer>,
}

impl ReplicatedShard {
    /// Starts a primary and so many replicas, with `flags` besides, and waits until they follow.
    ///
    /// # Errors
    /// If one of them does not come up or does not follow.
    pub async fn start(
        root: &MysqlRoot,
        name: &str,
        replicas: usize,
        flags: &[String],
    ) -> Result<Self> {
        let mut servers = try_join_all((0..=replicas).map(async |number| {
            MysqlServer::start(root, &replicated_options(name, number, flags)).await
        }))
        .await?;
        let shard = Self {
            primary: servers.remove(0),
            replicas: servers,
        };
        for replica in &shard.replicas {
            follow(replica, shard.primary.port()).await?;
        }
        shard.caught_up().await?;
        Ok(shard)
    }

    /// Waits until each replica has what the primary has now.
    ///
    /// # Errors
    /// If one does not within a minute.
    pub async fn caught_up(&self) -> Result<()> {
        let executed = executed(&self.primary).await?;
        for replica in &self.replicas {
            let mut connection = Conn::new(replica.login(&MysqlServer::SYSTEM)).await?;
            let deadline = Instant::now() + FOLLOW_LIMIT;
            while !has(&mut connection, &executed).await? {
                if Instant::now() > deadline {
                    let status: Vec<mysql_async::Row> =
                        connection.query("SHOW REPLICA STATUS").await?;
                    bail!("the replica does not follow: {status:?}");
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            connection.disconnect().await?;
        }
        Ok(())
    }

    /// The servers as a topology lists them: the primary, then the replicas with these weights
    /// (1 where there is none).
    #[must_use]
    pub fn endpoints(&self, weights: &[u32]) -> Vec<Endpoint> {
        let primary = Endpoint {
            port: self.primary.port(),
            primary: true,
            weight: 1,
        };
        let replica = |(number, server): (usize, &MysqlServer)| Endpoint {
            port: server.port(),
            primary: false,
            weight: weights.get(number).copied().unwrap_or(1),
        };
        std::iter::once(primary)
            .chain(self.replicas.iter().enumerate().map(replica))
            .collect()
    }
}

/// The options of a server of a replicated shard: number 0 is the primary. For
/// [`MysqlServer::start_again`], where a replica needs `--super-read-only=ON` besides: servers of
/// tests read no file, not even what was persisted.
#[must_use]
pub fn replicated_options(name: &str, number: usize, flags: &[String]) -> ServerOptions {
    let mut options = ServerOptions::named(&format!("{name}-{number}"));
    options.accounts.push(REPLICATION);
    options.flags = [
        "--log-bin=binlog",
        "--gtid-mode=ON",
        "--enforce-gtid-consistency=ON",
        // What was acknowledged outlives a kill of the process; nobody unplugs the machine.
        "--innodb-flush-log-at-trx-commit=2",
        // A frozen primary is noticed soon, and one that is back is followed soon.
        "--replica-net-timeout=4",
    ]
    .map(str::to_owned)
    .to_vec();
    options.flags.extend_from_slice(flags);
    options
}

/// Lets `replica` follow the primary on `port`, and takes writes from nobody else.
///
/// # Errors
/// If it refuses.
pub async fn follow(replica: &MysqlServer, port: u16) -> Result<()> {
    let mut connection = Conn::new(replica.login(&MysqlServer::SYSTEM)).await?;
    let Account { name, password, .. } = REPLICATION;
    for sql in [
        "SET GLOBAL super_read_only = ON".to_owned(),
        format!(
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {port}, \
             SOURCE_USER = '{name}', SOURCE_PASSWORD = '{password}', SOURCE_AUTO_POSITION = 1, \
             GET_SOURCE_PUBLIC_KEY = 1, SOURCE_CONNECT_RETRY = 1, SOURCE_RETRY_COUNT = 100000"
        ),
        "START REPLICA".to_owned(),
    ] {
        connection.query_drop(sql).await?;
    }
    connection.disconnect().await?;
    Ok(())
}

/// What a server has executed, as GTIDs on one line.
///
/// # Errors
/// If it does not answer.
pub async fn executed(server: &MysqlServer) -> Result<String> {
    let mut connection = Conn::new(server.login(&MysqlServer::SYSTEM)).await?;
    let set: Option<String> = connection
        .query_first("SELECT REPLACE(@@GLOBAL.gtid_executed, '\\n', '')")
        .await?;
    connection.disconnect().await?;
    Ok(set.unwrap_or_default())
}

async fn has(connection: &mut Conn, gtids: &str) -> Result<bool> {
    let sql = format!("SELECT GTID_SUBSET('{gtids}', @@GLOBAL.gtid_executed)");
    Ok(connection.query_first(sql).await? == Some(true))
}

/// A sharded MySQL with replicas on this machine, without Kubernetes.
#[derive(Debug)]
pub struct ReplicatedShards {
    /// The sidecar; it ends before its servers.
    pub sidecar: Sidecar,
    /// The servers of each shard.
    pub shards: Vec<ReplicatedShard>,
    /// Where the sidecar's configuration and log lie.
    pub folder: TempDir,
}

impl ReplicatedShards {
    /// Starts the shards of `manifest`, each with so many replicas of these weights, and a
    /// sidecar on them.
    ///
    /// # Errors
    /// If one of them does not come up.
    pub async fn start(
        root: &MysqlRoot,
        manifest: &Value,
        replicas: usize,
        weights: &[u32],
    ) -> Result<Self> {
        let count = manifest["spec"]["shards"].as_u64().unwrap_or(1);
        let shards = try_join_all((0..count).map(async |shard| {
            ReplicatedShard::start(root, &format!("shard-{shard}"), replicas, &[]).await
        }))
        .await?;
        let folder = TempDir::with_prefix("remora-sidecar-")?;
        let endpoints: Vec<_> = shards.iter().map(|s| s.endpoints(weights)).collect();
        let sidecar = Sidecar::start_replicated(folder.path(), manifest, &endpoints).await?;
        Ok(Self {
            sidecar,
            shards,
            folder,
        })
    }
}
