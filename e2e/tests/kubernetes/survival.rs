//! What dies comes back, and takes nothing else with it.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use remora_e2e::kubernetes::{Images, Kubernetes};

use crate::journey::{Journey, READY};
use crate::shop::{NAMESPACE, app_is_ready, application, apply, kubectl, process_start, shard_pod};

/// Replicas would answer for a primary that is gone.
const COUNT: &str = "/* remora: primary */ SELECT COUNT(*) FROM pressure_test";

pub(crate) fn steps(journey: &mut Journey) {
    journey.step("a_killed_mysql_pod_comes_back_with_its_rows", killed_pod);
    journey.step(
        "kills_of_mysqld_end_ready_within_five_seconds",
        repeated_kills,
    );
    journey.step("killing_a_sidecar_does_not_touch_mysqld", killed_sidecar);
    journey.step(
        "with_a_shard_down_applications_stay_ready_and_new_ones_start",
        shard_down,
    );
    journey.step(
        "killing_the_operator_changes_nothing_for_sessions",
        killed_operator,
    );
}

fn rows(cluster: &Kubernetes) -> Result<()> {
    let count = application(cluster)?.value(COUNT)?;
    ensure!(count == "2000", "{count} rows");
    Ok(())
}

/// Asks until all rows are there again.
fn rows_within(cluster: &Kubernetes, limit: Duration) -> Result<()> {
    let deadline = Instant::now() + limit;
    loop {
        match rows(cluster) {
            Err(error) if Instant::now() > deadline => {
                return Err(error).context(format!("after {limit:?}"));
            }
            Err(_) => thread::sleep(Duration::from_millis(200)),
            Ok(()) => return Ok(()),
        }
    }
}

fn pod_is_ready(cluster: &Kubernetes, pod: &str, limit: Duration) -> Result<()> {
    let path = "{.status.conditions[?(@.type=='Ready')].status}";
    cluster.wait_until(limit, &["-n", NAMESPACE, "pod", pod], path, |ready| {
        ready == "True"
    })?;
    Ok(())
}

fn killed_pod(cluster: &Kubernetes, _: &Images) -> Result<()> {
    let pod = shard_pod(1);
    kubectl(
        cluster,
        &["delete", "pod", &pod, "--grace-period=0", "--force"],
    )?;
    pod_is_ready(cluster, &pod, READY)?;
    rows_within(cluster, Duration::from_secs(30))
}

fn kill_mysqld(cluster: &Kubernetes, pod: &str) -> Result<()> {
    let script = "for p in /proc/[0-9]*; do [ \"$(cat $p/comm 2>/dev/null)\" = mysqld ] && kill -9 ${p#/proc/}; done; true";
    kubectl(
        cluster,
        &["exec", pod, "-c", "mysql", "--", "sh", "-c", script],
    )?;
    Ok(())
}

/// The kubelet would have waited for 70 seconds in all before its fourth restart of a container.
const KILLS: u32 = 4;

fn repeated_kills(cluster: &Kubernetes, _: &Images) -> Result<()> {
    let pod = shard_pod(0);
    let restarts = restarts(cluster, &pod)?;
    for kill in 0..KILLS {
        if kill > 0 {
            thread::sleep(Duration::from_secs(10));
        }
        kill_mysqld(cluster, &pod)?;
    }
    rows_within(cluster, Duration::from_secs(5))?;
    pod_is_ready(cluster, &pod, Duration::from_secs(5))?;
    let after = self::restarts(cluster, &pod)?;
    ensure!(
        after == restarts,
        "the kubelet restarted containers: {restarts} before, {after} after"
    );
    Ok(())
}

fn restarts(cluster: &Kubernetes, pod: &str) -> Result<String> {
    kubectl(
        cluster,
        &[
            "get",
            "pod",
            pod,
            "-o",
            "jsonpath={.status.containerStatuses[*].restartCount}",
        ],
    )
}

