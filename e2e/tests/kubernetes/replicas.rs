//! A replica in each shard: it follows, it is copied anew, and it goes before its primary.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use remora_e2e::kubernetes::{Images, Kubernetes};

use crate::journey::Journey;
use crate::shop::{AVAILABLE, NAMESPACE, application, kubectl, process_start, shard_pod};
use crate::visitors::{By, Visitors};
use crate::volumes::logged;

const COUNT: &str = "SELECT COUNT(*) FROM pressure_test";

pub(crate) fn steps(journey: &mut Journey) {
    journey.step("each_shard_has_a_replica_that_follows", follow);
    journey.step(
        "a_replica_killed_under_load_is_not_noticed",
        killed_under_load,
    );
    journey.step(
        "a_replica_frozen_under_load_is_not_noticed",
        frozen_under_load,
    );
    journey.step("a_replica_without_its_volume_is_copied_anew", copied_anew);
    journey.step(
        "another_manifest_replaces_replicas_first_and_announces_primaries",
        replaced_in_order,
    );
}

/// After all else: what was there before does not matter any more.
pub(crate) fn last_steps(journey: &mut Journey) {
    journey.step(
        "replicas_go_and_come_back_with_their_volumes",
        fewer_and_more,
    );
}

/// Waits until both replicas follow, and commits wait for them.
fn all_follow(cluster: &Kubernetes, limit: Duration) -> Result<()> {
    let get = ["-n", NAMESPACE, "shardingcluster", "shop"];
    let path = "{.status.readyReplicas} {.status.shards[*].acknowledgements} \
         {.status.conditions[?(@.type=='Degraded')].status}";
    cluster.wait_until(limit, &get, path, |answer| answer == "2 1 1 False")?;
    Ok(())
}

fn follow(cluster: &Kubernetes, _: &Images) -> Result<()> {
    all_follow(cluster, AVAILABLE)?;
    let instances = application(cluster)?.words("SHOW REMORA INSTANCES")?;
    ensure!(instances.matches("replica").count() >= 2, "{instances}");
    Ok(())
}

/// What the visitors ask, as a replica sees it.
const ASKED: &str = "payment";

/// Readers and writers who read this replica before anything happens to it.
fn readers<'a>(cluster: &'a Kubernetes, images: &Images, replica: &str) -> Result<Visitors<'a>> {
    let before = logged(cluster, replica, ASKED)?;
    let visitors = Visitors::come(cluster, images, By::Sidecar)?;
    let get = Instant::now() + Duration::from_secs(20);
    while logged(cluster, replica, ASKED)? < before + 20 {
        ensure!(Instant::now() < get, "nobody reads {replica}");
        std::thread::sleep(Duration::from_millis(500));
    }
    Ok(visitors)
}

/// mysqld of a replica is stopped for a while: its connections stay, and nothing answers.
fn frozen_under_load(cluster: &Kubernetes, images: &Images) -> Result<()> {
    let replica = "shop-1-1";
    let visitors = readers(cluster, images, replica)?;
    let before = process_start(cluster, replica, "mysqld")?;
    let (seen, _) = visitors.seen()?;
    let signal = |name: &str| {
        let script = format!(
            "for p in /proc/[0-9]*; do [ \"$(cat $p/comm 2>/dev/null)\" = mysqld ] && kill -{name} ${{p#/proc/}}; done; true"
        );
        let shell = ["exec", replica, "-c", "mysql", "--", "sh", "-c", &script];
        kubectl(cluster, &shell).map(drop)
    };
    signal("STOP")?;
    std::thread::sleep(FROZEN);
    let frozen = visitors.were_not_disturbed(seen);
    signal("CONT")?;
    frozen?;
    all_follow(cluster, AVAILABLE)?;
    visitors.were_not_disturbed(seen)?;
    let after = process_start(cluster, replica, "mysqld")?;
    ensure!(before == after, "mysqld started again: it was not frozen");
    Ok(())
}

/// Longer than it takes until nothing waits for it any more.
const FROZEN: Duration = Duration::from_secs(10);

/// A replica dies under reads and writes. They go on: what commits wait for is lowered first.
fn killed_under_load(cluster: &Kubernetes, images: &Images) -> Result<()> {
    let visitors = readers(cluster, images, "shop-0-1")?;
    let (seen, _) = visitors.seen()?;
    let mut app = application(cluster)?;
    let kill = ["delete", "pod", "shop-0-1", "--grace-period=0", "--force"];
    kubectl(cluster, &kill)?;
    let (begin, mut slowest, mut written) = (Instant::now(), Duration::ZERO, 0_u32);
    while begin.elapsed() < Duration::from_secs(15) {
        let one = Instant::now();
        app.run(
            "INSERT INTO pressure_test (user_code, amount, mobile_cipher, id_card_md5, create_time)
             VALUES ('load', 1, '', '', '2026-02-01 00:00:00')",
        )?;
        written += 1;
        slowest = slowest.max(one.elapsed());
    }
    println!(
        "          {written} rows, the slowest in {:.1} s",
        slowest.as_secs_f64()
    );
    ensure!(
        slowest < Duration::from_secs(10),
        "a write took {slowest:?}"
    );
    let load = "SELECT COUNT(*) FROM pressure_test WHERE user_code = 'load'";
    let count = app.value(load)?;
    ensure!(count == written.to_string(), "{count} rows of {written}");
    app.run("DELETE FROM pressure_test WHERE user_code = 'load'")?;
    all_follow(cluster, AVAILABLE)?;
    visitors.were_not_disturbed(seen)
}

