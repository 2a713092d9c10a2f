//! SET: run on one server, remembered for the others.

use std::sync::Arc;

use remora_planner::keys::Charset;
use remora_planner::lexer::{Lexer, SqlMode};
use remora_planner::utility::{self, Assignment, Scope, SetValue, Span, TransactionScope};
use remora_protocol::{ColumnType, ErrPacket};

use super::settings::{CHARACTER_SET, NAMES};
use super::utility::not_supported;
use super::{Diagnostics, HOME, InsertId, Note, Session, Transaction};
use crate::backend::{Call, Table};
use crate::charsets;
use crate::execute::{Patch, Request, relay};
use crate::failure::Failure;
use crate::world::World;

/// Variables that SET assigns for the next transaction only, when written `@@name`.
const NEXT_TRANSACTION: [&str; 2] = ["transaction_isolation", "transaction_read_only"];
/// Variables of one statement or one server, which cannot be spread over several.
const REFUSED: [&str; 4] = ["gtid_next", "insert_id", "pseudo_thread_id", "sql_log_bin"];

/// How a connection that did not run the SET gets the same value.
enum Replay {
    /// By the client's own words.
    Text(Vec<u8>),
    /// By the value that MySQL computed.
    Value,
    /// By the value too: words of a string would mean something else in another character set
    /// or sql_mode.
    String,
}

/// One variable that a SET gives a value.
struct Assigned {
    name: Vec<u8>,
    replay: Replay,
}

impl Session {
    /// Runs a SET and remembers what it set.
    pub(super) async fn set(
        &mut self,
        world: &World,
        request: &Request<'_>,
    ) -> Result<(), Failure> {
        let sql = request.sql;
        let Ok(assignments) = utility::set(sql, self.state.context.sql_mode) else {
            return Err(not_supported("this form of SET"));
        };
        let mut assigned = Vec::with_capacity(assignments.len());
        for assignment in &assignments {
            match self.read(sql, assignment)? {
                Some(variable) => assigned.push(variable),
                None if assignments.len() > 1 => {
                    return Err(not_supported(
                        "characteristics of the next transaction beside other variables in one \
                         SET; use SET TRANSACTION",
                    ));
                }
                None => return self.set_next_transaction(request),
            }
        }
        let computes = assigned.iter().any(|a| matches!(a.replay, Replay::Value));
        let shard = if computes {
            self.shard_of_expressions(sql)
        } else {
            self.any_shard()
        };
        self.lease_for_set(world, shard, computes).await?;
        let Some(backend) = self.backends.get(shard) else {
            return Err(Failure::CutOff);
        };
        let params = request.params.map(<[_]>::to_vec);
        let exchange = backend.run(&Call { sql, params }).await?;
        let patch = Patch {
            more_results: request.more_results,
            ..Patch::default()
        };
        let relayed = relay(&mut self.client, exchange, &patch).await?;
        let Some(ended) = &relayed.ended else {
            self.state.failed_on(shard);
            return Ok(());
        };
        let was_autocommit = std::mem::replace(
            &mut self.state.autocommit,
            ended
                .status
                .contains(remora_protocol::StatusFlags::SERVER_STATUS_AUTOCOMMIT),
        );
        if self.state.autocommit && !was_autocommit {
            // Switching it on commits.
            self.state.transaction = Transaction::None;
        }
        self.state.transaction.observe(shard, ended.status);
        self.state.succeeded();
        if ended.warnings > 0
            && let Some(backend) = self.backends.get(shard)
        {
            // What follows asks the same server, and would wipe them out.
            self.state.diagnostics = Diagnostics::of_notes(Note::fetch(backend).await?);
        }
        self.remember(shard, assigned).await
    }

