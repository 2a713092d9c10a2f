//! The command line. Every flag has an environment variable, by which pods set it.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use remora_sidecar::telemetry::LogFormat;

/// The data plane of Remora.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve clients.
    Run(Run),
}

/// How to serve clients.
#[derive(Args, Debug)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) source: Source,
    #[command(flatten)]
    pub(crate) discovery: Discovery,
    /// Where MySQL clients connect.
    #[arg(
        long,
        env = "REMORA_LISTEN",
        value_name = "ADDR",
        default_value = "127.0.0.1:3306"
    )]
    pub(crate) listen: SocketAddr,
    /// Where probes and metrics are served, and over loopback the configuration too.
    #[arg(
        long,
        env = "REMORA_ADMIN",
        value_name = "ADDR",
        default_value = "127.0.0.1:9090"
    )]
    pub(crate) admin: SocketAddr,
    /// The form of the logs; RUST_LOG says which.
    #[arg(
        long,
        env = "REMORA_LOG_FORMAT",
        value_name = "FORMAT",
        default_value = "text"
    )]
    pub(crate) log_format: LogFormat,
}

/// Where the configuration comes from.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub(crate) struct Source {
    /// The manifest and the topology, as two YAML documents of a file.
    #[arg(long, env = "REMORA_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The operator: https://RELEASE-discovery.NAMESPACE.svc:8443.
    #[arg(
        long = "discovery",
        env = "REMORA_DISCOVERY",
        value_name = "URL",
        requires = "cluster"
    )]
    pub(crate) operator: Option<String>,
}

/// How the operator is asked.
#[derive(Args, Debug)]
#[command(next_help_heading = "With --discovery")]
pub(crate) struct Discovery {
    /// The cluster; its namespace is that of the pod by default.
    #[arg(long, env = "REMORA_CLUSTER", value_name = "[NAMESPACE/]NAME")]
    pub(crate) cluster: Option<String>,
    /// The pod's namespace.
    #[arg(
        long,
        env = "POD_NAMESPACE",
        value_name = "NAMESPACE",
        default_value = "default",
        hide = true
    )]
    pub(crate) pod_namespace: String,
    /// What the sidecar is for.
    #[arg(long, env = "REMORA_ROLE", value_enum, default_value_t = Role::Application)]
    pub(crate) role: Role,
    /// The operator's certificate authority, as PEM.
    #[arg(
        long,
        env = "REMORA_DISCOVERY_CA",
        value_name = "FILE",
        default_value = "/etc/remora/discovery/ca.crt"
    )]
    pub(crate) discovery_ca: PathBuf,
    /// The pod's service account token for the operator.
    #[arg(
        long,
        env = "REMORA_TOKEN_FILE",
        value_name = "FILE",
        default_value = "/var/run/secrets/remora.dev/token"
    )]
    pub(crate) token_file: PathBuf,
    /// Where the last snapshot is kept. It holds passwords: a memory-backed volume.
    #[arg(
        long,
        env = "REMORA_SNAPSHOT_FILE",
        value_name = "FILE",
        default_value = "/run/remora-snapshot/snapshot"
    )]
    pub(crate) snapshot_file: PathBuf,
    /// The pod's mysqld, for the role agent.
    #[arg(
        long,
        env = "REMORA_MYSQL_SOCKET",
        value_name = "FILE",
        default_value = "/run/remora/mysql.sock"
    )]
    pub(crate) mysql_socket: PathBuf,
    /// The folder with the certificate of the pod's mysqld (tls.crt) and the CAs that it trusts
    /// (ca.crt), for the role agent: it tells mysqld when they change.
    #[arg(long, env = "REMORA_MYSQL_TLS", value_name = "FOLDER")]
    pub(crate) mysql_tls: Option<PathBuf>,
}

/// What a sidecar is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Role {
    /// In an application's pod.
    Application,
    /// In a MySQL pod: a gateway, and the agent of the pod's mysqld.
    Agent,
}

impl From<Role> for remora_discovery::Role {
    fn from(role: Role) -> Self {
        match role {
            Role::Application => Self::Application,
            Role::Agent => Self::Agent,
        }
    }
}

impl Discovery {
    /// Namespace and name of the cluster.
    pub(crate) fn cluster(&self) -> (String, String) {
        let cluster = self.cluster.as_deref().unwrap_or_default();
        let (namespace, name) = cluster
            .split_once('/')
            .unwrap_or((&self.pod_namespace, cluster));
        (namespace.to_owned(), name.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Run, clap::Error> {
        let words = ["remora-sidecar", "run"]
            .into_iter()
            .chain(line.split_whitespace());
        Arguments::try_parse_from(words).map(
            |Arguments {
                 command: Command::Run(run),
             }| run,
        )
    }

    #[test]
    fn a_file_is_enough() {
        let run = parse("--config shop.yaml").unwrap();
        assert_eq!(run.listen.to_string(), "127.0.0.1:3306");
        assert_eq!(run.admin.to_string(), "127.0.0.1:9090");
    }

    #[test]
    fn a_cluster_may_bear_its_namespace() {
        let line = "--discovery https://x --role agent --cluster";
        let run = parse(&format!("{line} data/shop")).unwrap();
        assert_eq!(
            run.discovery.cluster(),
            ("data".to_owned(), "shop".to_owned())
        );
        let run = parse(&format!("{line} shop --pod-namespace mine")).unwrap();
        assert_eq!(
            run.discovery.cluster(),
            ("mine".to_owned(), "shop".to_owned())
        );
    }

    #[test]
    fn one_source_is_needed_and_the_operator_needs_a_name() {
        for line in [
            "",
            "--config a --discovery https://x --cluster b",
            "--discovery https://x",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
