//! MySQL connections from this machine into pods of the node, as `kubectl port-forward` has them.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Stdio};

use anyhow::{Context as _, Result, bail};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder, Row, Value};
use remora_e2e::kubernetes::Kubernetes;
use tokio::runtime::Runtime;

/// One connection to a pod's loopback; a sidecar listens nowhere else.
pub(crate) struct PodMysql {
    connection: Conn,
    runtime: Runtime,
    forward: Child,
    /// kubectl reports every connection, and ends when nobody reads it.
    _reports: BufReader<ChildStdout>,
}

/// What a statement gave: rows, or the number and text of an error.
#[derive(Debug, PartialEq)]
pub(crate) enum Answer {
    Rows(Vec<Vec<Value>>),
    Error(u16, String),
}

impl PodMysql {
    /// Logs in at a pod's port.
    pub(crate) fn connect(
        cluster: &Kubernetes,
        namespace: &str,
        object: &str,
        port: u16,
        login: (&str, &str),
        database: &str,
    ) -> Result<Self> {
        let mut forward = cluster
            .command("kubectl")
            .args(["-n", namespace, "port-forward", object, &format!(":{port}")])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let output = forward.stdout.take().context("no output of port-forward")?;
        let mut line = String::new();
        let mut reports = BufReader::new(output);
        reports.read_line(&mut line)?;
        let Some(local) = line
            .strip_prefix("Forwarding from 127.0.0.1:")
            .and_then(|rest| rest.split(' ').next())
            .and_then(|local| local.parse::<u16>().ok())
        else {
            let _gone = forward.kill();
            let _reaped = forward.wait();
            bail!("kubectl port-forward {namespace} {object} says {line:?}");
        };
        let options = OptsBuilder::default()
            .ip_or_hostname("127.0.0.1")
            .tcp_port(local)
            .user(Some(login.0))
            .pass(Some(login.1))
            .db_name(Some(database))
            .prefer_socket(false);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        match runtime.block_on(Conn::new(options)) {
            Ok(connection) => Ok(Self {
                connection,
                runtime,
                forward,
                _reports: reports,
            }),
            Err(error) => {
                let _gone = forward.kill();
                let _reaped = forward.wait();
                Err(error).with_context(|| format!("cannot log in at {namespace} {object}"))
            }
        }
    }

    /// Runs a statement as text.
    pub(crate) fn text(&mut self, statement: &str) -> Result<Answer> {
        answer(
            self.runtime
                .block_on(self.connection.query::<Row, _>(statement)),
        )
    }

    /// Prepares a statement and executes it with these parameters.
    pub(crate) fn prepared(&mut self, statement: &str, parameters: Vec<Value>) -> Result<Answer> {
        answer(
            self.runtime
                .block_on(self.connection.exec::<Row, _, _>(statement, parameters)),
        )
    }

    /// Runs a statement that must succeed.
    pub(crate) fn run(&mut self, statement: &str) -> Result<Vec<Vec<Value>>> {
        match self.text(statement)? {
            Answer::Rows(rows) => Ok(rows),
            Answer::Error(number, text) => bail!("{number}: {text}: {statement:.200}"),
        }
    }

    /// All values that a statement gives, as one text.
    pub(crate) fn words(&mut self, statement: &str) -> Result<String> {
        let rows = self.run(statement)?;
        let values = rows.iter().flatten().map(|value| value.as_sql(true));
        Ok(values.collect::<Vec<_>>().join(" "))
    }

    /// The single value of a statement's single row, as text.
    pub(crate) fn value(&mut self, statement: &str) -> Result<String> {
        let rows = self.run(statement)?;
        match rows.first().and_then(|row| row.first()) {
            Some(Value::Bytes(bytes)) => Ok(String::from_utf8_lossy(bytes).into_owned()),
            Some(value) => Ok(value.as_sql(true).trim_matches('\'').to_owned()),
            None => bail!("no row: {statement}"),
        }
    }
}

impl Drop for PodMysql {
    fn drop(&mut self) {
        let _gone = self.forward.kill();
        let _reaped = self.forward.wait();
    }
}

fn answer(result: mysql_async::Result<Vec<Row>>) -> Result<Answer> {
    match result {
        Ok(rows) => Ok(Answer::Rows(rows.into_iter().map(Row::unwrap).collect())),
        Err(mysql_async::Error::Server(error)) => Ok(Answer::Error(error.code, error.message)),
        Err(error) => Err(error.into()),
    }
}
