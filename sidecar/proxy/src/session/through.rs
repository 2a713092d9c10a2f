//! Serving a client through a gateway, where connections to MySQL are too few for every sidecar.
//!
//! The sidecar has logged the client in. It logs in to a gateway as the client's user and passes
//! commands and answers on, one connection for each client: what a session is, the gateway knows,
//! and its pools share connections among the clients of many sidecars.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use remora_protocol::{CapabilityFlags, Command, ErrPacket, Reply};

use super::Session;
use crate::backend::{Backend, BackendError, Login};
use crate::execute::{Patch, relay};
use crate::failure::Failure;
use crate::telemetry::{OpenGuard, Way};

/// The connection attribute by which a gateway knows that a sidecar passes a client's commands on.
const PASSED_ON: &[u8] = b"remora_passed_on";

/// What the meaning of a command's bytes hangs on.
const SHAPES_COMMANDS: CapabilityFlags =
    CapabilityFlags::CLIENT_MULTI_STATEMENTS.union(CapabilityFlags::CLIENT_QUERY_ATTRIBUTES);

/// Who runs the statements of a session.
#[derive(Debug, Default)]
pub(crate) enum Served {
    /// Nobody yet.
    #[default]
    Not,
    /// This sidecar.
    Here(#[expect(dead_code, reason = "it counts the session while it lives")] Here),
    /// A gateway.
    Through(Box<Through>),
}

/// Counts a session that is served here.
#[derive(Debug)]
pub(crate) struct Here(Arc<AtomicUsize>);

impl Here {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The session's connection to a gateway.
#[derive(Debug)]
pub(crate) struct Through {
    gateway: Backend,
    _counted: OpenGuard,
}

impl Served {
    /// Whether a gateway has a transaction open for the session.
    pub(super) fn in_transaction(&self) -> bool {
        match self {
            Self::Through(through) => through.gateway.in_transaction(),
            Self::Not | Self::Here(_) => false,
        }
    }

    /// Whether a command is passed on. What concerns the client's login or this sidecar is not.
    pub(super) fn is_through(&self, command: &Command<'_>) -> bool {
        let own = match command {
            Command::Quit | Command::ChangeUser(_) => true,
            Command::Query(text) => asks_this_sidecar(text),
            Command::QueryWith(query) => asks_this_sidecar(query.text),
            _ => false,
        };
        !own && matches!(self, Self::Through(_))
    }
}

/// Whether a text is SHOW REMORA …
fn asks_this_sidecar(text: &[u8]) -> bool {
    let words = text.split(u8::is_ascii_whitespace);
    let mut words = words.filter(|word| !word.is_empty());
    let mut is = |wanted: &[u8]| {
        let word = words.next();
        word.is_some_and(|word| word.eq_ignore_ascii_case(wanted))
    };
    is(b"SHOW") && is(b"REMORA")
}

/// Ids of sessions are the gateway's in what it answers, and this sidecar's in what the client was
/// greeted with: a KILL might hit another session than the one that is meant.
pub(super) fn no_kill_through() -> ErrPacket<'static> {
    ErrPacket::new(
        1235,
        *b"42000",
        "KILL is not supported while a gateway serves the client, since the numbers of sessions are \
         not the ones that clients know; end the client's connection instead",
    )
}

impl Session {
    /// Whether another sidecar passes the client's commands on to this one.
    pub(super) fn comes_through(&self) -> bool {
        let attributes = &self.account.identity.attributes;
        attributes.iter().any(|(name, _)| name == PASSED_ON)
    }

