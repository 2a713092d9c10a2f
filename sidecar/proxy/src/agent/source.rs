//! The primary's side of replication: when it takes writes, and what a commit waits for.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use remora_discovery::{Account, Part, ReplicationOrder};
use tokio::task::JoinHandle;

use super::sql::{ask, run, text};
use super::{AgentError, apply::AGENT, socket};
use crate::backend::Backend;

/// Commits that wait for so many looks in a row are helped on.
const STUCK: u32 = 3;
/// So many, while a replica waits for its copy: the copy waits for those commits too.
const DEADLOCKED: u32 = 8;
/// So many nudges may hang at most, those of an agent before this one included: each holds the
/// lock of a name of its own.
const NUDGES: u8 = 4;
/// MySQL's number for a lock that was waited for too long.
const LOCK_WAIT_TIMEOUT: u16 = 1205;

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

/// A commit of the agent's own, under way. It waits for an acknowledgement as all do, and its
/// connection is kept until it has it: a session that waits does so whoever hangs up, so another
/// in its place would be one more.
#[derive(Debug)]
struct Nudge {
    task: JoinHandle<()>,
    /// The connections of replicas that it was to be acknowledged by.
    links: BTreeSet<String>,
}

/// Watches commits that wait.
#[derive(Debug, Default)]
pub(super) struct Watch {
    looks: u32,
    nudge: Option<Nudge>,
}

impl Watch {
    /// Counts looks anew. A nudge under way stays known.
    pub(super) fn begin(&mut self) {
        self.looks = 0;
    }

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
                let links = links(backend).await?;
                if may_nudge(self.under_way(), &links) {
                    tracing::warn!(
                        "Commits wait though replicas are connected: committing another"
                    );
                    let task = tokio::spawn(nudge(path.to_owned(), own.clone()));
                    self.nudge = Some(Nudge { task, links });
                }
                Ok(())
            }
            Help::Restart => {
                tracing::warn!("Commits wait for a replica that waits for them: restarting mysqld");
                run(backend, "RESTART", "RESTART").await
            }
        }
    }

    /// Whose acknowledgement a nudge waits for.
    fn under_way(&self) -> Option<&BTreeSet<String>> {
        let nudge = self.nudge.as_ref()?;
        (!nudge.task.is_finished()).then_some(&nudge.links)
    }
}

/// Whether another nudge can do what the one under way, which was sent to its replicas, cannot: a
/// replica that has connected since may have been cut off before it acknowledged that one too.
fn may_nudge(under_way: Option<&BTreeSet<String>>, links: &BTreeSet<String>) -> bool {
    under_way.is_none_or(|sent| !links.is_subset(sent))
}

/// The connections by which replicas receive what is committed.
async fn links(backend: &mut Backend) -> Result<BTreeSet<String>, AgentError> {
    let list = "SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'";
    let links = ask(backend, "looking for replicas", list).await?;
    Ok(links.iter().map(|row| text(row, 0)).collect())
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

/// A transaction that changes nothing, on a connection of its own, which may hang.
async fn nudge(path: PathBuf, own: Account) {
    if let Err(error) = commit_nothing(&path, &own).await {
        tracing::warn!(%error, "The commit that was to help others failed");
    }
}

async fn commit_nothing(path: &Path, own: &Account) -> Result<(), AgentError> {
    let mut backend = socket::log_in(path, AGENT, &own.password)
        .await
        .map_err(socket::failure)?;
    let patience = "SET SESSION lock_wait_timeout = 1";
    run(&mut backend, "SET lock_wait_timeout", patience).await?;
    for number in 0..NUDGES {
        let sql = format!("DROP TABLE IF EXISTS remora.nudge_{number}");
        match run(&mut backend, "a nudge", &sql).await {
            // Another hangs with it.
            Err(AgentError::Refused { error, .. }) if error.code == LOCK_WAIT_TIMEOUT => {}
            ended => {
                backend.quit().await;
                return ended;
            }
        }
    }
    backend.quit().await;
    Ok(())
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

    #[test]
    fn a_nudge_that_hangs_is_followed_by_another_only_once_a_replica_has_connected_anew() {
        let links = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
        let one: BTreeSet<String> = links(&["8"]);
        assert!(may_nudge(None, &one));
        assert!(!may_nudge(Some(&one), &one));
        assert!(!may_nudge(Some(&links(&["8", "9"])), &one), "one went");
        assert!(may_nudge(Some(&one), &links(&["11"])), "it came back");
        assert!(may_nudge(Some(&one), &links(&["8", "11"])), "another came");
    }

    #[tokio::test]
    async fn a_nudge_that_came_back_stands_in_nobodys_way() {
        let of = |task| Watch {
            looks: STUCK,
            nudge: Some(Nudge {
                task,
                links: BTreeSet::from(["8".to_owned()]),
            }),
        };
        let mut hangs = of(tokio::spawn(std::future::pending()));
        hangs.begin();
        assert!(hangs.under_way().is_some(), "also under other orders");
        let mut ended = of(tokio::spawn(async {}));
        while !ended.nudge.as_ref().unwrap().task.is_finished() {
            tokio::task::yield_now().await;
        }
        assert!(ended.under_way().is_none());
        ended.begin();
        assert_eq!(ended.looks, 0);
    }
}
