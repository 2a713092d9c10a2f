//! Other sessions of the sidecar: seen, interrupted, ended, and gone.

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

use super::*;

/// An account that may only read.
const LOW: (&str, &str) = ("low", "low-secret");
/// Waits on all shards for the tables that [`hold`] locks.
const LONG: &str = "SELECT id FROM ticket WHERE v < 10 ORDER BY id";
/// Takes most of a minute on one shard.
const SLOW: &str = "SELECT id, v < 10, SLEEP(10), SLEEP(10), SLEEP(10), SLEEP(10) FROM ticket \
                    WHERE id = 7";
/// As soon as that, a statement that was interrupted must be over.
const SOON: Duration = Duration::from_secs(8);

async fn with_rows() -> Result<(LocalShards, Conn)> {
    let (shards, mut connection) = started().await?;
    let rows: Vec<String> = (1..=60).map(|id| format!("({id}, 0)")).collect();
    connection
        .query_drop(format!("INSERT INTO ticket VALUES {}", rows.join(", ")))
        .await?;
    Ok((shards, connection))
}

/// Locks the table on all servers for as long as these connections are there.
async fn hold(shards: &LocalShards) -> Result<Vec<Conn>> {
    let mut holders = Vec::new();
    for server in &shards.servers {
        let mut holder = direct(server).await?;
        let tables: Vec<String> = holder
            .query(
                "SELECT CONCAT(TABLE_SCHEMA, '.ticket WRITE') FROM information_schema.TABLES \
                 WHERE TABLE_NAME = 'ticket'",
            )
            .await?;
        let lock = format!("LOCK TABLES {}", tables.join(", "));
        holder.query_drop(lock).await?;
        holders.push(holder);
    }
    Ok(holders)
}

async fn let_go(holders: Vec<Conn>) -> Result<()> {
    for holder in holders {
        holder.disconnect().await?;
    }
    Ok(())
}

/// Logs in as an account that was made at the servers themselves.
async fn low(shards: &LocalShards) -> Result<Conn> {
    let (name, password) = LOW;
    for server in &shards.servers {
        let mut direct = direct(server).await?;
        direct
            .query_drop(format!(
                "CREATE USER IF NOT EXISTS {name}@'%' IDENTIFIED BY '{password}'"
            ))
            .await?;
        direct
            .query_drop(format!("GRANT SELECT ON *.* TO {name}@'%'"))
            .await?;
    }
    let account = remora_e2e::mysql::Account {
        name,
        password,
        grants: "",
    };
    Ok(Conn::new(login(shards.sidecar.port(), &account)).await?)
}

/// How many servers run the long statement.
async fn running(shards: &LocalShards) -> Result<usize> {
    let mut count = 0;
    for server in &shards.servers {
        let found: Option<u64> = direct(server)
            .await?
            .query_first(
                "SELECT COUNT(*) FROM information_schema.PROCESSLIST \
                 WHERE INFO LIKE '%v < 10%' AND ID <> CONNECTION_ID()",
            )
            .await?;
        count += usize::from(found > Some(0));
    }
    Ok(count)
}

async fn until_running(shards: &LocalShards, wanted: usize) -> Result<()> {
    until("servers that run the statement", async || {
        let count = running(shards).await?;
        ensure!(count == wanted, "{count} servers run it, not {wanted}");
        Ok(())
    })
    .await
}

/// A statement under way: the connection comes back with the error's number.
type Busy = tokio::task::JoinHandle<(Conn, Option<u16>)>;

fn run_long(connection: Conn) -> Busy {
    run(connection, LONG)
}

fn run(mut connection: Conn, sql: &'static str) -> Busy {
    tokio::spawn(async move {
        let error = match connection.query_drop(sql).await {
            Err(Error::Server(error)) => Some(error.code),
            Err(_) => None,
            Ok(()) => Some(0),
        };
        (connection, error)
    })
}

