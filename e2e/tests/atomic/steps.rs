//! A sidecar is killed or frozen at each step of a commit over two shards, and another one comes.

use remora_e2e::gate::{Gate, Stop};
use remora_e2e::sidecar::Sidecar;
use rustix::process::Signal;

use super::*;

/// The words of a step, the shard that hears them (0: the transaction's first), and whether they
/// are held before or after the server heard them.
const STEPS: [(&str, usize, Stop); 6] = [
    ("XA PREPARE", 1, Stop::Before),
    ("XA PREPARE", 1, Stop::After),
    ("CALL remora.decide", 0, Stop::Before),
    ("CALL remora.decide", 0, Stop::After),
    ("XA COMMIT", 1, Stop::Before),
    ("XA COMMIT", 1, Stop::After),
];

/// A sidecar behind gates, beside the one that was started with the servers.
struct Guarded {
    sidecar: Sidecar,
    gates: Vec<Gate>,
    _folder: tempfile::TempDir,
}

async fn guarded(servers: &[MysqlServer]) -> Result<Guarded> {
    let mut gates = Vec::new();
    for server in servers {
        gates.push(Gate::to(server.port()).await?);
    }
    let ports: Vec<u16> = gates.iter().map(Gate::port).collect();
    let folder = tempfile::tempdir()?;
    let sidecar = Sidecar::start(folder.path(), &manifest(), &ports).await?;
    Ok(Guarded {
        sidecar,
        gates,
        _folder: folder,
    })
}

/// Begins a transfer of one from the first account to the second.
async fn begun(sidecar: &Sidecar, [one, two]: [u64; 2]) -> Result<Conn> {
    let mut connection = connect(sidecar.port()).await?;
    connection.query_drop("BEGIN").await?;
    for sql in [
        format!("UPDATE account SET amount = amount - 1 WHERE id = {one}"),
        format!("UPDATE account SET amount = amount + 1 WHERE id = {two}"),
    ] {
        connection.query_drop(sql).await?;
    }
    Ok(connection)
}

#[tokio::test]
async fn a_sidecar_killed_at_any_step_of_a_commit_leaves_all_or_nothing() -> Result<()> {
    let (shards, mut observer) = started().await?;
    let ids = accounts(&mut observer).await?;
    let (mut committed, mut rolled_back) = (0, 0);
    for (words, shard, stop) in STEPS {
        let step = format!("{words} {stop:?}");
        let before = (
            amount(&mut observer, ids[0]).await?,
            amount(&mut observer, ids[1]).await?,
        );
        let mut guarded = guarded(&shards.servers).await?;
        let mut connection = begun(&guarded.sidecar, ids).await?;
        guarded.gates[shard].set(words, stop);
        let commit = tokio::spawn(async move { connection.query_drop("COMMIT").await });
        guarded.gates[shard].sprung().await.context(step.clone())?;
        guarded.sidecar.kill();
        let acknowledged = commit.await?.is_ok();
        ensure!(
            !acknowledged,
            "{step}: it was killed before it could say so"
        );
        // The sidecar that was there all the time recovers.
        settled(&shards.servers).await.context(step.clone())?;
        let after = (
            amount(&mut observer, ids[0]).await?,
            amount(&mut observer, ids[1]).await?,
        );
        match (after.0 - before.0, after.1 - before.1) {
            (0, 0) => rolled_back += 1,
            (-1, 1) => committed += 1,
            other => bail!("{step}: half a transaction: {other:?}"),
        }
        let decided = words == "XA COMMIT" || (words.contains("decide") && stop == Stop::After);
        ensure!(
            (after == before) != decided,
            "{step}: the decision was {decided}, and the rows say otherwise"
        );
    }
    ensure!(
        (committed, rolled_back) == (3, 3),
        "{committed} {rolled_back}"
    );
    Ok(())
}

