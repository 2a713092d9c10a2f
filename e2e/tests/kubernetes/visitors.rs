//! Applications under load for as long as a step takes: what it does must not reach them.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use remora_e2e::kubernetes::{Images, Kubernetes};

use crate::journey::READY;
use crate::shop::{NAMESPACE, kubectl};

/// How the pod comes to the shop.
#[derive(Clone, Copy, Debug)]
pub(crate) enum By {
    /// Through a sidecar of its own.
    Sidecar,
    /// Through the gateways' Service, from outside the mesh.
    Gateway,
}

/// A pod whose clients come and go. It ends with this value.
pub(crate) struct Visitors<'a> {
    cluster: &'a Kubernetes,
    pod: &'static str,
}

const MANIFEST: &str = r#"
apiVersion: v1
kind: Pod
metadata:
  name: NAME
  labels: {app: visitors, remora.dev/inject: "INJECT"}
  annotations: {remora.dev/cluster: shop}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  automountServiceAccountToken: false
  securityContext: {runAsNonRoot: true, runAsUser: 65532, runAsGroup: 65532, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: visitors
    image: REGISTRY/remora-demo:VERSION
    imagePullPolicy: IfNotPresent
    args: [--visits, --clients=4, --rows=0]
    securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
    env: ENVIRONMENT
"#;

/// What an injected pod gets by itself.
const GATEWAY: &str = "[{name: MYSQL_HOST, valueFrom: {secretKeyRef: {name: shop-app, key: host}}}, \
    {name: MYSQL_USER, valueFrom: {secretKeyRef: {name: shop-app, key: username}}}, \
    {name: MYSQL_PASSWORD, valueFrom: {secretKeyRef: {name: shop-app, key: password}}}, \
    {name: MYSQL_DATABASE, valueFrom: {secretKeyRef: {name: shop-app, key: database}}}]";

impl<'a> Visitors<'a> {
    /// Lets them come, and waits until some did.
    pub(crate) fn come(cluster: &'a Kubernetes, images: &Images, by: By) -> Result<Self> {
        let (pod, inject, environment) = match by {
            By::Sidecar => ("visitors", "true", "[]"),
            By::Gateway => ("visitors-of-gateways", "false", GATEWAY),
        };
        let manifest = MANIFEST
            .replace("NAME", pod)
            .replace("INJECT", inject)
            .replace("ENVIRONMENT", environment)
            .replace("REGISTRY", images.registry())
            .replace("VERSION", env!("CARGO_PKG_VERSION"));
        cluster.kubectl_with(&["-n", NAMESPACE, "apply", "-f", "-"], &manifest)?;
        let visitors = Self { cluster, pod };
        let deadline = std::time::Instant::now() + READY;
        while visitors.seen().map_or(true, |seen| seen.0 < 20) {
            ensure!(
                std::time::Instant::now() < deadline,
                "no visitor came: {:?}",
                visitors.line()
            );
            std::thread::sleep(Duration::from_millis(500));
        }
        Ok(visitors)
    }

    /// The last that they said.
    fn line(&self) -> Result<String> {
        kubectl(
            self.cluster,
            &["logs", self.pod, "-c", "visitors", "--tail=1"],
        )
    }

    /// How many visits went well, and how many did not.
    pub(crate) fn seen(&self) -> Result<(u64, u64)> {
        let line = self.line()?;
        let mut numbers = line.split_whitespace().filter_map(|word| word.parse().ok());
        let mut next = || numbers.next().with_context(|| line.clone());
        Ok((next()?, next()?))
    }

    /// More came since `before`, and none failed.
    pub(crate) fn were_not_disturbed(&self, before: u64) -> Result<()> {
        std::thread::sleep(Duration::from_secs(2));
        let (done, failed) = self.seen()?;
        ensure!(failed == 0, "{}: {}", self.pod, self.line()?.trim());
        ensure!(done > before, "{}: nobody came any more, {done}", self.pod);
        Ok(())
    }
}

impl Drop for Visitors<'_> {
    fn drop(&mut self) {
        let _gone = kubectl(
            self.cluster,
            &["delete", "pod", self.pod, "--grace-period=0", "--force"],
        );
    }
}
