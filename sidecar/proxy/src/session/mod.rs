//! One client's session: what a MySQL session is, over several servers.

mod backends;
mod client_status;
mod commit;
mod console;
mod diagnostics;
mod dispatch;
mod get_diagnostics;
mod giving;
mod lease;
mod memory;
mod metadata;
mod named;
mod next_transaction;
mod prepare;
mod prepared;
mod probes;
mod processes;
mod query;
mod reading;
mod remember;
mod replicas;
mod residue;
mod set;
mod settings;
mod show_diagnostics;
mod state;
mod through;
mod transact;
mod transaction;
mod utility;
mod variables;
mod veiled;

use std::future::poll_fn;
use std::sync::Arc;

use bytes::BytesMut;
use remora_planner::fingerprint::Normalizer;
use remora_protocol::{ClientIdentity, ErrPacket, OkPacket, backend_wish};
use tokio::sync::watch;

pub(crate) use backends::{Backends, Mark};
pub(crate) use commit::of_branch;
pub(crate) use diagnostics::{Diagnostics, Note};
pub(crate) use lease::{HOME, first_settings};
pub(crate) use next_transaction::{Characteristics, NextTransaction};
pub(crate) use prepared::Prepared;
pub(crate) use probes::Probes;
pub(crate) use reading::Reading;
pub(crate) use replicas::Replicas;
pub(crate) use residue::Residue;
pub(crate) use settings::Settings;
pub(crate) use state::{InsertId, State};
pub(crate) use through::Served;
pub(crate) use transaction::{Begun, Transaction};
pub(crate) use variables::Variables;

use crate::clients::{Registered, Who};
use crate::execute::{Cursor, ResultCharset};
use crate::failure::Failure;
use crate::frontend::{Client, ClientError, Peer, log_in};
use crate::names::logical;
use crate::net::Stream;
use crate::pool::{Holder, Identity};
use crate::proxy::Proxy;

/// A client that is logged in, and everything that is its own.
pub(crate) struct Session {
    pub(crate) proxy: Arc<Proxy>,
    pub(crate) client: Client,
    pub(crate) id: u32,
    /// What others see of it.
    pub(crate) entry: Registered,
    pub(crate) account: Account,
    pub(crate) state: State,
    pub(crate) backends: Backends,
    pub(crate) replicas: Replicas,
    /// The session as those see it who want its connections.
    pub(crate) holder: Arc<Holder>,
    pub(crate) prepared: Prepared,
    /// The cursor that the statement under way opened.
    pub(crate) opened_cursor: Option<Cursor>,
    pub(crate) probes: Probes,
    /// How texts of results are encoded, under the settings of this version.
    pub(crate) result_charset: Option<(u64, ResultCharset)>,
    /// Buffers for reading texts.
    pub(crate) normalizer: Normalizer,
    /// COMMIT RELEASE ends the session.
    pub(crate) leaves: bool,
    /// Who runs its statements.
    pub(crate) served: Served,
}

/// As whom the client logged in, and thus the sidecar in its name.
pub(crate) struct Account {
    pub(crate) identity: ClientIdentity,
    /// Where the client comes from.
    pub(crate) peer: Peer,
    /// The same towards MySQL.
    pub(crate) towards_mysql: Arc<Identity>,
}

impl Account {
    fn new(identity: ClientIdentity, peer: Peer) -> Self {
        let towards_mysql = Arc::new(Identity {
            user: identity.user.clone(),
            password: identity.password.clone(),
            capabilities: backend_wish(identity.capabilities),
            collation: login_collation(&identity),
        });
        Self {
            identity,
            peer,
            towards_mysql,
        }
    }

    /// As whom others see the client.
    fn who(&self) -> Who {
        Who {
            user: self.identity.user.clone(),
            password: self.identity.password.clone(),
            host: format!("{}:{}", self.peer.host(), self.peer.address.port()),
        }
    }

    /// Lets it begin anew with MySQL's own collation, as COM_RESET_CONNECTION does.
    fn forget_collation(&mut self) {
        self.identity.collation = DEFAULT_COLLATION.into();
        self.towards_mysql = Arc::new(Identity {
            collation: DEFAULT_COLLATION,
            ..Identity::clone(&self.towards_mysql)
        });
    }

    /// The collation to log in with. MySQL takes its default for those that do not fit in the
    /// login's one byte.
    pub(crate) fn collation(&self) -> u8 {
        self.towards_mysql.collation
    }
}

fn login_collation(identity: &ClientIdentity) -> u8 {
    u8::try_from(identity.collation).unwrap_or(DEFAULT_COLLATION)
}

/// utf8mb4_0900_ai_ci.
const DEFAULT_COLLATION: u8 = 255;

/// Serves one client until it leaves.
pub(crate) async fn run(
    proxy: Arc<Proxy>,
    stream: Stream,
    id: u32,
    peer: Peer,
    stop: watch::Receiver<bool>,
) {
    let _open = proxy.metrics.connected();
    // What is needed for a while only is in boxes: a client that rests costs what its session
    // holds, and not what its login or its largest statement may need.
    let Some(mut session) = Box::pin(admit(proxy, stream, id, peer)).await else {
        return;
    };
    session.serve(stop).await;
    Box::pin(session.close()).await;
}

/// Lets a client in.
async fn admit(proxy: Arc<Proxy>, stream: Stream, id: u32, peer: Peer) -> Option<Session> {
    let logged_in = match log_in(&proxy, stream, id, &peer).await {
        Ok(Some(logged_in)) => logged_in,
        Ok(None) => {
            tracing::debug!("Denied");
            proxy.metrics.denied();
            return None;
        }
        Err(error) => {
            tracing::debug!(%error, "The login failed");
            return None;
        }
    };
    let mut client = logged_in.client;
    let database = logged_in.identity.database.clone();
    let account = Account::new(logged_in.identity, peer);
    let entry = register(&proxy, &mut client, id, &account).await?;
    proxy.first_look().await;
    proxy.learn_packets().await;
    let mut session = Session::new(proxy, client, entry, account);
    if session.enter(database).await.is_err() {
        session.close().await;
        return None;
    }
    Some(session)
}

