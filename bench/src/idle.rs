//! What a client costs that logged in, asked once, and thinks.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use remora_e2e::client::{Client, Login};
use remora_e2e::mysql::{MysqlRoot, MysqlServer};
use remora_e2e::process::raise_socket_limit;
use remora_e2e::shards::{LocalShards, with_few_connections};
use serde_json::json;

/// How many clients there are, where the machine allows as many sockets.
const CLIENTS: u64 = 10_000;
/// Sockets that the sidecar takes for each of them.
const SOCKETS_EACH: u64 = 2;
/// Sockets that it needs for all else.
const OTHER_SOCKETS: u64 = 512;
/// How many of them log in at a time.
const AT_ONCE: usize = 50;
/// What each of them may cost, in bytes.
pub const GOAL: u64 = 10 * 1024;
/// How long the sidecar has to come to rest.
const REST: Duration = Duration::from_secs(3);

/// What was measured.
#[derive(Clone, Copy, Debug)]
pub struct Idle {
    clients: u64,
    before: u64,
    after: u64,
}

/// Lets the clients in and measures.
///
/// # Errors
/// If something does not come up, or a client is turned away.
pub async fn measure() -> Result<Idle> {
    let sockets = raise_socket_limit()?.saturating_sub(OTHER_SOCKETS);
    let count = CLIENTS.min(sockets / SOCKETS_EACH);
    let manifest = json!({
        "apiVersion": "remora.dev/v1alpha1",
        "kind": "ShardingCluster",
        "metadata": {"name": "idle"},
        "spec": {
            "shards": 2,
            "database": "shop",
            "tables": [{"name": "item", "sharding": {"key": ["id"], "algorithm": {"hash": {}}}}],
        },
    });
    let manifest = with_few_connections(manifest, 50);
    let shards = LocalShards::start(&MysqlRoot::get()?, &manifest, &[]).await?;
    let login = Login::new(shards.sidecar.port(), MysqlServer::APPLICATION);
    let mut first = login.connect().await?;
    for sql in [
        "CREATE TABLE item (id BIGINT NOT NULL PRIMARY KEY, v INT NOT NULL)",
        "INSERT INTO item VALUES (1, 1), (2, 2), (3, 3), (4, 4)",
    ] {
        first.query(sql).await?.one()?;
    }
    let question = "SELECT v FROM item WHERE id = 3";
    drop(first);
    // What is made once, whoever comes: plans, pools, the runtime's threads.
    drop(come(&login, question, AT_ONCE).await?);
    tokio::time::sleep(REST).await;
    let process = shards.sidecar.process();
    let before = process.resident_memory()?;
    let clients = come(&login, question, count as usize).await?;
    tokio::time::sleep(REST).await;
    let after = process.resident_memory()?;
    // All of them are served on.
    for mut client in clients.into_iter().step_by(100) {
        client.query(question).await?.rows()?;
    }
    Ok(Idle {
        clients: count,
        before,
        after,
    })
}

async fn come(login: &Login, question: &str, clients: usize) -> Result<Vec<Client>> {
    stream::iter(0..clients)
        .map(async |number| {
            let mut client = login
                .connect()
                .await
                .with_context(|| format!("client {number}"))?;
            ensure!(!client.query(question).await?.rows()?.is_empty(), "no rows");
            Ok(client)
        })
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await
}

impl Idle {
    /// What one client costs, in bytes.
    #[must_use]
    pub fn each(&self) -> u64 {
        self.after.saturating_sub(self.before) / self.clients
    }

    /// As a part of the page.
    #[must_use]
    pub fn markdown(&self) -> String {
        format!(
            "## Idle clients\n\n{} clients logged in over TCP without TLS, asked once \
             (a point select, over 50 connections to each server) and wait.\n\n| | |\n| --- | --- |\n\
             | RSS before | {:.1} MB |\n| RSS with them | {:.1} MB |\n\
             | each | {:.1} KB (goal: at most 10) |\n",
            self.clients,
            self.before as f64 / 1e6,
            self.after as f64 / 1e6,
            self.each() as f64 / 1024.0,
        )
    }
}
