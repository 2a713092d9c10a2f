//! The statements of a replica's steps.

use super::Source;
use super::decide::{Observed, Step};
use crate::agent::AgentError;
use crate::agent::sql::{literal, run};
use crate::backend::Backend;

/// What CLONE answers when the data is there and nobody is at hand to start mysqld again, which
/// the supervisor does.
const NOT_RESTARTED: u16 = 3707;

/// The statement of a step; `None` for the copy, which takes long.
pub(super) fn statement(step: &Step, source: &Source, observed: &Observed) -> Option<String> {
    Some(match step {
        Step::ReadOnly => "SET GLOBAL super_read_only = ON".to_owned(),
        Step::Stop => "STOP REPLICA".to_owned(),
        Step::Clone => return None,
        Step::Point => point(source, observed),
        Step::Acknowledge => "SET GLOBAL rpl_semi_sync_replica_enabled = ON".to_owned(),
        Step::Start => "START REPLICA".to_owned(),
    })
}

/// Whom it follows: by GTID, and by TLS that verifies. It tries again each second, for a day: by
/// default MySQL gives up after ten minutes. A primary that is silent for two seconds longer than
/// its heartbeat is connected to anew.
fn point(source: &Source, observed: &Observed) -> String {
    format!(
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST = {host}, SOURCE_PORT = {port}, \
         SOURCE_USER = {user}, SOURCE_PASSWORD = {password}, SOURCE_AUTO_POSITION = 1, \
         SOURCE_SSL = 1, SOURCE_SSL_CA = {ca}, SOURCE_SSL_VERIFY_SERVER_CERT = 1, \
         SOURCE_CONNECT_RETRY = 1, SOURCE_RETRY_COUNT = 86400, SOURCE_HEARTBEAT_PERIOD = 2",
        host = literal(&source.primary.host),
        port = source.primary.port,
        user = literal(&source.account.name),
        password = literal(&source.account.password),
        ca = literal(&observed.ca_file),
    )
}

/// The copy of the primary's data, on the connection that it uses.
pub(in super::super) struct Copying {
    statements: [(&'static str, String); 4],
    backend: Backend,
}

impl Copying {
    pub(super) fn new(observed: &Observed, source: &Source, backend: Backend) -> Self {
        let (host, port) = (&source.primary.host, source.primary.port);
        let account = &source.account;
        let statements = [
            (
                "SET clone_valid_donor_list",
                format!(
                    "SET GLOBAL clone_valid_donor_list = {}",
                    literal(&format!("{host}:{port}"))
                ),
            ),
            (
                "SET clone_ssl_ca",
                format!("SET GLOBAL clone_ssl_ca = {}", literal(&observed.ca_file)),
            ),
            // A server that has data is replaced only when it may be written to. It is in nobody's
            // hands: applications have no account on an empty one, and none writes to a replica.
            ("SET read_only", "SET GLOBAL read_only = OFF".to_owned()),
            (
                "CLONE INSTANCE",
                format!(
                    "CLONE INSTANCE FROM {user}@{host}:{port} IDENTIFIED BY {password} \
                     REQUIRE SSL",
                    user = literal(&account.name),
                    host = literal(host),
                    password = literal(&account.password),
                ),
            ),
        ];
        Self {
            statements,
            backend,
        }
    }

    /// Copies, for as long as it takes. Afterwards mysqld is gone, and comes back with the
    /// primary's data.
    ///
    /// # Errors
    /// If it does not come about. The server may have nothing then, and the next round begins
    /// again.
    pub(in super::super) async fn run(mut self) -> Result<(), AgentError> {
        for (what, sql) in &self.statements {
            match run(&mut self.backend, what, sql).await {
                Err(AgentError::Refused { error, .. }) if error.code == NOT_RESTARTED => {}
                // It is restarted before it answers.
                Err(AgentError::Silent(_)) if *what == "CLONE INSTANCE" => {}
                other => other?,
            }
        }
        Ok(())
    }
}
