//! Remora on a node: the chart, and the manifests of the examples.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::scripts::script;
use super::{Images, Kubernetes};

/// Where the operator runs.
pub const SYSTEM: &str = "remora-system";

/// The label by which the API server refuses pods that could become root or leave their box.
const RESTRICTED: &str = "pod-security.kubernetes.io/enforce=restricted";

impl Kubernetes {
    /// Makes a namespace, if it is missing, in which only harmless pods may run.
    ///
    /// # Errors
    /// If the API server refuses it.
    pub fn restricted_namespace(&self, name: &str) -> Result<()> {
        self.apply(&format!(
            "{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}}}}}"
        ))?;
        self.kubectl(&["label", "--overwrite", "namespace", name, RESTRICTED])?;
        Ok(())
    }

    /// Installs or upgrades the chart with `program`, `helm` or `helm3`, and waits for it.
    ///
    /// # Errors
    /// If Helm refuses it or the operator does not become ready.
    pub fn install_chart(&self, program: &str, images: &Images, settings: &[&str]) -> Result<()> {
        self.restricted_namespace(SYSTEM)?;
        let chart = script("../charts/remora");
        let mut helm = self.command(program);
        helm.args([
            "upgrade",
            "--install",
            "remora",
            "--namespace",
            SYSTEM,
            "--wait",
        ])
        .args(["--timeout", "3m", "--set"])
        .arg(format!("image.registry={}", images.registry()));
        for setting in settings {
            helm.args(["--set", setting]);
        }
        super::kubectl::output(helm.arg(chart), None)?;
        Ok(())
    }

    /// Waits until a ShardingCluster serves.
    ///
    /// # Errors
    /// If it does not in time; the text has its conditions.
    pub fn wait_available(&self, namespace: &str, name: &str, limit: Duration) -> Result<()> {
        let object = format!("shardingcluster/{name}");
        let timeout = format!("--timeout={}s", limit.as_secs());
        let wait = [
            "-n",
            namespace,
            "wait",
            &object,
            "--for=condition=Available",
            &timeout,
        ];
        self.kubectl(&wait).with_context(|| {
            let path = "-o=jsonpath={.status}";
            let status = self.kubectl(&["-n", namespace, "get", &object, path]);
            format!("{object} does not serve: {status:?}")
        })?;
        Ok(())
    }
}

/// A manifest of `examples/`, as a person applies it.
///
/// # Errors
/// If there is none of that name.
pub fn example(name: &str) -> Result<String> {
    let path = script("../examples").join(name);
    fs::read_to_string(&path).with_context(|| path.display().to_string())
}

/// The Job with the demo's load.
///
/// # Errors
/// If its manifest cannot be read.
pub fn load_job(images: &Images) -> Result<String> {
    let manifest = fs::read_to_string(script("manifests/load.yaml"))?;
    Ok(manifest
        .replace("REGISTRY", images.registry())
        .replace("VERSION", env!("CARGO_PKG_VERSION")))
}
