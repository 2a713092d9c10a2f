//! The primary's side of replication: when it takes writes, and what a commit waits for.

use std::path::Path;
use std::time::Duration;

use remora_discovery::{Account, Part, ReplicationOrder};

use super::sql::{ask, run, text};
use super::{AgentError, apply::AGENT, socket};
use crate::backend::Backend;

/// Commits that wait for so many looks in a row are helped on.
const STUCK: u32 = 3;
/// So many, while a replica waits for its copy: the copy waits for those commits too.
const DEADLOCKED: u32 = 8;
/// How long the nudge may wait itself.
const NUDGE_PATIENCE: Duration = Duration::from_secs(3);

/// What the primary waits for, of an order.
pub(super) fn acknowledgements(order: Option<&ReplicationOrder>) -> u8 {
    match order.map(|order| &order.part) {
        Some(Part::Primary {
            acknowledgements, ..
        }) => *acknowledgements,
        _ => 0,
    }
}

/// Lets the server take writes, each of which waits for the ordered replicas. With too few of
/// them connected it stays read-only: a commit would only hang, and keep a replica that has to be
/// cloned from its copy (tried on 9.7.4).
///
/// # Errors
/// If it stays read-only.
pub(super) async fn take_writes(
    backend: &mut Backend,
    order: Option<&ReplicationOrder>,
) -> Result<(), AgentError> {
    let wanted = acknowledgements(order);
    set_acknowledgements(backend, wanted).await?;
    let closed = ask(
        backend,
        "reading read_only",
        "SELECT 1 FROM DUAL WHERE @@GLOBAL.read_only OR @@GLOBAL.super_read_only",
    );
    if closed.await?.is_empty() {
        return Ok(());
    }
    let waits = waits(backend).await?;
    if waits.clients < u32::from(wanted) {
        return Err(AgentError::Alone {
            wanted,
            clients: waits.clients,
        });
    }
    // That of super_read_only goes with it.
    run(backend, "SET read_only", "SET GLOBAL read_only = OFF").await
}

/// Sets semi-synchronous replication as it is ordered, and only where it is not: each change
/// makes the waiting commits be looked at anew.
async fn set_acknowledgements(backend: &mut Backend, wanted: u8) -> Result<(), AgentError> {
    let list = "SHOW GLOBAL VARIABLES WHERE variable_name IN \
         ('rpl_semi_sync_source_enabled', 'rpl_semi_sync_source_wait_for_replica_count')";
    let set = ask(backend, "reading semi-sync settings", list).await?;
    let is = |name: &str, value: &str| {
        set.iter()
            .any(|row| text(row, 0) == name && text(row, 1) == value)
    };
    let what = "setting what commits wait for";
    if wanted == 0 {
        if is("rpl_semi_sync_source_enabled", "ON") {
            run(
                backend,
                what,
                "SET GLOBAL rpl_semi_sync_source_enabled = OFF",
            )
            .await?;
        }
        return Ok(());
    }
    // Where the plugin is missing these fail, and the server does not begin to take writes.
    if !is(
        "rpl_semi_sync_source_wait_for_replica_count",
        &wanted.to_string(),
    ) {
        let count = format!("SET GLOBAL rpl_semi_sync_source_wait_for_replica_count = {wanted}");
        run(backend, what, &count).await?;
    }
    if !is("rpl_semi_sync_source_enabled", "ON") {
        run(
            backend,
            what,
            "SET GLOBAL rpl_semi_sync_source_enabled = ON",
        )
        .await?;
    }
    Ok(())
}

/// What commits wait for at the moment.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Waits {
    /// Replicas that are connected and acknowledge.
    clients: u32,
    /// Commits that wait.
    sessions: u32,
}

async fn waits(backend: &mut Backend) -> Result<Waits, AgentError> {
    let list = "SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_source_%'";
    let status = ask(backend, "reading semi-sync status", list).await?;
    let of = |name: &str| {
        let row = status.iter().find(|row| text(row, 0) == name);
        row.and_then(|row| text(row, 1).parse().ok()).unwrap_or(0)
    };
    Ok(Waits {
        clients: of("Rpl_semi_sync_source_clients"),
        sessions: of("Rpl_semi_sync_source_wait_sessions"),
    })
}

