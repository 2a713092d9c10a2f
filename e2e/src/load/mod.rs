//! The load of the demo: the three kinds of transaction of the test that Remora answers, on
//! an ordinary MySQL client that knows nothing of shards.

mod report;
mod transactions;
mod visits;

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use futures::future::try_join_all;
use mysql_async::{Conn, Opts, OptsBuilder};

pub use report::{KindReport, Report};
pub use transactions::{Kind, prepare_tables};

/// Whom to load, and how much.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where MySQL's protocol is spoken.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The account.
    pub user: String,
    /// Its password.
    pub password: String,
    /// The database with the tables.
    pub database: String,
    /// Connections that work at the same time.
    pub clients: usize,
    /// How long they work.
    pub duration: Duration,
}

impl Options {
    /// One connection, with the account's user and database.
    ///
    /// # Errors
    /// If the server does not let us in.
    pub async fn connect(&self) -> Result<Conn> {
        let options: Opts = OptsBuilder::default()
            .ip_or_hostname(self.host.clone())
            .tcp_port(self.port)
            .user(Some(self.user.clone()))
            .pass(Some(self.password.clone()))
            .db_name(Some(self.database.clone()))
            // The server names a socket of its own, which would pass the sidecar by.
            .prefer_socket(false)
            .into();
        Conn::new(options).await.with_context(|| {
            format!(
                "cannot log in at {}:{} as {}",
                self.host, self.port, self.user
            )
        })
    }

    /// Makes the tables where they are missing and fills them with `rows` orders.
    ///
    /// # Errors
    /// If the server refuses a statement.
    pub async fn prepare(&self, rows: usize) -> Result<()> {
        prepare_tables(&mut self.connect().await?, rows).await
    }

    /// Runs the load and measures it.
    ///
    /// # Errors
    /// If a client cannot log in. Transactions that fail are counted instead.
    pub async fn run(&self) -> Result<Report> {
        let connections = try_join_all((0..self.clients).map(|_| self.connect())).await?;
        let start = Instant::now();
        let until = start + self.duration;
        let clients = connections
            .into_iter()
            .enumerate()
            .map(|(number, connection)| {
                tokio::spawn(transactions::client(connection, number, until))
            });
        let mut report = Report::default();
        for client in try_join_all(clients).await? {
            report.add(client);
        }
        report.took = start.elapsed();
        Ok(report)
    }
}
