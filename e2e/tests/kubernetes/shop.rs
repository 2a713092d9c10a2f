//! What the steps know of the example's cluster, and how they reach it.

use std::time::Duration;

use anyhow::{Result, ensure};
use remora_e2e::kubernetes::{Kubernetes, example};

use crate::sql::PodMysql;

/// The namespace of the cluster and its application.
pub(crate) const NAMESPACE: &str = "shop";

/// How long MySQL may take from the manifest to the first row, on a busy machine.
pub(crate) const AVAILABLE: Duration = Duration::from_secs(180);

/// `kubectl -n shop …`.
pub(crate) fn kubectl(cluster: &Kubernetes, arguments: &[&str]) -> Result<String> {
    cluster.kubectl(&[&["-n", NAMESPACE], arguments].concat())
}

/// The example's cluster, whose servers log each statement that they get.
pub(crate) fn manifest() -> Result<String> {
    let (example, config) = (example("shop.yaml")?, "    config:\n");
    ensure!(example.contains(config), "the example has no `{config}`");
    Ok(example.replace(config, "    config:\n      general_log: 1\n"))
}

/// Applies an example in the shop's namespace.
pub(crate) fn apply(cluster: &Kubernetes, file: &str) -> Result<String> {
    let text = match file {
        "shop.yaml" => manifest()?,
        other => example(other)?,
    };
    cluster.kubectl_with(&["-n", NAMESPACE, "apply", "-f", "-"], &text)
}

/// Waits until the injected application's pods are Ready.
pub(crate) fn app_is_ready(cluster: &Kubernetes) -> Result<()> {
    kubectl(
        cluster,
        &["rollout", "status", "deployment/app", "--timeout=120s"],
    )?;
    Ok(())
}

/// Logs in as the injected application does: on its loopback, with its own variables.
pub(crate) fn application(cluster: &Kubernetes) -> Result<PodMysql> {
    let mut environment = kubectl(
        cluster,
        &["exec", "deploy/app", "-c", "app", "--", "sh", "-c",
          "echo $MYSQL_HOST; echo $MYSQL_PORT; echo $MYSQL_USER; echo $MYSQL_PASSWORD; echo $MYSQL_DATABASE"],
    )?
    .lines()
    .map(str::to_owned)
    .collect::<Vec<_>>();
    environment.resize(5, String::new());
    let [host, port, user, password, database] = &environment[..] else {
        unreachable!()
    };
    ensure!(
        host == "127.0.0.1" && port == "3306",
        "the application learns of {host}:{port}"
    );
    PodMysql::connect(
        cluster,
        NAMESPACE,
        "deploy/app",
        3306,
        (user, password),
        database,
    )
}

/// The pod of a shard's primary.
pub(crate) fn shard_pod(shard: usize) -> String {
    format!("shop-{shard}-0")
}

/// When the process with this name in a container of the pod started, in the kernel's ticks.
pub(crate) fn process_start(cluster: &Kubernetes, pod: &str, name: &str) -> Result<String> {
    let script = format!(
        "for p in /proc/[0-9]*; do [ \"$(cat $p/comm)\" = {name} ] && cut -d' ' -f22 $p/stat; done; true"
    );
    let ticks = kubectl(
        cluster,
        &["exec", pod, "-c", "mysql", "--", "sh", "-c", &script],
    )?;
    ensure!(!ticks.trim().is_empty(), "no process {name} in {pod}");
    Ok(ticks.trim().to_owned())
}
