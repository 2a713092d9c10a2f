//! What a replica's agent sees: its own server, and the primary beside it.

use super::Source;
use super::decide::{Channel, Comparison, Observed, Primary, Problem, Thread};
use crate::agent::apply::layout_held;
use crate::agent::socket::{OWN, failure, login};
use crate::agent::sql::{ask, literal, text};
use crate::agent::{AgentError, PATIENCE};
use crate::backend::{Backend, Row, Table};

/// The own server, and its transactions.
pub(super) struct OwnServer {
    observed: Observed,
    /// Read before the primary's: what it commits meanwhile is not taken for the replica's own.
    executed: String,
}

/// Looks at the own server.
pub(super) async fn own(backend: &mut Backend) -> Result<OwnServer, AgentError> {
    // A GTID set has line breaks in it.
    let read = "SELECT @@server_uuid, @@GLOBAL.ssl_ca, @@GLOBAL.super_read_only, \
         REPLACE(@@GLOBAL.gtid_executed, '\\n', '')";
    let rows = ask(backend, "reading the server's settings", read).await?;
    let settings = rows.first().cloned().unwrap_or_default();
    let semi_sync = "SHOW GLOBAL VARIABLES LIKE 'rpl_semi_sync_replica_enabled'";
    let semi_sync = ask(backend, "reading semi-sync settings", semi_sync).await?;
    let status = backend
        .table(b"SHOW REPLICA STATUS")
        .await
        .map_err(failure)?;
    let status = status.map_err(|error| AgentError::Refused {
        what: "SHOW REPLICA STATUS",
        error,
    })?;
    Ok(OwnServer {
        executed: text(&settings, 3),
        observed: Observed {
            server_uuid: text(&settings, 0),
            ca_file: text(&settings, 1),
            holds_rows: layout_held(backend).await?.is_some(),
            super_read_only: text(&settings, 2) == "1",
            acknowledges: semi_sync.first().is_some_and(|row| text(row, 1) == "ON"),
            channel: channel(&status),
            primary: Primary::NotAsked,
        },
    })
}

/// Compares it with the primary, where `compare` says so or it does not follow.
pub(super) async fn beside(
    backend: &mut Backend,
    own: OwnServer,
    source: &Source,
    compare: bool,
) -> Result<Observed, AgentError> {
    let OwnServer {
        mut observed,
        executed,
    } = own;
    let follows = observed.channel.as_ref().is_some_and(|channel| {
        (&channel.receiver, &channel.applier) == (&Thread::Runs, &Thread::Runs)
    });
    if follows && observed.holds_rows && !compare {
        return Ok(observed);
    }
    observed.primary = match transactions(source).await {
        Ok(primary) => Primary::There(comparison(backend, &executed, &primary).await?),
        Err(reason) => Primary::Away(reason),
    };
    Ok(observed)
}

/// The primary's transactions.
struct Transactions {
    uuid: String,
    executed: String,
    purged: String,
}

/// Asks the primary, as replicas come to it.
async fn transactions(source: &Source) -> Result<Transactions, String> {
    let login = login(&source.account.name, &source.account.password);
    let attempt = async {
        let connector = &source.connector;
        let mut backend = connector
            .connect(OWN, &source.primary, login)
            .await
            .map_err(failure)?;
        let read = "SELECT @@server_uuid, REPLACE(@@GLOBAL.gtid_executed, '\\n', ''), \
             REPLACE(@@GLOBAL.gtid_purged, '\\n', '')";
        let rows = ask(&mut backend, "reading the primary's transactions", read).await?;
        backend.quit().await;
        Ok::<Row, AgentError>(rows.first().cloned().unwrap_or_default())
    };
    // A frozen server accepts and never answers.
    let attempt = tokio::time::timeout(PATIENCE, attempt).await;
    let attempt = attempt.unwrap_or_else(|_| Err(AgentError::Silent("in time".to_owned())));
    match attempt {
        Ok(row) => Ok(Transactions {
            uuid: text(&row, 0),
            executed: text(&row, 1),
            purged: text(&row, 2),
        }),
        Err(AgentError::Silent(reason)) => Err(format!("its primary does not answer: {reason}")),
        Err(error) => Err(format!("its primary lets no replica in yet: {error}")),
    }
}

async fn comparison(
    backend: &mut Backend,
    executed: &str,
    primary: &Transactions,
) -> Result<Comparison, AgentError> {
    let subtract = format!(
        "SELECT REPLACE(GTID_SUBTRACT({own}, {theirs}), '\\n', ''), \
         GTID_SUBTRACT({purged}, {own})",
        own = literal(executed),
        theirs = literal(&primary.executed),
        purged = literal(&primary.purged),
    );
    let rows = ask(backend, "comparing transactions", &subtract).await?;
    let row = rows.first().cloned().unwrap_or_default();
    let (ahead, foreign) = split(&text(&row, 0), &primary.uuid);
    Ok(Comparison {
        foreign,
        ahead,
        purged: !text(&row, 1).is_empty(),
    })
}

/// The parts of a GTID set that the server with this UUID made, and those of others.
fn split(set: &str, uuid: &str) -> (String, String) {
    let parts = set
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty());
    let (own, other): (Vec<_>, Vec<_>) = parts.partition(|part| {
        let of = part.split(':').next().unwrap_or_default();
        of.eq_ignore_ascii_case(uuid)
    });
    (own.join(","), other.join(","))
}

/// The channel, of `SHOW REPLICA STATUS`.
fn channel(status: &Table) -> Option<Channel> {
    let value = |name: &str| status.named(0, name).filter(|value| !value.is_empty());
    let host = value("Source_Host")?;
    let is = |name: &str, wanted: &str| value(name).is_some_and(|value| value == wanted);
    let thread = |name: &str, kind: &str| {
        let problem = || Problem {
            code: value(&format!("Last_{kind}_Errno"))
                .and_then(|code| code.parse().ok())
                .unwrap_or(0),
            text: value(&format!("Last_{kind}_Error")).unwrap_or_default(),
        };
        match value(name).as_deref() {
            Some("Yes") => Thread::Runs,
            Some("Connecting") => Thread::Connecting(problem()),
            _ => Thread::Stopped(problem()),
        }
    };
    Some(Channel {
        host,
        port: value("Source_Port")?.parse().ok()?,
        user: value("Source_User").unwrap_or_default(),
        safe: is("Auto_Position", "1")
            && is("Source_SSL_Allowed", "Yes")
            && is("Source_SSL_Verify_Server_Cert", "Yes"),
        receiver: thread("Replica_IO_Running", "IO"),
        applier: thread("Replica_SQL_Running", "SQL"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_are_told_apart_by_who_made_them() {
        let set = "AAAA-1:1-5:9,bbbb-2:7,aaaa-1:tag:3";
        assert_eq!(
            split(set, "aaaa-1"),
            (
                "AAAA-1:1-5:9,aaaa-1:tag:3".to_owned(),
                "bbbb-2:7".to_owned()
            )
        );
        assert_eq!(split("", "aaaa-1"), (String::new(), String::new()));
    }

    #[test]
    fn a_server_that_follows_nobody_has_no_channel() {
        assert_eq!(channel(&Table::default()), None);
    }
}
