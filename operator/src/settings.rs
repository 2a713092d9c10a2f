//! The operator's command line. The chart gives everything by environment.

use std::net::SocketAddr;

use clap::{ArgAction, Args, ValueEnum};
use remora_crds::Images;

use crate::build::Site;

/// How log lines look.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum LogFormat {
    /// For machines.
    Json,
    /// For people.
    Text,
}

impl LogFormat {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Text => "text",
        }
    }
}

/// Options of `remora-operator run`.
#[derive(Args, Clone, Debug)]
pub struct Settings {
    /// This pod's name: the replica's identity.
    #[arg(long, env = "POD_NAME")]
    pub pod_name: String,
    /// This pod's namespace.
    #[arg(long, env = "POD_NAMESPACE")]
    pub namespace: String,
    /// What the names of the chart's objects begin with.
    #[arg(long, env = "REMORA_RELEASE", default_value = "remora")]
    pub release: String,
    /// Namespaces to look after; all of them, where absent.
    #[arg(long, env = "REMORA_WATCH_NAMESPACES", value_delimiter = ',')]
    pub watch_namespaces: Vec<String>,
    /// Image of the sidecars.
    #[arg(long, env = "REMORA_SIDECAR_IMAGE")]
    pub sidecar_image: String,
    /// Image of mysqld's supervisor.
    #[arg(long, env = "REMORA_SUPERVISOR_IMAGE")]
    pub supervisor_image: String,
    /// Image of MySQL for clusters that name none.
    #[arg(
        long,
        env = "REMORA_MYSQL_IMAGE",
        default_value = "docker.io/library/mysql:9.7"
    )]
    pub mysql_image: String,
    /// When the kubelet pulls images of ours.
    #[arg(long, env = "REMORA_IMAGE_PULL_POLICY", default_value = "IfNotPresent")]
    pub image_pull_policy: String,
    /// Make a NetworkPolicy for each cluster.
    #[arg(
        long,
        env = "REMORA_NETWORK_POLICY",
        action = ArgAction::Set,
        default_value_t = false
    )]
    pub network_policy: bool,
    /// The DNS domain of the Kubernetes cluster.
    #[arg(long, env = "REMORA_CLUSTER_DOMAIN", default_value = "cluster.local")]
    pub cluster_domain: String,
    /// Where the injector listens.
    #[arg(long, env = "REMORA_WEBHOOK_LISTEN", default_value = "0.0.0.0:9443")]
    pub webhook_listen: SocketAddr,
    /// Where sidecars find snapshots.
    #[arg(long, env = "REMORA_DISCOVERY_LISTEN", default_value = "0.0.0.0:8443")]
    pub discovery_listen: SocketAddr,
    /// Where probes and metrics are served.
    #[arg(long, env = "REMORA_PROBES_LISTEN", default_value = "0.0.0.0:8080")]
    pub probes_listen: SocketAddr,
    /// How log lines look, of the operator and of sidecars.
    #[arg(long, env = "REMORA_LOG_FORMAT", value_enum, default_value = "json")]
    pub log_format: LogFormat,
}

impl Settings {
    /// Where sidecars find the operator.
    #[must_use]
    pub fn discovery(&self) -> String {
        format!("https://{}:8443", self.discovery_host())
    }

    /// The name of the discovery server.
    #[must_use]
    pub fn discovery_host(&self) -> String {
        format!("{}-discovery.{}.svc", self.release, self.namespace)
    }

    /// The names that the operator's server certificate bears.
    #[must_use]
    pub fn server_names(&self) -> Vec<String> {
        vec![
            self.discovery_host(),
            format!("{}-webhook.{}.svc", self.release, self.namespace),
        ]
    }

    /// The Secret with the CA, which all replicas share.
    #[must_use]
    pub fn ca_secret(&self) -> String {
        format!("{}-ca", self.release)
    }

    /// The Lease of the leader.
    #[must_use]
    pub fn lease(&self) -> String {
        format!("{}-leader", self.release)
    }

    /// The webhook configuration that the chart installs.
    #[must_use]
    pub fn injector(&self) -> String {
        format!("{}-injector", self.release)
    }

    /// Images of this version.
    #[must_use]
    pub fn images(&self) -> Images {
        Images {
            mysql: self.mysql_image.clone(),
            sidecar: self.sidecar_image.clone(),
            supervisor: self.supervisor_image.clone(),
        }
    }

    /// What builders need.
    #[must_use]
    pub fn site(&self, ca: &str) -> Site {
        Site {
            discovery: self.discovery(),
            domain: self.cluster_domain.clone(),
            ca: ca.to_owned(),
            log_format: self.log_format.name().to_owned(),
            image_pull_policy: self.image_pull_policy.clone(),
            network_policy: self.network_policy,
        }
    }
}