    /// Decides who serves the session: a gateway, where connections to MySQL are too few, else this
    /// sidecar. Answers whether a gateway does; it is in `database` then.
    ///
    /// # Errors
    /// If the gateway refuses the login.
    pub(super) async fn enter_gateway(&mut self, database: Option<&[u8]>) -> Result<bool, Failure> {
        let snapshot = self.proxy.snapshots.load();
        // A gateway of a gateway would be one that goes through itself.
        let gateway = snapshot.connections.through();
        if let Some(gateway) = gateway.filter(|_| !self.comes_through()) {
            let login = self.login_through(database);
            match self.proxy.world().connect_gateway(gateway, login).await {
                // One of another version, which does not read what the client writes.
                Ok(gateway) if !self.is_read_by(&gateway) => gateway.quit().await,
                Ok(gateway) => {
                    // It hides those that are not for clients.
                    self.client.set_own_gtids(true);
                    // Without a handle, what runs there ends by itself.
                    self.entry.entry().goes_through(gateway.socket().ok());
                    self.served = Served::Through(Box::new(Through {
                        gateway,
                        _counted: self.proxy.metrics.pools.goes_through(),
                    }));
                    return Ok(true);
                }
                Err(BackendError::Connect { reason, .. }) => {
                    tracing::warn!(
                        gateway = gateway.host,
                        reason,
                        "The gateway cannot be reached; the client is served here, in turns with others"
                    );
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.served = Served::Here(Here::new(self.proxy.served_here()));
        Ok(false)
    }

    fn is_read_by(&self, gateway: &Backend) -> bool {
        let attributes = CapabilityFlags::CLIENT_QUERY_ATTRIBUTES;
        let differ = self.client.capabilities() ^ gateway.identity().capabilities;
        !differ.intersects(attributes)
    }

    fn login_through(&self, database: Option<&[u8]>) -> Login {
        let name = database.map(|name| String::from_utf8_lossy(name).into_owned());
        let mut login = self.login(name);
        // The gateway takes texts apart as this sidecar would, and reads what the client wrote.
        let client = self.client.capabilities();
        login.capabilities.remove(SHAPES_COMMANDS);
        login.capabilities |= client & SHAPES_COMMANDS;
        login
            .attributes
            .push((PASSED_ON.to_vec(), env!("CARGO_PKG_VERSION").into()));
        login
    }

    /// Ends the connection to the gateway.
    pub(super) async fn leave_gateway(&mut self) {
        if let Served::Through(through) = std::mem::take(&mut self.served) {
            self.entry.entry().goes_through(None);
            through.gateway.quit().await;
        }
    }

    /// Passes a command on and its answer back; answers whether the session goes on.
    ///
    /// # Errors
    /// If the gateway is gone: what it knew of the session is lost.
    pub(super) async fn pass_through(&mut self, command: &Command<'_>) -> Result<bool, Failure> {
        let Served::Through(through) = &mut self.served else {
            return Err(Failure::CutOff);
        };
        let gateway = &mut through.gateway;
        if gateway.is_gone() {
            return Err(Failure::Last(gateway_gone()));
        }
        let reply = match command {
            Command::ProcessKill(_) => return Err(no_kill_through().into()),
            Command::Debug | Command::Unknown(_) => return Err(Command::unknown_error().into()),
            Command::StmtClose(_) | Command::StmtSendLongData { .. } => {
                gateway.send_silent(command).await.map_err(of_gateway)?;
                return Ok(true);
            }
            Command::StmtPrepare(_) => Reply::Prepare,
            Command::FieldList { .. } => Reply::FieldList,
            Command::Statistics => Reply::Statistics,
            // Both are answered without definitions of columns, by an EOF packet in the end.
            Command::StmtFetch { .. } | Command::SetOption(_) => Reply::Fetch,
            _ => Reply::Command,
        };
        if let Command::SetOption(option) = command {
            self.client.set_multi_statements(*option == 0);
        }
        let began = std::time::Instant::now();
        let exchange = gateway.command(command, reply).await.map_err(of_gateway)?;
        relay(&mut self.client, exchange, &Patch::default()).await?;
        if matches!(
            command,
            Command::Query(_) | Command::QueryWith(_) | Command::StmtExecute(_)
        ) {
            self.proxy.metrics.statement(Way::Gateway, began.elapsed());
        }
        Ok(true)
    }
}

/// A failure of the gateway's connection, by MySQL's number.
fn gateway_gone() -> ErrPacket<'static> {
    ErrPacket::new(
        2013,
        *b"HY000",
        "Lost connection to the gateway that serves this client",
    )
}

/// The same for what an error says of a shard.
fn of_gateway(error: BackendError) -> Failure {
    match error {
        BackendError::Lost { .. } => Failure::Last(gateway_gone()),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_sidecar_is_asked_is_told_apart() {
        assert!(asks_this_sidecar(b" show\n remora connections"));
        assert!(!asks_this_sidecar(b"SHOW TABLES"));
        assert!(!asks_this_sidecar(b"SELECT 'SHOW REMORA'"));
        assert!(!asks_this_sidecar(b"SHOW"));
    }

    #[test]
    fn sessions_that_are_served_here_are_counted_while_they_live() {
        let count = Arc::new(AtomicUsize::new(0));
        let served = Served::Here(Here::new(&count));
        assert_eq!(count.load(Ordering::SeqCst), 1);
        drop(served);
        assert_eq!(count.load(Ordering::SeqCst), 0);
    }
}