    /// What is assigned; `None` for the next transaction's characteristics.
    fn read(&self, sql: &[u8], assignment: &Assignment) -> Result<Option<Assigned>, Failure> {
        let mode = self.state.context.sql_mode;
        let text = |span: Span| String::from_utf8_lossy(span.text(sql)).into_owned();
        let replay = |set: String, value: Span| match utility::set_value(sql, value, mode) {
            SetValue::Expression => Replay::Value,
            _ => Replay::Text(format!("{set} = {}", text(value)).into_bytes()),
        };
        Ok(Some(match assignment {
            Assignment::Variable {
                scope: Scope::Session,
                bare_at,
                name,
                value,
            } => {
                let name = String::from_utf8_lossy(&name.name(sql)).to_ascii_lowercase();
                if *bare_at && NEXT_TRANSACTION.contains(&name.as_str()) {
                    return Ok(None);
                }
                if REFUSED.contains(&name.as_str()) {
                    return Err(not_supported(&format!("SET {name}")));
                }
                if name == "character_set_client" {
                    admit_text(&text(*value))?;
                }
                let replay = replay(format!("SET SESSION {name}"), *value);
                Assigned {
                    name: name.into_bytes(),
                    replay,
                }
            }
            Assignment::Variable { .. }
            | Assignment::Transaction {
                scope: TransactionScope::Global,
                ..
            } => {
                return Err(not_supported(
                    "SET GLOBAL and PERSIST, which reach one server only; put the variable \
                     into the manifest's spec.mysql.config",
                ));
            }
            Assignment::User { name, value } => {
                let replay = match utility::set_value(sql, *value, mode) {
                    SetValue::Text(_) => Replay::String,
                    _ => replay(format!("SET {}", text(*name)), *value),
                };
                Assigned {
                    name: name.text(sql).to_ascii_lowercase(),
                    replay,
                }
            }
            Assignment::Names { charset, collation } => {
                let charset = charset.map_or_else(|| "DEFAULT".to_owned(), text);
                admit_text(&charset)?;
                let collation = collation.map(|c| format!(" COLLATE {}", text(c)));
                let set = format!("SET NAMES {charset}{}", collation.unwrap_or_default());
                Assigned {
                    name: NAMES.to_vec(),
                    replay: Replay::Text(set.into_bytes()),
                }
            }
            Assignment::CharacterSet(charset) => {
                let charset = charset.map_or_else(|| "DEFAULT".to_owned(), text);
                admit_text(&charset)?;
                let set = format!("SET CHARACTER SET {charset}");
                Assigned {
                    name: CHARACTER_SET.to_vec(),
                    replay: Replay::Text(set.into_bytes()),
                }
            }
            Assignment::Transaction {
                scope: TransactionScope::Next,
                ..
            } => return Ok(None),
            Assignment::Transaction {
                scope: TransactionScope::Session,
                isolation,
                access,
            } => {
                let name: &[u8] = match (isolation, access) {
                    (Some(_), None) => b"transaction_isolation",
                    (None, _) => b"transaction_read_only",
                    (Some(_), Some(_)) => b"transaction",
                };
                Assigned {
                    name: name.to_vec(),
                    replay: Replay::Text(sql.to_vec()),
                }
            }
        }))
    }

    /// SET TRANSACTION, without SESSION: it goes before whatever opens the next transaction.
    fn set_next_transaction(&mut self, request: &Request<'_>) -> Result<(), Failure> {
        if self.state.transaction.is_open() {
            return Err(ErrPacket::new(
                1568,
                *b"25001",
                "Transaction characteristics can't be changed while a transaction is in progress",
            )
            .into());
        }
        self.state.next_transaction.push(request.sql.to_vec());
        self.state.succeeded();
        self.put_ok(request.more_results);
        Ok(())
    }

    /// An expression may read tables, which then are on the first shard, or variables that only
    /// one server knows.
    fn shard_of_expressions(&self, sql: &[u8]) -> usize {
        let mode = self.state.context.sql_mode;
        let reads = Lexer::new(sql, mode).any(|t| t.is_word(sql, "SELECT"));
        if reads { HOME } else { self.any_shard() }
    }

