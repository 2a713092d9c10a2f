//! Another version of the chart: no MySQL server notices.

use anyhow::{Result, ensure};
use remora_e2e::kubernetes::{Images, Kubernetes};

use crate::journey::READY;
use crate::shop::{NAMESPACE, kubectl, process_start, shard_pod};
use crate::visitors::{By, Visitors};

const SHARDS: usize = 2;
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The tag of the version after: the same programs under another name.
const NEXT: &str = "next";

/// What must be the same after an upgrade, of each server: its pod, how often the kubelet started
/// its container, and when its process began.
pub(crate) fn servers(cluster: &Kubernetes) -> Result<Vec<String>> {
    let path =
        "jsonpath={.metadata.uid} {.status.containerStatuses[?(@.name=='mysql')].restartCount}";
    (0..SHARDS)
        .map(|shard| {
            let pod = shard_pod(shard);
            let seen = kubectl(cluster, &["get", "pod", &pod, "-o", path])?;
            Ok(format!(
                "{seen} {}",
                process_start(cluster, &pod, "mysqld")?
            ))
        })
        .collect()
}

/// Upgrades twice with `program`, to other values and images each time, under load.
pub(crate) fn twice(cluster: &Kubernetes, images: &Images, program: &str) -> Result<()> {
    for name in ["remora-operator", "remora-sidecar", "remora-supervisor"] {
        let image = format!("{}/{name}", images.registry());
        let status = cluster
            .inside("ctr")?
            .args(["-n", "k8s.io", "images", "tag", "--force"])
            .args([format!("{image}:{VERSION}"), format!("{image}:{NEXT}")])
            .stdout(std::process::Stdio::null())
            .status()?;
        ensure!(status.success(), "ctr images tag {status}");
    }
    let visitors = Visitors::come(cluster, images, By::Sidecar)?;
    let before = servers(cluster)?;
    for (tag, filter) in [(NEXT, "debug"), (VERSION, "info")] {
        let (done, _) = visitors.seen()?;
        let restarts = sidecars(cluster)?;
        let settings = [
            format!("image.tag={tag}"),
            format!("log.filter={filter}"),
            "resources.requests.memory=48Mi".to_owned(),
        ];
        cluster.install_chart(program, images, &settings.each_ref().map(String::as_str))?;
        for (shard, restarts) in restarts.into_iter().enumerate() {
            has_sidecar(cluster, &shard_pod(shard), tag, restarts + 1)?;
        }
        let after = servers(cluster)?;
        ensure!(before == after, "before: {before:?}\nafter: {after:?}");
        let image = cluster.kubectl_with(&DRY, POD)?;
        ensure!(image.ends_with(tag), "the injector gives {image}");
        visitors.were_not_disturbed(done)?;
    }
    Ok(())
}

/// What the injector makes of a pod, which is not made.
const DRY: [&str; 8] = [
    "-n",
    NAMESPACE,
    "create",
    "--dry-run=server",
    "-f",
    "-",
    "-o",
    "jsonpath={.spec.initContainers[?(@.name=='remora-sidecar')].image}",
];

const POD: &str = r#"
apiVersion: v1
kind: Pod
metadata: {name: dry, labels: {remora.dev/inject: "true"}, annotations: {remora.dev/cluster: shop}}
spec:
  securityContext: {runAsNonRoot: true, runAsUser: 999, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: app
    image: mysql:9.7
    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
"#;

const RESTARTS: &str = "{.status.initContainerStatuses[?(@.name=='remora-sidecar')].restartCount}";

/// How often the kubelet restarted each server's sidecar.
fn sidecars(cluster: &Kubernetes) -> Result<Vec<u32>> {
    let path = format!("jsonpath={RESTARTS}");
    (0..SHARDS)
        .map(|shard| {
            let restarts = kubectl(cluster, &["get", "pod", &shard_pod(shard), "-o", &path])?;
            Ok(restarts.trim().parse()?)
        })
        .collect()
}

/// Waits until the pod's sidecar was restarted with the image of this tag, and the pod is Ready.
fn has_sidecar(cluster: &Kubernetes, pod: &str, tag: &str, restarts: u32) -> Result<()> {
    let path = format!(
        "{RESTARTS} {{.status.conditions[?(@.type=='Ready')].status}} \
         {{.spec.initContainers[?(@.name=='remora-sidecar')].image}}"
    );
    let wanted = format!("{restarts} True ");
    cluster.wait_until(READY, &["-n", NAMESPACE, "pod", pod], &path, |seen| {
        seen.starts_with(&wanted) && seen.ends_with(tag)
    })?;
    Ok(())
}