/// Adds a client to those that are logged in, or tells it why not.
async fn register(
    proxy: &Proxy,
    client: &mut Client,
    id: u32,
    account: &Account,
) -> Option<Registered> {
    let limit = proxy.limit_of(&account.identity.user);
    let refused = match client.socket() {
        Ok(socket) => match proxy.clients().add(id, account.who(), socket, limit) {
            Ok(entry) => return Some(entry),
            Err(error) => error,
        },
        Err(error) => {
            tracing::warn!(%error, "A client could not be let in");
            ErrPacket::new(1040, *b"08004", "Too many connections")
        }
    };
    proxy.metrics.error(refused.code);
    client.put_error(&refused);
    // It may be gone; either way its connection ends.
    drop(client.flush().await);
    client.close().await;
    None
}

impl Session {
    fn new(proxy: Arc<Proxy>, mut client: Client, entry: Registered, account: Account) -> Self {
        // Where replicas are read from, the sidecar has servers tell them.
        client.set_own_gtids(proxy.world().reads.is_none());
        let state = State::new(client.capabilities(), account.collation());
        let holder = Arc::new(Holder::new(entry.id()));
        Self {
            proxy,
            client,
            id: entry.id(),
            entry,
            account,
            state,
            backends: Backends::default(),
            replicas: Replicas::default(),
            holder,
            prepared: Prepared::default(),
            opened_cursor: None,
            probes: Probes::default(),
            result_charset: None,
            normalizer: Normalizer::default(),
            leaves: false,
            served: Served::default(),
        }
    }

    /// Answers the login: OK once the database that the client wants is known to be there.
    async fn enter(&mut self, database: Option<Vec<u8>>) -> Result<(), Failure> {
        match self.enter_as(database).await {
            Ok(()) => {
                let ok = OkPacket {
                    status: self.state.status(),
                    ..OkPacket::default()
                };
                self.client.put_ok(&ok);
                self.client.flush().await?;
                if let Some(compression) = self.account.identity.compression {
                    self.client.compress(compression);
                }
                self.entry.rests();
                Ok(())
            }
            Err(Failure::Answer(error) | Failure::Last(error)) => {
                self.client.put_error(&error);
                self.client.flush().await?;
                Err(Failure::CutOff)
            }
            Err(Failure::CutOff) => Err(Failure::CutOff),
        }
    }

    /// Serves commands until the client leaves, or the process ends and no transaction is open.
    async fn serve(&mut self, mut stop: watch::Receiver<bool>) {
        while let Some(command) = self.next_command(&mut stop).await {
            self.starts();
            let outcome = match command {
                Ok(payload) => Box::pin(self.dispatch(&payload)).await,
                Err(error) => Err(error.into()),
            };
            let concluded = self.conclude(outcome).await;
            self.entry.rests();
            match concluded {
                Ok(true) => {
                    self.client.rest();
                    self.normalizer.rest();
                }
                Ok(false) | Err(_) => return,
            }
            self.rests().await;
        }
    }

    /// The client's next command; `None` when the process ends. Meanwhile connections are given
    /// back to those who ask.
    async fn next_command(
        &mut self,
        stop: &mut watch::Receiver<bool>,
    ) -> Option<Result<BytesMut, ClientError>> {
        self.client.limit_packets(self.proxy.packets.bytes());
        loop {
            let in_transaction = self.state.transaction.is_open() || self.served.in_transaction();
            let holder = &self.holder;
            tokio::select! {
                biased;
                command = self.client.command() => return Some(command),
                () = poll_fn(|cx| holder.poll_asked(cx)) => {}
                _ = stop.wait_for(|stop| *stop), if !in_transaction => return None,
            }
            Box::pin(self.gives()).await;
        }
    }

    /// Sends what is left of an answer; answers whether the session goes on.
    async fn conclude(&mut self, outcome: Result<bool, Failure>) -> Result<bool, Failure> {
        let goes_on = match outcome {
            Ok(goes_on) => goes_on,
            Err(Failure::Answer(error)) => {
                // Whoever made it, it may name a physical schema.
                let error = logical(&self.proxy.world(), error);
                self.state.diagnostics = Diagnostics::of_error(&error);
                self.state.row_count = -1;
                self.fail(&error);
                true
            }
            Err(Failure::Last(error)) => {
                let error = logical(&self.proxy.world(), error);
                tracing::debug!(%error, "The session ends");
                self.fail(&error);
                false
            }
            Err(Failure::CutOff) => return Ok(false),
        };
        self.client.flush().await?;
        self.proxy.metrics.sent(self.client.take_sent());
        Ok(goes_on)
    }

    /// Puts an error in place of what was not sent yet.
    fn fail(&mut self, error: &ErrPacket<'_>) {
        self.proxy.metrics.error(error.code);
        self.client.discard();
        self.client.put_error(error);
    }

    async fn close(&mut self) {
        self.part().await;
        self.client.close().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a task takes, which lives as long as its client.
    fn size<A, B, C, D, E, F>(_: impl Fn(A, B, C, D, E) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn a_client_that_rests_costs_no_more_than_what_its_session_holds() {
        let (task, session) = (size(run), size_of::<Session>());
        assert!(session <= 1536, "{session}");
        assert!(task <= session + 1536, "{task} for a session of {session}");
    }
}
