//! One command of the client.

use std::sync::Arc;

use bytes::BytesMut;
use remora_protocol::{
    ChangeUser, Command, ErrPacket, OkPacket, Reply, SessionChange, StatusFlags,
};

use super::lease::{HOME, first_settings};
use super::{Account, Session, State};
use crate::backend::{Backend, Login};
use crate::execute::{Patch, relay};
use crate::failure::Failure;
use crate::frontend;
use crate::telemetry::CommandKind;

impl Session {
    /// Runs one command; answers whether the session goes on.
    pub(super) async fn dispatch(&mut self, payload: &[u8]) -> Result<bool, Failure> {
        let command = Command::decode(payload, self.client.capabilities())?;
        self.entry.begins(&command);
        self.proxy
            .metrics
            .command(CommandKind::from(&command), payload.len());
        if self.served.is_through(&command) {
            return self.pass_through(&command).await;
        }
        match command {
            Command::Quit => return Ok(false),
            Command::Query(text) => self.query(text, &[]).await?,
            Command::QueryWith(query) => {
                let attributes = query.attributes.decode()?;
                self.query(query.text, &attributes).await?;
            }
            Command::StmtExecute(execute) => self.execute(&execute).await?,
            Command::StmtPrepare(sql) => self.prepare(sql).await?,
            Command::StmtSendLongData {
                statement,
                param,
                data,
            } => {
                let room = (self.state.held(), self.proxy.packets.bytes());
                self.prepared.long_data(statement, param, data, room);
            }
            Command::StmtClose(statement) => {
                if let Ok(cursor) = self.prepared.take_cursor(statement) {
                    self.close_cursor(cursor)?;
                }
                self.prepared.close(statement);
            }
            Command::StmtReset(statement) => {
                if let Ok(cursor) = self.prepared.take_cursor(statement) {
                    self.close_cursor(cursor)?;
                }
                self.prepared.reset(statement)?;
                self.put_ok(false);
            }
            Command::StmtFetch { statement, rows } => self.fetch(statement, rows).await?,
            Command::InitDb(name) => {
                self.change_database(name).await?;
                self.put_database_ok(false);
            }
            Command::Ping => self.put_ok(false),
            Command::Statistics => {
                self.pass_home(&Command::Statistics, Reply::Statistics)
                    .await?;
            }
            Command::FieldList { table, wildcard } => self.field_list(table, wildcard).await?,
            Command::SetOption(option) => self.set_option(option)?,
            Command::ResetConnection => {
                self.reset().await?;
                self.put_ok(false);
            }
            Command::ChangeUser(request) => return self.change_user(request).await,
            Command::ProcessInfo => self.show_processes(false, false, false).await?,
            Command::ProcessKill(id) => self.kill_by_id(id).await?,
            Command::Debug | Command::Unknown(_) => return Err(Command::unknown_error().into()),
        }
        Ok(!self.leaves)
    }

    /// Adds a plain OK with the session's status.
    pub(crate) fn put_ok(&mut self, more_results: bool) {
        let status = self.status(more_results);
        self.client.put_ok(&OkPacket {
            status,
            ..OkPacket::default()
        });
    }

    /// The status of an answer that is made here.
    pub(crate) fn status(&self, more_results: bool) -> StatusFlags {
        let mut status = self.state.status();
        status.set(StatusFlags::SERVER_MORE_RESULTS_EXISTS, more_results);
        status
    }

    /// Adds the OK of a change of the database, which clients may track.
    pub(crate) fn put_database_ok(&mut self, more_results: bool) {
        let mut changes = BytesMut::new();
        let name = self.state.context.database.as_deref().unwrap_or_default();
        SessionChange::Schema(name.as_bytes()).encode(&mut changes);
        let status = self.status(more_results);
        self.client.put_ok(&OkPacket {
            status,
            session_state: &changes,
            ..OkPacket::default()
        });
    }

    /// Makes `name` the current database. The manifest's own is on every shard; of others only
    /// the first shard knows whether they exist, and whether this user may use them.
    pub(crate) async fn change_database(&mut self, name: &[u8]) -> Result<(), Failure> {
        if name.is_empty() {
            return Err(ErrPacket::new(1046, *b"3D000", "No database selected").into());
        }
        let world = self.proxy.world();
        let shown = String::from_utf8_lossy(name).into_owned();
        if world.names.is_hidden(name) {
            let message = format!("Unknown database '{shown}'");
            return Err(ErrPacket::new(1049, *b"42000", message).into());
        }
        if shown != world.snapshot.spec.database {
            self.prepare_backend(&world, HOME).await?;
            if let Some(home) = self.backends.get(HOME) {
                home.use_database(&shown).await??;
            }
        }
        self.entry.enters(Some(&shown));
        Arc::make_mut(&mut self.state.context).database = Some(shown);
        Ok(())
    }

