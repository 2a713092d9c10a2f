//! What a SET leaves behind: how other connections get the same, and what the session must know.

use std::sync::Arc;

use remora_planner::keys::Charset;
use remora_planner::lexer::SqlMode;
use remora_protocol::ColumnType;

use super::set::{Assigned, Replay};
use super::settings::{CHARACTER_SET, NAMES};
use super::{InsertId, Session};
use crate::backend::Table;
use crate::charsets;
use crate::failure::Failure;

impl Session {
    /// Remembers what a SET on `shard` gave values to.
    pub(super) async fn remember(
        &mut self,
        shard: usize,
        assigned: Vec<Assigned>,
    ) -> Result<(), Failure> {
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
        let touches_gtids = touches(&[b"session_track_gtids"]);
        let insert_id = touches(&[b"last_insert_id", b"identity"]);
        for Assigned { name, replay } in assigned {
            if name.eq_ignore_ascii_case(b"last_insert_id") || name == b"identity" {
                continue;
            }
            let set = match replay {
                Replay::Never => continue,
                Replay::Text(set) => Some(set),
                Replay::Value | Replay::String => self.computed(shard, &name).await?,
            };
            match set {
                Some(set) => self.state.settings.put(&name, set),
                // Too large to be held here: as if a statement on that shard had assigned it.
                None => {
                    self.state.settings.forget(&name);
                    self.state.variables.keep(shard);
                }
            }
        }
        if let Some(backend) = self.backends.get(shard) {
            backend.adopt(&self.state.settings);
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
        if touches_gtids {
            self.client.set_own_gtids(true);
        }
        if modes {
            self.learn_sql_mode(shard).await?;
        }
        if charsets {
            self.learn_charset(shard).await?;
        }
        Ok(())
    }

    /// Asks `shard` something about the session there.
    pub(super) async fn ask(&mut self, shard: usize, sql: &[u8]) -> Result<Table, Failure> {
        let Some(backend) = self.backends.get(shard) else {
            return Err(Failure::CutOff);
        };
        Ok(backend.table(sql).await??)
    }

    /// A SET that gives a variable the value that it has on `shard`; `None` for one that takes more
    /// than the session may hold.
    pub(super) async fn computed(
        &mut self,
        shard: usize,
        name: &[u8],
    ) -> Result<Option<Vec<u8>>, Failure> {
        let name = String::from_utf8_lossy(name).into_owned();
        if name.starts_with('@') {
            // As a literal each byte takes two.
            let most = self.room() / 2;
            let ask = format!(
                "SELECT {name}, HEX({name}), CHARSET({name}), COLLATION({name}) FROM DUAL \
                 WHERE COALESCE(LENGTH({name}), 0) <= {most} LIMIT 1"
            );
            let table = self.ask(shard, ask.as_bytes()).await?;
            if table.rows.is_empty() {
                return Ok(None);
            }
            return Ok(Some(
                format!("SET {name} = {}", user_value(&table)).into_bytes(),
            ));
        }
        let table = self
            .ask(shard, format!("SELECT @@SESSION.{name} LIMIT 1").as_bytes())
            .await?;
        Ok(Some(
            format!("SET SESSION {name} = {}", system_value(&table)).into_bytes(),
        ))
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
        self.state.hides_quotes = charsets::hides_quotes(&client);
        Arc::make_mut(&mut self.state.context).charset = if client == connection {
            Charset::named(&client)
        } else {
            Charset::Other
        };
        Ok(())
    }
}

pub(super) fn is_number(kind: ColumnType) -> bool {
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
    let [value, hex, charset, collation] = [0, 1, 2, 3].map(|column| table.text(column));
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
            names: Vec::new(),
            rows: vec![row],
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
