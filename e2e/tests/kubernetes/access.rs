//! Who may, and what may change.

use anyhow::{Result, bail, ensure};
use remora_e2e::kubernetes::{Images, Kubernetes, example};

use crate::journey::{Journey, READY};
use crate::shop::{NAMESPACE, kubectl};

pub(crate) fn steps(journey: &mut Journey) {
    journey.step("growing_the_shards_is_refused", growing);
    journey.step(
        "a_namespace_that_was_not_granted_is_denied_with_the_reason",
        ungranted,
    );
}

fn growing(cluster: &Kubernetes, _: &Images) -> Result<()> {
    let patch = [
        "patch",
        "shardingcluster",
        "shop",
        "--type=merge",
        "-p",
        r#"{"spec":{"shards":4}}"#,
    ];
    let Err(error) = kubectl(cluster, &patch) else {
        bail!("four shards were accepted")
    };
    ensure!(format!("{error}").contains("spec.shards"), "{error}");
    Ok(())
}

fn ungranted(cluster: &Kubernetes, _: &Images) -> Result<()> {
    let stranger = "stranger";
    cluster.restricted_namespace(stranger)?;
    let wanted = format!("remora.dev/cluster: {NAMESPACE}/shop");
    let app = example("app.yaml")?.replace("remora.dev/cluster: shop", &wanted);
    cluster.kubectl_with(&["-n", stranger, "apply", "-f", "-"], &app)?;
    let events = [
        "-n",
        stranger,
        "events",
        "--field-selector=reason=FailedCreate",
    ];
    let text = cluster.wait_until(READY, &events, "{.items[*].message}", |text| {
        !text.is_empty()
    })?;
    ensure!(text.contains(stranger) && text.contains("access"), "{text}");
    cluster.kubectl(&["delete", "namespace", stranger, "--wait=false"])?;
    Ok(())
}