fn killed_sidecar(cluster: &Kubernetes, _: &Images) -> Result<()> {
    let pod = shard_pod(0);
    let before = process_start(cluster, &pod, "mysqld")?;
    // The sidecar's image has no shell to kill it with: the node does it.
    let path = "{.status.initContainerStatuses[?(@.name=='remora-sidecar')]['restartCount','containerID']}";
    let get = ["get", "pod", &pod, "-o", &format!("jsonpath={path}")];
    let status = kubectl(cluster, &get)?;
    let (count, container) = status
        .split_once(' ')
        .context("no sidecar in the MySQL pod")?;
    let container = container.trim_start_matches("containerd://");
    let kill = ["-n", "k8s.io", "tasks", "kill", "-s", "SIGKILL", container];
    let status = cluster.inside("ctr")?.args(kill).status()?;
    ensure!(status.success(), "ctr tasks kill {status}");
    let expected = (count.parse::<u32>()? + 1).to_string();
    cluster.wait_until(
        READY,
        &["-n", NAMESPACE, "pod", &pod],
        "{.status.initContainerStatuses[?(@.name=='remora-sidecar')].restartCount}",
        |now| now == expected,
    )?;
    pod_is_ready(cluster, &pod, READY)?;
    let after = process_start(cluster, &pod, "mysqld")?;
    ensure!(
        before == after,
        "mysqld started at {before}, and again at {after}"
    );
    rows(cluster)
}

fn shard_down(cluster: &Kubernetes, _: &Images) -> Result<()> {
    // Drops every packet of the shard's pod: what losing its node looks like.
    let pod = shard_pod(1);
    let address = kubectl(
        cluster,
        &["get", "pod", &pod, "-o", "jsonpath={.status.podIP}"],
    )?;
    let rule = |verb: &str| -> Result<()> {
        // From and to pods, and from and to the kubelet, whose probes fail then.
        for (chain, side) in [
            ("FORWARD", "-s"),
            ("FORWARD", "-d"),
            ("INPUT", "-s"),
            ("OUTPUT", "-d"),
        ] {
            let mut command = cluster.inside("iptables")?;
            let status = command
                .args(["-w", verb, chain, side, &address, "-j", "DROP"])
                .status()?;
            ensure!(status.success(), "iptables {verb} {chain} {side} {status}");
        }
        Ok(())
    };
    rule("-I")?;
    let outcome = (|| {
        let path = "{.status.conditions[?(@.type=='Available')].status}";
        let get = ["-n", NAMESPACE, "shardingcluster", "shop"];
        cluster.wait_until(READY, &get, path, |status| status == "False")?;
        let ready = kubectl(
            cluster,
            &[
                "get",
                "deployment",
                "app",
                "-o",
                "jsonpath={.status.readyReplicas}",
            ],
        )?;
        ensure!(ready == "1", "the application is no longer Ready");
        kubectl(cluster, &["rollout", "restart", "deployment/app"])?;
        app_is_ready(cluster)
    })();
    rule("-D")?;
    outcome?;
    cluster.wait_available(NAMESPACE, "shop", READY)?;
    rows_within(cluster, Duration::from_secs(30))
}

fn killed_operator(cluster: &Kubernetes, _: &Images) -> Result<()> {
    let mut session = application(cluster)?;
    let delete = ["delete", "pods", "--all", "--grace-period=0", "--force"];
    cluster.kubectl(&[&["-n", remora_e2e::kubernetes::SYSTEM], &delete[..]].concat())?;
    ensure!(session.value(COUNT)? == "2000");
    let status = [
        "rollout",
        "status",
        "deployment/remora-operator",
        "--timeout=90s",
    ];
    cluster.kubectl(&[&["-n", remora_e2e::kubernetes::SYSTEM], &status[..]].concat())?;
    // The injector answers again: a new pod gets its sidecar.
    kubectl(
        cluster,
        &["delete", "deployment", "app", "--cascade=foreground"],
    )?;
    apply(cluster, "app.yaml")?;
    app_is_ready(cluster)
}
