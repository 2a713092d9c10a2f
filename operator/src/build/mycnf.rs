//! my.cnf of the MySQL servers.

use std::fmt::Write;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use remora_crds::ShardingClusterSpec;

use crate::names::SERVER_PORT;

/// What all sidecars share: see `crate::shares`.
const MAX_CONNECTIONS: u32 = 1000;
/// The largest that MySQL takes.
const MOST_CONNECTIONS: u64 = 100_000;
/// MySQL's own default; fewer would close tables that one statement has just opened.
const TABLE_CACHE: u32 = 4000;
/// Beyond this, the cache costs more memory than opening a table costs time.
const LARGEST_TABLE_CACHE: u32 = 65_536;
/// Each client's prepared statement is prepared again for each physical table it meets.
const MAX_PREPARED_STATEMENTS: u32 = 1_048_576;

/// The file: what the manifest asks for, in the middle of defaults that it may change and
/// of options on which the data's safety hangs, which stand last and so win.
#[must_use]
pub fn my_cnf(spec: &ShardingClusterSpec) -> String {
    let mut file = "[mysqld]\n".to_owned();
    for (name, value) in defaults(spec) {
        if !spec.mysql.config.contains_key(name) {
            line(&mut file, name, &value);
        }
    }
    for (name, value) in &spec.mysql.config {
        match value {
            IntOrString::Int(number) => line(&mut file, name, &number.to_string()),
            IntOrString::String(text) => line(&mut file, name, text),
        }
    }
    for (name, value) in forced() {
        line(&mut file, name, &value);
    }
    if spec.replicas() > 0 {
        for (name, value) in REPLICATED {
            line(&mut file, name, value);
        }
    }
    file
}

/// How many connections a server takes.
#[must_use]
pub fn max_connections(spec: &ShardingClusterSpec) -> u32 {
    let named = |name: &str| {
        let name = name.replace('-', "_");
        name.trim_start_matches("loose_") == "max_connections"
    };
    let mut set = spec.mysql.config.iter().filter(|(name, _)| named(name));
    let number = set.next_back().and_then(|(_, value)| match value {
        IntOrString::Int(number) => u64::try_from(*number).ok(),
        IntOrString::String(text) => number_of(text),
    });
    let number = number.and_then(|number| u32::try_from(number.min(MOST_CONNECTIONS)).ok());
    number.map_or(MAX_CONNECTIONS, |number| number.max(1))
}

/// A number as options have it: `2K` is 2048.
fn number_of(text: &str) -> Option<u64> {
    let text = text.trim();
    let unit = match text.chars().last()?.to_ascii_uppercase() {
        'K' => 1 << 10,
        'M' => 1 << 20,
        'G' => 1 << 30,
        _ => return text.parse().ok(),
    };
    let number: u64 = text[..text.len() - 1].parse().ok()?;
    number.checked_mul(unit)
}

fn line(file: &mut String, name: &str, value: &str) {
    // Writing into a String cannot fail.
    let _ = writeln!(file, "{name} = {value}");
}

fn defaults(spec: &ShardingClusterSpec) -> Vec<(&'static str, String)> {
    let tables = physical_tables(spec);
    // 16 connections at work on each table at once is more than a shard can run.
    let cache = (tables * 16).clamp(TABLE_CACHE, LARGEST_TABLE_CACHE);
    vec![
        ("max_connections", MAX_CONNECTIONS.to_string()),
        (
            "max_prepared_stmt_count",
            MAX_PREPARED_STATEMENTS.to_string(),
        ),
        ("table_definition_cache", (tables + 2000).to_string()),
        ("table_open_cache", cache.to_string()),
    ]
}

fn physical_tables(spec: &ShardingClusterSpec) -> u32 {
    let of = |table: &remora_crds::Table| {
        table
            .sharding
            .as_ref()
            .map_or(1, |sharding| spec.tables_per_shard(sharding).into())
    };
    spec.tables.iter().map(of).fold(0_u32, u32::saturating_add)
}