/// To one instance a shard and back.
fn fewer_and_more(cluster: &Kubernetes, _: &Images) -> Result<()> {
    let instances = |instances: u8, pods: usize| -> Result<()> {
        let patch = format!(r#"{{"spec":{{"instancesPerShard":{instances}}}}}"#);
        kubectl(
            cluster,
            &[
                "patch",
                "shardingcluster",
                "shop",
                "--type=merge",
                "-p",
                &patch,
            ],
        )?;
        let get = ["-n", NAMESPACE, "pods", "-l=remora.dev/cluster=shop"];
        let path = "{.items[*].metadata.name}";
        cluster.wait_until(AVAILABLE, &get, path, |names| {
            names.split(' ').count() == pods
        })?;
        // Each primary starts otherwise with replicas than without.
        let get = ["-n", NAMESPACE, "shardingcluster", "shop"];
        let path = "{.status.conditions[?(@.type=='Progressing')].reason} {.status.readyShards} \
             {.status.readyReplicas}";
        let wanted = format!("UpToDate 2 {}", pods - 2);
        cluster.wait_until(AVAILABLE, &get, path, |answer| answer == wanted)?;
        Ok(())
    };
    instances(1, 2)?;
    let claims = kubectl(cluster, &["get", "pvc", "-o", "name"])?;
    ensure!(claims.lines().count() == 4, "{claims}");
    application(cluster)?.run("DELETE FROM pressure_test WHERE id = 1")?;
    instances(2, 4)?;
    all_follow(cluster, AVAILABLE)?;
    let count = application(cluster)?.value(COUNT)?;
    ensure!(count == "1999", "{count} rows");
    Ok(())
}

fn copied_anew(cluster: &Kubernetes, _: &Images) -> Result<()> {
    let (pod, claim) = ("shop-1-1", "data-shop-1-1");
    let uid = |name: &str| {
        let path = "jsonpath={.metadata.uid}";
        kubectl(cluster, &["get", "pvc", name, "-o", path])
    };
    let before = uid(claim)?;
    kubectl(cluster, &["delete", "pvc", claim, "--wait=false"])?;
    kubectl(cluster, &["delete", "pod", pod, "--grace-period=1"])?;
    // The StatefulSet may have made the pod again with the claim that was on its way out.
    let get = ["-n", NAMESPACE, "pvc", claim];
    let path = "{.metadata.uid}";
    cluster.wait_until(AVAILABLE, &get, path, |uid| {
        !uid.is_empty() && uid != before
    })?;
    all_follow(cluster, AVAILABLE)?;
    let count = application(cluster)?.value(COUNT)?;
    ensure!(count == "2000", "{count} rows");
    Ok(())
}

fn replaced_in_order(cluster: &Kubernetes, _: &Images) -> Result<()> {
    let path =
        "{range .items[*]}{.metadata.creationTimestamp} {.metadata.name} {.metadata.uid}\n{end}";
    let pods = || {
        let selector = "remora.dev/cluster=shop";
        let output = format!("jsonpath={path}");
        kubectl(cluster, &["get", "pods", "-l", selector, "-o", &output])
    };
    let before = pods()?;
    let patch = r#"{"spec":{"mysql":{"config":{"max_connections":900}}}}"#;
    kubectl(
        cluster,
        &[
            "patch",
            "shardingcluster",
            "shop",
            "--type=merge",
            "-p",
            patch,
        ],
    )?;
    let selector = "-l=remora.dev/cluster=shop";
    cluster.wait_until(
        Duration::from_secs(240),
        &["-n", NAMESPACE, "pods", selector],
        "{.items[*].metadata.uid}",
        |uids| {
            let old = |uid: &str| before.contains(uid);
            uids.split(' ').count() == 4 && !uids.split(' ').any(old)
        },
    )?;
    all_follow(cluster, AVAILABLE)?;
    cluster.wait_available(NAMESPACE, "shop", AVAILABLE)?;
    let after = pods()?;
    let mut order: Vec<_> = after.lines().collect();
    order.sort_unstable();
    let position = |pod: &str| {
        let found = order.iter().position(|line| line.contains(pod));
        found.with_context(|| format!("no {pod} in {after}"))
    };
    for shard in 0..2 {
        ensure!(
            position(&format!("shop-{shard}-1"))? < 2 && position(&shard_pod(shard))? >= 2,
            "{after}"
        );
    }
    let events = kubectl(
        cluster,
        &[
            "get",
            "events",
            "-o",
            "jsonpath={.items[*].reason}",
            "--field-selector=reason=RestartingPrimary",
        ],
    )?;
    ensure!(!events.is_empty(), "no event announced a primary's restart");
    let count = application(cluster)?.value(COUNT)?;
    ensure!(count == "2000", "{count} rows");
    Ok(())
}
