//! One client's session: what a MySQL session is, over several servers.

mod backends;
mod commit;
mod console;
mod diagnostics;
mod dispatch;
mod lease;
mod memory;
mod metadata;
mod next_transaction;
mod prepare;
mod prepared;
mod probes;
mod query;
mod reading;
mod remember;
mod replicas;
mod set;
mod settings;
mod show_diagnostics;
mod state;
mod transact;
mod transaction;
mod utility;
mod veiled;

use std::net::SocketAddr;
use std::sync::Arc;

use remora_planner::fingerprint::Normalizer;
use remora_protocol::{ClientIdentity, ErrPacket, OkPacket};
use tokio::sync::watch;

pub(crate) use backends::{Backends, Mark};
pub(crate) use commit::of_branch;
pub(crate) use diagnostics::{Diagnostics, Note};
pub(crate) use lease::HOME;
pub(crate) use next_transaction::{Characteristics, NextTransaction};
pub(crate) use prepared::Prepared;
pub(crate) use probes::Probes;
pub(crate) use reading::Reading;
pub(crate) use replicas::Replicas;
pub(crate) use settings::Settings;
pub(crate) use state::{InsertId, State};
pub(crate) use transaction::{Begun, Transaction};

use crate::execute::{Cursor, ResultCharset};
use crate::failure::Failure;
use crate::frontend::{Client, log_in};
use crate::names::logical;
use crate::net::Stream;
use crate::proxy::Proxy;

/// A client that is logged in, and everything that is its own.
pub(crate) struct Session {
    pub(crate) proxy: Arc<Proxy>,
    pub(crate) client: Client,
    pub(crate) id: u32,
    pub(crate) account: Account,
    pub(crate) state: State,
    pub(crate) backends: Backends,
    pub(crate) replicas: Replicas,
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
}

/// As whom the client logged in, and thus the sidecar in its name.
pub(crate) struct Account {
    pub(crate) identity: ClientIdentity,
    /// The client's host, as MySQL would name it.
    pub(crate) host: String,
}

impl Account {
    fn new(identity: ClientIdentity, host: String) -> Self {
        Self { identity, host }
    }

    /// The collation to log in with. MySQL takes its default for those that do not fit in the
    /// login's one byte.
    pub(crate) fn collation(&self) -> u8 {
        u8::try_from(self.identity.collation).unwrap_or(DEFAULT_COLLATION)
    }
}

/// utf8mb4_0900_ai_ci.
const DEFAULT_COLLATION: u8 = 255;

/// Serves one client until it leaves.
pub(crate) async fn run(
    proxy: Arc<Proxy>,
    stream: Stream,
    id: u32,
    peer: SocketAddr,
    stop: watch::Receiver<bool>,
) {
    let host = if peer.ip().is_loopback() {
        "localhost".to_owned()
    } else {
        peer.ip().to_string()
    };
    let metrics = proxy.metrics.clone();
    let _open = metrics.connected();
    match log_in(&proxy, stream, id, host.clone()).await {
        Ok(Some(logged_in)) => {
            let client = logged_in.client;
            let database = logged_in.identity.database.clone();
            let account = Account::new(logged_in.identity, host);
            proxy.first_look().await;
            proxy.learn_packets().await;
            let mut session = Session::new(proxy, client, id, account);
            if session.enter(database).await.is_ok() {
                session.serve(stop).await;
            }
            session.close().await;
        }
        Ok(None) => {
            tracing::debug!("Denied");
            metrics.denied();
        }
        Err(error) => tracing::debug!(%error, "The login failed"),
    }
}

impl Session {
    fn new(proxy: Arc<Proxy>, mut client: Client, id: u32, account: Account) -> Self {
        // Where replicas are read from, the sidecar has servers tell them.
        client.set_own_gtids(proxy.world().reads.is_none());
        let state = State::new(client.capabilities(), account.collation());
        Self {
            proxy,
            client,
            id,
            account,
            state,
            backends: Backends::default(),
            replicas: Replicas::default(),
            prepared: Prepared::default(),
            opened_cursor: None,
            probes: Probes::default(),
            result_charset: None,
            normalizer: Normalizer::default(),
            leaves: false,
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
        loop {
            self.client.limit_packets(self.proxy.packets.bytes());
            let command = if self.state.transaction.is_open() {
                self.client.command().await
            } else {
                tokio::select! {
                    biased;
                    command = self.client.command() => command,
                    _ = stop.wait_for(|stop| *stop) => return,
                }
            };
            let outcome = match command {
                Ok(payload) => self.dispatch(&payload).await,
                Err(error) => Err(error.into()),
            };
            match self.conclude(outcome).await {
                Ok(true) => self.client.shrink(),
                Ok(false) | Err(_) => return,
            }
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
        self.backends.quit_all().await;
        self.replicas.quit_all().await;
        self.client.close().await;
    }
}
