//! Steps on tables: rows that are the session's own, in one statement or in a transaction.

use std::fmt::Write as _;

use anyhow::{Context as _, Result, ensure};
use rand::Rng as _;
use remora_protocol::Param;

use super::Session;
use super::model::{Kind, Rows};
use super::session::only;

/// How many rows a session has at most.
const MOST: usize = 24;

impl Session {
    pub(super) async fn insert(&mut self) -> Result<()> {
        let (id, n) = self.make_row().await?;
        self.rows.insert(id, n);
        Ok(())
    }

    /// Makes a row, by text or prepared, and gives its key.
    async fn make_row(&mut self) -> Result<(u64, i64)> {
        let (mark, n) = (self.mark.clone(), self.random.random_range(0..1_000_000));
        let answer = if self.random.random_bool(0.5) {
            let sql = format!("INSERT INTO shop.item (owner, n) VALUES ('{mark}', {n})");
            self.ok(&sql).await?
        } else {
            let held = self.held(Kind::Make).await?;
            let params = [Param::bytes(mark.as_bytes()), Param::int(n)];
            self.execute(&held, &params).await?
        };
        ensure!(answer.affected == 1, "{} rows inserted", answer.affected);
        self.model.insert_id = answer.insert_id;
        if self.random.random_bool(0.5) {
            let said = self.number_of("SELECT LAST_INSERT_ID()").await?;
            ensure!(
                said as u64 == answer.insert_id,
                "LAST_INSERT_ID() is {said}"
            );
        }
        Ok((answer.insert_id, n))
    }

    pub(super) async fn update(&mut self) -> Result<()> {
        let mut rows = self.rows.clone();
        self.change(&mut rows).await?;
        self.rows = rows;
        Ok(())
    }

    /// Adds to one row, or to some over the shards, and looks at ROW_COUNT().
    async fn change(&mut self, rows: &mut Rows) -> Result<()> {
        let more = self.random.random_range(1..100);
        if self.random.random_bool(0.5) {
            let at = self.random.random_range(0..rows.len().max(1));
            let Some((id, n)) = rows.iter_mut().nth(at) else {
                return Ok(());
            };
            let held = self.held(Kind::Add).await?;
            let params = [Param::int(more), Param::uint(*id)];
            let answer = self.execute(&held, &params).await?;
            ensure!(answer.affected == 1, "{} rows for {id}", answer.affected);
            *n += more;
            let (id, n) = (*id, *n);
            let held = self.held(Kind::Read).await?;
            let answer = self.execute(&held, &[Param::uint(id)]).await?;
            return self.is_own(only(&answer.rows.context("no rows")?.rows)?, n);
        }
        let most = self.random.random_range(1..6);
        let mut ids = String::from("0");
        let mut count = 0;
        for (id, n) in rows.iter_mut().take(most) {
            let _never_fails = write!(ids, ", {id}");
            *n += more;
            count += 1;
        }
        let sql = format!("UPDATE shop.item SET n = n + {more} WHERE id IN ({ids})");
        let answer = self.ok(&sql).await?;
        ensure!(
            answer.affected == count,
            "{} and not {count}",
            answer.affected
        );
        let said = self.number_of("SELECT ROW_COUNT()").await?;
        ensure!(
            said as u64 == count,
            "ROW_COUNT() is {said} and not {count}"
        );
        Ok(())
    }

    pub(super) async fn delete(&mut self) -> Result<()> {
        if self.rows.len() < MOST / 2 {
            return self.insert().await;
        }
        let mut rows = self.rows.clone();
        self.remove(&mut rows).await?;
        self.rows = rows;
        Ok(())
    }

    /// Deletes down to a third of what a session may have.
    async fn remove(&mut self, rows: &mut Rows) -> Result<()> {
        while rows.len() > MOST / 3 {
            let at = self.random.random_range(0..rows.len());
            let Some(id) = rows.keys().nth(at).copied() else {
                break;
            };
            let answer = self
                .ok(&format!("DELETE FROM shop.item WHERE id = {id}"))
                .await?;
            ensure!(answer.affected == 1, "{} rows deleted", answer.affected);
            rows.remove(&id);
        }
        Ok(())
    }

    pub(super) async fn read_own(&mut self) -> Result<()> {
        let rows = self.rows.clone();
        self.has(&rows).await
    }

