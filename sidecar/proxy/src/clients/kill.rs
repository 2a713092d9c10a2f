//! Interrupting what runs for a client, on every server that works for it.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use remora_protocol::{CapabilityFlags, ErrPacket, backend_wish};

use super::lease::Connection;
use super::{Entry, Who};
use crate::backend::{BackendError, Login};
use crate::proxy::Proxy;
use crate::system;
use crate::world::World;

/// How long a KILL may take, its login included. A server that needs longer is frozen.
const PATIENCE: Duration = Duration::from_secs(5);
/// A statement takes several steps on its servers, and a KILL that comes between two of them hits
/// nothing: it is sent again, after these times, while the statement runs on.
const AGAIN: [Duration; 5] = [
    Duration::from_millis(20),
    Duration::from_millis(100),
    Duration::from_millis(500),
    Duration::from_secs(2),
    Duration::from_secs(10),
];
/// MySQL's number for a connection that is not there.
const UNKNOWN_THREAD: u16 = 1094;

/// MySQL's 1317.
pub(crate) fn interrupted() -> ErrPacket<'static> {
    ErrPacket::new(1317, *b"70100", "Query execution was interrupted")
}

/// MySQL's 1094.
pub(crate) fn unknown_thread(id: u32) -> ErrPacket<'static> {
    let message = format!("Unknown thread id: {id}");
    ErrPacket::new(UNKNOWN_THREAD, *b"HY000", message)
}

/// MySQL's 1095.
fn not_owner(id: u32) -> ErrPacket<'static> {
    let message = format!("You are not owner of thread {id}");
    ErrPacket::new(NOT_OWNER, *b"HY000", message)
}

const NOT_OWNER: u16 = 1095;

/// In whose name statements are interrupted.
#[derive(Clone)]
enum Name {
    /// This account's: MySQL decides whether it may.
    Account(Who),
    /// The client's own, else the sidecar's: the client is gone.
    Sidecar(Who),
}

impl Proxy {
    /// KILL QUERY by `killer`, who has CONNECTION_ADMIN or is the client's own user.
    ///
    /// # Errors
    /// MySQL's 1095 where a server says so, or the error of a server that cannot be reached.
    pub(crate) async fn kill_query(
        self: &Arc<Self>,
        entry: &Arc<Entry>,
        killer: Who,
    ) -> Result<(), ErrPacket<'static>> {
        let Some(command) = entry.command() else {
            return Ok(());
        };
        let name = Name::Account(killer);
        self.interrupt(entry, &name).await?;
        tokio::spawn(self.clone().insist(entry.clone(), Some(command), name));
        Ok(())
    }

    /// KILL CONNECTION, likewise. The session's connections to MySQL end with it, so that its
    /// transaction is rolled back.
    ///
    /// # Errors
    /// MySQL's 1095 where a server says so; the client then goes on.
    pub(crate) async fn kill_client(
        self: &Arc<Self>,
        entry: &Arc<Entry>,
        killer: Who,
    ) -> Result<(), ErrPacket<'static>> {
        let name = Name::Account(killer.clone());
        if entry.is_of(&killer.user) {
            // MySQL lets it do so, and the client is to see its connection end rather than an
            // error of the statement.
            entry.send_away();
        }
        match self.interrupt(entry, &name).await {
            Err(error) if error.code == NOT_OWNER => return Err(error),
            // A server that cannot be reached keeps no client there.
            Err(error) => tracing::debug!(id = entry.id(), %error, "A KILL reached not all"),
            Ok(()) => {}
        }
        entry.send_away();
        tokio::spawn(self.clone().insist(entry.clone(), None, name));
        Ok(())
    }

    /// Interrupts what runs for a client that is gone.
    pub(super) async fn cancel(self: Arc<Self>, entry: Arc<Entry>) {
        let name = Name::Sidecar(entry.who());
        entry.leave_gateway();
        tracing::debug!(id = entry.id(), "The client of a running statement is gone");
        if let Err(error) = self.interrupt(&entry, &name).await {
            tracing::debug!(id = entry.id(), %error, "A statement of a client that is gone runs on");
        }
        self.insist(entry, None, name).await;
    }

    /// Sends KILL QUERY again until the command with this number ended, or else the session.
    async fn insist(self: Arc<Self>, entry: Arc<Entry>, command: Option<u64>, name: Name) {
        for pause in AGAIN {
            tokio::time::sleep(pause).await;
            let over = match command {
                Some(_) => entry.command() != command,
                None => self.clients().get(entry.id()).is_none(),
            };
            if over {
                return;
            }
            if let Err(error) = self.interrupt(&entry, &name).await {
                tracing::debug!(id = entry.id(), %error, "A KILL was not obeyed");
            }
        }
    }

    /// Sends KILL QUERY to every connection that works for the client, at once. Gives the first
    /// error.
    async fn interrupt(&self, entry: &Entry, name: &Name) -> Result<(), ErrPacket<'static>> {
        let world = self.world();
        let connections = entry.connections();
        let killing = connections
            .iter()
            .map(|connection| interrupt_on(&world, connection, name));
        let mut first = Ok(());
        for outcome in join_all(killing).await {
            if let Err(error) = outcome
                && first.is_ok()
            {
                first = Err(match error {
                    BackendError::Server { error, .. } if error.code == NOT_OWNER => {
                        not_owner(entry.id())
                    }
                    other => other.as_err_packet(),
                });
            }
        }
        first
    }
}

/// Interrupts one connection's statement. Nobody gets the connection before the KILL is answered.
async fn interrupt_on(
    world: &World,
    connection: &Connection,
    name: &Name,
) -> Result<(), BackendError> {
    let _shield = connection.shield().await;
    if !connection.is_leased() {
        return Ok(());
    }
    let shard = connection.server.address().shard;
    let killing = async {
        let mut killer = match name {
            Name::Account(who) => world.connect_beside(&connection.server, login(who)).await?,
            Name::Sidecar(who) => {
                match world.connect_beside(&connection.server, login(who)).await {
                    // It may have as many connections as it may.
                    Err(BackendError::Server { .. }) => {
                        let system = system::login(world);
                        world.connect_beside(&connection.server, system).await?
                    }
                    connected => connected?,
                }
            }
        };
        // From here on the KILL may arrive, whatever becomes of its answer.
        let doubtful = connection.doubt(true);
        let kill = format!("KILL QUERY {}", connection.id);
        let killed = killer.query(kill.as_bytes()).await?.finish().await?;
        connection.doubt(doubtful);
        killer.quit().await;
        match killed {
            Err(error) if error.code != UNKNOWN_THREAD => {
                Err(BackendError::Server { shard, error })
            }
            _ => Ok(()),
        }
    };
    let timed_out = |_| {
        Err(BackendError::Connect {
            shard,
            reason: "timed out".to_owned(),
        })
    };
    tokio::time::timeout(PATIENCE, killing)
        .await
        .unwrap_or_else(timed_out)
}

fn login(who: &Who) -> Login {
    Login {
        packet_limit: usize::MAX,
        user: who.user.clone(),
        password: who.password.clone(),
        database: None,
        capabilities: backend_wish(CapabilityFlags::CLIENT_DEPRECATE_EOF),
        collation: UTF8MB4,
        attributes: vec![(b"program_name".to_vec(), b"remora-sidecar".to_vec())],
    }
}

/// utf8mb4_0900_ai_ci.
const UTF8MB4: u8 = 255;
