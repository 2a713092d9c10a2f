//! Many sidecars at a server that has not a connection for each of them.

use super::*;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use remora_e2e::mysql::ServerOptions;
use tempfile::TempDir;

/// How many connections the server takes.
const MOST: u32 = 40;
/// How many sidecars there are: five for two connections, as 500 at a server with 200.
const SIDECARS: usize = 100;
/// For how long their clients are at work.
const WORK: Duration = Duration::from_secs(20);
/// How long a statement may take: MySQL's own time-outs and that of the queue are longer.
const PATIENCE: Duration = Duration::from_secs(8);

/// How many connections and sidecars this run is about: `REMORA_CROWD=200:500` is the whole of it.
fn crowd() -> (u32, usize) {
    let given = std::env::var("REMORA_CROWD").ok();
    let parsed = given.as_deref().and_then(|text| {
        let (most, sidecars) = text.split_once(':')?;
        Some((most.parse().ok()?, sidecars.parse().ok()?))
    });
    parsed.unwrap_or((MOST, SIDECARS))
}

/// A cluster of one shard, whose sidecars are told this.
fn told(annotations: Value) -> Value {
    json!({
        "apiVersion": "remora.dev/v1alpha1",
        "kind": "ShardingCluster",
        "metadata": {"name": "shop", "annotations": annotations},
        "spec": {"shards": 1, "database": "shop", "tables": []},
    })
}

async fn server(most: u32) -> Result<MysqlServer> {
    let mut options = ServerOptions::named("crowded");
    options.flags = vec![format!("--max-connections={most}")];
    let server = MysqlServer::start(&MysqlRoot::get()?, &options).await?;
    let mut connection = direct(&server).await?;
    for sql in [
        "CREATE DATABASE IF NOT EXISTS shop",
        "CREATE TABLE shop.work (id INT NOT NULL PRIMARY KEY, done INT NOT NULL)",
        "FLUSH STATUS",
    ] {
        connection.query_drop(sql).await?;
    }
    connection.disconnect().await?;
    Ok(server)
}

/// A sidecar with its files.
struct Neighbour {
    sidecar: Sidecar,
    _folder: TempDir,
}

async fn neighbours(server: &MysqlServer, manifest: &Value, many: usize) -> Result<Vec<Neighbour>> {
    let start = async |_| {
        let folder = TempDir::with_prefix("remora-neighbour-")?;
        let sidecar = Sidecar::start(folder.path(), manifest, &[server.port()]).await?;
        anyhow::Ok(Neighbour {
            sidecar,
            _folder: folder,
        })
    };
    stream::iter(0..many)
        .map(start)
        .buffer_unordered(4)
        .try_collect()
        .await
}

/// What a client got done.
#[derive(Debug)]
struct Done {
    rounds: u32,
    longest: Duration,
}

/// Works until `end`: each round is two statements and a transaction.
async fn work(port: u16, id: usize, end: Instant) -> Result<Done> {
    let mut connection = connect(port).await?;
    connection
        .query_drop(format!("REPLACE INTO work VALUES ({id}, 0)"))
        .await?;
    let mut done = Done {
        rounds: 0,
        longest: Duration::ZERO,
    };
    while Instant::now() < end {
        for sql in [
            "BEGIN".to_owned(),
            format!("UPDATE work SET done = done + 1 WHERE id = {id}"),
            "COMMIT".to_owned(),
        ] {
            let began = Instant::now();
            connection
                .query_drop(&sql)
                .await
                .with_context(|| format!("client {id}: {sql}"))?;
            done.longest = done.longest.max(began.elapsed());
        }
        let began = Instant::now();
        let counted: Option<u32> = connection
            .exec_first("SELECT done FROM work WHERE id = ?", (id,))
            .await
            .with_context(|| format!("client {id}: SELECT"))?;
        done.longest = done.longest.max(began.elapsed());
        done.rounds += 1;
        ensure!(
            counted == Some(done.rounds),
            "client {id}: {counted:?} after {done:?}"
        );
    }
    connection.disconnect().await?;
    Ok(done)
}

/// Lets a client of each sidecar work; gives what each got done.
async fn all_work(neighbours: &[Neighbour]) -> Result<Vec<Done>> {
    let end = Instant::now() + WORK;
    let clients = neighbours.iter().enumerate().map(|(id, neighbour)| {
        let port = neighbour.sidecar.port();
        tokio::spawn(work(port, id, end))
    });
    let mut all = Vec::new();
    for client in clients.collect::<Vec<_>>() {
        all.push(client.await??);
    }
    Ok(all)
}

/// What the server says of its connections: the most that were open, and those refused.
async fn met(server: &MysqlServer) -> Result<(u32, u32)> {
    let mut connection = direct(server).await?;
    let mut of = async |name: &str| {
        let (_, value): (String, u32) = connection
            .query_first(format!("SHOW GLOBAL STATUS LIKE '{name}'"))
            .await?
            .context("no such status")?;
        anyhow::Ok(value)
    };
    Ok((
        of("Max_used_connections").await?,
        of("Connection_errors_max_connections").await?,
    ))
}

fn tell(what: &str, all: &[Done], met: (u32, u32)) {
    let rounds = all.iter().map(|done| done.rounds);
    println!(
        "{what}: {} clients, {} to {} rounds each, {} in all; longest statement {:?}; \
         {} connections at most, {} refused",
        all.len(),
        rounds.clone().min().unwrap_or_default(),
        rounds.clone().max().unwrap_or_default(),
        rounds.sum::<u32>(),
        all.iter()
            .map(|done| done.longest)
            .max()
            .unwrap_or_default(),
        met.0,
        met.1,
    );
}

fn made_progress(all: &[Done], least: u32) -> Result<()> {
    for done in all {
        ensure!(done.rounds >= least && done.longest < PATIENCE, "{done:?}");
    }
    Ok(())
}

#[tokio::test]
async fn sidecars_take_turns_where_there_are_more_of_them_than_connections() -> Result<()> {
    let (most, many) = crowd();
    let server = server(most).await?;
    let manifest = told(json!({"e2e/share": 1}));
    let neighbours = neighbours(&server, &manifest, many).await?;
    let all = all_work(&neighbours).await?;
    drop(neighbours);
    let met = met(&server).await?;
    tell("taking turns", &all, met);
    made_progress(&all, 5)?;
    ensure!(met.1 > 0, "the server was never full");
    Ok(())
}
