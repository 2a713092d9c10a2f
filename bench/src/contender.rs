//! What stands between sysbench and MySQL.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};
use remora_e2e::process::{OwnedProcess, cpu_time, free_port};

/// One way to reach MySQL.
#[derive(Clone, Copy, Debug)]
pub struct Contender {
    /// Its name in tables.
    pub name: &'static str,
    /// Where clients connect.
    pub port: u16,
    /// The process whose processor time is counted, if there is one in between.
    pub proxy: Option<u32>,
}

impl Contender {
    /// Processor time that the proxy has used so far.
    ///
    /// # Errors
    /// If the proxy is gone.
    pub fn cpu(&self) -> Result<Duration> {
        self.proxy.map_or(Ok(Duration::ZERO), cpu_time)
    }
}

/// HAProxy in TCP mode in front of one server, with its defaults otherwise.
#[derive(Debug)]
pub struct Haproxy {
    process: OwnedProcess,
    port: u16,
}

impl Haproxy {
    /// Starts it in front of `server` and waits until it listens.
    ///
    /// # Errors
    /// If HAProxy is not installed or does not come up.
    pub async fn start(folder: &Path, server: u16) -> Result<Self> {
        let port = free_port()?;
        let config = folder.join("haproxy.cfg");
        let text = format!(
            "defaults\n    mode tcp\n    timeout connect 5s\n    timeout client 1h\n    \
             timeout server 1h\nlisten mysql\n    bind 127.0.0.1:{port}\n    \
             server one 127.0.0.1:{server}\n"
        );
        fs::write(&config, text)?;
        let mut command = Command::new("haproxy");
        command.arg("-db").arg("-f").arg(&config);
        let process = OwnedProcess::start("haproxy", command, &folder.join("haproxy.log"))?;
        let mut haproxy = Self { process, port };
        for _ in 0..100 {
            haproxy.process.check()?;
            if tokio::net::TcpStream::connect(("127.0.0.1", port))
                .await
                .is_ok()
            {
                return Ok(haproxy);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        bail!("haproxy does not listen:\n{}", haproxy.process.log_end())
    }

    /// It as a contender.
    #[must_use]
    pub fn contender(&self) -> Contender {
        Contender {
            name: "HAProxy, TCP mode",
            port: self.port,
            proxy: Some(self.process.pid()),
        }
    }
}