    async fn lease_for_set(
        &mut self,
        world: &World,
        shard: usize,
        computes: bool,
    ) -> Result<(), Failure> {
        if !computes {
            return self.prepare_backend(world, shard).await;
        }
        self.lease(world, shard).await?;
        self.lend_insert_id(shard).await
    }

    async fn remember(&mut self, shard: usize, assigned: Vec<Assigned>) -> Result<(), Failure> {
        let touches = |names: &[&[u8]]| assigned.iter().any(|a| names.contains(&&a.name[..]));
        let modes = touches(&[b"sql_mode"]);
        let limits = touches(&[b"sql_select_limit"]);
        let charsets = touches(&[
            NAMES,
            CHARACTER_SET,
            b"character_set_client",
            b"character_set_connection",
            b"collation_connection",
        ]);
        let insert_id = touches(&[b"last_insert_id", b"identity"]);
        for Assigned { name, replay } in assigned {
            if name.eq_ignore_ascii_case(b"last_insert_id") || name == b"identity" {
                continue;
            }
            let set = match replay {
                Replay::Text(set) => set,
                Replay::Value | Replay::String => self.computed(shard, &name).await?,
            };
            self.state.settings.put(&name, set);
        }
        let version = self.state.settings.version();
        if let Some(backend) = self.backends.get(shard) {
            backend.applied.settings = version;
            if modes || charsets {
                // What is prepared there was read under the old ones.
                backend.forget_statements()?;
            }
        }
        if insert_id {
            let otherwise = 0;
            self.state.insert_id = InsertId::Ask { shard, otherwise };
        }
        if limits {
            self.learn_select_limit(shard).await?;
        }
        if modes {
            self.learn_sql_mode(shard).await?;
        }
        if charsets {
            self.learn_charset(shard).await?;
        }
        Ok(())
    }

    async fn ask(&mut self, shard: usize, sql: &[u8]) -> Result<Table, Failure> {
        let Some(backend) = self.backends.get(shard) else {
            return Err(Failure::CutOff);
        };
        Ok(backend.table(sql).await??)
    }

    /// A SET that gives a variable the value that it has on `shard`.
    async fn computed(&mut self, shard: usize, name: &[u8]) -> Result<Vec<u8>, Failure> {
        let name = String::from_utf8_lossy(name).into_owned();
        if name.starts_with('@') {
            let ask =
                format!("SELECT {name}, HEX({name}), CHARSET({name}), COLLATION({name}) LIMIT 1");
            let table = self.ask(shard, ask.as_bytes()).await?;
            return Ok(format!("SET {name} = {}", user_value(&table)).into_bytes());
        }
        let table = self
            .ask(shard, format!("SELECT @@SESSION.{name} LIMIT 1").as_bytes())
            .await?;
        Ok(format!("SET SESSION {name} = {}", system_value(&table)).into_bytes())
    }

    /// `sql_select_limit` counts the rows of the whole answer, not of each part. All internal
    /// SELECTs have a LIMIT of their own because of it.
    async fn learn_select_limit(&mut self, shard: usize) -> Result<(), Failure> {
        let table = self
            .ask(shard, b"SELECT @@SESSION.sql_select_limit LIMIT 1")
            .await?;
        let limit: Option<u64> = table.text(0).parse().ok();
        self.state.select_limit = limit.filter(|limit| *limit < u64::MAX);
        Ok(())
    }

    async fn learn_sql_mode(&mut self, shard: usize) -> Result<(), Failure> {
        let table = self
            .ask(shard, b"SELECT @@SESSION.sql_mode LIMIT 1")
            .await?;
        let names = table.text(0);
        let context = Arc::make_mut(&mut self.state.context);
        context.sql_mode = SqlMode::from_names(&names);
        context.zero_is_a_value = names.split(',').any(|name| name == "NO_AUTO_VALUE_ON_ZERO");
        Ok(())
    }

