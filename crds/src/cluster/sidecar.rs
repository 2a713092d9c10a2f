//! `spec.sidecar`: the proxies.

use std::ops::RangeInclusive;
use std::time;

use kube::KubeSchema;
use kube::core::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Resources;

/// The sidecars of a cluster.
#[derive(Clone, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Sidecar {
    /// CPU and memory of each sidecar. Where absent, a request of 50m CPU and 64Mi memory, and a
    /// limit of 256Mi memory.
    #[serde(default)]
    pub resources: Resources,
    /// How many connections a sidecar opens to each MySQL server at most. Clients share them:
    /// whoever needs one waits for one that is free. 100 by default.
    #[serde(default = "backend_connections")]
    #[schemars(range(min = 1, max = 10000))]
    pub backend_connections: u32,
    /// How connections to MySQL are kept.
    #[serde(default)]
    pub pool: Pool,
    /// Whether clients must use TLS, as with MySQL's `require_secure_transport`: `Preferred` (they
    /// may) or `Required` (others get error 3159, but for those on loopback, whom nobody can listen
    /// to).
    #[serde(default)]
    pub client_tls: ClientTls,
    /// Where the certificate authorities stand by which clients' certificates are verified, as PEM
    /// in a Secret of the cluster's namespace. Without it clients show none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_ca_secret_ref: Option<CertificateKeyRef>,
}

/// Whether clients must use TLS.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum ClientTls {
    /// They may.
    #[default]
    Preferred,
    /// They must, but for those on loopback.
    Required,
}

/// A key of a Secret with certificates, in the cluster's namespace.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CertificateKeyRef {
    /// The Secret's name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The key within the Secret.
    #[serde(default = "ca_crt")]
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
}

fn ca_crt() -> String {
    "ca.crt".to_owned()
}

/// How a sidecar's connections to MySQL are kept.
#[derive(Clone, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pool {
    /// How long a statement waits for a free connection before it gets error 1040. From 10ms to
    /// 5m; 10s by default.
    #[serde(default = "queue_timeout")]
    #[schemars(schema_with = "super::span::schema")]
    #[x_kube(validation = Rule::new("duration(self) >= duration('10ms') && duration(self) <= duration('5m')")
        .message("spec.sidecar.pool.queueTimeout must be from 10ms to 5m; clients wait for it"))]
    pub queue_timeout: Duration,
    /// How long a connection that nobody uses stays open. From 1s to 8h; 5m by default.
    #[serde(default = "idle_timeout")]
    #[schemars(schema_with = "super::span::schema")]
    #[x_kube(validation = Rule::new("duration(self) >= duration('1s') && duration(self) <= duration('8h')")
        .message("spec.sidecar.pool.idleTimeout must be from 1s to 8h, when MySQL closes idle connections itself"))]
    pub idle_timeout: Duration,
    /// How old a connection may be when it changes hands. From 10s to 24h; 30m by default.
    #[serde(default = "max_lifetime")]
    #[schemars(schema_with = "super::span::schema")]
    #[x_kube(validation = Rule::new("duration(self) >= duration('10s') && duration(self) <= duration('24h')")
        .message("spec.sidecar.pool.maxLifetime must be from 10s to 24h"))]
    pub max_lifetime: Duration,
    /// How many connections to each server are kept open, idle ones among them, as whoever logged
    /// in last. 0 by default.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1000))]
    pub warm_connections: u32,
}

fn backend_connections() -> u32 {
    100
}

fn queue_timeout() -> Duration {
    time::Duration::from_secs(10).into()
}

fn idle_timeout() -> Duration {
    time::Duration::from_secs(300).into()
}

fn max_lifetime() -> Duration {
    time::Duration::from_secs(1800).into()
}

impl Sidecar {
    /// What `backendConnections` may be.
    pub const BACKEND_CONNECTIONS: RangeInclusive<u32> = 1..=10_000;
}

impl Pool {
    /// What `queueTimeout` may be.
    pub const QUEUE_TIMEOUTS: RangeInclusive<time::Duration> =
        time::Duration::from_millis(10)..=time::Duration::from_secs(300);
    /// What `idleTimeout` may be.
    pub const IDLE_TIMEOUTS: RangeInclusive<time::Duration> =
        time::Duration::from_secs(1)..=time::Duration::from_secs(8 * 3600);
    /// What `maxLifetime` may be.
    pub const MAX_LIFETIMES: RangeInclusive<time::Duration> =
        time::Duration::from_secs(10)..=time::Duration::from_secs(24 * 3600);
    /// What `warmConnections` may be.
    pub const WARM_CONNECTIONS: RangeInclusive<u32> = 0..=1000;
}

impl Default for Sidecar {
    fn default() -> Self {
        Self {
            resources: Resources::default(),
            backend_connections: backend_connections(),
            pool: Pool::default(),
            client_tls: ClientTls::default(),
            client_ca_secret_ref: None,
        }
    }
}

impl Default for Pool {
    fn default() -> Self {
        Self {
            queue_timeout: queue_timeout(),
            idle_timeout: idle_timeout(),
            max_lifetime: max_lifetime(),
            warm_connections: 0,
        }
    }
}
