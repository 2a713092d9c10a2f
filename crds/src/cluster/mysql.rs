//! `spec.mysql`: the servers themselves.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Amount;

/// Options of mysqld that Remora sets itself, because the data's safety or its own working
/// depends on them. `spec.mysql.config` may not name them.
pub const RESERVED_OPTIONS: &[&str] = &[
    "admin_address",
    "admin_port",
    "bind_address",
    "binlog_format",
    "character_set_server",
    "clone_ssl_ca",
    "clone_valid_donor_list",
    "collation_server",
    "datadir",
    "enforce_gtid_consistency",
    "gtid_mode",
    "innodb_flush_log_at_trx_commit",
    "log_bin",
    "log_replica_updates",
    "log_slave_updates",
    "lower_case_table_names",
    "mysqlx",
    "partial_revokes",
    "pid_file",
    "plugin_load",
    "plugin_load_add",
    "port",
    "read_only",
    "relay_log",
    "relay_log_recovery",
    "replica_net_timeout",
    "report_host",
    "report_port",
    "require_secure_transport",
    "rpl_semi_sync_replica_enabled",
    "rpl_semi_sync_source_enabled",
    "rpl_semi_sync_source_timeout",
    "rpl_semi_sync_source_wait_for_replica_count",
    "rpl_semi_sync_source_wait_no_replica",
    "rpl_semi_sync_source_wait_point",
    "secure_file_priv",
    "server_id",
    "skip_grant_tables",
    "skip_name_resolve",
    "skip_networking",
    "skip_replica_start",
    "skip_slave_start",
    "socket",
    "ssl_ca",
    "ssl_cert",
    "ssl_key",
    "super_read_only",
    "sync_binlog",
    "tmpdir",
    "user",
    "xa_detach_on_prepare",
];

/// The MySQL servers of a cluster.
#[derive(Clone, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Mysql {
    /// Image of the MySQL servers, 9.7. Where absent, the operator's default at the time the
    /// cluster was made, which `status.images` then pins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub image: Option<String>,
    /// The volume of each server.
    #[serde(default)]
    pub storage: Storage,
    /// CPU and memory of each server. A server with default options needs some 600 MiB.
    #[serde(default)]
    pub resources: Resources,
    /// Options for the `[mysqld]` section of my.cnf, written with underscores, such as
    /// `innodb_buffer_pool_size: 4G`. Options on which the data's safety hangs are refused.
    #[serde(default)]
    #[schemars(extend("maxProperties" = 64))]
    #[x_kube(validation = Rule::new("!['admin_address', 'admin_port', 'bind_address', 'binlog_format', 'character_set_server', 'clone_ssl_ca', 'clone_valid_donor_list', 'collation_server', 'datadir', 'enforce_gtid_consistency', 'gtid_mode', 'innodb_flush_log_at_trx_commit', 'log_bin', 'log_replica_updates', 'log_slave_updates', 'lower_case_table_names', 'mysqlx', 'partial_revokes', 'pid_file', 'plugin_load', 'plugin_load_add', 'port', 'read_only', 'relay_log', 'relay_log_recovery', 'replica_net_timeout', 'report_host', 'report_port', 'require_secure_transport', 'rpl_semi_sync_replica_enabled', 'rpl_semi_sync_source_enabled', 'rpl_semi_sync_source_timeout', 'rpl_semi_sync_source_wait_for_replica_count', 'rpl_semi_sync_source_wait_no_replica', 'rpl_semi_sync_source_wait_point', 'secure_file_priv', 'server_id', 'skip_grant_tables', 'skip_name_resolve', 'skip_networking', 'skip_replica_start', 'skip_slave_start', 'socket', 'ssl_ca', 'ssl_cert', 'ssl_key', 'super_read_only', 'sync_binlog', 'tmpdir', 'user', 'xa_detach_on_prepare'].exists(o, o in self)")
        .message("spec.mysql.config sets an option that Remora sets itself (such as port, socket, datadir, gtid_mode, log_bin, server_id, sync_binlog); remove it"))]
    pub config: BTreeMap<String, IntOrString>,
    /// User and group that the pods run as, and that own the volume. 999 is the official image's
    /// `mysql`.
    #[serde(default = "image_user")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub run_as_user: i64,
}

impl Default for Mysql {
    fn default() -> Self {
        Self {
            image: None,
            storage: Storage::default(),
            resources: Resources::default(),
            config: BTreeMap::new(),
            run_as_user: image_user(),
        }
    }
}

fn image_user() -> i64 {
    999
}

/// The volume of each MySQL server.
#[derive(Clone, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(validation = Rule::new("self == oldSelf")
    .message("spec.mysql.storage cannot change in this version: a StatefulSet's volumes are fixed when it is made; set it back"))]
pub struct Storage {
    /// Size of the volume, for instance `10Gi`.
    #[serde(default = "ten_gi")]
    pub size: Amount,
    /// StorageClass of the volume. Where absent, the Kubernetes cluster's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub storage_class_name: Option<String>,
}

impl Default for Storage {
    fn default() -> Self {
        Self {
            size: ten_gi(),
            storage_class_name: None,
        }
    }
}

fn ten_gi() -> Amount {
    "10Gi".into()
}

/// CPU and memory of a container.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Resources {
    /// What the scheduler sets aside, for instance `{cpu: 500m, memory: 1Gi}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 16))]
    pub requests: BTreeMap<String, Amount>,
    /// What the container may not exceed, for instance `{memory: 2Gi}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 16))]
    pub limits: BTreeMap<String, Amount>,
}
