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
fn told(annotations: &Value) -> Value {
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

#[expect(
    clippy::print_stdout,
    reason = "how evenly they went on is worth reading"
)]
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
    let manifest = told(&json!({"e2e/share": 1}));
    let neighbours = neighbours(&server, &manifest, many).await?;
    let all = all_work(&neighbours).await?;
    drop(neighbours);
    let met = met(&server).await?;
    tell("taking turns", &all, met);
    made_progress(&all, 5)?;
    ensure!(met.1 > 0, "the server was never full");
    Ok(())
}

/// A gateway with so many connections, and the manifest of those who go through it.
async fn gateway(server: &MysqlServer, connections: u32) -> Result<(Neighbour, Value)> {
    let folder = TempDir::with_prefix("remora-gateway-")?;
    let mut manifest = told(&json!({}));
    manifest["spec"]["sidecar"] = json!({"backendConnections": connections});
    let sidecar = Sidecar::start(folder.path(), &manifest, &[server.port()]).await?;
    let through = told(&json!({"e2e/share": 0, "e2e/gateway": sidecar.port()}));
    let gateway = Neighbour {
        sidecar,
        _folder: folder,
    };
    Ok((gateway, through))
}

#[tokio::test]
async fn a_gateway_serves_the_clients_of_more_sidecars_than_there_are_connections() -> Result<()> {
    let (most, many) = crowd();
    let server = server(most).await?;
    let (gateway, through) = gateway(&server, most - 10).await?;
    let neighbours = neighbours(&server, &through, many).await?;
    let all = all_work(&neighbours).await?;
    drop(neighbours);
    drop(gateway);
    let met = met(&server).await?;
    tell("through a gateway", &all, met);
    made_progress(&all, 5)?;
    ensure!(met.1 == 0, "the server was full {} times", met.1);
    Ok(())
}

#[tokio::test]
async fn a_session_through_a_gateway_is_a_session() -> Result<()> {
    let server = server(MOST).await?;
    let (mut gateway, through) = gateway(&server, 4).await?;
    let neighbour = neighbours(&server, &through, 1).await?.remove(0);
    let port = neighbour.sidecar.port();
    let mut connection = connect(port).await?;
    let shown: Option<Row> = connection.query_first("SHOW REMORA CONNECTIONS").await?;
    let mode: Option<String> = shown.and_then(|row| row.get("mode"));
    ensure!(mode.as_deref() == Some("gateway"), "{mode:?}");
    // What MySQL keeps of a session.
    connection
        .query_drop("SET @mark = 7, @@SESSION.group_concat_max_len = 1234")
        .await?;
    connection
        .query_drop("CREATE TEMPORARY TABLE t (id INT)")
        .await?;
    connection
        .query_drop("INSERT INTO t VALUES (1), (2)")
        .await?;
    ensure!(connection.affected_rows() == 2, "affected rows");
    let marks: Option<(u32, u32, u32)> = connection
        .query_first("SELECT @mark, @@group_concat_max_len, (SELECT COUNT(*) FROM t)")
        .await?;
    ensure!(marks == Some((7, 1234, 2)), "{marks:?}");
    // Several statements in a text, statements that are prepared, long data, and a large packet.
    let mut several = connection.query_iter("SELECT 1; SELECT 2; DO 3").await?;
    let first: Vec<u32> = several.collect().await?;
    let second: Vec<u32> = several.collect().await?;
    several.drop_result().await?;
    ensure!((first, second) == (vec![1], vec![2]), "several results");
    let long = "x".repeat(17 << 20);
    let length: Option<usize> = connection.exec_first("SELECT LENGTH(?)", (&long,)).await?;
    ensure!(length == Some(long.len()), "{length:?}");
    let back: Option<String> = connection
        .query_first(format!("SELECT CONCAT('{long}', 'y')"))
        .await?;
    ensure!(
        back.is_some_and(|back| back.len() == long.len() + 1),
        "a large row"
    );
    // Errors are MySQL's, and the session goes on.
    ensure!(error_of(&mut connection, "SELEC 1").await?.0 == 1064);
    ensure!(error_of(&mut connection, "SELECT * FROM nowhere").await?.0 == 1146);
    let (code, text) = error_of(&mut connection, "DO 1; KILL 1").await?;
    ensure!(code == 1235 && text.contains("gateway"), "{code} {text}");
    // A transaction outlives nothing of the client.
    connection.query_drop("BEGIN").await?;
    connection
        .query_drop("INSERT INTO work VALUES (1, 1)")
        .await?;
    connection.disconnect().await?;
    let mut connection = connect(port).await?;
    let rows: Option<u32> = connection.query_first("SELECT COUNT(*) FROM work").await?;
    ensure!(rows == Some(0), "{rows:?}");
    // Databases, a reset, and another login.
    connection.query_drop("USE mysql").await?;
    connection.query_drop("SET @mark = 8").await?;
    connection.reset().await?;
    let (mark, database): (Option<u32>, String) = connection
        .query_first("SELECT @mark, DATABASE()")
        .await?
        .context("no row")?;
    ensure!(mark.is_none() && database == "mysql", "{mark:?} {database}");
    let options = mysql_async::ChangeUserOpts::new().with_db_name(Some("shop".to_owned()));
    connection.change_user(options).await?;
    let database: Option<String> = connection.query_first("SELECT DATABASE()").await?;
    ensure!(database.as_deref() == Some("shop"), "{database:?}");
    let nowhere = login(port, &MysqlServer::APPLICATION).db_name(Some("nowhere"));
    ensure!(matches!(Conn::new(nowhere).await, Err(Error::Server(error)) if error.code == 1049));
    // The sidecar itself keeps no connection to MySQL: a gateway has all of them.
    let mut observer = direct(&server).await?;
    let idle = until("the sidecar holds connections", async || {
        let open: Vec<String> = observer
            .query(
                "SELECT USER FROM information_schema.PROCESSLIST WHERE USER IN ('app', 'remora')",
            )
            .await?;
        // The gateway's own one, its pool of four, and the observer.
        let own = open.iter().filter(|user| *user == "remora").count();
        ensure!(own <= 1 && open.len() - own <= 5, "{open:?}");
        Ok(())
    });
    idle.await?;
    // Without the gateway, new clients are served here.
    gateway.sidecar.kill();
    let lost = connection.query_drop("SELECT 1").await.unwrap_err();
    ensure!(
        matches!(&lost, Error::Server(error) if error.code == 2013) || matches!(lost, Error::Io(_)),
        "{lost}"
    );
    let mut connection = connect(port).await?;
    let rows: Option<u32> = connection.query_first("SELECT COUNT(*) FROM work").await?;
    ensure!(rows == Some(0), "{rows:?}");
    Ok(())
}

#[tokio::test]
async fn what_runs_at_a_gateway_ends_with_its_client() -> Result<()> {
    let server = server(MOST).await?;
    let (_gateway, through) = gateway(&server, 4).await?;
    let neighbour = neighbours(&server, &through, 1).await?.remove(0);
    let mut connection = connect(neighbour.sidecar.port()).await?;
    let mut observer = direct(&server).await?;
    let sleeping = tokio::spawn(async move { connection.query_drop("SELECT SLEEP(60)").await });
    let mut sees = async |many: usize| {
        let what = until("statements that run", async || {
            let open: Vec<u32> = observer
                .query(
                    "SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT SLEEP%'",
                )
                .await?;
            ensure!(open.len() == many, "{open:?}");
            Ok(())
        });
        what.await
    };
    sees(1).await?;
    sleeping.abort();
    sees(0).await
}
