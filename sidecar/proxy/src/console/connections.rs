//! `SHOW REMORA CONNECTIONS`.

use super::Table;
use crate::instances::{Fleet, Member};
use crate::snapshot::Connections;

/// The pool of each MySQL server: how many connections there may be, are, and are waited for, and
/// what the sidecar does about others that want some.
pub(crate) fn connections(fleets: &[Fleet], connections: &Connections) -> Table {
    let members = fleets.iter().flat_map(|fleet| &fleet.members);
    let row = |member: &Member| {
        let pool = member.server.pool();
        let (open, idle, waiting) = pool.counts();
        let mode = match (connections.through(), pool.takes_turns()) {
            (Some(_), _) => "gateway",
            (None, true) => "turns",
            (None, false) => "direct",
        };
        let share = connections.share.map(|share| share.to_string());
        vec![
            member.server.address().shard.to_string(),
            format!("{}:{}", member.instance.host, member.instance.port),
            mode.to_owned(),
            share.unwrap_or_default(),
            pool.bounds().most.to_string(),
            open.to_string(),
            idle.to_string(),
            waiting.to_string(),
        ]
    };
    Table {
        columns: &[
            "shard", "instance", "mode", "share", "limit", "open", "idle", "waiting",
        ],
        rows: members.map(row).collect(),
    }
}
