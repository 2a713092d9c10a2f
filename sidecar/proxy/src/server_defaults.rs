//! What a server gives each new session before it says a word.
//!
//! Sessions begin here with MySQL's own defaults, and texts are read by them. A server that
//! begins elsewhere would read the same text differently, so it is not served.

use remora_planner::lexer::SqlMode;
use remora_protocol::ErrPacket;

use crate::backend::{BackendError, Row};
use crate::system::System;
use crate::world::World;

/// Refuses a server whose sessions do not begin as sessions do here. Gives its
/// `max_allowed_packet`, in bytes.
///
/// # Errors
/// If it has other defaults, or cannot be asked.
pub(crate) async fn check(
    system: &System,
    world: &World,
    shard: usize,
) -> Result<usize, BackendError> {
    let rows = system.rows(world, shard, ASK).await?;
    let mut row = rows.into_iter().next().unwrap_or_default();
    let packet = row.pop().flatten().unwrap_or_default();
    let packet = String::from_utf8_lossy(&packet).parse();
    let reason = match (difference(&row), packet) {
        (None, Ok(bytes)) => return Ok(bytes),
        (reason, _) => reason.unwrap_or_else(|| "max_allowed_packet is no number".to_owned()),
    };
    let message = format!(
        "Shard {shard} is not served: {reason} in its server's configuration; let clients SET \
         it in their sessions instead"
    );
    Err(BackendError::Server {
        shard,
        error: ErrPacket::new(1105, *b"HY000", message),
    })
}

const ASK: &str = "SELECT @@GLOBAL.sql_mode, @@GLOBAL.autocommit, @@GLOBAL.sql_select_limit, \
     @@GLOBAL.completion_type, @@GLOBAL.init_connect, @@GLOBAL.lower_case_table_names, \
     @@GLOBAL.xa_detach_on_prepare, @@GLOBAL.max_allowed_packet LIMIT 1";

/// What of the answer to [`ASK`], but for its last value, is not MySQL's default and changes what statements mean.
fn difference(row: &Row) -> Option<String> {
    let values: Vec<_> = row
        .iter()
        .map(|value| String::from_utf8_lossy(value.as_deref().unwrap_or_default()))
        .collect();
    let [modes, autocommit, limit, completion, init, case, detach] = &values[..] else {
        return Some("not all variables are".to_owned());
    };
    let changes = |mode: &&str| {
        SqlMode::from_names(mode) != SqlMode::default() || *mode == "NO_AUTO_VALUE_ON_ZERO"
    };
    if let Some(mode) = modes.split(',').find(changes) {
        return Some(format!("sql_mode has {mode}"));
    }
    let expected = [
        ("autocommit", autocommit, "1"),
        ("sql_select_limit", limit, NO_LIMIT),
        ("completion_type", completion, "NO_CHAIN"),
        ("init_connect", init, ""),
        ("lower_case_table_names", case, "0"),
        // Else nobody but the coordinator could end a prepared branch.
        ("xa_detach_on_prepare", detach, "1"),
    ];
    expected
        .iter()
        .find(|(_, value, default)| value != default)
        .map(|(name, value, _)| format!("{name} is '{value}'"))
}

const NO_LIMIT: &str = "18446744073709551615";

#[cfg(test)]
mod tests {
    use super::*;

    const DEFAULTS: [&str; 7] = [
        "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES",
        "1",
        NO_LIMIT,
        "NO_CHAIN",
        "",
        "0",
        "1",
    ];

    fn with(at: usize, value: &str) -> Option<String> {
        let mut values = DEFAULTS;
        values[at] = value;
        difference(&values.map(|v| Some(v.as_bytes().to_vec())).to_vec())
    }

    #[test]
    fn a_server_with_mysqls_defaults_is_served() {
        assert_eq!(with(1, "1"), None);
        assert_eq!(with(0, ""), None);
    }

    #[test]
    fn a_default_that_changes_what_statements_mean_is_named() {
        for (at, value, named) in [
            (0, "STRICT_TRANS_TABLES,ANSI_QUOTES", "ANSI_QUOTES"),
            (0, "NO_AUTO_VALUE_ON_ZERO", "NO_AUTO_VALUE_ON_ZERO"),
            (1, "0", "autocommit"),
            (2, "1000", "sql_select_limit"),
            (3, "CHAIN", "completion_type"),
            (4, "SET NAMES latin1", "init_connect"),
            (5, "1", "lower_case_table_names"),
            (6, "0", "xa_detach_on_prepare"),
        ] {
            let reason = with(at, value).unwrap_or_default();
            assert!(reason.contains(named), "{reason}");
        }
    }
}
