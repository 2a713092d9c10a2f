//! Steps on what answers hold: errors, warnings, several results, prepared statements.

use anyhow::{Context as _, Result, bail, ensure};
use rand::Rng as _;
use remora_protocol::{ColumnType, Command, Param, ParamType, RawParam};

use super::Session;
use super::model::Kind;
use super::session::only;

/// MySQL's number for a statement that nobody prepared.
const UNKNOWN_STATEMENT: u16 = 1243;

impl Session {
    /// A warning with the session's mark in its text.
    pub(super) async fn warning(&mut self) -> Result<()> {
        let own = format!("{}x{}", self.mark, self.random.random::<u16>());
        let answer = self
            .ok(&format!("SELECT CAST('{own}' AS SIGNED), '{own}'"))
            .await?;
        ensure!(answer.warnings == 1, "{} warnings", answer.warnings);
        let rows = answer.rows.context("no rows")?.rows;
        ensure!(only(&rows)?[1].as_ref() == Some(&own), "{rows:?}");
        let shown = self.rows_of("SHOW WARNINGS").await?;
        let expected = [
            "Warning".to_owned(),
            "1292".to_owned(),
            format!("Truncated incorrect INTEGER value: '{own}'"),
        ]
        .map(Some);
        ensure!(only(&shown)? == expected, "{shown:?} and not {expected:?}");
        Ok(())
    }

    /// An error with the session's mark in its text; the session goes on.
    pub(super) async fn failure(&mut self) -> Result<()> {
        let own = format!("{}_{}", self.mark, self.random.random::<u16>());
        let (sql, code) = match self.random.random_range(0..3) {
            0 => (format!("SELECT * FROM shop.{own}"), 1146),
            1 => (format!("SELECT {own} FROM shop.digit"), 1054),
            _ => (format!("SELECT '{own}' FROM WHERE"), 1064),
        };
        let message = self.fails(&sql, code).await?;
        // A syntax error shows the text from where it is wrong.
        ensure!(code == 1064 || message.contains(&own), "{message}");
        let shown = self.rows_of("SHOW WARNINGS").await?;
        let row = only(&shown)?;
        let told = [Some(code.to_string()), Some(message)];
        ensure!(row[1..] == told, "{shown:?} and not {told:?}");
        Ok(())
    }

    /// Several statements in one text, of which the last may fail.
    pub(super) async fn several(&mut self) -> Result<()> {
        let own = format!("{} {}", self.mark, self.random.random::<u16>());
        let breaks = self.random.random_bool(0.3);
        let last = match breaks {
            true => "SELECT nothing FROM shop.digit; SELECT 'never'",
            false => "SELECT @mark, @b",
        };
        let sql = format!("SELECT '{own}', @mark; SET @b = '{own}'; SELECT @b; {last}");
        let outcome = self.say(&sql).await?;
        self.model.variables.insert("@b", Some(own.clone()));
        let own = Some(own);
        let mark = self.model.mark.clone();
        let mut expected = vec![
            vec![own.clone(), mark.clone()],
            Vec::new(),
            vec![own.clone()],
        ];
        if !breaks {
            expected.push(vec![mark, own]);
        }
        let got: Vec<_> = outcome
            .answers
            .into_iter()
            .map(|answer| {
                answer
                    .rows
                    .map(|rows| rows.rows)
                    .unwrap_or_default()
                    .concat()
            })
            .collect();
        ensure!(
            got == expected,
            "{got:?} and not {expected:?}: {sql}: {:?}",
            outcome.error
        );
        match (breaks, outcome.error) {
            (true, Some(error)) if error.code == 1054 => Ok(()),
            (false, None) => Ok(()),
            (_, other) => bail!("{other:?}: {sql}"),
        }
    }

    /// Prepares one more statement of some kind.
    pub(super) async fn prepare(&mut self) -> Result<()> {
        if self.model.prepared.len() > 8 {
            return self.close().await;
        }
        let kinds = [Kind::Say, Kind::Read, Kind::Add, Kind::Make, Kind::Long];
        let kind = kinds[self.random.random_range(0..kinds.len())];
        let before = std::mem::take(&mut self.model.prepared);
        let made = self.held(kind).await?;
        // It is used before the others of its kind.
        self.model.prepared.extend(before);
        let ids: Vec<_> = self.model.prepared.iter().map(|h| h.statement.id).collect();
        let twice = ids.iter().filter(|id| **id == made.statement.id).count();
        ensure!(twice == 1, "the id {} twice in {ids:?}", made.statement.id);
        Ok(())
    }

    /// Closes a statement, which is unknown then.
    pub(super) async fn close(&mut self) -> Result<()> {
        if self.model.prepared.is_empty() {
            return Ok(());
        }
        let at = self.random.random_range(0..self.model.prepared.len());
        let held = self.model.prepared.swap_remove(at);
        let id = held.statement.id;
        self.history.note(&format!("CLOSE {id}"));
        self.client.send(&Command::StmtClose(id)).await?;
        if self.random.random_bool(0.5) {
            self.is_unknown(id).await?;
        }
        Ok(())
    }

    /// Whether no statement has this id.
    pub(super) async fn is_unknown(&mut self, id: u32) -> Result<()> {
        self.history.note(&format!("RESET {id}, which is closed"));
        let outcome = self.client.command(&Command::StmtReset(id)).await?;
        match outcome.error {
            Some(error) if error.code == UNKNOWN_STATEMENT => Ok(()),
            other => bail!("{other:?} for the statement {id}, which is closed"),
        }
    }

    /// Sends a parameter in pieces, now and then with something in between.
    pub(super) async fn long_data(&mut self) -> Result<()> {
        let held = self.held(Kind::Long).await?;
        let pieces = self.random.random_range(1..6);
        let piece = self.mark.repeat(self.random.random_range(1..4_000));
        let id = held.statement.id;
        for _ in 0..pieces {
            self.history
                .note(&format!("LONG DATA {id}, {} bytes", piece.len()));
            let data = Command::StmtSendLongData {
                statement: id,
                param: 0,
                data: piece.as_bytes(),
            };
            self.client.send(&data).await?;
            if self.random.random_bool(0.2) {
                self.ok("DO 1").await?;
            }
        }
        let length = if self.random.random_bool(0.2) {
            self.history.note(&format!("RESET {id}"));
            self.client.command(&Command::StmtReset(id)).await?.one()?;
            let answer = self.execute(&held, &[Param::bytes(b"short")]).await?;
            self.is_long(answer, 5)?;
            return Ok(());
        } else {
            piece.len() * pieces
        };
        let long = Param {
            ty: ParamType {
                kind: ColumnType::MYSQL_TYPE_VAR_STRING,
                unsigned: false,
            },
            raw: RawParam::Long,
        };
        let answer = self.execute(&held, &[long]).await?;
        self.is_long(answer, length)
    }

    fn is_long(&self, answer: crate::client::Answer, length: usize) -> Result<()> {
        let rows = answer.rows.context("no rows")?.rows;
        let expected = [Some(length.to_string()), self.model.mark.clone()];
        ensure!(only(&rows)? == expected, "{rows:?} and not {expected:?}");
        Ok(())
    }
}
