//! KILL and SHOW PROCESSLIST: other sessions of this sidecar.

use std::time::Instant;

use remora_planner::utility::{self, KillId};
use remora_protocol::{ColumnDef, ColumnFlags, ColumnType, ErrPacket};

use super::through::no_kill_through;
use super::utility::not_supported;
use super::{HOME, Session};
use crate::clients::{Rights, Shown, interrupted, unknown_thread};
use crate::execute::{Cell, Request, number_column, put_table, text_column};
use crate::failure::Failure;
use crate::world::World;

/// MySQL's number for an account that lacks a right.
const NOT_OWNER: u16 = 1095;
/// How much of a statement SHOW PROCESSLIST shows without FULL.
const SHORT: usize = 100;

impl Session {
    /// KILL as a statement.
    pub(super) async fn kill(
        &mut self,
        world: &World,
        request: &Request<'_>,
    ) -> Result<(), Failure> {
        if self.comes_through() {
            return Err(no_kill_through().into());
        }
        let sql = request.sql;
        let Ok(kill) = utility::kill(sql, self.state.context.sql_mode) else {
            return Err(self.refuse_kill(world, sql).await);
        };
        let id = match kill.id {
            KillId::Number(id) => id,
            KillId::Own => self.id,
            KillId::Expression(span) => {
                let expression = sql.get(span.range()).unwrap_or_default();
                if !expression.starts_with(b"@") {
                    return Err(self.refuse_kill(world, sql).await);
                }
                self.id_of(world, expression).await?
            }
        };
        self.kill_session(id, kill.query).await?;
        self.state.succeeded();
        self.put_ok(request.more_results);
        Ok(())
    }

    /// COM_PROCESS_KILL.
    pub(super) async fn kill_by_id(&mut self, id: u32) -> Result<(), Failure> {
        if self.comes_through() {
            return Err(no_kill_through().into());
        }
        self.kill_session(id, false).await?;
        self.put_ok(false);
        Ok(())
    }

    async fn kill_session(&mut self, id: u32, query: bool) -> Result<(), Failure> {
        if id == self.id {
            return Err(match query {
                true => Failure::Answer(interrupted()),
                false => Failure::Last(interrupted()),
            });
        }
        let Some(entry) = self.proxy.clients().get(id) else {
            return Err(unknown_thread(id).into());
        };
        let killer = self.account.who();
        if !entry.is_of(&killer.user) {
            let world = self.proxy.world();
            if !self.rights(&world).await?.kills {
                let message = format!("You are not owner of thread {id}");
                return Err(ErrPacket::new(NOT_OWNER, *b"HY000", message).into());
            }
        }
        let proxy = self.proxy.clone();
        match query {
            true => proxy.kill_query(&entry, killer).await?,
            false => proxy.kill_client(&entry, killer).await?,
        }
        Ok(())
    }

    /// Refuses a KILL: MySQL says what is wrong with it, if anything. It must not run there, since
    /// the servers' ids are others.
    async fn refuse_kill(&mut self, world: &World, sql: &[u8]) -> Failure {
        let looked = async {
            self.prepare_backend(world, HOME).await?;
            match self.backends.get(HOME) {
                Some(home) => home.look_at(sql).await?.map_err(Failure::from),
                None => Err(Failure::CutOff),
            }
        };
        match looked.await {
            Err(failure) => failure,
            Ok(_) => not_supported(
                "KILL with an expression; give the number, CONNECTION_ID() or a user variable",
            ),
        }
    }

    /// What a server says an expression with variables is.
    async fn id_of(&mut self, world: &World, expression: &[u8]) -> Result<u32, Failure> {
        let shard = self.any_shard();
        self.prepare_backend(world, shard).await?;
        let Some(backend) = self.backends.get(shard) else {
            return Err(Failure::CutOff);
        };
        let mut sql = b"SELECT ".to_vec();
        sql.extend_from_slice(expression);
        let rows = backend.rows(&sql).await??;
        let value = rows.first().and_then(|row| row.first()).cloned().flatten();
        let text = value.and_then(|value| String::from_utf8(value).ok());
        // What is no number is 0 for MySQL, which is nobody's.
        let number: Option<i128> = text.and_then(|text| text.trim().parse().ok());
        Ok(number.map_or(0, |number| u32::try_from(number).unwrap_or(u32::MAX)))
    }

