//! What lies on the volumes of the MySQL pods, as a thief of the disks would read it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use remora_e2e::kubernetes::Kubernetes;

use crate::shop::kubectl;

/// The pods of both shards: each primary, and its replica.
pub(crate) const SERVERS: [&str; 4] = ["shop-0-0", "shop-0-1", "shop-1-0", "shop-1-1"];

/// The volume of a server, on this machine.
fn volume(cluster: &Kubernetes, server: &str) -> Result<PathBuf> {
    let claim = format!("data-{server}");
    let path = "jsonpath={.spec.volumeName}";
    let name = kubectl(cluster, &["get", "pvc", &claim, "-o", path])?;
    let path = "jsonpath={.spec.hostPath.path}{.spec.local.path}";
    let inside = cluster.kubectl(&["get", "pv", &name, "-o", path])?;
    let below = inside
        .strip_prefix("/node/")
        .with_context(|| format!("the volume of {server} is {inside:?}"))?;
    Ok(cluster.run().path().join(below))
}

/// All files of a server's volume.
pub(crate) fn files(cluster: &Kubernetes, server: &str) -> Result<Vec<PathBuf>> {
    let (mut folders, mut found) = (vec![volume(cluster, server)?], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                found.push(entry.path());
            }
        }
    }
    Ok(found)
}

/// The content of a file; nothing, if it went away meanwhile.
pub(crate) fn content(file: &Path) -> Result<Vec<u8>> {
    match fs::read(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        content => content.with_context(|| file.display().to_string()),
    }
}

/// How often the text stands in a server's general log, which the journey's manifest asks for.
pub(crate) fn logged(cluster: &Kubernetes, server: &str, text: &str) -> Result<usize> {
    let name = format!("{server}.log");
    let log = files(cluster, server)?
        .into_iter()
        .find(|file| file.ends_with(&name));
    let log = content(&log.with_context(|| format!("{server} has no {name}"))?)?;
    Ok(memchr::memmem::find_iter(&log, text).count())
}
