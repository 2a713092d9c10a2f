//! What the operator would order for one shard.

use anyhow::{Context as _, Result};
use remora_crds::{LayoutDocument, ShardingClusterSpec};
use remora_discovery::{Account, AgentOrders, Identity, LayoutOrder, Snapshot};
use serde_json::{Value, json};

/// The operator's own list of what each account may do.
const RIGHTS: &str = include_str!(
    "../../../operator/src/snapshots/\
     remora_operator__accounts__tests__what_each_account_may_do_is_listed.snap"
);

/// Orders for a table with `slots` physical tables.
pub(crate) fn snapshot(
    port: u16,
    slots: u16,
    epoch: u64,
    users: &[(&str, &str)],
) -> Result<Snapshot> {
    snapshot_of(port, &json!([pressure_test(slots)]), epoch, users)
}

/// The table that each manifest here has.
pub(crate) fn pressure_test(slots: u16) -> Value {
    json!({
        "name": "pressure_test",
        "sharding": {"key": ["id"], "algorithm": {"hash": {}}, "tablesPerShard": slots},
        "generatedKey": {"column": "id", "type": "Sequence"},
    })
}

/// Orders for `tables`.
pub(crate) fn snapshot_of(
    port: u16,
    tables: &Value,
    epoch: u64,
    users: &[(&str, &str)],
) -> Result<Snapshot> {
    let spec: ShardingClusterSpec = serde_json::from_value(json!({
        "shards": 1,
        "database": "shop",
        "tables": tables,
    }))?;
    let credentials: Vec<_> = users
        .iter()
        .map(|(name, password)| json!({"name": name, "password": password}))
        .collect();
    let topology = serde_json::from_value(json!({
        "apiVersion": "remora.dev/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": "shop"},
        "epoch": epoch,
        "shards": [{"instances": [{"host": "127.0.0.1", "port": port, "role": "Primary"}]}],
        "users": credentials,
        "system": {"name": "remora_sidecar", "password": "side'\\car"},
    }))?;
    let layout = LayoutDocument::of(&spec);
    let orders = AgentOrders {
        shard: 0,
        accounts: accounts(users)?,
        layout: LayoutOrder {
            cluster_uid: "uid".to_owned(),
            fingerprint: layout.fingerprint(),
            document: layout.to_json(),
        },
        gateway: None,
    };
    Ok(Snapshot {
        identity: Identity {
            uid: "uid".to_owned(),
            epoch,
            content_hash: String::new(),
        },
        namespace: "default".to_owned(),
        name: "shop".to_owned(),
        spec,
        topology,
        backend_ca: None,
        agent: Some(orders),
    }
    .hashed())
}

fn accounts(users: &[(&str, &str)]) -> Result<Vec<Account>> {
    let system = [
        ("remora_agent", "localhost", "ag'ent"),
        ("remora_probe", "localhost", ""),
        ("remora_sidecar", "%", "side'\\car"),
    ];
    let system = system.map(|(name, host, password)| account(name, name, host, password));
    // The list has one user, `app`, and others may the same.
    let users = users
        .iter()
        .map(|(name, password)| account("app", name, "%", password));
    system.into_iter().chain(users).collect()
}

/// The account with the rights that the list has under `listed`.
fn account(listed: &str, name: &str, host: &str, password: &str) -> Result<Account> {
    let prefix = format!("{listed}@{host}: ");
    let mut account = Account {
        name: name.to_owned(),
        password: password.to_owned(),
        host: host.to_owned(),
        grants: Vec::new(),
        revokes: Vec::new(),
    };
    for line in RIGHTS.lines().filter_map(|line| line.strip_prefix(&prefix)) {
        let (verb, what) = line.split_once(' ').context("no verb")?;
        let list = match verb {
            "GRANT" => &mut account.grants,
            _ => &mut account.revokes,
        };
        list.push(what.to_owned());
    }
    Ok(account)
}