/// What servers have beside others of their shard. Growing from one instance to more restarts
/// the primary once for these.
const REPLICATED: [(&str, &str); 12] = [
    ("plugin_load_add", "rpl_semi_sync_source=semisync_source.so"),
    (
        "plugin_load_add",
        "rpl_semi_sync_replica=semisync_replica.so",
    ),
    ("plugin_load_add", "clone=mysql_clone.so"),
    // A server takes no write before its agent knows that it is the primary.
    ("super_read_only", "ON"),
    ("read_only", "ON"),
    // A replica follows once its agent has compared its transactions with the primary's.
    ("skip_replica_start", "ON"),
    // A primary whose heartbeat, each two seconds, stays out so long is connected to anew.
    ("replica_net_timeout", "10"),
    // Relay logs may hold the only copy of a commit that was acknowledged.
    ("relay_log_recovery", "OFF"),
    // The default name holds the host's, which is another one in a copy.
    ("relay_log", "relay"),
    ("log_replica_updates", "ON"),
    // The longest that it takes, 49 days: a commit is never acknowledged without its replicas.
    // Loose, since `--initialize` loads no plugin.
    ("loose_rpl_semi_sync_source_timeout", "4294967295"),
    ("loose_rpl_semi_sync_source_wait_no_replica", "ON"),
];

fn forced() -> Vec<(&'static str, String)> {
    [
        ("bind_address", "*"),
        ("admin_address", "127.0.0.1"),
        ("admin_port", "33062"),
        ("mysqlx", "OFF"),
        // Sidecars alone come by TCP; the agent comes by the socket, which is exempt.
        ("require_secure_transport", "ON"),
        ("ssl_ca", "/etc/remora/tls/ca.crt"),
        ("ssl_cert", "/etc/remora/tls/tls.crt"),
        ("ssl_key", "/etc/remora/tls/tls.key"),
        ("skip_name_resolve", "ON"),
        ("secure_file_priv", "NULL"),
        ("tmpdir", "/tmp"),
        ("log_bin", "binlog"),
        ("gtid_mode", "ON"),
        ("enforce_gtid_consistency", "ON"),
        ("sync_binlog", "1"),
        ("innodb_flush_log_at_trx_commit", "1"),
        ("character_set_server", "utf8mb4"),
        ("collation_server", "utf8mb4_0900_ai_ci"),
        ("lower_case_table_names", "0"),
        // Application users have all but the schemas `mysql` and `remora`.
        ("partial_revokes", "ON"),
        // Whoever recovers ends branches that their coordinator still holds on to.
        ("xa_detach_on_prepare", "ON"),
    ]
    .map(|(name, value)| (name, value.to_owned()))
    .into_iter()
    .chain([("port", SERVER_PORT.to_string())])
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_connections_is_read_as_mysql_reads_it() {
        let of = |options: &[(&str, IntOrString)]| {
            let mut spec = crate::fixtures::shop().spec;
            spec.mysql.config.clear();
            let options = options.iter().cloned();
            let options = options.map(|(name, value)| (name.to_owned(), value));
            spec.mysql.config.extend(options);
            max_connections(&spec)
        };
        let text = |text: &str| IntOrString::String(text.to_owned());
        assert_eq!(of(&[]), 1000);
        assert_eq!(of(&[("max_connections", IntOrString::Int(200))]), 200);
        assert_eq!(of(&[("max-connections", text("2k"))]), 2048);
        assert_eq!(of(&[("max_connections", text("1000000"))]), 100_000);
        assert_eq!(of(&[("max_connections", IntOrString::Int(-3))]), 1000);
        assert_eq!(of(&[("max_connections", IntOrString::Int(0))]), 1);
        assert_eq!(of(&[("max_user_connections", IntOrString::Int(9))]), 1000);
    }
}