    /// What the client's account may do to others' sessions.
    async fn rights(&mut self, world: &World) -> Result<Rights, Failure> {
        self.prepare_backend(world, HOME).await?;
        let Some(home) = self.backends.get(HOME) else {
            return Err(Failure::CutOff);
        };
        let rows = home.rows(b"SHOW GRANTS").await??;
        Ok(Rights::read(rows.into_iter().flatten().flatten()))
    }

    /// SHOW PROCESSLIST: the sessions of this sidecar, or those of the client's own user where it
    /// may not see others'.
    pub(super) async fn show_processes(
        &mut self,
        full: bool,
        binary: bool,
        more_results: bool,
    ) -> Result<(), Failure> {
        let world = self.proxy.world();
        let sees = match self.rights(&world).await {
            Ok(rights) => rights.sees,
            Err(Failure::Answer(error)) => {
                tracing::debug!(%error, "An account's rights are not known");
                false
            }
            Err(other) => return Err(other),
        };
        let user = &self.account.identity.user;
        let entries = self
            .proxy
            .clients()
            .those(|entry| sees || entry.is_of(user));
        let now = Instant::now();
        let rows: Vec<_> = entries
            .iter()
            .map(|entry| row(entry.shown(), self.id, full, now))
            .collect();
        let status = self.status(more_results);
        let columns = columns(self.account.collation(), full);
        put_table(&mut self.client, &columns, &rows, binary, status);
        self.state.succeeded();
        Ok(())
    }
}

fn row(shown: Shown, own: u32, full: bool, now: Instant) -> Vec<Cell> {
    let state = match shown.text {
        Some(_) if shown.id == own => "init",
        Some(_) => "executing",
        None => "",
    };
    let seconds = now.saturating_duration_since(shown.since).as_secs();
    let text = |text: Option<Vec<u8>>| text.map_or(Cell::Null, Cell::Text);
    let info = shown.text.map(|mut text| {
        if !full {
            text.truncate(SHORT);
        }
        text
    });
    vec![
        Cell::LongLong(shown.id.into()),
        Cell::Text(shown.user),
        Cell::Text(shown.host.into_bytes()),
        text(shown.database.map(String::into_bytes)),
        Cell::Text(shown.command.into()),
        Cell::Long(u32::try_from(seconds).unwrap_or(u32::MAX)),
        Cell::Text(state.into()),
        text(info),
    ]
}

/// The columns as MySQL 9.7 describes them.
fn columns(collation: u8, full: bool) -> [ColumnDef<'static>; 8] {
    let number = |name, kind, length| {
        let column = number_column(name, kind, length, ColumnFlags::NOT_NULL_FLAG);
        ColumnDef {
            flags: column.flags - ColumnFlags::UNSIGNED_FLAG,
            ..column
        }
    };
    let text = |name, characters| text_column(name, characters, collation);
    let nullable = |name, characters| ColumnDef {
        flags: ColumnFlags::empty(),
        ..text(name, characters)
    };
    [
        number("Id", ColumnType::MYSQL_TYPE_LONGLONG, 22),
        text("User", 32),
        text("Host", 255),
        nullable("db", 64),
        text("Command", 16),
        number("Time", ColumnType::MYSQL_TYPE_LONG, 8),
        nullable("State", 30),
        match full {
            false => nullable("Info", SHORT as u32),
            true => ColumnDef {
                kind: ColumnType::MYSQL_TYPE_LONG_BLOB,
                length: FULL_LENGTH,
                ..nullable("Info", 0)
            },
        },
    ]
}

/// The length of Info that MySQL announces with FULL.
const FULL_LENGTH: u32 = 805_306_368;