#[tokio::test]
async fn a_sidecar_that_is_frozen_while_another_recovers_goes_on_and_obeys() -> Result<()> {
    let (shards, mut observer) = started().await?;
    let ids = accounts(&mut observer).await?;
    for (words, shard, stop) in STEPS {
        let step = format!("{words} {stop:?}");
        let before = (
            amount(&mut observer, ids[0]).await?,
            amount(&mut observer, ids[1]).await?,
        );
        let guarded = guarded(&shards.servers).await?;
        let mut connection = begun(&guarded.sidecar, ids).await?;
        guarded.gates[shard].set(words, stop);
        let commit = tokio::spawn(async move { connection.query_drop("COMMIT").await });
        guarded.gates[shard].sprung().await.context(step.clone())?;
        guarded.sidecar.process().signal(Signal::STOP);
        // Not prepared yet: nobody can recover it, and nobody has to.
        if !(words == "XA PREPARE" && stop == Stop::Before) {
            settled(&shards.servers).await.context(step.clone())?;
        }
        guarded.sidecar.process().signal(Signal::CONT);
        guarded.gates[shard].release();
        let acknowledged = match commit.await? {
            Ok(()) => true,
            Err(Error::Server(error)) => {
                ensure!(error.code == 1213, "{step}: {error}");
                false
            }
            Err(other) => bail!("{step}: {other}"),
        };
        settled(&shards.servers).await.context(step.clone())?;
        let after = (
            amount(&mut observer, ids[0]).await?,
            amount(&mut observer, ids[1]).await?,
        );
        let moved = match (after.0 - before.0, after.1 - before.1) {
            (0, 0) => false,
            (-1, 1) => true,
            other => bail!("{step}: half a transaction: {other:?}"),
        };
        ensure!(
            moved == acknowledged,
            "{step}: acknowledged {acknowledged}, moved {moved}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_write_to_several_shards_outside_a_transaction_is_whole_as_well() -> Result<()> {
    let (shards, mut observer) = started().await?;
    for (words, shard, stop) in STEPS {
        let step = format!("{words} {stop:?}");
        let mut guarded = guarded(&shards.servers).await?;
        let mut connection = connect(guarded.sidecar.port()).await?;
        guarded.gates[shard].set(words, stop);
        let write = tokio::spawn(async move {
            connection
                .query_drop("UPDATE account SET amount = amount + 1")
                .await
        });
        guarded.gates[shard].sprung().await.context(step.clone())?;
        guarded.sidecar.kill();
        ensure!(write.await?.is_err(), "{step}");
        settled(&shards.servers).await.context(step.clone())?;
        let amounts: Vec<i64> = observer
            .query("SELECT DISTINCT amount FROM account")
            .await?;
        ensure!(amounts.len() == 1, "{step}: {amounts:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_lost_answer_to_the_decision_is_found_in_the_ledger() -> Result<()> {
    let (shards, mut observer) = started().await?;
    let ids = accounts(&mut observer).await?;
    for (stop, expected) in [(Stop::After, true), (Stop::Before, false)] {
        let before = amount(&mut observer, ids[1]).await?;
        let guarded = guarded(&shards.servers).await?;
        let mut connection = begun(&guarded.sidecar, ids).await?;
        guarded.gates[0].set("CALL remora.decide", stop);
        let commit = tokio::spawn(async move { connection.query_drop("COMMIT").await });
        guarded.gates[0].sprung().await?;
        // The connection breaks, and the sidecar lives.
        let mut direct = direct(&shards.servers[0]).await?;
        let own: Vec<u64> = direct
            .query(
                "SELECT id FROM information_schema.processlist \
                 WHERE user = 'app' AND db = 'shop' AND id <> CONNECTION_ID() \
                 ORDER BY id DESC LIMIT 1",
            )
            .await?;
        for id in own {
            // Those of other clients see it as MySQL's restart.
            direct.query_drop(format!("KILL {id}")).await?;
        }
        guarded.gates[0].release();
        let acknowledged = commit.await?.is_ok();
        settled(&shards.servers).await?;
        let mut observer = connect(shards.sidecar.port()).await?;
        let moved = amount(&mut observer, ids[1]).await? - before;
        ensure!(
            (moved == 1) == expected && acknowledged == expected,
            "{stop:?}: acknowledged {acknowledged}, moved {moved}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn what_a_dead_coordinator_decided_is_carried_out_and_forgotten() -> Result<()> {
    let (shards, mut observer) = started().await?;
    let [one, two] = accounts(&mut observer).await?;
    // The ledger is made when it is first needed.
    observer.query_drop("BEGIN").await?;
    for id in [one, two] {
        let sql = format!("UPDATE account SET amount = amount + 1 WHERE id = {id}");
        observer.query_drop(sql).await?;
    }
    observer.query_drop("COMMIT").await?;
    let mut first = direct(&shards.servers[0]).await?;
    for (number, outcome) in ["commit", "fence"].into_iter().enumerate() {
        first
            .query_drop(format!(
                "INSERT INTO remora.decision VALUES (UNHEX(REPEAT('0{number}', 16)), '{outcome}', \
                 999999, '1', NOW() - INTERVAL 2 MINUTE)"
            ))
            .await?;
    }
    // A sidecar sweeps at its start.
    let _another = guarded(&shards.servers).await?;
    until("the ledger is empty", async || {
        let left: Option<u64> = first
            .query_first("SELECT COUNT(*) FROM remora.decision")
            .await?;
        ensure!(left == Some(0), "{left:?} rows");
        Ok(())
    })
    .await
}
