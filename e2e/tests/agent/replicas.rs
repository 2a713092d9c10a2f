//! Replicas: copied, following, lost, diverged; and the primary that they follow.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use mysql_async::Conn;
use mysql_async::prelude::Queryable as _;
use remora_discovery::ServerData;

use crate::shard::{Instance, Tls, primary, replication};
use crate::{by_tcp, error_of, no_secret, until};

/// A primary that has begun, and a replica that follows it.
async fn pair(tls: &Tls) -> Result<(Instance, Instance)> {
    let first = Instance::start(tls, 0, primary(true, 0)).await?;
    let second = Instance::start(tls, 1, first.followed()).await?;
    first.told(|agent| agent.bootstrapped).await?;
    second.follows().await?;
    first.order(primary(false, 1), 1)?;
    first
        .told(|agent| replication(agent).acknowledgements == 1)
        .await?;
    let mut app = app(&first).await?;
    app.query_drop("CREATE TABLE shop.t (a INT PRIMARY KEY)")
        .await?;
    Ok((first, second))
}

async fn app(instance: &Instance) -> Result<Conn> {
    until("the application", async || {
        by_tcp(instance.port, "app", "app-secret").await
    })
    .await
}

async fn insert(instance: &Instance, a: u32) -> Result<()> {
    let mut app = app(instance).await?;
    Ok(app
        .query_drop(format!("INSERT INTO shop.t VALUES ({a})"))
        .await?)
}