    /// Reads all rows of the session, from both shards.
    async fn has(&mut self, expected: &Rows) -> Result<()> {
        let sql = format!(
            "SELECT id, n, owner FROM shop.item WHERE owner = '{}' ORDER BY id",
            self.mark
        );
        let rows = self.rows_of(&sql).await?;
        let expected: Vec<_> = expected
            .iter()
            .map(|(id, n)| {
                let values = [id.to_string(), n.to_string(), self.mark.clone()];
                values.map(Some).to_vec()
            })
            .collect();
        ensure!(
            rows == expected,
            "rows are {rows:?} and must be {expected:?}"
        );
        self.found(rows.len()).await
    }

    /// Rows of a table on one server, of which LIMIT leaves out some.
    pub(super) async fn found_rows(&mut self) -> Result<()> {
        let most = self.random.random_range(1..9);
        let sql = format!("SELECT '{}', n FROM shop.digit LIMIT {most}", self.mark);
        let rows = self.rows_of(&sql).await?;
        ensure!(rows.len() == most, "{} rows and not {most}", rows.len());
        let own = Some(self.mark.clone());
        ensure!(rows.iter().all(|row| row[0] == own), "{rows:?}");
        self.found(most).await
    }

    /// Whether FOUND_ROWS() is this.
    async fn found(&mut self, rows: usize) -> Result<()> {
        let found = self.number_of("SELECT FOUND_ROWS()").await?;
        ensure!(
            found == rows as i64,
            "FOUND_ROWS() is {found} and not {rows}"
        );
        Ok(())
    }

    /// A row in the table `note` of the current database, with MySQL's own AUTO_INCREMENT.
    pub(super) async fn note(&mut self) -> Result<()> {
        let (mark, place) = (self.mark.clone(), self.model.database);
        let text = self.random.random::<u32>().to_string();
        let insert = format!("INSERT INTO note (owner, text) VALUES ('{mark}', '{text}')");
        let id = self.ok(&insert).await?.insert_id;
        self.model.insert_id = id;
        let rows = self
            .rows_of(&format!(
                "SELECT owner, text, place FROM note WHERE id = LAST_INSERT_ID() AND id = {id}"
            ))
            .await?;
        let expected = [mark, text, place.to_owned()].map(Some);
        ensure!(only(&rows)? == expected, "{rows:?} and not {expected:?}");
        let deleted = self
            .ok(&format!("DELETE FROM note WHERE id = {id}"))
            .await?;
        ensure!(deleted.affected == 1, "{} notes deleted", deleted.affected);
        Ok(())
    }

    /// A transaction over some rows, which begins, goes back and ends in every way.
    pub(super) async fn transaction(&mut self) -> Result<()> {
        let by_autocommit = self.random.random_bool(0.3);
        let opening = match (by_autocommit, self.random.random_bool(0.5)) {
            (true, _) => "SET autocommit = 0",
            (false, true) => "BEGIN",
            (false, false) => "START TRANSACTION READ WRITE",
        };
        self.ok(opening).await?;
        if by_autocommit {
            self.model.settings.insert("autocommit", "0".to_owned());
        }
        let mut rows = self.rows.clone();
        let mut saved = None;
        for _ in 0..self.random.random_range(1..8) {
            match self.random.random_range(0..8) {
                0..=2 => {
                    let (id, n) = self.make_row().await?;
                    rows.insert(id, n);
                }
                3 => self.change(&mut rows).await?,
                4 => self.has(&rows.clone()).await?,
                5 => self.remove(&mut rows).await?,
                6 => {
                    self.ok("SAVEPOINT here").await?;
                    saved = Some(rows.clone());
                }
                _ => {
                    if let Some(saved) = &saved {
                        self.ok("ROLLBACK TO SAVEPOINT here").await?;
                        rows.clone_from(saved);
                    }
                }
            }
        }
        match self.random.random_range(0..10) {
            0..=4 => {
                self.ok("COMMIT").await?;
                self.rows = rows;
            }
            5..=7 => drop(self.ok("ROLLBACK").await?),
            8 => self.reset().await?,
            _ => self.leave_silently().await?,
        }
        if self.model.settings.get("autocommit").map(String::as_str) == Some("0") {
            // Ends what a read began.
            self.ok("SET autocommit = 1").await?;
            self.model.settings.insert("autocommit", "1".to_owned());
        }
        self.read_own().await
    }
}
