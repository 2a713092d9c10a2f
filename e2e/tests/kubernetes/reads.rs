//! Reads from replicas, and transactions over both shards.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use mysql_async::Value;
use remora_e2e::kubernetes::{Images, Kubernetes};

use crate::journey::Journey;
use crate::shop::{application, kubectl, shard_pod};
use crate::sql::PodMysql;
use crate::volumes::{SERVERS, logged};

pub(crate) fn steps(journey: &mut Journey) {
    journey.step("reads_are_shared_by_weight", by_weight);
    journey.step(
        "a_transaction_over_both_shards_is_whole_or_not_at_all",
        over_shards,
    );
}

/// Reads of each shard. The primary's third of them is 2667 with a standard deviation of 42: ten
/// percent are more than six of those.
const READS: usize = 8000;

/// What `examples/shop.yaml` gives each instance of a shard, of the sum.
const SHARES: [f64; 2] = [1.0 / 3.0, 2.0 / 3.0];

/// One id of each shard.
fn an_id_of_each_shard(app: &mut PodMysql) -> Result<[u64; 2]> {
    let mut found = [None; 2];
    for id in 1..=64 {
        let rows = app.run(&format!(
            "EXPLAIN REMORA SELECT * FROM pressure_test WHERE id = {id}"
        ))?;
        let shard = rows
            .first()
            .and_then(|row| row.first())
            .context("no plan")?;
        found[usize::from(shard.as_sql(true).trim_matches('\'') == "1")].get_or_insert(id);
        if let [Some(first), Some(second)] = found {
            return Ok([first, second]);
        }
    }
    anyhow::bail!("64 ids are on one shard: {found:?}")
}

/// The reads that the application's sidecar counts, by server.
fn counted(app: &mut PodMysql) -> Result<BTreeMap<String, u64>> {
    let rows = app.run("SHOW REMORA INSTANCES")?;
    let text = |value: &Value| value.as_sql(true).trim_matches('\'').to_owned();
    rows.iter()
        .map(|row| {
            let (host, reads) = (text(&row[1]), text(&row[7]));
            let server = host.split('.').next().unwrap_or_default().to_owned();
            Ok((server, reads.parse().with_context(|| format!("{row:?}"))?))
        })
        .collect()
}

/// The servers' own logs are asked, and the sidecar's counters.
fn by_weight(cluster: &Kubernetes, _: &Images) -> Result<()> {
    let mut app = application(cluster)?;
    let [first, second] = an_id_of_each_shard(&mut app)?;
    let mark = format!("weights-{:x}", std::process::id());
    let before = counted(&mut app)?;
    let script = format!(
        "yes \"SELECT id, '{mark}' FROM pressure_test WHERE id IN ({first}, {second});\" | head -n {READS} | \
         MYSQL_PWD=$MYSQL_PASSWORD mysql -N --get-server-public-key -u$MYSQL_USER $MYSQL_DATABASE | wc -l"
    );
    let rows = kubectl(
        cluster,
        &["exec", "deploy/app", "-c", "app", "--", "sh", "-c", &script],
    )?;
    ensure!(rows.trim() == (2 * READS).to_string(), "{rows} rows");
    let after = counted(&mut app)?;
    for (place, server) in SERVERS.into_iter().enumerate() {
        let expected = READS as f64 * SHARES[place % 2];
        let told = after.get(server).context(server)? - before.get(server).context(server)?;
        let seen = logged(cluster, server, &mark)?;
        println!("          {server}: {seen} reads of {expected:.0}");
        for count in [told as f64, seen as f64] {
            ensure!(
                (count - expected).abs() < expected / 10.0,
                "{server} answered {seen}, the sidecar counts {told}, expected {expected}"
            );
        }
    }
    Ok(())
}

fn over_shards(cluster: &Kubernetes, _: &Images) -> Result<()> {
    let mut app = application(cluster)?;
    let ids = an_id_of_each_shard(&mut app)?;
    // The shard that it met first decides, and the other has prepared before.
    let steps = || -> Result<[usize; 2]> {
        Ok([
            logged(cluster, &shard_pod(0), "CALL remora.decide(")?,
            logged(cluster, &shard_pod(1), "XA PREPARE")?,
        ])
    };
    let before = steps()?;
    let sum = |app: &mut PodMysql| {
        let [first, second] = ids;
        app.value(&format!(
            "SELECT SUM(amount) FROM pressure_test WHERE id IN ({first}, {second})"
        ))
    };
    let was = sum(&mut app)?;
    let move_one = |app: &mut PodMysql, end: &str| -> Result<()> {
        app.run("BEGIN")?;
        for (id, by) in ids.into_iter().zip([1, -1]) {
            app.run(&format!(
                "UPDATE pressure_test SET amount = amount + {by} WHERE id = {id}"
            ))?;
        }
        app.run(end).map(drop)
    };
    let of_first = format!("SELECT amount FROM pressure_test WHERE id = {}", ids[0]);
    let amount = app.value(&of_first)?;
    move_one(&mut app, "ROLLBACK")?;
    ensure!(
        app.value(&of_first)? == amount,
        "rolled back, and yet changed"
    );
    move_one(&mut app, "COMMIT")?;
    ensure!(
        app.value(&of_first)? != amount,
        "committed, and yet not changed"
    );
    ensure!(sum(&mut app)? == was, "the sum was {was}");
    // From another session, wherever it reads.
    let mut other = application(cluster)?;
    let seen = other.value(&format!("/* remora: primary */ {of_first}"))?;
    ensure!(seen != amount, "another session sees {seen}");
    let after = steps()?;
    ensure!(
        after[0] > before[0] && after[1] > before[1],
        "decided and prepared: {before:?}, then {after:?}"
    );
    Ok(())
}