/// Waits until the instance has so many rows.
async fn has(instance: &Instance, rows: u64) -> Result<()> {
    until("rows", async || {
        let mut agent = instance.agent().await?;
        let count: Option<u64> = agent.query_first("SELECT COUNT(*) FROM shop.t").await?;
        ensure!(count == Some(rows), "{count:?} instead of {rows}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_replica_is_copied_follows_and_acknowledges() -> Result<()> {
    let tls = Tls::new()?;
    let (first, mut second) = pair(&tls).await?;
    let health = second.follows().await?;
    ensure!(
        health.data == ServerData::Held && health.bootstrapped,
        "{health:?}"
    );
    ensure!(second.held_back().is_none(), "{:?}", second.held_back());
    insert(&first, 1).await?;
    has(&second, 1).await?;

    // A commit waits for the replica.
    second.signal("-STOP")?;
    let waiting = tokio::time::timeout(Duration::from_secs(2), insert(&first, 2)).await;
    ensure!(
        waiting.is_err(),
        "a commit was acknowledged by nobody: {waiting:?}"
    );
    second.signal("-CONT")?;
    has(&second, 2).await?;
    insert(&first, 3).await?;

    // Nobody writes to it: not even who could.
    let mut there = app(&second).await?;
    ensure!(error_of(&mut there, "INSERT INTO shop.t VALUES (9)").await? == 1290);
    let mut agent = second.agent().await?;
    ensure!(error_of(&mut agent, "INSERT INTO shop.t VALUES (9)").await? == 1290);
    ensure!(
        second.by_socket("root", "").await.is_err(),
        "root is locked out"
    );
    let replica: (u32, u32) = agent
        .query_first("SELECT @@server_id, @@GLOBAL.rpl_semi_sync_replica_enabled")
        .await?
        .context("a row")?;
    ensure!(replica == (2, 1), "{replica:?}");
    // Without TLS nobody comes as a replica.
    ensure!(by_tcp(first.port, "remora_repl", "repl'ica").await.is_err());

    // It is restarted, and follows again.
    second.signal("-KILL")?;
    second.told(|agent| !agent.bootstrapped).await?;
    second.follows().await?;
    insert(&first, 4).await?;
    has(&second, 4).await?;

    // It loses its volume, and gets another copy.
    first.order(primary(false, 0), 1)?;
    second.lose_data()?;
    second.told(|agent| !replication(agent).following).await?;
    second.follows().await?;
    has(&second, 4).await?;

    // The primary no longer has what it needs.
    second.kill_agent()?;
    second.stop_server();
    insert(&first, 5).await?;
    let mut agent = first.agent().await?;
    agent.query_drop("FLUSH BINARY LOGS").await?;
    insert(&first, 6).await?;
    let logs: Vec<(String, u64, String)> = agent.query("SHOW BINARY LOGS").await?;
    let (last, ..) = logs.last().context("a binary log")?;
    agent
        .query_drop(format!("PURGE BINARY LOGS TO '{last}'"))
        .await?;
    second.start_server()?;
    // What was reported before the stop is forgotten.
    second.operator.end().await;
    second.operator.start_again().await?;
    second.start_agent()?;
    second.told(|agent| !replication(agent).following).await?;
    second.follows().await?;
    has(&second, 6).await?;
    no_secret(&first.log())?;
    no_secret(&second.log())
}

#[tokio::test]
async fn a_commit_whose_acknowledgement_was_lost_is_helped_on() -> Result<()> {
    let tls = Tls::new()?;
    let (first, mut second) = pair(&tls).await?;
    insert(&first, 1).await?;
    second.kill_agent()?;
    let mut agent = second.agent().await?;
    for sql in [
        "STOP REPLICA",
        "SET GLOBAL rpl_semi_sync_replica_enabled = OFF",
        "START REPLICA",
    ] {
        agent.query_drop(sql).await?;
    }
    let mut app = app(&first).await?;
    let commit = async {
        app.query_drop("INSERT INTO shop.t VALUES (2)").await?;
        Ok::<_, anyhow::Error>(())
    };
    let mut commit = std::pin::pin!(commit);
    let early = tokio::time::timeout(Duration::from_secs(2), &mut commit).await;
    ensure!(early.is_err(), "nobody acknowledged it: {early:?}");
    has(&second, 2).await?;
    second.start_agent()?;
    tokio::time::timeout(Duration::from_secs(20), commit)
        .await
        .context("the commit still waits")?
}

#[tokio::test]
async fn a_replica_that_is_connected_and_acknowledges_nothing_costs_the_primary_no_connections()
-> Result<()> {
    let tls = Tls::new()?;
    let (first, second) = pair(&tls).await?;
    insert(&first, 1).await?;
    has(&second, 1).await?;
    let mut agent = first.agent().await?;
    let mut sessions = async || -> Result<u64> {
        let count = "SELECT COUNT(*) FROM information_schema.processlist \
             WHERE user = 'remora_agent' AND id <> CONNECTION_ID()";
        let count: Option<u64> = agent.query_first(count).await?;
        count.context("a count")
    };
    second.signal("-STOP")?;
    let mut app = app(&first).await?;
    let commit = async {
        app.query_drop("INSERT INTO shop.t VALUES (2)").await?;
        Ok::<_, anyhow::Error>(())
    };
    let mut commit = std::pin::pin!(commit);
    let mut most = 0;
    for _ in 0..30 {
        let early = tokio::time::timeout(Duration::from_secs(1), &mut commit).await;
        ensure!(early.is_err(), "nobody acknowledged it: {early:?}");
        most = sessions().await?.max(most);
    }
    // The watch, and one nudge.
    ensure!(most == 2, "{most} sessions of the agent");
    second.signal("-CONT")?;
    tokio::time::timeout(Duration::from_secs(20), commit)
        .await
        .context("the commit still waits")??;
    has(&second, 2).await?;
    until("the nudge goes", async || {
        let left = sessions().await?;
        ensure!(left == 1, "{left} sessions of the agent");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_replica_with_transactions_of_its_own_is_told_of_and_left_as_it_is() -> Result<()> {
    let tls = Tls::new()?;
    let (first, mut second) = pair(&tls).await?;
    first.order(primary(false, 0), 1)?;
    insert(&first, 1).await?;
    has(&second, 1).await?;
    second.kill_agent()?;
    let mut agent = second.agent().await?;
    for sql in [
        "SET GLOBAL read_only = OFF",
        "INSERT INTO shop.t VALUES (1000)",
    ] {
        agent.query_drop(sql).await?;
    }
    second.start_agent()?;
    let health = second
        .told(|agent| !replication(agent).errant.is_empty())
        .await?;
    let told = replication(&health);
    ensure!(
        !told.following && told.errant.starts_with(&told.server_uuid),
        "{health:?}"
    );
    let held = second.held_back().context("it is held back")?;
    ensure!(held.contains("does not have"), "{held}");

    // It follows nobody, and nothing of it is touched.
    insert(&first, 2).await?;
    second.signal("-KILL")?;
    // Its supervisor may be faster than the agent's next look.
    tokio::time::sleep(Duration::from_secs(3)).await;
    second
        .told(|agent| !replication(agent).errant.is_empty())
        .await?;
    has(&second, 2).await?;
    let mut agent = second.agent().await?;
    let kept: Option<u32> = agent
        .query_first("SELECT a FROM shop.t WHERE a = 1000")
        .await?;
    ensure!(kept == Some(1000));

    // Built anew by hand: its volume goes.
    second.lose_data()?;
    second.follows().await?;
    has(&second, 2).await
}

#[tokio::test]
async fn a_primary_that_lost_its_rows_stays_closed_and_takes_none_from_its_replica() -> Result<()> {
    let tls = Tls::new()?;
    let (mut first, second) = pair(&tls).await?;
    insert(&first, 1).await?;
    has(&second, 1).await?;
    first.lose_data()?;
    let health = first.told(|agent| agent.data == ServerData::Empty).await?;
    ensure!(
        health.mysqld && !health.bootstrapped && health.reason.contains("volume is empty"),
        "{health:?}"
    );
    let mut root = first.by_socket("root", "").await?;
    ensure!(error_of(&mut root, "CREATE DATABASE remora").await? == 1290);
    let schemas: Option<u64> = root
        .query_first("SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'shop'")
        .await?;
    ensure!(schemas == Some(0));
    let health = second
        .told(|agent| agent.mysqld && !replication(agent).following)
        .await?;
    ensure!(health.data == ServerData::Held, "{health:?}");
    tokio::time::sleep(Duration::from_secs(3)).await;
    has(&second, 1).await
}

#[tokio::test]
async fn a_primary_comes_back_closed_until_its_replica_follows() -> Result<()> {
    let tls = Tls::new()?;
    let (first, mut second) = pair(&tls).await?;
    insert(&first, 1).await?;
    second.stop_server();
    first.signal("-KILL")?;
    let health = first
        .told(|agent| agent.mysqld && !agent.bootstrapped && agent.data == ServerData::Held)
        .await?;
    ensure!(
        health.reason.contains("takes no writes before 1"),
        "{health:?}"
    );
    let mut app = until("the primary", async || {
        by_tcp(first.port, "app", "app-secret").await
    })
    .await?;
    ensure!(error_of(&mut app, "INSERT INTO shop.t VALUES (2)").await? == 1290);
    second.start_server()?;
    first.told(|agent| agent.bootstrapped).await?;
    insert(&first, 2).await?;

    // The only replica loses its rows while a commit waits for it. The copy waits for the commit,
    // so the primary starts again: the commit is in the copy.
    second.stop_server();
    let waiting = tokio::time::timeout(Duration::from_secs(2), insert(&first, 3)).await;
    ensure!(waiting.is_err(), "{waiting:?}");
    second.lose_data()?;
    second.told(|agent| !replication(agent).following).await?;
    second.follows().await?;
    first.told(|agent| agent.bootstrapped).await?;
    insert(&first, 4).await?;
    has(&first, 4).await?;
    has(&second, 4).await?;

    // One that is not waited for any more frees what waits.
    second.stop_server();
    let waiting = async {
        let mut app = by_tcp(first.port, "app", "app-secret").await?;
        let ordered = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            first.order(primary(false, 0), 1)
        };
        let insert = app.query_drop("INSERT INTO shop.t VALUES (5)");
        let (insert, ordered) = tokio::join!(insert, ordered);
        ordered?;
        Ok::<_, anyhow::Error>(insert?)
    };
    tokio::time::timeout(Duration::from_secs(20), waiting)
        .await
        .context("the commit still waits")?
}

#[tokio::test]
async fn an_agent_killed_between_any_two_steps_goes_on() -> Result<()> {
    let tls = Tls::new()?;
    let mut first = Instance::without_agent(&tls, 0, primary(true, 0)).await?;
    let mut second = Instance::without_agent(&tls, 1, first.followed()).await?;
    for attempt in 0_u64..12 {
        first.start_agent()?;
        second.start_agent()?;
        tokio::time::sleep(Duration::from_millis(100 + attempt * 90)).await;
        first.kill_agent()?;
        second.kill_agent()?;
    }
    first.start_agent()?;
    second.start_agent()?;
    first.told(|agent| agent.bootstrapped).await?;
    second.follows().await?;
    let mut app = app(&first).await?;
    app.query_drop("CREATE TABLE shop.t (a INT PRIMARY KEY)")
        .await?;
    insert(&first, 1).await?;
    has(&second, 1).await
}
