//! What must not be left when all clients are gone.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::Soak;
use crate::client::{Client, Login};
use crate::mysql::MysqlServer;
use crate::patience::until_within;

/// How long the servers have to notice that all are gone, and statements under way to end.
const PATIENCE: Duration = Duration::from_secs(40);
/// How many statements a sidecar's connection keeps prepared.
const PREPARED_EACH: u64 = 128;
/// Sockets of a connection to a server: itself, and the handle that ends it with its server.
const SOCKETS_EACH: usize = 2;

/// Connections of the sessions' users, apart from those that look.
const CONNECTIONS: &str =
    "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER IN ('app', 'guest')";

/// A client of a server, past the sidecar.
pub(super) async fn past(server: &MysqlServer) -> Result<Client> {
    let login = Login {
        database: None,
        ..Login::new(server.port(), MysqlServer::SYSTEM)
    };
    login.connect().await
}

/// How many connections the sessions' users have on a server.
pub(super) async fn connections(client: &mut Client) -> Result<u64> {
    number(client, CONNECTIONS).await
}

async fn number(client: &mut Client, sql: &str) -> Result<u64> {
    let value = client.query(sql).await?.value().context(sql.to_owned())?;
    Ok(value.context("NULL")?.parse()?)
}

/// How many files and sockets a process has open.
pub(super) fn descriptors(pid: u32) -> Result<usize> {
    Ok(fs::read_dir(format!("/proc/{pid}/fd"))?.count())
}

impl Soak {
    /// # Errors
    /// If a server still holds something of a client that is gone.
    pub(super) async fn nothing_is_left(&self) -> Result<()> {
        for (shard, server) in self.shards.servers.iter().enumerate() {
            let mut client = past(server).await?;
            until_within(PATIENCE, "what clients left", async || {
                self.nothing_is_left_on(&mut client).await
            })
            .await
            .with_context(|| format!("shard {shard}"))?;
            client.quit().await?;
        }
        let allowed = self.descriptors
            + self.shards.servers.len() * self.most_connections() as usize * SOCKETS_EACH;
        let open = descriptors(self.shards.sidecar.process().pid())?;
        ensure!(
            open <= allowed,
            "the sidecar has {open} files and sockets open, {allowed} are accounted for"
        );
        Ok(())
    }

    async fn nothing_is_left_on(&self, client: &mut Client) -> Result<()> {
        let connected = connections(client).await?;
        let most = self.most_connections();
        ensure!(
            connected <= most,
            "{connected} connections, {most} may stay"
        );
        let busy = number(client, &format!("{CONNECTIONS} AND COMMAND <> 'Sleep'")).await?;
        ensure!(busy == 0, "{busy} connections work for nobody");
        let open = "SELECT COUNT(*) FROM information_schema.INNODB_TRX";
        let open = number(client, open).await?;
        ensure!(open == 0, "{open} transactions are open");
        let branches = client.query("XA RECOVER").await?.rows()?.len();
        ensure!(branches == 0, "{branches} branches are prepared");
        let own = "SELECT COUNT(*) FROM performance_schema.metadata_locks l \
                   JOIN performance_schema.threads t ON t.THREAD_ID = l.OWNER_THREAD_ID \
                   WHERE t.PROCESSLIST_USER IN ('app', 'guest')";
        let locks = number(client, own).await?;
        ensure!(
            locks == 0,
            "{locks} metadata locks and locks by name are held"
        );
        let locks = "SELECT COUNT(*) FROM performance_schema.data_locks";
        let locks = number(client, locks).await?;
        ensure!(locks == 0, "{locks} locks of rows and tables are held");
        let tables = "SELECT COUNT(*) FROM information_schema.INNODB_TEMP_TABLE_INFO";
        let tables = number(client, tables).await?;
        ensure!(tables == 0, "{tables} temporary tables are there");
        let rows = client
            .query("SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'")
            .await?
            .rows()?;
        let count = rows.into_iter().flatten().nth(1).flatten();
        let count: u64 = count.context("no status")?.parse()?;
        ensure!(
            count <= connected * PREPARED_EACH,
            "{count} statements are prepared on {connected} connections"
        );
        Ok(())
    }
}
