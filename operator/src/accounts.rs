//! The accounts of a MySQL server, and what each may do.
//!
//! Tried on 9.7.4 with `partial_revokes=ON`, which the operator sets. Under it `_` and `%` in
//! a schema's name are no wildcards, escaped or not: each stands for itself. A right that an
//! application has on all physical schemas is a global one.

use std::collections::BTreeSet;

use remora_crds::ShardingClusterSpec;
use remora_crds::layout::{self, Slot};
use remora_discovery::Account;

use crate::build::SystemPasswords;

/// The sidecars' own account, the only one of Remora's that leaves MySQL pods.
pub const SIDECAR: &str = "remora_sidecar";
/// The account of the agent, by the Unix socket alone.
pub const AGENT: &str = "remora_agent";
/// The account of the supervisor's probes, by the Unix socket alone. It may nothing, so it
/// needs no password.
pub const PROBE: &str = "remora_probe";

/// What an application does with its data on one server of its own. Nothing administrative:
/// no FILE, PROCESS, RELOAD, SUPER or CREATE USER.
const APPLICATION: &str = "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, REFERENCES, INDEX, \
     ALTER, CREATE TEMPORARY TABLES, LOCK TABLES, EXECUTE, CREATE VIEW, SHOW VIEW, CREATE \
     ROUTINE, ALTER ROUTINE, EVENT, TRIGGER";
/// Where it may not: the schemas with the passwords' hashes, and with Remora's own rows.
const CLOSED_SCHEMAS: [&str; 2] = ["mysql", "remora"];
/// What an application may not in `sys`, which it may read and call: MySQL has no other copy.
const CHANGES: &str = "INSERT, UPDATE, DELETE, CREATE, DROP, REFERENCES, INDEX, ALTER, CREATE \
     TEMPORARY TABLES, LOCK TABLES, CREATE VIEW, CREATE ROUTINE, ALTER ROUTINE, EVENT, TRIGGER";

/// All accounts of a MySQL server of the cluster of `spec`, given the passwords of `users`.
#[must_use]
pub fn accounts<'a>(
    spec: &ShardingClusterSpec,
    system: &SystemPasswords,
    users: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Vec<Account> {
    let own = |name: &str, host: &str, password: &str, grants: Vec<String>| Account {
        name: name.to_owned(),
        password: password.to_owned(),
        host: host.to_owned(),
        grants,
        revokes: Vec::new(),
    };
    let everything = ["ALL ON *.*", "GRANT OPTION ON *.*"].map(str::to_owned);
    let mut accounts = vec![
        own(AGENT, "localhost", &system.agent, everything.into()),
        own(PROBE, "localhost", "", Vec::new()),
        Account {
            // What earlier versions gave it. A right that is not held is revoked without an error.
            revokes: vec!["CREATE, REFERENCES ON *.*".to_owned()],
            ..own(SIDECAR, "%", &system.sidecar, of_sidecar(spec))
        },
    ];
    accounts.extend(users.into_iter().map(|(name, password)| {
        Account {
            name: name.to_owned(),
            password: password.to_owned(),
            host: "%".to_owned(),
            grants: vec![
                format!("{APPLICATION} ON *.*"),
                // To decide on a transaction over several shards, and nothing else there.
                "EXECUTE ON PROCEDURE `remora`.`decide`".to_owned(),
            ],
            revokes: CLOSED_SCHEMAS
                .map(|schema| format!("{APPLICATION} ON `{schema}`.*"))
                .into_iter()
                .chain([format!("{CHANGES} ON `sys`.*")])
                .collect(),
        }
    }));
    accounts
}

/// The rights of the sidecars' own account: none on a row of a table of the manifest, and none
/// to make anything, since the agents make the schemas.
fn of_sidecar(spec: &ShardingClusterSpec) -> Vec<String> {
    // Each table's columns are looked up in its first physical schema.
    let schemas: BTreeSet<_> = spec
        .tables
        .iter()
        .filter_map(|table| table.sharding.as_ref())
        .map(|sharding| {
            layout::schema(&spec.database, spec.tables_per_shard(sharding), Slot(0)).to_string()
        })
        .chain([spec.database.clone()])
        .collect();
    let see = schemas.iter().map(|schema| {
        // REFERENCES shows columns' types in INFORMATION_SCHEMA without a right to read a row.
        format!("REFERENCES ON `{}`.*", schema.replace('`', "``"))
    });
    let own = [
        // To lease blocks of sequences, and to begin them again with their tables.
        "SELECT, INSERT, UPDATE, DELETE ON `remora`.`sequence`",
        // To check that the rows are where the manifest says.
        "SELECT ON `remora`.`layout`",
        // To end what a transaction over several shards left behind, as was decided of it.
        "SELECT, INSERT, DELETE ON `remora`.`decision`",
        "EXECUTE ON PROCEDURE `remora`.`left_over`",
        "XA_RECOVER_ADMIN ON *.*",
        // To see whether replicas follow. It shows no row and no password.
        "REPLICATION CLIENT ON *.*",
    ];
    see.chain(own.map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::shop;

    #[test]
    fn what_each_account_may_do_is_listed() {
        let system = SystemPasswords {
            sidecar: "s".to_owned(),
            agent: "a".to_owned(),
        };
        let listed: Vec<_> = accounts(&shop().spec, &system, [("app", "p")])
            .iter()
            .flat_map(|account| {
                let name = format!("{}@{}", account.name, account.host);
                let grants = account.grants.iter().map(|text| format!("GRANT {text}"));
                let revokes = account.revokes.iter().map(|text| format!("REVOKE {text}"));
                grants
                    .chain(revokes)
                    .map(move |text| format!("{name}: {text}"))
                    .collect::<Vec<_>>()
            })
            .collect();
        insta::assert_snapshot!(listed.join("\n"));
    }
}
