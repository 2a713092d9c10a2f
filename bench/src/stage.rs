//! Everything that runs while the contenders are measured: servers, sidecar, HAProxy.

use anyhow::Result;
use mysql_async::Conn;
use mysql_async::prelude::Queryable as _;
use remora_e2e::mysql::{MysqlRoot, MysqlServer, ServerOptions};
use remora_e2e::shards::{LocalShards, with_layout};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::contender::{Contender, Haproxy};
use crate::sysbench::Sysbench;

/// The servers of one benchmark; they end when this value is dropped.
#[derive(Debug)]
pub struct Stage {
    /// The sharded side.
    pub shards: LocalShards,
    haproxy: Haproxy,
    plain: MysqlServer,
    _folder: TempDir,
}

impl Stage {
    /// Starts `shards` shards of `tables_per_shard` tables with a sidecar, and beside them one
    /// plain server with all the rows, reached directly and through HAProxy.
    ///
    /// # Errors
    /// If one of them does not come up or cannot be filled.
    pub async fn start(shards: u16, tables_per_shard: u16, rows: u64) -> Result<Self> {
        let root = MysqlRoot::get()?;
        // The same for every server: rows in memory, and no disk in the way of a read.
        let flags = [
            "--innodb-buffer-pool-size=256M".to_owned(),
            "--max-connections=2000".to_owned(),
        ];
        let options = ServerOptions {
            flags: flags.to_vec(),
            ..ServerOptions::named("plain")
        };
        let plain = MysqlServer::start(&root, &options).await?;
        let mut connection = Conn::new(plain.login(&MysqlServer::APPLICATION)).await?;
        connection.query_drop("CREATE DATABASE shop").await?;
        connection.disconnect().await?;
        let manifest = with_layout(manifest(), shards, tables_per_shard);
        let shards = LocalShards::start(&root, &manifest, &flags).await?;
        let folder = TempDir::with_prefix("remora-haproxy-")?;
        let haproxy = Haproxy::start(folder.path(), plain.port()).await?;
        for port in [plain.port(), shards.sidecar.port()] {
            Sysbench {
                port,
                account: MysqlServer::APPLICATION,
                rows,
            }
            .prepare()?;
        }
        Ok(Self {
            shards,
            haproxy,
            plain,
            _folder: folder,
        })
    }

    /// The ways to reach MySQL, in the order in which each round measures them.
    #[must_use]
    pub fn contenders(&self) -> [Contender; 3] {
        [
            Contender {
                name: "direct",
                port: self.plain.port(),
                proxy: None,
            },
            self.haproxy.contender(),
            Contender {
                name: "Remora",
                port: self.shards.sidecar.port(),
                proxy: Some(self.shards.sidecar.process().pid()),
            },
        ]
    }
}

/// sysbench's table, sharded by its primary key, which sysbench leaves to AUTO_INCREMENT.
fn manifest() -> Value {
    json!({
        "apiVersion": "remora.dev/v1alpha1",
        "kind": "ShardingCluster",
        "metadata": {"name": "bench"},
        "spec": {
            "shards": 4,
            "database": "shop",
            "tables": [{
                "name": "sbtest1",
                "sharding": {"key": ["id"], "algorithm": {"hash": {}}},
                "generatedKey": {"column": "id", "type": "Sequence"},
            }],
        },
    })
}
