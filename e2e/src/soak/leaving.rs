//! How sessions end: in order, or in the middle of something.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rand::Rng as _;
use rand::seq::IndexedRandom as _;
use remora_protocol::Command;

use super::Session;
use super::model::{DATABASES, Model};
use super::session::only;
use crate::client::Client;
use crate::mysql::Account;

/// MySQL's number for a statement that was ended by KILL QUERY.
const INTERRUPTED: u16 = 1317;
/// How long a piece of a result may take to come.
const A_PIECE: Duration = Duration::from_millis(200);
/// How long a server may take to hear that a session ended.
const A_MOMENT: Duration = Duration::from_secs(2);

impl Session {
    /// COM_RESET_CONNECTION: all is forgotten but user and database.
    pub(super) async fn reset(&mut self) -> Result<()> {
        self.history.note("RESET CONNECTION");
        self.client
            .command(&Command::ResetConnection)
            .await?
            .one()?;
        let (account, database) = (self.model.account, self.model.database);
        self.begun_anew(account, database).await
    }

    /// COM_CHANGE_USER to the other user, or to the same.
    pub(super) async fn change_user(&mut self) -> Result<()> {
        let account = match self.random.random_bool(0.7) {
            true => self.other_user(),
            false => self.model.account,
        };
        let database = *DATABASES.choose(&mut self.random).context("no databases")?;
        self.history
            .note(&format!("CHANGE USER {} {database}", account.name));
        if let Err(error) = self.client.change_user(&account, database).await? {
            bail!("{error}");
        }
        self.begun_anew(account, database).await
    }

    /// A session in which nothing of the one before may be left.
    async fn begun_anew(&mut self, account: Account, database: &'static str) -> Result<()> {
        let before = std::mem::replace(
            &mut self.model,
            Model::begun(account, database, &self.shared.defaults),
        );
        self.introduce().await?;
        if before.temporary.is_some() {
            self.fails("SELECT * FROM shop.own", 1146).await?;
        }
        if before.locked {
            // A server hears of it a moment later where its connection was closed.
            let free = format!("SELECT IS_FREE_LOCK('{}')", self.mark);
            let until = Instant::now() + A_MOMENT;
            while self.number_of(&free).await? != 1 {
                if Instant::now() > until {
                    bail!("the lock of {} is held after the session's end", self.mark);
                }
                self.rest(100).await;
            }
        }
        if let Some(held) = before.prepared.last() {
            self.is_unknown(held.statement.id).await?;
        }
        Ok(())
    }

    /// COM_QUIT, then another connection.
    pub(super) async fn quit(&mut self) -> Result<()> {
        let before = self.connect_anew().await?;
        self.history.note("QUIT");
        before.quit().await?;
        self.introduce().await
    }

    /// Closes the socket while a statement runs.
    pub(super) async fn leave_asleep(&mut self) -> Result<()> {
        let mut before = self.connect_anew().await?;
        self.history.note("(leaves in the middle of SLEEP)");
        let sleep = format!("SELECT SLEEP(3), '{}'", self.mark);
        before.send(&Command::Query(sleep.as_bytes())).await?;
        self.rest(20).await;
        drop(before);
        self.introduce().await
    }

    /// Closes the socket in the middle of a result of 40 MB.
    pub(super) async fn leave_half_read(&mut self) -> Result<()> {
        let mut before = self.connect_anew().await?;
        self.history.note("(leaves in the middle of a result)");
        let sql = match self.random.random_bool(0.5) {
            true => format!(
                "SELECT REPEAT('{}', 10000) FROM shop.digit a, shop.digit b, shop.digit c",
                self.mark
            ),
            false => format!(
                "SELECT REPEAT('{}', 10000), id FROM shop.item ORDER BY id",
                self.mark
            ),
        };
        before.send(&Command::Query(sql.as_bytes())).await?;
        for _ in 0..self.random.random_range(0..4) {
            // Of few rows it may have read all.
            let read = before.read_some(64 << 10);
            if let Ok(read) = tokio::time::timeout(A_PIECE, read).await {
                read?;
            }
        }
        drop(before);
        self.introduce().await
    }

    /// Has another session end a statement, and only that.
    pub(super) async fn kill(&mut self) -> Result<()> {
        if self.random.random_bool(0.7) {
            return Ok(());
        }
        let mut other = self.shared.login(self.model.account).connect().await?;
        let id = self.client.connection_id();
        let sleep = format!("SELECT SLEEP(3), '{}'", self.mark);
        self.history.note(&sleep);
        self.client.send(&Command::Query(sleep.as_bytes())).await?;
        self.rest(100).await;
        self.history
            .note(&format!("(another says KILL QUERY {id})"));
        other.query(&format!("KILL QUERY {id}")).await?;
        other.quit().await?;
        let outcome = self.client.read_answers().await?;
        match outcome.error {
            Some(error) if error.code == INTERRUPTED => {}
            Some(error) => bail!("{error}"),
            None => {
                let rows = outcome.rows()?;
                // It may have come before the statement began, and ended nothing.
                let row = only(&rows)?;
                let said = ["0", "1"].map(|said| Some(said.to_owned()));
                let own = Some(self.mark.clone());
                ensure!(said.contains(&row[0]) && row[1] == own, "{rows:?}");
            }
        }
        Ok(())
    }

    /// Closes the socket without a word.
    pub(super) async fn leave_silently(&mut self) -> Result<()> {
        drop(self.connect_anew().await?);
        self.history.note("(closes the socket)");
        self.introduce().await
    }

    /// Puts a new connection in place of the one that the session has, and gives that.
    async fn connect_anew(&mut self) -> Result<Client> {
        let account = match self.random.random_bool(0.5) {
            true => self.other_user(),
            false => self.model.account,
        };
        self.history
            .note(&format!("(connects as {})", account.name));
        let client = self.shared.login(account).connect().await?;
        self.model = Model::begun(account, DATABASES[0], &self.shared.defaults);
        Ok(std::mem::replace(&mut self.client, client))
    }

    async fn rest(&mut self, most: u64) {
        let rest = Duration::from_millis(self.random.random_range(0..most));
        tokio::time::sleep(rest).await;
    }

    /// The end: what the session wrote is there, and it says goodbye.
    pub(super) async fn leave(&mut self) -> Result<()> {
        self.read_own().await?;
        self.history.note("QUIT");
        self.client.send(&Command::Quit).await
    }
}
