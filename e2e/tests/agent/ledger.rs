//! The ledger of transactions over shards, as the agent makes it, and who may do what there.

use anyhow::{Context as _, Result, ensure};
use mysql_async::prelude::Queryable as _;

use crate::{Pod, by_tcp, error_of, until};

#[tokio::test]
async fn applications_decide_by_the_procedure_alone_and_sidecars_see_what_is_left_over()
-> Result<()> {
    let pod = Pod::new(&[("app", "app-secret")]).await?;
    let _sidecar = pod.sidecar("agent")?;
    pod.operator
        .told_by_agent(|agent| agent.bootstrapped)
        .await?;
    let mut agent = pod.by_socket("remora_agent", "ag'ent").await?;
    let made: Vec<(String, String, String)> = agent
        .query(
            "SELECT routine_name, definer, security_type FROM information_schema.routines \
             WHERE routine_schema = 'remora' ORDER BY routine_name",
        )
        .await?;
    let wanted = ["decide", "left_over"].map(|name| {
        let definer = "remora_agent@localhost".to_owned();
        (name.to_owned(), definer, "DEFINER".to_owned())
    });
    ensure!(made == wanted, "{made:?}");

    let port = pod.server.port();
    let mut app = by_tcp(port, "app", "app-secret").await?;
    app.query_drop("CREATE DATABASE mall").await?;
    app.query_drop("CREATE TABLE mall.t (a INT)").await?;
    app.query_drop("BEGIN").await?;
    app.query_drop("INSERT INTO mall.t VALUES (1)").await?;
    let decide = "CALL remora.decide(UNHEX(REPEAT('ab', 16)), CONNECTION_ID(), '0,3')";
    app.query_drop(decide)
        .await
        .context("an application decides")?;
    // The row is there, and so is what it was decided of.
    let held: Option<(String, String)> = agent
        .query_first("SELECT outcome, branches FROM remora.decision")
        .await?;
    ensure!(
        held == Some(("commit".to_owned(), "0,3".to_owned())),
        "{held:?}"
    );
    let rows: Option<u64> = agent.query_first("SELECT COUNT(*) FROM mall.t").await?;
    ensure!(rows == Some(1), "{rows:?}");
    // A second time it fails, and commits nothing.
    app.query_drop("BEGIN").await?;
    app.query_drop("INSERT INTO mall.t VALUES (2)").await?;
    ensure!(error_of(&mut app, decide).await? == 1062);
    app.query_drop("ROLLBACK").await?;
    let rows: Option<u64> = agent.query_first("SELECT COUNT(*) FROM mall.t").await?;
    ensure!(rows == Some(1), "{rows:?}");

    for (sql, code) in [
        ("SELECT * FROM remora.decision", 1142),
        ("UPDATE remora.decision SET outcome = 'fence'", 1142),
        ("DELETE FROM remora.decision", 1142),
        (
            "INSERT INTO remora.decision (id, outcome, connection, branches) \
             VALUES (UNHEX(REPEAT('cd', 16)), 'commit', 1, '0')",
            1142,
        ),
        ("DROP TABLE remora.decision", 1142),
        ("CALL remora.left_over(0)", 1370),
        ("DROP PROCEDURE remora.decide", 1370),
        ("ALTER PROCEDURE remora.decide SQL SECURITY INVOKER", 1370),
        ("CREATE PROCEDURE remora.other() SELECT 1", 1044),
        ("XA RECOVER", 1401),
    ] {
        let got = error_of(&mut app, sql).await?;
        ensure!(got == code, "{sql}: {got}");
    }

    let mut sidecar = by_tcp(port, "remora_sidecar", "side'\\car").await?;
    sidecar
        .query_drop("XA RECOVER CONVERT XID")
        .await
        .context("a sidecar recovers")?;
    ensure!(error_of(&mut sidecar, decide).await? == 1370);
    ensure!(error_of(&mut sidecar, "DROP PROCEDURE remora.left_over").await? == 1370);
    // Also what was made in this second.
    let left_over = "CALL remora.left_over(-10)";
    let left: Vec<(String, String, u64, String)> = sidecar.query(left_over).await?;
    ensure!(left.is_empty(), "its coordinator is there: {left:?}");
    app.disconnect().await?;
    let left = until("what is left over", async || {
        let left: Vec<(String, String, u64, String)> = sidecar.query(left_over).await?;
        left.into_iter().next().context("nothing is left over")
    })
    .await?;
    let (id, outcome, _, branches) = left;
    ensure!(
        (id.as_str(), outcome.as_str(), branches.as_str()) == (&*"AB".repeat(16), "commit", "0,3"),
        "{id} {outcome} {branches}"
    );
    sidecar.query_drop("DELETE FROM remora.decision").await?;
    let fence = "INSERT INTO remora.decision (id, outcome, connection, branches) \
         VALUES (UNHEX(REPEAT('ef', 16)), 'fence', 1, '')";
    sidecar
        .query_drop(fence)
        .await
        .context("a sidecar writes a fence")?;
    // Behind it nobody decides.
    let mut app = by_tcp(port, "app", "app-secret").await?;
    let late = "CALL remora.decide(UNHEX(REPEAT('ef', 16)), 1, '0')";
    ensure!(error_of(&mut app, late).await? == 1062);
    Ok(())
}
