//! Many busy clients: over few connections to the server, and directly.

use anyhow::Result;
use remora_e2e::mysql::{MysqlRoot, MysqlServer};
use remora_e2e::process::raise_socket_limit;
use remora_e2e::shards::{LocalShards, with_few_connections};
use serde_json::json;

use crate::{Pace, Protocol, Spread, Sysbench, say};

/// The load.
const TEST: &str = "oltp_point_select";
/// Clients that work at the same time.
const CLIENTS: u32 = 1_000;
/// Connections that the sidecar has for them.
const CONNECTIONS: u32 = 50;

/// Transactions a second of one protocol, in each round: through the sidecar, and directly.
#[derive(Clone, Debug)]
struct Compared {
    protocol: Protocol,
    rounds: Vec<(f64, f64)>,
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct Busy {
    compared: Vec<Compared>,
}

/// Measures both in turn, on one server and the same rows.
///
/// # Errors
/// If something does not come up, or sysbench meets an error.
pub async fn measure(pace: Pace) -> Result<Busy> {
    raise_socket_limit()?;
    let (seconds, rows) = match pace.quick {
        true => (5, 10_000),
        false => (30, 100_000),
    };
    let manifest = json!({
        "apiVersion": "remora.dev/v1alpha1",
        "kind": "ShardingCluster",
        "metadata": {"name": "busy"},
        "spec": {
            "shards": 1,
            "database": "shop",
            "tables": [{
                "name": "sbtest1",
                "sharding": {"key": ["id"], "algorithm": {"hash": {}}},
                "generatedKey": {"column": "id", "type": "Sequence"},
            }],
        },
    });
    let manifest = with_few_connections(manifest, CONNECTIONS);
    let flags = [
        "--innodb-buffer-pool-size=256M".to_owned(),
        "--max-connections=4000".to_owned(),
    ];
    let shards = LocalShards::start(&MysqlRoot::get()?, &manifest, &flags).await?;
    let load = |port| Sysbench {
        port,
        account: MysqlServer::APPLICATION,
        rows,
    };
    let (ours, direct) = (load(shards.sidecar.port()), load(shards.servers[0].port()));
    ours.prepare()?;
    let mut compared = Vec::new();
    for protocol in [Protocol::Text, Protocol::Prepared] {
        let mut rounds = Vec::new();
        for round in 1..=pace.rounds {
            let ours = ours.measure(TEST, protocol, CLIENTS, seconds)?.tps;
            let direct = direct.measure(TEST, protocol, CLIENTS, seconds)?.tps;
            say(&format!(
                "{CLIENTS} clients, {}, round {round}: {ours:.0} TPS, directly {direct:.0}",
                protocol.name()
            ));
            rounds.push((ours, direct));
        }
        compared.push(Compared { protocol, rounds });
    }
    Ok(Busy { compared })
}

impl Busy {
    /// As a part of the page.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut page = format!(
            "## Busy clients\n\n`sysbench {TEST} --threads={CLIENTS}` on one server: through \
             Remora, over {CONNECTIONS} connections to it, and directly, in turn. The ratio is that of each round.\n\n\
             | | Remora, TPS | direct, TPS | ratio (goal: at least 1.2) |\n\
             | --- | --- | --- | --- |\n"
        );
        for Compared { protocol, rounds } in &self.compared {
            let of = |value: fn(&(f64, f64)) -> f64| Spread::of(rounds.iter().map(value));
            page += &format!(
                "| {} | {} | {} | {:.2} × |\n",
                protocol.name(),
                of(|round| round.0),
                of(|round| round.1),
                of(|round| round.0 / round.1),
            );
        }
        page
    }
}
