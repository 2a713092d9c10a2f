//! One MySQL server for a test, with a data directory and a run folder of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use mysql_async::{Conn, Opts, OptsBuilder};
use tempfile::TempDir;

use super::MysqlRoot;
use crate::process::{OwnedProcess, free_port};

/// How long a server may take to answer; InnoDB's start takes two seconds on a quiet machine.
const START_LIMIT: Duration = Duration::from_secs(90);

/// An account that the server has from its start.
#[derive(Clone, Copy, Debug)]
pub struct Account {
    /// Its name; it may come from any host.
    pub name: &'static str,
    /// Its password.
    pub password: &'static str,
    /// What it is granted, as in `GRANT … TO`.
    pub grants: &'static str,
}

/// What differs from one server to another.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// For messages and for the run folder's name.
    pub name: String,
    /// Accounts besides `root`, who comes by the Unix socket without a password.
    pub accounts: Vec<Account>,
    /// Further flags of `mysqld`.
    pub flags: Vec<String>,
}

impl ServerOptions {
    /// A small server with the accounts of [`MysqlServer::APPLICATION`] and
    /// [`MysqlServer::SYSTEM`].
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            accounts: vec![MysqlServer::APPLICATION, MysqlServer::SYSTEM],
            flags: Vec::new(),
        }
    }
}

/// A running MySQL server; it ends when this value is dropped, and its files vanish.
#[derive(Debug)]
pub struct MysqlServer {
    process: OwnedProcess,
    folder: Option<TempDir>,
    port: u16,
}

impl MysqlServer {
    /// The account that applications of the tests log in as.
    pub const APPLICATION: Account = Account {
        name: "app",
        password: "app-secret",
        grants: "ALL PRIVILEGES ON *.*",
    };
    /// The sidecar's own account.
    pub const SYSTEM: Account = Account {
        name: "remora",
        password: "remora-secret",
        grants: "ALL PRIVILEGES ON *.*",
    };

    /// A second account of applications, for tests that make it: see [`crate::sidecar`].
    pub const GUEST: Account = Account {
        name: "guest",
        password: "guest-secret",
        grants: "ALL PRIVILEGES ON *.*",
    };

    /// Starts a server on a free port and waits until it answers.
    ///
    /// # Errors
    /// If it does not come up; the text ends with the end of its log.
    pub async fn start(root: &MysqlRoot, options: &ServerOptions) -> Result<Self> {
        let folder = TempDir::with_prefix(format!("remora-{}-", options.name))?;
        let data = folder.path().join("data");
        root.copy_data(&data)?;
        // The copies would all have the UUID of the first, and replicate nothing from each other.
        let identity = data.join("auto.cnf");
        if identity.exists() {
            fs::remove_file(identity)?;
        }
        let init = folder.path().join("init.sql");
        fs::write(&init, init_statements(&options.accounts))?;
        let port = free_port()?;
        let mut server = Self {
            process: Self::run(root, options, folder.path(), port, Some("init.sql"))?,
            folder: Some(folder),
            port,
        };
        server.wait_until_ready(options).await?;
        Ok(server)
    }

    /// Starts the server again that [`OwnedProcess::kill`] or a crash ended, on its own files.
    ///
    /// # Errors
    /// As [`MysqlServer::start`].
    pub async fn start_again(&mut self, root: &MysqlRoot, options: &ServerOptions) -> Result<()> {
        let folder = self.folder().context("the files are someone else's")?;
        self.process = Self::run(root, options, folder, self.port, None)?;
        self.wait_until_ready(options).await
    }

    /// Starts mysqld on the files in `folder`.
    fn run(
        root: &MysqlRoot,
        options: &ServerOptions,
        folder: &Path,
        port: u16,
        init: Option<&str>,
    ) -> Result<OwnedProcess> {
        let data = folder.join("data");
        let mut command = root.command("usr/sbin/mysqld");
        command
            .arg("--no-defaults")
            .arg("--user=root")
            .arg(format!("--basedir={}", root.root().join("usr").display()))
            .arg(format!(
                "--lc-messages-dir={}",
                root.root().join("usr/share/mysql").display()
            ))
            .arg(format!("--datadir={}", data.display()))
            .arg(format!("--socket={}", folder.join("mysql.sock").display()))
            .arg(format!(
                "--pid-file={}",
                folder.join("mysqld.pid").display()
            ))
            .arg(format!("--port={port}"))
            .arg(format!("--server-id={port}"))
            .args([
                "--bind-address=127.0.0.1",
                "--mysqlx=0",
                "--secure-file-priv=",
            ])
            // A test has several servers on a small machine.
            .args(["--performance-schema=OFF", "--innodb-buffer-pool-size=64M"])
            // Nothing here outlives the machine, so nothing waits for its disk.
            .args([
                "--innodb-flush-log-at-trx-commit=0",
                "--sync-binlog=0",
                "--skip-log-bin",
            ])
            .args(&options.flags);
        if let Some(file) = init {
            command.arg(format!("--init-file={}", folder.join(file).display()));
        }
        OwnedProcess::start(&options.name, command, &folder.join("mysqld.log"))
    }

    async fn wait_until_ready(&mut self, options: &ServerOptions) -> Result<()> {
        let Some(account) = options.accounts.first() else {
            return Ok(());
        };
        let deadline = Instant::now() + START_LIMIT;
        loop {
            self.process.check()?;
            match Conn::new(self.login(account)).await {
                Ok(connection) => return Ok(connection.disconnect().await?),
                Err(error) if Instant::now() > deadline => {
                    return Err(error).with_context(|| {
                        format!(
                            "{} does not answer:\n{}",
                            options.name,
                            self.process.log_end()
                        )
                    });
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }

    /// How to log in as `account`.
    #[must_use]
    pub fn login(&self, account: &Account) -> Opts {
        login(self.port, account).into()
    }

    /// The TCP port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The folder with the server's data, socket and log.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_ref().map(TempDir::path)
    }

    /// The server's process.
    #[must_use]
    pub fn process(&self) -> &OwnedProcess {
        &self.process
    }

    /// The same, to end it.
    pub fn process_mut(&mut self) -> &mut OwnedProcess {
        &mut self.process
    }

    /// Lets the server live on without this value: its process id and its folder.
    #[must_use]
    pub fn leave_running(mut self) -> (u32, Option<PathBuf>) {
        let folder = self.folder.take().map(TempDir::keep);
        (self.process.leave_running(), folder)
    }
}

/// How to log in on `port` of this machine as `account`, by TCP and never by a socket that the
/// server names: what listens may be a sidecar.
#[must_use]
pub fn login(port: u16, account: &Account) -> OptsBuilder {
    OptsBuilder::default()
        .ip_or_hostname("127.0.0.1")
        .tcp_port(port)
        .user(Some(account.name))
        .pass(Some(account.password))
        .prefer_socket(false)
}

/// The statements that a server runs at its start, one a line as `init_file` wants them. They
/// stay out of its binary log: each server of a replicated shard runs them by itself.
fn init_statements(accounts: &[Account]) -> String {
    let of_accounts: String = accounts
        .iter()
        .map(
            |Account {
                 name,
                 password,
                 grants,
             }| {
                format!(
                    "CREATE USER '{name}'@'%' IDENTIFIED BY '{password}';\n\
                 GRANT {grants} TO '{name}'@'%' WITH GRANT OPTION;\n"
                )
            },
        )
        .collect();
    format!("SET SESSION sql_log_bin = 0;\n{of_accounts}")
}
