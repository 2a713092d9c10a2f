//! From a bare cluster to an injected application that is Ready.

use anyhow::{Result, ensure};
use remora_e2e::kubernetes::{Images, Kubernetes, SYSTEM, example};

use crate::journey::Journey;
use crate::shop::{AVAILABLE, NAMESPACE, app_is_ready, apply, kubectl};

pub(crate) fn steps(journey: &mut Journey) {
    journey.step("the_chart_has_no_registry_to_guess", no_registry);
    journey.foundation(
        "helm_installs_remora_on_a_bare_cluster",
        |cluster, images| cluster.install_chart("helm", images, &[]),
    );
    journey.step("every_field_of_the_manifest_explains_itself", explained);
    journey.step(
        "a_wrong_manifest_is_refused_by_field_and_remedy",
        wrong_manifests,
    );
    journey.foundation(
        "an_application_waits_for_its_cluster_and_then_starts",
        app_first,
    );
    journey.step("an_application_that_comes_later_starts_at_once", app_second);
    journey.step("helm_test_passes", helm_test);
}

fn no_registry(cluster: &Kubernetes, _: &Images) -> Result<()> {
    let chart = concat!(env!("CARGO_MANIFEST_DIR"), "/../charts/remora");
    let Err(error) = cluster.helm(&["template", "--kube-version", "1.34.4", chart]) else {
        anyhow::bail!("the chart renders without a registry");
    };
    ensure!(format!("{error}").contains("image.registry"), "{error}");
    Ok(())
}

fn explained(cluster: &Kubernetes, _: &Images) -> Result<()> {
    let text = cluster.kubectl(&["explain", "shardingcluster.spec.tables", "--recursive"])?;
    for field in [
        "tablesPerShard",
        "colocatedWith",
        "generatedKey",
        "broadcast",
    ] {
        ensure!(text.contains(field), "{field} is missing:\n{text}");
    }
    Ok(())
}

/// A change of the example, and what the refusal must say.
const WRONG: [(&str, &str, &[&str]); 4] = [
    ("shards: 2", "shards: 0", &["spec.shards"]),
    (
        "tablesPerShard: 16",
        "tablesPerShard: 0",
        &["spec.tables[0].sharding.tablesPerShard"],
    ),
    ("key: [id]", "key: []", &["spec.tables[0].sharding.key"]),
    (
        "colocatedWith: pressure_test",
        "colocatedWith: nowhere",
        &["spec.tables", "colocatedWith"],
    ),
];

fn wrong_manifests(cluster: &Kubernetes, _: &Images) -> Result<()> {
    let good = example("shop.yaml")?;
    for (from, to, words) in WRONG {
        ensure!(good.contains(from), "the example has no `{from}`");
        let apply = ["-n", "default", "apply", "--dry-run=server", "-f", "-"];
        let Err(error) = cluster.kubectl_with(&apply, &good.replace(from, to)) else {
            anyhow::bail!("`{to}` was accepted");
        };
        let text = format!("{error:#}");
        for word in words {
            ensure!(
                text.contains(word),
                "`{to}`: the refusal does not say `{word}`: {text}"
            );
        }
    }
    Ok(())
}

fn app_first(cluster: &Kubernetes, _: &Images) -> Result<()> {
    cluster.restricted_namespace(NAMESPACE)?;
    apply(cluster, "app.yaml")?;
    let events = [
        "-n",
        NAMESPACE,
        "events",
        "--field-selector=reason=FailedCreate",
    ];
    cluster.wait_until(AVAILABLE, &events, "{.items[*].message}", |text| {
        text.contains("shop")
    })?;
    apply(cluster, "shop.yaml")?;
    cluster.wait_available(NAMESPACE, "shop", AVAILABLE)?;
    app_is_ready(cluster)
}

fn app_second(cluster: &Kubernetes, _: &Images) -> Result<()> {
    kubectl(
        cluster,
        &["delete", "deployment", "app", "--cascade=foreground"],
    )?;
    apply(cluster, "app.yaml")?;
    app_is_ready(cluster)
}

fn helm_test(cluster: &Kubernetes, _: &Images) -> Result<()> {
    cluster.helm(&["test", "remora", "--namespace", SYSTEM, "--timeout", "60s"])?;
    Ok(())
}
