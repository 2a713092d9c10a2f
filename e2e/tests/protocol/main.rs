//! The wire protocol: the same bytes through the sidecar as from a plain MySQL, wherever one
//! server can tell.

mod attributes;
mod compressed;
mod cursors;
mod files;
mod large;
mod metadata;
mod raw;
mod results;
mod tracking;

use anyhow::{Result, ensure};
use remora_e2e::mysql::{MysqlRoot, MysqlServer, ServerOptions};
use remora_e2e::shards::LocalShards;
use remora_protocol::{CapabilityFlags, Reply};
use serde_json::{Value, json};

use raw::{Raw, error_in, modern, prepare, query, shown};

/// Two shards; one table of four on each, one that is whole, and one that is not sharded.
fn manifest() -> Value {
    json!({
        "apiVersion": "remora.dev/v1alpha1",
        "kind": "ShardingCluster",
        "metadata": {"name": "shop"},
        "spec": {
            "shards": 2,
            "database": "shop",
            "tables": [
                {
                    "name": "ticket",
                    "sharding": {"key": ["id"], "algorithm": {"hash": {}}, "tablesPerShard": 4},
                },
                {"name": "whole", "sharding": {"key": ["id"], "algorithm": {"hash": {}}}},
            ],
        },
    })
}

/// Tables that both sides have.
const TABLES: [&str; 5] = [
    "CREATE TABLE ticket (id BIGINT NOT NULL PRIMARY KEY, v INT NULL, t LONGTEXT NULL)",
    "CREATE TABLE whole (id BIGINT NOT NULL PRIMARY KEY, v INT NULL, t LONGTEXT NULL)",
    "CREATE TABLE plain (id BIGINT NOT NULL PRIMARY KEY, v INT NULL, t LONGTEXT NULL)",
    "INSERT INTO ticket VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, NULL), (4, NULL, 'd')",
    "INSERT INTO whole VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, NULL), (4, NULL, 'd')",
];

/// A plain MySQL, and a sidecar with shards of its own.
struct Sides {
    plain: MysqlServer,
    shards: LocalShards,
}

impl Sides {
    /// What the sidecar takes, in bytes.
    fn sidecar_memory(&self) -> Result<u64> {
        self.shards.sidecar.process().resident_memory()
    }

    async fn start(flags: &[&str]) -> Result<Self> {
        let root = MysqlRoot::get()?;
        let plugins = root.root().join("usr/lib/mysql/plugin");
        let mut all = vec![format!("--plugin-dir={}", plugins.display())];
        all.extend(flags.iter().map(|flag| (*flag).to_owned()));
        let mut options = ServerOptions::named("plain");
        options.flags.clone_from(&all);
        let sides = Self {
            plain: MysqlServer::start(&root, &options).await?,
            shards: LocalShards::start(&root, &manifest(), &all).await?,
        };
        let mut server =
            mysql_async::Conn::new(sides.plain.login(&MysqlServer::APPLICATION)).await?;
        mysql_async::prelude::Queryable::query_drop(&mut server, "CREATE DATABASE shop").await?;
        sides.both(modern(), |client| {
            TABLES.iter().try_for_each(|sql| client.run(sql))
        })?;
        Ok(sides)
    }

    fn ports(&self) -> [u16; 2] {
        [self.plain.port(), self.shards.sidecar.port()]
    }

    /// What each side gives: the plain server first.
    fn both<T>(
        &self,
        capabilities: CapabilityFlags,
        run: impl Fn(&mut Raw) -> Result<T>,
    ) -> Result<[T; 2]> {
        let [plain, sidecar] = self.ports();
        let of = |port| run(&mut Raw::connect(port, capabilities)?);
        Ok([of(plain)?, of(sidecar)?])
    }

    /// Lets both sides answer the same commands, and compares the packets.
    fn same(&self, capabilities: CapabilityFlags, commands: &[(&[u8], Reply)]) -> Result<()> {
        self.same_but(capabilities, commands, |_| false)
    }

    /// The same without answers of which MySQL's has a packet that is known to differ.
    fn same_but(
        &self,
        capabilities: CapabilityFlags,
        commands: &[(&[u8], Reply)],
        differs: impl Fn(&[u8]) -> bool,
    ) -> Result<()> {
        let [plain, sidecar] = self.both(capabilities, |client| {
            commands
                .iter()
                .map(|(command, reply)| client.answer(command, *reply))
                .collect::<Result<Vec<_>>>()
        })?;
        for (at, (command, _)) in commands.iter().enumerate() {
            let head = command[..command.len().min(100)].escape_ascii().to_string();
            if plain[at].iter().any(|packet| differs(packet)) {
                continue;
            }
            ensure!(
                plain[at] == sidecar[at],
                "{head} under {capabilities:?}\nMySQL: {}\nsidecar: {}",
                shown(&plain[at]),
                shown(&sidecar[at])
            );
        }
        Ok(())
    }
}