    async fn learn_charset(&mut self, shard: usize) -> Result<(), Failure> {
        let ask =
            b"SELECT @@SESSION.character_set_client, @@SESSION.character_set_connection LIMIT 1";
        let table = self.ask(shard, ask).await?;
        let (client, connection) = (table.text(0), table.text(1));
        // It came by an expression or a number, and the servers have it already.
        charsets::admit_name(&client).map_err(Failure::Last)?;
        Arc::make_mut(&mut self.state.context).charset = if client == connection {
            Charset::named(&client)
        } else {
            Charset::Other
        };
        Ok(())
    }
}

/// Refuses a character set that is written as a word or a string.
fn admit_text(value: &str) -> Result<(), ErrPacket<'static>> {
    charsets::admit_name(value.trim_matches(['\'', '"', '`']))
}

fn is_number(kind: ColumnType) -> bool {
    use ColumnType as T;
    matches!(
        kind,
        T::MYSQL_TYPE_TINY
            | T::MYSQL_TYPE_SHORT
            | T::MYSQL_TYPE_INT24
            | T::MYSQL_TYPE_LONG
            | T::MYSQL_TYPE_LONGLONG
            | T::MYSQL_TYPE_DECIMAL
            | T::MYSQL_TYPE_NEWDECIMAL
    )
}

/// A user variable's value as a literal of the same type, character set and collation.
fn user_value(table: &Table) -> String {
    let (value, hex, charset, collation) =
        (table.text(0), table.text(1), table.text(2), table.text(3));
    match table.kinds.first() {
        _ if table.is_null(0) => "NULL".to_owned(),
        Some(kind) if is_number(*kind) => value,
        Some(ColumnType::MYSQL_TYPE_DOUBLE | ColumnType::MYSQL_TYPE_FLOAT) => {
            if value.contains('e') {
                value
            } else {
                format!("{value}e0")
            }
        }
        _ => format!("_{charset} X'{hex}' COLLATE {collation}"),
    }
}

fn system_value(table: &Table) -> String {
    let value = table.text(0);
    match table.kinds.first() {
        _ if table.is_null(0) => "NULL".to_owned(),
        Some(kind) if is_number(*kind) => value,
        Some(ColumnType::MYSQL_TYPE_DOUBLE | ColumnType::MYSQL_TYPE_FLOAT) => value,
        _ => format!("'{}'", value.replace('\'', "''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(kind: ColumnType, values: [Option<&str>; 4]) -> Table {
        let row = values.map(|v| v.map(|v| v.as_bytes().to_vec())).to_vec();
        Table {
            kinds: vec![kind],
            rows: vec![row],
        }
    }

    #[test]
    fn a_character_set_is_refused_however_it_is_quoted() {
        for value in ["sjis", "'GBK'", "\"big5\"", "`cp932`"] {
            assert!(admit_text(value).is_err(), "{value}");
        }
        for value in ["DEFAULT", "'latin1'", "@saved", "'it''s gbk'"] {
            assert!(admit_text(value).is_ok(), "{value}");
        }
    }

    #[test]
    fn a_computed_value_keeps_its_type() {
        use ColumnType as T;
        for (kind, values, literal) in [
            (
                T::MYSQL_TYPE_LONGLONG,
                [Some("-3"), Some("FD"), None, None],
                "-3",
            ),
            (T::MYSQL_TYPE_DOUBLE, [Some("2"), None, None, None], "2e0"),
            (
                T::MYSQL_TYPE_NEWDECIMAL,
                [Some("1.50"), None, None, None],
                "1.50",
            ),
            (
                T::MYSQL_TYPE_VAR_STRING,
                [
                    Some("a'b"),
                    Some("612762"),
                    Some("utf8mb4"),
                    Some("utf8mb4_bin"),
                ],
                "_utf8mb4 X'612762' COLLATE utf8mb4_bin",
            ),
            (T::MYSQL_TYPE_VAR_STRING, [None; 4], "NULL"),
        ] {
            assert_eq!(user_value(&table(kind, values)), literal);
        }
    }
}
