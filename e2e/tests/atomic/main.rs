//! Transactions over several shards: what clients see of them, and that they are whole whatever
//! is killed or frozen meanwhile.

mod bank;
mod semantics;
mod steps;

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use mysql_async::prelude::Queryable as _;
use mysql_async::{Conn, Error};
use remora_e2e::mysql::{MysqlRoot, MysqlServer, login};
use remora_e2e::patience::until;
use remora_e2e::shards::LocalShards;
use serde_json::{Value, json};

/// Two shards, two tables each.
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
                    "name": "account",
                    "sharding": {"key": ["id"], "algorithm": {"hash": {}}, "tablesPerShard": 2},
                },
                {"name": "rate", "broadcast": true},
            ],
        },
    })
}

/// What MySQL does in production: nothing that was acknowledged is lost when it is killed.
fn durable() -> Vec<String> {
    [
        "--log-bin=binlog",
        "--sync-binlog=1",
        "--innodb-flush-log-at-trx-commit=1",
        "--innodb-lock-wait-timeout=20",
    ]
    .map(str::to_owned)
    .into()
}

async fn connect(port: u16) -> Result<Conn> {
    let options = login(port, &MysqlServer::APPLICATION).db_name(Some("shop"));
    Ok(Conn::new(options).await?)
}

/// A connection to the server of a shard, past the sidecar.
async fn direct(server: &MysqlServer) -> Result<Conn> {
    Ok(Conn::new(server.login(&MysqlServer::APPLICATION)).await?)
}

async fn started() -> Result<(LocalShards, Conn)> {
    let shards = LocalShards::start(&MysqlRoot::get()?, &manifest(), &durable()).await?;
    let mut connection = connect(shards.sidecar.port()).await?;
    connection
        .query_drop("CREATE TABLE account (id BIGINT NOT NULL PRIMARY KEY, amount BIGINT NOT NULL)")
        .await?;
    connection
        .query_drop("CREATE TABLE rate (code INT NOT NULL PRIMARY KEY, v INT NOT NULL)")
        .await?;
    let rows: Vec<String> = (1..=20).map(|id| format!("({id}, 100)")).collect();
    connection
        .query_drop(format!("INSERT INTO account VALUES {}", rows.join(", ")))
        .await?;
    Ok((shards, connection))
}

/// An account of each shard.
async fn accounts(connection: &mut Conn) -> Result<[u64; 2]> {
    let mut found = [None; 2];
    for id in 1..=20 {
        let explain = format!("EXPLAIN REMORA SELECT amount FROM account WHERE id = {id}");
        type Explained = (String, u64, String, String);
        let parts: Vec<Explained> = connection.query(explain).await?;
        let (shard, ..) = parts.first().context("no part")?;
        found[usize::from(shard != "0")].get_or_insert(id);
    }
    match found {
        [Some(first), Some(second)] => Ok([first, second]),
        _ => bail!("all accounts are on one shard: {found:?}"),
    }
}

/// The number of the error that `sql` gets.
async fn error_of(connection: &mut Conn, sql: &str) -> Result<(u16, String)> {
    match connection.query_drop(sql).await {
        Err(Error::Server(error)) => Ok((error.code, error.message)),
        Err(other) => Err(other.into()),
        Ok(()) => bail!("no error: {sql}"),
    }
}

/// What an account has.
async fn amount(connection: &mut Conn, id: u64) -> Result<i64> {
    let sql = format!("SELECT amount FROM account WHERE id = {id}");
    connection.query_first(sql).await?.context("no account")
}

/// Until no shard has a prepared branch, nor the ledger a decision.
async fn settled(servers: &[MysqlServer]) -> Result<()> {
    until("all branches are ended", async || {
        for server in servers {
            let mut connection = direct(server).await?;
            let branches: Vec<mysql_async::Row> = connection.query("XA RECOVER").await?;
            ensure!(branches.is_empty(), "{} branches", branches.len());
        }
        Ok(())
    })
    .await
}
