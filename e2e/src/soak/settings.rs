//! System variables that sessions set, and what they become.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;

use crate::client::Client;

/// What a session that begins has, by variable.
pub(super) type Defaults = BTreeMap<&'static str, String>;

/// The variables that are looked at. Not all of them are set by themselves.
const WATCHED: [&str; 21] = [
    "sql_mode",
    "time_zone",
    "group_concat_max_len",
    "lc_time_names",
    "character_set_client",
    "character_set_connection",
    "character_set_results",
    "collation_connection",
    "autocommit",
    "transaction_isolation",
    "transaction_read_only",
    "div_precision_increment",
    "default_week_format",
    "max_sort_length",
    "cte_max_recursion_depth",
    "innodb_lock_wait_timeout",
    "lock_wait_timeout",
    "wait_timeout",
    "foreign_key_checks",
    "unique_checks",
    "max_execution_time",
];

/// The expressions of all of them, in the order of [`Defaults`].
pub(super) fn watched() -> String {
    let mut names = WATCHED;
    names.sort_unstable();
    names.map(|name| format!("@@SESSION.{name}")).join(", ")
}

/// What a session that begins has, as a server says.
pub(super) async fn defaults(client: &mut Client) -> Result<Defaults> {
    let rows = client
        .query(&format!("SELECT {}", watched()))
        .await?
        .rows()?;
    let row = rows.into_iter().next().context("no row")?;
    let mut names = WATCHED;
    names.sort_unstable();
    Ok(names
        .into_iter()
        .zip(row.into_iter().map(Option::unwrap_or_default))
        .collect())
}

/// A SET, and what the variables that it concerns are afterwards. Some values are the session's
/// own number, so that another session's would show.
pub(super) fn setting(random: &mut StdRng, number: usize) -> (String, Vec<(&'static str, String)>) {
    let own = (number + 1) as u64 * 1000 + random.random_range(0..1000);
    let mut pick = |values: &[&str]| {
        values
            .choose(random)
            .copied()
            .unwrap_or_default()
            .to_owned()
    };
    match pick(&[
        "mode",
        "zone",
        "names",
        "time",
        "isolation",
        "number",
        "number",
        "number",
        "several",
    ])
    .as_str()
    {
        "mode" => {
            let mode = pick(&[
                "",
                "STRICT_TRANS_TABLES",
                "PIPES_AS_CONCAT",
                "NO_BACKSLASH_ESCAPES",
                "ANSI_QUOTES",
                "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION",
            ]);
            (format!("SET sql_mode = '{mode}'"), vec![("sql_mode", mode)])
        }
        "zone" => {
            let zone = pick(&["+00:00", "+03:00", "-07:30", "+13:45", "SYSTEM"]);
            (
                format!("SET SESSION time_zone = '{zone}'"),
                vec![("time_zone", zone)],
            )
        }
        "names" => {
            let (charset, collation) = match pick(&["utf8mb4", "latin1", "binned"]).as_str() {
                "latin1" => ("latin1", "latin1_swedish_ci"),
                "binned" => ("utf8mb4", "utf8mb4_bin"),
                _ => ("utf8mb4", "utf8mb4_0900_ai_ci"),
            };
            let after = vec![
                ("character_set_client", charset.to_owned()),
                ("character_set_connection", charset.to_owned()),
                ("character_set_results", charset.to_owned()),
                ("collation_connection", collation.to_owned()),
            ];
            (format!("SET NAMES {charset} COLLATE {collation}"), after)
        }
        "time" => {
            let names = pick(&["en_US", "de_DE", "ja_JP", "fr_FR"]);
            (
                format!("SET @@lc_time_names = '{names}'"),
                vec![("lc_time_names", names)],
            )
        }
        "isolation" => {
            // SERIALIZABLE would make readers lock, and the sessions stop each other.
            let level = pick(&["READ COMMITTED", "REPEATABLE READ", "READ UNCOMMITTED"]);
            let shown = level.replace(' ', "-");
            (
                format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"),
                vec![("transaction_isolation", shown)],
            )
        }
        "several" => {
            let (week, digits) = (pick(&["1", "3", "7"]), pick(&["2", "9", "30"]));
            (
                format!(
                    "SET default_week_format = {week}, SESSION div_precision_increment = {digits}, \
                     unique_checks = OFF, foreign_key_checks = 0"
                ),
                vec![
                    ("default_week_format", week),
                    ("div_precision_increment", digits),
                    ("unique_checks", "0".to_owned()),
                    ("foreign_key_checks", "0".to_owned()),
                ],
            )
        }
        _ => {
            let name = *[
                "group_concat_max_len",
                "max_sort_length",
                "cte_max_recursion_depth",
                "innodb_lock_wait_timeout",
                "lock_wait_timeout",
                "wait_timeout",
                "max_execution_time",
            ]
            .choose(random)
            .unwrap_or(&"wait_timeout");
            // Long enough to disturb nothing.
            let value = own + 20_000;
            (
                format!("SET SESSION {name} = {value}"),
                vec![(name, value.to_string())],
            )
        }
    }
}
