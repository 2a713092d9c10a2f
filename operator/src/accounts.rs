//! The accounts of a MySQL server, and what each may do.
//!
//! Tried on 9.7.4 with `partial_revokes=ON`, which the operator sets. Under it `_` and `%` in
//! a schema's name are no wildcards, so rights on all physical schemas are global rights.

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
/// Not there: the schemas with the passwords' hashes, and with Remora's own rows.
const CLOSED_SCHEMAS: [&str; 2] = ["mysql", "remora"];

/// All accounts of a MySQL server, given the passwords of `users`.
#[must_use]
pub fn accounts<'a>(
    system: &SystemPasswords,
    users: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Vec<Account> {
    let own = |name: &str, host: &str, password: &str, grants: &[&str]| Account {
        name: name.to_owned(),
        password: password.to_owned(),
        host: host.to_owned(),
        grants: grants.iter().map(|grant| (*grant).to_owned()).collect(),
        revokes: Vec::new(),
    };
    let mut accounts = vec![
        own(
            AGENT,
            "localhost",
            &system.agent,
            &["ALL ON *.*", "GRANT OPTION ON *.*"],
        ),
        own(PROBE, "localhost", "", &[]),
        own(
            SIDECAR,
            "%",
            &system.sidecar,
            &[
                // To make the schemas of new physical tables, and to see columns' types in
                // INFORMATION_SCHEMA without reading a row.
                "CREATE, REFERENCES ON *.*",
                // To lease blocks of sequences, and to begin them again with their tables.
                "SELECT, INSERT, UPDATE, DELETE ON `remora`.`sequence`",
                // To check that the rows are where the manifest says.
                "SELECT ON `remora`.`layout`",
            ],
        ),
    ];
    accounts.extend(users.into_iter().map(|(name, password)| {
        Account {
            name: name.to_owned(),
            password: password.to_owned(),
            host: "%".to_owned(),
            grants: vec![format!("{APPLICATION} ON *.*")],
            revokes: CLOSED_SCHEMAS
                .map(|schema| format!("{APPLICATION} ON `{schema}`.*"))
                .into(),
        }
    }));
    accounts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_each_account_may_do_is_listed() {
        let system = SystemPasswords {
            sidecar: "s".to_owned(),
            agent: "a".to_owned(),
        };
        let listed: Vec<_> = accounts(&system, [("app", "p")])
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
