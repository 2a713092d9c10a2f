//! The agent of a MySQL pod: makes its own mysqld what the operator ordered, and says how it
//! fares. It speaks to it by the Unix socket alone.
//!
//! Everything it does may be done twice, and it may be killed between any two statements: the
//! next start does what is missing.

mod accounts;
mod apply;
mod certificates;
mod follow;
mod hold;
mod layout_row;
mod replica;
mod seal;
mod socket;
mod source;
mod sql;
mod workload;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use remora_discovery::{
    AgentHealth, AgentOrders, Part, ReplicationHealth, ServerData, Snapshot as Told,
};
use remora_protocol::{Command, Reply};
use tokio::sync::watch;

pub use self::certificates::ServerCertificates;

use self::apply::{Applied, apply};
use self::hold::Hold;
use self::source::Watch;
use crate::backend::Backend;

/// How often mysqld is asked whether it lives, and looked for when it does not.
const PULSE: Duration = Duration::from_secs(1);
/// How long an order that mysqld refused rests before it is tried again.
const AGAIN: Duration = Duration::from_secs(5);
/// mysqld may be stopped (SIGSTOP, a stalled disk) with its socket still there.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why orders were not carried out.
#[derive(Debug, thiserror::Error)]
enum AgentError {
    /// mysqld does not answer.
    #[error("mysqld does not answer: {0}")]
    Silent(String),
    /// mysqld refuses a statement, which is described rather than quoted: it may hold a
    /// password.
    #[error("mysqld refuses {what}: {error}")]
    Refused {
        /// What the statement would have done.
        what: &'static str,
        /// MySQL's error.
        error: remora_protocol::ErrPacket<'static>,
    },
    /// The server's rows are not those that the manifest describes. Nothing was touched.
    #[error("{0}")]
    Layout(String),
    /// The manifest contradicts the rows, by its fields. Nothing was touched.
    #[error("{0}")]
    Contradiction(String),
    /// The snapshot is older than what the shard has seen.
    #[error(
        "the shard has seen epoch {least}, and the snapshot has {got}: waiting for a newer one"
    )]
    Stale {
        /// The lowest epoch that the shard takes.
        least: u64,
        /// The snapshot's.
        got: u64,
    },
    /// The server is empty, and its shard may hold rows elsewhere. Nothing was touched.
    #[error(
        "its volume is empty, and another instance of the shard may hold rows: it stays closed"
    )]
    Empty,
    /// Too few replicas are connected for a commit to be acknowledged.
    #[error("it takes no writes before {wanted} replicas follow it, and {clients} do")]
    Alone {
        /// How many have to acknowledge a commit.
        wanted: u8,
        /// How many are connected.
        clients: u32,
    },
}

/// The agent of one mysqld.
#[derive(Debug)]
pub struct Agent {
    socket: PathBuf,
    hold: Hold,
    told: watch::Receiver<Option<Arc<Told>>>,
    health: watch::Sender<Option<AgentHealth>>,
    certificates: ServerCertificates,
    waits: Watch,
}

impl Agent {
    /// The agent of the mysqld behind `socket`.
    #[must_use]
    pub fn new(
        socket: PathBuf,
        told: watch::Receiver<Option<Arc<Told>>>,
        health: watch::Sender<Option<AgentHealth>>,
    ) -> Self {
        Self {
            hold: Hold::beside(&socket),
            socket,
            told,
            health,
            certificates: ServerCertificates::new(None, watch::Sender::new(None)),
            waits: Watch::default(),
        }
    }

    /// The same, which follows the files of mysqld's certificate too.
    #[must_use]
    pub fn with_certificates(self, certificates: ServerCertificates) -> Self {
        Self {
            certificates,
            ..self
        }
    }

    /// Works until the operator's channel is gone, which is when the process ends.
    pub async fn run(mut self) {
        loop {
            let told = self.told.borrow_and_update().clone();
            let rest = match told {
                Some(told) => self.serve(&told).await,
                // Without orders there is no password to ask mysqld anything with.
                None => None,
            };
            let orders = self.told.changed();
            let changed = match rest {
                Some(rest) => match tokio::time::timeout(rest, orders).await {
                    Ok(changed) => changed,
                    Err(_) => Ok(()),
                },
                None => orders.await,
            };
            if changed.is_err() {
                return;
            }
        }
    }

    /// Carries out one snapshot's orders and watches mysqld under them, until it is gone or
    /// refuses, or other orders come. Answers how long to rest; `None`: until other orders.
    async fn serve(&mut self, told: &Told) -> Option<Duration> {
        let orders = told.agent.as_ref()?;
        let part = orders.replication.as_ref().map(|order| &order.part);
        if matches!(part, Some(Part::Replica { .. })) {
            return self.follow(told, orders).await;
        }
        self.hold.set(None);
        let socket = self.socket.clone();
        let attempt = tokio::time::timeout(apply::TIMEOUT, apply(&socket, told, orders));
        let attempt = tokio::select! {
            attempt = attempt => attempt,
            // A write of the agent's own may wait for replicas for whom nobody waits any more.
            _ = self.told.changed() => {
                self.told.mark_changed();
                return Some(Duration::ZERO);
            }
        };
        match attempt {
            Ok(Ok(applied)) => self.watch(applied, orders).await,
            Ok(Err(error)) => {
                let rest = match error {
                    AgentError::Silent(_) | AgentError::Alone { .. } => PULSE,
                    _ => AGAIN,
                };
                self.fail(&error, orders);
                Some(rest)
            }
            Err(_) => {
                let error = AgentError::Silent("it takes too long".to_owned());
                self.fail(&error, orders);
                Some(PULSE)
            }
        }
    }