    /// Lets the first shard answer a command that needs no session state.
    async fn pass_home(&mut self, command: &Command<'_>, reply: Reply) -> Result<(), Failure> {
        let world = self.proxy.world();
        self.prepare_backend(&world, HOME).await?;
        let Some(home) = self.backends.get(HOME) else {
            return Err(Failure::CutOff);
        };
        let exchange = home.command(command, reply).await?;
        let patch = Patch {
            names: Some(&world.names),
            ..Patch::default()
        };
        relay(&mut self.client, exchange, &patch).await?;
        Ok(())
    }

    fn set_option(&mut self, option: u16) -> Result<(), Failure> {
        match option {
            0 => self.client.set_multi_statements(true),
            1 => self.client.set_multi_statements(false),
            _ => return Err(Command::unknown_error().into()),
        }
        // MySQL answers this one with an EOF packet of the session's status.
        let ok = OkPacket {
            status: self.state.status(),
            ..OkPacket::default()
        };
        self.client.put_end(&ok);
        Ok(())
    }

    /// COM_RESET_CONNECTION: everything is forgotten but the user and the database.
    async fn reset(&mut self) -> Result<(), Failure> {
        let world = self.proxy.world();
        // MySQL forgets the login's collation too, so that further shards must not see it.
        self.account.forget_collation();
        let identity = Arc::clone(&self.account.towards_mysql);
        let begin = |backend: &mut Backend| {
            // The server's own default may be another one; this travels with what follows.
            backend.queue_query(b"SET NAMES utf8mb4");
            backend.begin(first_settings(&world));
            backend.is_of(&identity);
        };
        self.backends.drop_gone();
        for backend in self.backends.iter_mut() {
            backend.reset().await?;
            begin(backend);
        }
        self.replicas.reset(begin).await;
        self.client.set_own_gtids(world.reads.is_none());
        let database = self.state.context.database.clone();
        self.renew_state();
        Arc::make_mut(&mut self.state.context).database = database;
        self.prepared.clear();
        self.client.set_bare_results(false);
        Ok(())
    }

    /// What is left to check of a user who proved who it is.
    pub(super) async fn enter_as(&mut self, database: Option<Vec<u8>>) -> Result<(), Failure> {
        if self.enter_gateway(database.as_deref()).await? {
            return Ok(());
        }
        match database {
            Some(name) => self.change_database(&name).await,
            None => Ok(()),
        }
    }

    /// Forgets everything but what its transactions have yet to show.
    fn renew_state(&mut self) {
        let unsettled = std::mem::take(&mut self.state.unsettled);
        self.state = State::new(self.client.capabilities(), self.account.collation());
        self.state.unsettled = unsettled;
    }

    async fn change_user(&mut self, request: ChangeUser<'_>) -> Result<bool, Failure> {
        let peer = self.account.peer.clone();
        self.part().await;
        let own_gtids = self.proxy.world().reads.is_none();
        self.client.set_own_gtids(own_gtids);
        self.prepared.clear();
        let before = &self.account.identity;
        let changed = frontend::change_user(
            &self.proxy,
            &mut self.client,
            before,
            &request,
            self.id,
            &peer,
        );
        let Some(identity) = changed.await? else {
            return Ok(false);
        };
        let database = identity.database.clone().filter(|name| !name.is_empty());
        let account = Account::new(identity, peer);
        let limit = self.proxy.limit_of(&account.identity.user);
        if let Err(error) = self.entry.become_user(account.who(), limit) {
            return Err(Failure::Last(error));
        }
        self.account = account;
        self.client.set_bare_results(false);
        self.renew_state();
        self.entry.enters(None);
        match self.enter_as(database).await {
            Ok(()) => self.put_ok(false),
            // MySQL ends the connection of a client that it cannot let in as someone else.
            Err(Failure::Answer(error)) => return Err(Failure::Last(error)),
            Err(other) => return Err(other),
        }
        Ok(true)
    }

    /// As whom the session logs in to a shard.
    pub(super) fn login(&self, database: Option<String>) -> Login {
        let identity = &self.account.towards_mysql;
        Login {
            user: identity.user.clone(),
            password: identity.password.clone(),
            database,
            capabilities: identity.capabilities,
            collation: identity.collation,
            attributes: self.account.identity.attributes.clone(),
            packet_limit: self.proxy.packets.bytes(),
        }
    }
}
