//! A suite, and a run of it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;
use tokio::process::Command;

use super::target::{DATABASE, Target};
use super::{Comparison, Side, Verdicts};
use crate::mysql::{MysqlRoot, MysqlServer};

/// Where the runners lie.
const RUNNERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/drivers");
/// No suite takes half as long on a quiet machine.
const LIMIT: Duration = Duration::from_secs(900);

/// A runner and all that it started; they end with this value.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        let leader = self.0.and_then(|id| Pid::from_raw(id.cast_signed()));
        if let Some(leader) = leader {
            // Fails when all of them have ended already.
            let _gone = kill_process_group(leader, Signal::KILL);
        }
    }
}

/// The tests of a driver, by their runner in `e2e/drivers`.
#[derive(Debug)]
pub struct Suite {
    /// The runner's name.
    pub name: &'static str,
    /// The driver's name, as people know it.
    pub title: &'static str,
    /// Whose tests they are.
    pub tests: &'static str,
}

impl Suite {
    /// All of them, the quickest first.
    pub const ALL: [Self; 9] = [
        Self {
            name: "mysql-client",
            title: "`mysql` client",
            tests: "our own",
        },
        Self {
            name: "mysqldump",
            title: "`mysqldump`",
            tests: "our own",
        },
        Self {
            name: "mysqlclient",
            title: "mysqlclient (Python, C)",
            tests: "its own",
        },
        Self {
            name: "pymysql",
            title: "PyMySQL",
            tests: "mysqlclient's",
        },
        Self {
            name: "mysql2",
            title: "mysql2 (Node)",
            tests: "our own; it ships none",
        },
        Self {
            name: "connector-j",
            title: "Connector/J under HikariCP",
            tests: "our own; it ships none",
        },
        Self {
            name: "go-sql-driver",
            title: "go-sql-driver/mysql",
            tests: "its own",
        },
        Self {
            name: "sqlalchemy",
            title: "SQLAlchemy",
            tests: "its own: MySQL dialect and compliance",
        },
        Self {
            name: "mysql_async",
            title: "mysql_async (Rust)",
            tests: "its own",
        },
    ];

    /// The one of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn named(name: &str) -> Result<&'static Self> {
        let found = Self::ALL.iter().find(|suite| suite.name == name);
        let names = Self::ALL.map(|suite| suite.name).join(", ");
        found.with_context(|| format!("there is no suite {name}; there are {names}"))
    }

    fn runner(&self) -> PathBuf {
        Path::new(RUNNERS).join(self.name)
    }

    /// Installs what the suite needs, and gives the driver's version.
    ///
    /// # Errors
    /// If something of it cannot be had.
    pub async fn install(&self) -> Result<String> {
        let status = Command::new(self.runner()).arg("install").status().await?;
        if !status.success() {
            bail!("e2e/drivers/{} install: {status}", self.name);
        }
        let output = Command::new(self.runner()).arg("version").output().await?;
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }

    /// Runs it on both sides at once, with its logs in `logs`.
    ///
    /// # Errors
    /// If a server does not start, or the suite ran no test.
    pub async fn compare(
        &'static self,
        root: &MysqlRoot,
        version: String,
        logs: &Path,
    ) -> Result<Comparison> {
        let run = |side| self.run(root, side, logs);
        let (mysql, remora) = tokio::try_join!(run(Side::Mysql), run(Side::Remora))?;
        Ok(Comparison {
            suite: self,
            version,
            mysql,
            remora,
        })
    }

    /// Runs it on one side.
    ///
    /// # Errors
    /// As [`compare`](Self::compare).
    async fn run(&self, root: &MysqlRoot, side: Side, logs: &Path) -> Result<Verdicts> {
        let target = Target::start(root, side).await?;
        let work = TempDir::with_prefix(format!("remora-{}-", self.name))?;
        let file = work.path().join("verdicts");
        let log = logs.join(format!("{}-{}.log", self.name, side.name()));
        let output = File::create(&log)?;
        let folder = work.path().join("work");
        fs::create_dir(&folder)?;
        let started = Instant::now();
        let mut command = Command::new(self.runner());
        command
            .arg("run")
            .current_dir(&folder)
            .env("HOST", "127.0.0.1")
            .env("PORT", target.port().to_string())
            .env("ACCOUNT", MysqlServer::APPLICATION.name)
            .env("PASSWORD", MysqlServer::APPLICATION.password)
            .env("DATABASE", DATABASE)
            .env("MYSQL_ROOT", root.root())
            .env("VERDICTS", &file)
            .stdin(std::process::Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .process_group(0);
        let mut child = command.spawn()?;
        let _all = Group(child.id());
        let status = tokio::time::timeout(LIMIT, child.wait())
            .await
            .with_context(|| format!("{} on {} takes too long", self.name, side.name()))??;
        fs::write(
            logs.join(format!("{}-{}.sidecar", self.name, side.name())),
            target.log_end(),
        )?;
        let text = fs::read_to_string(&file).unwrap_or_default();
        let verdicts = Verdicts::parse(&text).with_context(|| {
            format!(
                "{} on {} ended with {status} after {:.0} s; see {}",
                self.name,
                side.name(),
                started.elapsed().as_secs_f64(),
                log.display()
            )
        })?;
        Ok(verdicts)
    }
}
