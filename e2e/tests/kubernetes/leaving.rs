//! Upgrading, uninstalling and deleting: the rows stay.

use anyhow::{Result, ensure};
use remora_e2e::kubernetes::{Images, Kubernetes, SYSTEM};

use crate::journey::Journey;
use crate::private;
use crate::shop::{AVAILABLE, NAMESPACE, app_is_ready, application, apply, kubectl};
use crate::upgrades::{servers, twice};

pub(crate) fn steps(journey: &mut Journey) {
    journey.step(
        "upgrading_twice_with_helm_4_under_load_restarts_no_server",
        |cluster, images| twice(cluster, images, "helm"),
    );
    journey.step(
        "uninstalling_the_chart_leaves_clusters_and_servers",
        uninstalled_leaves,
    );
    journey.step("deleting_a_cluster_keeps_volumes_and_secrets", deleted);
    private::last_steps(journey);
    journey.step("the_same_manifest_applied_again_serves_the_old_rows", again);
    journey.step(
        "upgrading_twice_with_helm_3_under_load_restarts_no_server",
        |cluster, images| twice(cluster, images, "helm3"),
    );
}

fn uninstalled_leaves(cluster: &Kubernetes, images: &Images) -> Result<()> {
    let before = servers(cluster)?;
    uninstalled(cluster, images)?;
    let after = servers(cluster)?;
    ensure!(before == after, "before: {before:?}\nafter: {after:?}");
    Ok(())
}

fn uninstalled(cluster: &Kubernetes, _: &Images) -> Result<()> {
    cluster.helm(&[
        "uninstall",
        "remora",
        "--namespace",
        SYSTEM,
        "--wait",
        "--timeout",
        "60s",
    ])?;
    cluster.kubectl(&["get", "crd", "shardingclusters.remora.dev"])?;
    kubectl(cluster, &["get", "shardingcluster", "shop"])?;
    let left = cluster.kubectl(&[
        "get", "-A", "-o", "name", "-l", "app.kubernetes.io/instance=remora",
        "mutatingwebhookconfigurations,clusterroles,clusterrolebindings,deployments,services,serviceaccounts",
    ])?;
    ensure!(left.trim().is_empty(), "helm uninstall left {left}");
    let count = application(cluster)?.value("SELECT COUNT(*) FROM pressure_test")?;
    ensure!(count == "2000", "{count} rows without an operator");
    Ok(())
}

fn deleted(cluster: &Kubernetes, _: &Images) -> Result<()> {
    // The operator is gone: nothing may wait for it.
    kubectl(
        cluster,
        &["delete", "shardingcluster", "shop", "--timeout=30s"],
    )?;
    let names = |kind| kubectl(cluster, &["get", kind, "-o", "name"]);
    cluster.wait_until(
        AVAILABLE,
        &["-n", NAMESPACE, "pods", "-l", "remora.dev/cluster=shop"],
        "{.items[*].metadata.name}",
        str::is_empty,
    )?;
    ensure!(names("pvc")?.lines().count() == 4, "{}", names("pvc")?);
    ensure!(
        names("secrets")?.contains("secret/shop-app"),
        "{}",
        names("secrets")?
    );
    Ok(())
}

fn again(cluster: &Kubernetes, images: &Images) -> Result<()> {
    // Helm 3 this time: people have both.
    cluster.install_chart("helm3", images, &[])?;
    apply(cluster, "shop.yaml")?;
    cluster.wait_available(NAMESPACE, "shop", AVAILABLE)?;
    kubectl(
        cluster,
        &["delete", "deployment", "app", "--cascade=foreground"],
    )?;
    apply(cluster, "app.yaml")?;
    app_is_ready(cluster)?;
    let count = application(cluster)?.value("SELECT COUNT(*) FROM pressure_test")?;
    ensure!(count == "2000", "{count} rows");
    Ok(())
}
