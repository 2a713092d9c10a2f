//! What a node must leave alone on the machine that it runs on.

use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::scripts::node_root;

/// The parts of the machine's state that a Kubernetes node usually changes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HostState {
    /// What `iptables-save` prints, without counters.
    pub rules: String,
    /// The names of the network links.
    pub links: Vec<String>,
    /// What is mounted where.
    pub mounts: Vec<String>,
    /// The kernel's settings that the kubelet and kube-proxy write.
    pub settings: Vec<String>,
    /// Cgroups at the root of each hierarchy that are a node's.
    pub cgroups: Vec<String>,
}

/// The kubelet writes the first six, kube-proxy and a usual node's set-up the others.
const SETTINGS: [&str; 10] = [
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
    "net/ipv4/ip_forward",
    "net/ipv4/conf/all/route_localnet",
    "net/netfilter/nf_conntrack_tcp_timeout_close_wait",
    "net/bridge/bridge-nf-call-iptables",
];

impl HostState {
    /// The machine as it is now.
    ///
    /// # Errors
    /// If `/proc` or `/sys` cannot be read.
    pub fn observe() -> Result<Self> {
        let mut links = Vec::new();
        for link in fs::read_dir("/sys/class/net")? {
            links.push(link?.file_name().to_string_lossy().into_owned());
        }
        links.sort();
        let mut mounts: Vec<String> = fs::read_to_string("/proc/self/mounts")?
            .lines()
            .map(str::to_owned)
            .collect();
        mounts.sort();
        let settings = SETTINGS
            .iter()
            .map(|name| {
                let value = fs::read_to_string(format!("/proc/sys/{name}")).unwrap_or_default();
                format!("{name} = {}", value.trim())
            })
            .collect();
        Ok(Self {
            rules: rules()?,
            links,
            mounts,
            settings,
            cgroups: node_cgroups()?,
        })
    }
}

/// The packet filter of the host, without the counters, which change by themselves. The program
/// is the node's: the host may have none.
fn rules() -> Result<String> {
    let output = Command::new("chroot")
        .arg(node_root()?)
        .arg("iptables-save")
        .output()
        .context("cannot run chroot")?;
    if !output.status.success() {
        bail!("iptables-save: {}", String::from_utf8_lossy(&output.stderr));
    }
    let text = String::from_utf8(output.stdout)?;
    let rules = text.lines().filter(|line| !line.starts_with('#'));
    Ok(rules
        .map(|line| line.split('[').next().unwrap_or(line))
        .collect::<Vec<_>>()
        .join("\n"))
}

fn node_cgroups() -> Result<Vec<String>> {
    let mut found = Vec::new();
    for hierarchy in fs::read_dir("/sys/fs/cgroup")?.flatten() {
        let Ok(groups) = fs::read_dir(hierarchy.path()) else {
            continue;
        };
        for name in groups.flatten().map(|group| group.file_name()) {
            if ["kubepods", "k8s.io"]
                .iter()
                .any(|node| name.to_string_lossy().starts_with(node))
            {
                found.push(name.to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    Ok(found)
}