#[tokio::test]
async fn the_list_of_sessions_is_the_sidecars_in_mysqls_columns() -> Result<()> {
    let (shards, mut connection) = with_rows().await?;
    let mut direct = direct(&shards.servers[0]).await?;
    let described = |rows: &[Row]| {
        let columns = rows[0].columns_ref().iter();
        columns
            .map(|c| {
                format!(
                    "{} {:?} {} {} {:?} {}",
                    c.name_str(),
                    c.column_type(),
                    c.column_length(),
                    c.character_set(),
                    c.flags(),
                    c.decimals()
                )
            })
            .collect::<Vec<_>>()
    };
    for list in ["SHOW PROCESSLIST", "SHOW FULL PROCESSLIST"] {
        let own: Vec<Row> = connection.query(list).await?;
        let mysql: Vec<Row> = direct.query(list).await?;
        let (described_own, expected) = (described(&own), described(&mysql));
        ensure!(
            described_own == expected,
            "{described_own:#?} {expected:#?}"
        );
        let prepared: Vec<Row> = connection.exec(list, ()).await?;
        ensure!(prepared.len() == own.len(), "{prepared:?}");
    }
    let list = "SHOW PROCESSLIST";

    let holder = hold(&shards).await?;
    let other = connect(shards.sidecar.port()).await?;
    let id = other.id();
    let busy = run_long(other);
    until_running(&shards, 2).await?;
    type Session = (
        u64,
        String,
        String,
        Option<String>,
        String,
        u64,
        String,
        Option<String>,
    );
    let sessions: Vec<Session> = connection.query("SHOW FULL PROCESSLIST").await?;
    let of = |id: u32| sessions.iter().find(|session| session.0 == u64::from(id));
    let (_, user, host, database, command, _, state, info) =
        of(id).context("the other is not in the list")?.clone();
    ensure!(
        user == "app" && host.starts_with("localhost:"),
        "{user} {host}"
    );
    ensure!(database.as_deref() == Some("shop"), "{database:?}");
    ensure!(
        (&*command, &*state) == ("Query", "executing"),
        "{command} {state}"
    );
    ensure!(info.as_deref() == Some(LONG), "{info:?}");
    let own = of(connection.id()).context("the own session is not in the list")?;
    ensure!(own.7.as_deref() == Some("SHOW FULL PROCESSLIST"), "{own:?}");

    let mut low = low(&shards).await?;
    let seen: Vec<Row> = low.query(list).await?;
    ensure!(seen.len() == 1, "{seen:?}");
    connection.query_drop(format!("KILL {id}")).await?;
    busy.await?;
    let_go(holder).await?;
    until("the session is gone", async || {
        let sessions: Vec<Row> = connection.query(list).await?;
        ensure!(sessions.len() == 2, "{sessions:?}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_kill_reaches_every_shard_and_a_session_goes_on_after_kill_query() -> Result<()> {
    let (shards, mut killer) = with_rows().await?;
    let victim = connect(shards.sidecar.port()).await?;
    let id = victim.id();
    let own: Option<u32> = killer.query_first("SELECT CONNECTION_ID()").await?;
    ensure!(own == Some(killer.id()), "{own:?} is not {}", killer.id());
    // Idle, it is not interrupted.
    killer.query_drop(format!("KILL QUERY {id}")).await?;
    let holder = hold(&shards).await?;
    let busy = run_long(victim);
    until_running(&shards, 2).await?;
    let began = Instant::now();
    killer.query_drop(format!("KILL QUERY {id}")).await?;
    let (mut victim, error) = busy.await?;
    ensure!(error == Some(1317), "{error:?}");
    ensure!(began.elapsed() < SOON, "{:?}", began.elapsed());
    ensure!(running(&shards).await? == 0, "a shard goes on");
    let_go(holder).await?;
    let count: Option<u64> = victim.query_first("SELECT COUNT(*) FROM ticket").await?;
    ensure!(count == Some(60), "{count:?}");

    // Writes too. A user variable holds the number, as scripts have it.
    killer.query_drop(format!("SET @id = {id}")).await?;
    let holder = hold(&shards).await?;
    let busy = run(victim, "UPDATE ticket SET v = v + 1 WHERE v < 10");
    until_running(&shards, 2).await?;
    killer.query_drop("KILL QUERY @id").await?;
    let (mut victim, error) = busy.await?;
    ensure!(error == Some(1317), "{error:?}");

    let_go(holder).await?;
    victim.query_drop("BEGIN").await?;
    for id in 101..=120 {
        victim
            .query_drop(format!("INSERT INTO ticket VALUES ({id}, 0)"))
            .await?;
    }
    killer.query_drop(format!("KILL {id}")).await?;
    ensure!(victim.query_drop("SELECT 1").await.is_err(), "it goes on");
    until("its transaction is rolled back", async || {
        let rows: Vec<String> = (101..=120).map(|id| format!("({id}, 1)")).collect();
        let insert = format!("INSERT INTO ticket VALUES {}", rows.join(", "));
        Ok(killer.query_drop(insert).await?)
    })
    .await
}

#[tokio::test]
async fn sessions_are_killed_by_those_who_may_and_no_other() -> Result<()> {
    let (shards, mut app) = with_rows().await?;
    let mut low = low(&shards).await?;
    for kill in ["KILL 4000000000", "KILL QUERY 4000000000", "KILL @nothing"] {
        let (code, text) = error_of(&mut app, kill).await?;
        ensure!(
            code == 1094 && text.starts_with("Unknown thread id"),
            "{code} {text}"
        );
    }
    for kill in ["KILL", "KILL SOFTLY 3"] {
        let (code, text) = error_of(&mut app, kill).await?;
        ensure!(code == 1064, "{code} {text}");
    }
    for kill in [
        format!("KILL {}", app.id()),
        format!("KILL QUERY {}", app.id()),
    ] {
        let (code, text) = error_of(&mut low, &kill).await?;
        ensure!(
            code == 1095 && text.contains(&app.id().to_string()),
            "{code} {text}"
        );
    }
    app.query_drop("SELECT 1").await?;
    let (code, text) = error_of(&mut app, "KILL QUERY CONNECTION_ID()").await?;
    ensure!(code == 1317, "{code} {text}");
    app.query_drop("SELECT 1").await?;
    let mut second = connect(shards.sidecar.port()).await?;
    let own = format!("KILL {}", second.id());
    let (code, text) = error_of(&mut second, &own).await?;
    ensure!(code == 1317, "{code} {text}");
    ensure!(second.query_drop("SELECT 1").await.is_err(), "it goes on");
    // It may end others' by its rights.
    app.query_drop(format!("KILL {}", low.id())).await?;
    ensure!(low.query_drop("SELECT 1").await.is_err(), "it goes on");
    Ok(())
}

/// A way to the sidecar that can be cut as when a client's host dies with its sockets.
async fn way(port: u16) -> Result<(u16, tokio::task::JoinHandle<()>)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let own = listener.local_addr()?.port();
    let way = tokio::spawn(async move {
        if let Ok((mut client, _)) = listener.accept().await
            && let Ok(mut server) = TcpStream::connect(("127.0.0.1", port)).await
        {
            // It ends with the task.
            let _ = copy_bidirectional(&mut client, &mut server).await;
        }
    });
    Ok((own, way))
}

#[tokio::test]
async fn a_client_that_is_gone_leaves_no_statement_behind() -> Result<()> {
    let (shards, mut other) = with_rows().await?;
    other
        .query_drop("CREATE TABLE country (code CHAR(1) PRIMARY KEY)")
        .await?;
    for (sql, servers) in [(LONG, 2), (SLOW, 1)] {
        let holder = match servers {
            2 => hold(&shards).await?,
            _ => Vec::new(),
        };
        let (port, way) = way(shards.sidecar.port()).await?;
        let mut client = connect(port).await?;
        client.query_drop("BEGIN").await?;
        client
            .query_drop("INSERT INTO country VALUES ('x')")
            .await?;
        let busy = tokio::spawn(async move { client.query_drop(sql).await });
        until_running(&shards, servers).await?;
        let cut = Instant::now();
        way.abort();
        until_running(&shards, 0).await?;
        ensure!(cut.elapsed() < SOON, "{:?}", cut.elapsed());
        ensure!(busy.await?.is_err(), "the client got an answer");
        let_go(holder).await?;
        // Its transaction and its locks are gone with it.
        other.query_drop("INSERT INTO country VALUES ('x')").await?;
        other.query_drop("DELETE FROM country").await?;
    }
    let sessions: Vec<Row> = other.query("SHOW PROCESSLIST").await?;
    ensure!(sessions.len() == 1, "{sessions:?}");
    Ok(())
}

#[tokio::test]
async fn a_commit_that_is_interrupted_at_the_server_is_whole_or_nothing() -> Result<()> {
    let (shards, mut connection) = started().await?;
    for round in 0..3_u64 {
        let from = 1000 * (round + 1);
        connection.query_drop("BEGIN").await?;
        for id in from..from + 20 {
            connection
                .query_drop(format!("INSERT INTO ticket VALUES ({id}, 0)"))
                .await?;
        }
        // All of the servers: which one is first depends on the rows.
        let mut holding = Vec::new();
        for server in &shards.servers {
            holding.push(direct(server).await?);
        }
        for holder in &mut holding {
            holder.query_drop("FLUSH TABLES WITH READ LOCK").await?;
        }
        let commit = tokio::spawn(async move {
            let outcome = connection.query_drop("COMMIT").await;
            (connection, outcome)
        });
        // Where the promise or the end of a branch waits, it goes on; where the decision waits, it
        // is killed.
        let mut killed = false;
        until("COMMIT is answered", async || {
            for (server, holder) in shards.servers.iter().zip(&mut holding) {
                let waiting: Vec<(u64, String)> = direct(server).await?.query(WAITING).await?;
                for (id, statement) in waiting {
                    if !statement.starts_with("XA") {
                        let kill = format!("KILL QUERY {id}");
                        direct(server).await?.query_drop(kill).await?;
                        killed = true;
                    }
                    holder.query_drop("UNLOCK TABLES").await?;
                }
            }
            ensure!(commit.is_finished(), "it waits");
            Ok(())
        })
        .await?;
        ensure!(killed, "nothing was killed");
        let (back, outcome) = commit.await?;
        connection = back;
        drop(holding);
        let count = format!(
            "SELECT COUNT(*) FROM ticket WHERE id BETWEEN {from} AND {}",
            from + 19
        );
        let rows: Option<u64> = connect(shards.sidecar.port())
            .await?
            .query_first(count)
            .await?;
        let expected = match outcome {
            Ok(()) => 20,
            Err(Error::Server(ref error)) if error.code == 1317 => 0,
            Err(other) => return Err(other.into()),
        };
        ensure!(rows == Some(expected), "{outcome:?} and {rows:?} rows");
    }
    Ok(())
}

/// Statements of a COMMIT over several shards that wait. The procedure runs as its definer.
const WAITING: &str = "SELECT ID, INFO FROM information_schema.PROCESSLIST \
                       WHERE INFO LIKE 'XA%' OR INFO LIKE 'INSERT%of_transaction%' OR \
                       INFO LIKE 'COMMIT%'";