    /// Reports that the orders are carried out, and watches mysqld.
    async fn watch(&mut self, applied: Applied, orders: &AgentOrders) -> Option<Duration> {
        let Applied {
            mut backend,
            epoch,
            refused,
            server_uuid,
        } = applied;
        let in_the_way = !refused.is_empty();
        let acknowledgements = source::acknowledgements(orders.replication.as_ref());
        self.say(AgentHealth {
            mysqld: true,
            bootstrapped: true,
            reason: String::new(),
            least_epoch: epoch,
            refused_layout: refused,
            judged_layout: orders.layout.fingerprint.clone(),
            data: ServerData::Held,
            replication: orders.replication.as_ref().map(|order| ReplicationHealth {
                ordinal: order.ordinal,
                primary: true,
                server_uuid,
                acknowledgements,
                ..ReplicationHealth::default()
            }),
        });
        let watching = self.watch_pulse(&mut backend, orders);
        if in_the_way {
            // Somebody may take the rows away, which wakes nobody.
            drop(tokio::time::timeout(AGAIN, watching).await);
        } else {
            watching.await;
        }
        Some(PULSE)
    }

    /// Returns when mysqld is gone, or when there are other orders.
    async fn watch_pulse(&mut self, backend: &mut Backend, orders: &AgentOrders) {
        let wanted = source::acknowledgements(orders.replication.as_ref());
        self.waits.begin();
        self.certificates.forget();
        loop {
            let followed = self.certificates.follow(backend);
            match tokio::time::timeout(PATIENCE, followed).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return self.fail(&error, orders),
                Err(_) => {
                    let slow = "it takes too long to read its certificate";
                    return self.fail(&AgentError::Silent(slow.to_owned()), orders);
                }
            }
            tokio::select! {
                () = tokio::time::sleep(PULSE) => {}
                _ = self.told.changed() => {
                    // Seen again by `run`, which looks before it waits.
                    self.told.mark_changed();
                    return;
                }
            }
            let (waits, socket) = (&mut self.waits, &self.socket);
            let look = async {
                match apply::own_account(orders) {
                    Ok(own) if wanted > 0 => waits.look(backend, socket, own, wanted).await,
                    _ => ping(backend).await,
                }
            };
            match tokio::time::timeout(PATIENCE, look).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => {
                    self.fail(&AgentError::Silent("it went away".to_owned()), orders);
                    return;
                }
            }
        }
    }

    /// Reports a failure under `orders`. What the shard has seen and refused stays known while
    /// it cannot be asked.
    fn fail(&self, error: &AgentError, orders: &AgentOrders) {
        let known = self.health.borrow().clone().unwrap_or_default();
        let (refused_layout, judged_layout) = match error {
            AgentError::Contradiction(reason) => {
                (reason.clone(), orders.layout.fingerprint.clone())
            }
            _ => (known.refused_layout, known.judged_layout),
        };
        let order = orders.replication.as_ref();
        self.say(AgentHealth {
            mysqld: !matches!(error, AgentError::Silent(_)),
            bootstrapped: false,
            reason: error.to_string(),
            least_epoch: match error {
                AgentError::Stale { least, .. } => *least,
                _ => known.least_epoch,
            },
            refused_layout,
            judged_layout,
            data: match error {
                AgentError::Empty => ServerData::Empty,
                AgentError::Contradiction(_)
                | AgentError::Layout(_)
                | AgentError::Stale { .. }
                | AgentError::Alone { .. } => ServerData::Held,
                AgentError::Silent(_) | AgentError::Refused { .. } => known.data,
            },
            replication: order.map(|order| ReplicationHealth {
                ordinal: order.ordinal,
                primary: matches!(order.part, Part::Primary { .. }),
                ..ReplicationHealth::default()
            }),
        });
    }

    /// Reports, and logs what changed.
    fn say(&self, next: AgentHealth) {
        self.health.send_if_modified(|health| {
            if health.as_ref() == Some(&next) {
                return false;
            }
            if !next.refused_layout.is_empty() {
                tracing::error!(reason = %next.refused_layout, "The ordered layout is refused");
            } else if next.bootstrapped {
                tracing::info!("mysqld is as ordered");
            } else {
                tracing::warn!(reason = %next.reason, "mysqld is not as ordered");
            }
            *health = Some(next);
            true
        });
    }
}

async fn ping(backend: &mut Backend) -> Result<(), AgentError> {
    let ping = backend.command(&Command::Ping, Reply::Command);
    let pinged = ping.await.map_err(socket::failure)?.finish().await;
    pinged.map(drop).map_err(socket::failure)
}
