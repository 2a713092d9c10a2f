//! sysbench as a process: one load, one sample.

use std::process::Command;

use anyhow::{Context as _, Result, bail};
use remora_e2e::mysql::Account;

/// How sysbench sends its statements.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Protocol {
    /// As text.
    Text,
    /// Prepared once for each connection.
    Prepared,
}

impl Protocol {
    /// The name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Prepared => "prepared",
        }
    }
}

/// A load of sysbench against one port.
#[derive(Clone, Copy, Debug)]
pub struct Sysbench {
    /// Where it connects.
    pub port: u16,
    /// Whom it logs in as.
    pub account: Account,
    /// Rows of its one table.
    pub rows: u64,
}

/// What one run measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Transactions in all; a point select is one.
    pub transactions: u64,
    /// Transactions for each second.
    pub tps: f64,
    /// The 99th percentile of the latency, in milliseconds.
    pub p99_ms: f64,
}

impl Sysbench {
    /// Makes the table and its rows.
    ///
    /// # Errors
    /// If sysbench fails; the text is what it said.
    pub fn prepare(&self) -> Result<()> {
        self.run("oltp_point_select", &["prepare"]).map(|_| ())
    }

    /// Runs `test` for `seconds` with `threads` connections.
    ///
    /// # Errors
    /// If sysbench fails, or says something else than expected.
    pub fn measure(
        &self,
        test: &str,
        protocol: Protocol,
        threads: u32,
        seconds: u64,
    ) -> Result<Sample> {
        let output = self.run(
            test,
            &[
                match protocol {
                    Protocol::Text => "--db-ps-mode=disable",
                    Protocol::Prepared => "--db-ps-mode=auto",
                },
                &format!("--threads={threads}"),
                &format!("--time={seconds}"),
                "--report-interval=0",
                "--percentile=99",
                "--rand-type=uniform",
                "run",
            ],
        )?;
        sample(&output)
    }

    fn run(&self, test: &str, arguments: &[&str]) -> Result<String> {
        let output = Command::new("sysbench")
            .arg(test)
            .args(["--mysql-host=127.0.0.1", "--mysql-db=shop", "--tables=1"])
            .arg(format!("--mysql-port={}", self.port))
            .arg(format!("--mysql-user={}", self.account.name))
            .arg(format!("--mysql-password={}", self.account.password))
            .arg(format!("--table-size={}", self.rows))
            .args(arguments)
            .output()
            .context("cannot run sysbench: apt-get install sysbench")?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            bail!(
                "sysbench failed:\n{text}\n{}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        Ok(text)
    }
}

/// Reads the numbers of sysbench's report.
fn sample(text: &str) -> Result<Sample> {
    let line = |start: &str| {
        text.lines()
            .find_map(|line| line.trim().strip_prefix(start))
            .with_context(|| format!("no line {start:?} in sysbench's report:\n{text}"))
    };
    let transactions = line("transactions:")?;
    let mut words = transactions.split_whitespace();
    let count = words.next().context("no number of transactions")?;
    let rate = words
        .next()
        .context("no rate of transactions")?
        .trim_start_matches('(');
    let errors = line("ignored errors:")?;
    if !errors.trim_start().starts_with("0 ") {
        bail!("sysbench met errors: {errors}");
    }
    Ok(Sample {
        transactions: count.parse()?,
        tps: rate.parse()?,
        p99_ms: line("99th percentile:")?.trim().parse()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read() {
        let text = "SQL statistics:\n    transactions:                        105324 (21061.57 per sec.)\n    \
                    queries:                             105324 (21061.57 per sec.)\n    \
                    ignored errors:                      0      (0.00 per sec.)\n\
                    Latency (ms):\n         99th percentile:                        2.35\n";
        let expected = Sample {
            transactions: 105_324,
            tps: 21_061.57,
            p99_ms: 2.35,
        };
        assert_eq!(sample(text).unwrap(), expected);
    }
}