/// What to do about commits that wait.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Help {
    None,
    /// Commit something small: its acknowledgement stands for all before it. A replica that was
    /// cut off after it had received a commit never acknowledges that one by itself.
    Nudge,
    /// Start again, read-only: a commit that waits holds up the copy that the only replica
    /// begins with. None of these commits was acknowledged; all of them will be in the copy.
    Restart,
}

/// Watches commits that wait.
#[derive(Debug, Default)]
pub(super) struct Watch {
    looks: u32,
}

impl Watch {
    /// Looks once, and helps.
    ///
    /// # Errors
    /// If mysqld does not answer, or was restarted.
    pub(super) async fn look(
        &mut self,
        backend: &mut Backend,
        path: &Path,
        own: &Account,
        wanted: u8,
    ) -> Result<(), AgentError> {
        let waits = waits(backend).await?;
        self.looks = match waits.sessions {
            0 => 0,
            _ => self.looks.saturating_add(1),
        };
        let copies = match self.looks {
            DEADLOCKED.. => copies(backend).await?,
            _ => 0,
        };
        match help(self.looks, waits, wanted, copies) {
            Help::None => Ok(()),
            Help::Nudge => {
                tracing::warn!("Commits wait though replicas are connected: committing another");
                let nudge = nudge(path, own);
                // It waits for an acknowledgement as they do: if none comes, it is of no use.
                drop(tokio::time::timeout(NUDGE_PATIENCE, nudge).await);
                Ok(())
            }
            Help::Restart => {
                tracing::warn!("Commits wait for a replica that waits for them: restarting mysqld");
                run(backend, "RESTART", "RESTART").await
            }
        }
    }
}

fn help(looks: u32, waits: Waits, wanted: u8, copies: u32) -> Help {
    let connected = waits.clients >= u32::from(wanted);
    match looks {
        DEADLOCKED.. if !connected && copies > 0 => Help::Restart,
        STUCK.. if connected && looks.is_multiple_of(STUCK) => Help::Nudge,
        _ => Help::None,
    }
}

/// Replicas that wait for their copy of this server.
async fn copies(backend: &mut Backend) -> Result<u32, AgentError> {
    let count = "SELECT COUNT(*) FROM information_schema.processlist \
         WHERE command = 'clone' AND time >= 5";
    let counted = ask(backend, "looking for copies", count).await?;
    let count = counted.first().and_then(|row| text(row, 0).parse().ok());
    Ok(count.unwrap_or(0))
}

/// A transaction that changes nothing. On a connection of its own, which may hang.
async fn nudge(path: &Path, own: &Account) -> Result<(), AgentError> {
    let mut backend = socket::log_in(path, AGENT, &own.password)
        .await
        .map_err(socket::failure)?;
    run(&mut backend, "a nudge", "DROP TABLE IF EXISTS remora.nudge").await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_that_wait_are_helped_only_where_it_helps() {
        let waits = |clients| Waits {
            clients,
            sessions: 1,
        };
        assert_eq!(help(1, waits(1), 1, 0), Help::None);
        assert_eq!(help(STUCK, waits(1), 1, 0), Help::Nudge);
        assert_eq!(
            help(STUCK, waits(0), 1, 0),
            Help::None,
            "nobody to acknowledge"
        );
        assert_eq!(
            help(STUCK + 1, waits(1), 1, 0),
            Help::None,
            "not at each look"
        );
        assert_eq!(help(DEADLOCKED, waits(0), 1, 0), Help::None);
        assert_eq!(help(DEADLOCKED, waits(0), 1, 2), Help::Restart);
        // Another replica's copy is none of these commits' business: they will be acknowledged.
        assert_ne!(help(DEADLOCKED + 1, waits(1), 1, 2), Help::Restart);
    }
}
