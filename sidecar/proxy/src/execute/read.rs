//! A read on a replica, and what becomes of it when the replica fails.
//!
//! As long as nothing of the answer went to the client, another server may be asked: reads change
//! nothing. What a replica answers with an error the primary is asked too: it may have a table or
//! a right that the replica does not have yet, and the error that counts is its own.

use std::sync::Arc;

use remora_planner::Statement;
use remora_protocol::ErrPacket;

use super::run::Route;
use super::{Patch, Withheld, relay};
use crate::backend::{BackendError, Ended};
use crate::failure::Failure;
use crate::instances::{Fleet, Member, Server};
use crate::names::logical;
use crate::session::{Diagnostics, Note, Session};
use crate::telemetry::Retry;
use crate::world::World;

/// MySQL's number for a statement that took longer than MAX_EXECUTION_TIME: another server would
/// take as long.
pub(super) const OUT_OF_TIME: u16 = 3024;

/// Why a replica did not answer a read, of which the client has seen nothing.
#[derive(Debug)]
pub(super) struct Missed {
    /// What happened.
    pub(super) why: Retry,
    /// What the client hears if nobody else may be asked.
    pub(super) error: ErrPacket<'static>,
}

impl Missed {
    /// A failure of an attempt on a replica, if the read may be asked again at all.
    ///
    /// # Errors
    /// The failure, if it may not.
    pub(super) fn of(failure: Failure, connected: bool) -> Result<Self, Failure> {
        match failure {
            // The connection to the replica is lost, and the session holds nothing there.
            Failure::Last(error) => Ok(Self {
                why: Retry::Lost,
                error,
            }),
            Failure::Answer(error) if connected && error.code == OUT_OF_TIME => {
                Err(Failure::Answer(error))
            }
            // MySQL itself refused: the primary may know the account, and have room.
            Failure::Answer(error) if connected || error.code != NO_CONNECTION => Ok(Self {
                why: Retry::Refused,
                error,
            }),
            Failure::Answer(error) => Ok(Self {
                why: Retry::Connect,
                error,
            }),
            Failure::CutOff => Err(Failure::CutOff),
        }
    }
}

/// The number that clients see where no connection came about.
const NO_CONNECTION: u16 = 2003;

impl Session {
    /// Lets a replica of `shard` answer; says whether one did. If not, nothing went to the client,
    /// and the primary is to be asked.
    ///
    /// # Errors
    /// If the client has part of an answer, or is gone, or no other server may be asked.
    pub(super) async fn read_on_replica(
        &mut self,
        world: &World,
        shard: usize,
        statement: &Statement<'_>,
        route: &Route<'_>,
    ) -> Result<bool, Failure> {
        self.begin_read().await?;
        let mut tried: Vec<Arc<Server>> = Vec::new();
        loop {
            let Some(member) = self.replica(world, shard, route.reading, &tried) else {
                return Ok(false);
            };
            let missed = match self.read_from(world, member, statement, route).await? {
                Ok(()) => return Ok(true),
                Err(missed) => missed,
            };
            self.may_ask_again(&missed)?;
            if missed.why == Retry::Refused {
                return Ok(false);
            }
            tried.push(Arc::clone(&member.server));
        }
    }

    /// Begins a read that may be asked again as long as the client has nothing of its answer.
    ///
    /// # Errors
    /// If the client is gone.
    pub(super) async fn begin_read(&mut self) -> Result<(), Failure> {
        self.proxy.servers.count_read();
        if self.client.pending() > 0 {
            // Answers to earlier statements of the same text.
            self.client.flush().await?;
        }
        Ok(())
    }

    /// Counts a read that is to be asked again.
    ///
    /// # Errors
    /// If the budget for that is used up. What a replica refused is always asked of the primary:
    /// the answer would be wrong otherwise.
    pub(super) fn may_ask_again(&self, missed: &Missed) -> Result<(), Failure> {
        let proxy = &self.proxy;
        if missed.why != Retry::Refused && !proxy.servers.may_retry() {
            proxy.metrics.servers.exhausted();
            return Err(Failure::Answer(missed.error.clone()));
        }
        proxy.metrics.servers.retried(missed.why);
        Ok(())
    }

    /// Makes a replica ready for a read.
    pub(super) async fn ready(
        &mut self,
        world: &World,
        member: &Member,
    ) -> Result<Result<(), Missed>, Failure> {
        match self.prepare_replica(world, member).await {
            Ok(()) => Ok(Ok(())),
            Err(failure) => {
                if let Failure::Last(error) = &failure {
                    member.server.failed(&error.to_string());
                }
                self.replicas.remove(&member.server);
                Ok(Err(Missed::of(failure, false)?))
            }
        }
    }

    async fn read_from(
        &mut self,
        world: &World,
        member: &Member,
        statement: &Statement<'_>,
        route: &Route<'_>,
    ) -> Result<Result<(), Missed>, Failure> {
        if let Err(missed) = self.ready(world, member).await? {
            return Ok(Err(missed));
        }
        let named = route.cover.is_some() || world.names.mentioned(&statement.sql);
        let patch = Patch {
            in_branch: false,
            cover: route.cover,
            names: named.then_some(&world.names),
            insert_id: None,
            more_results: route.more_results,
            withheld: Withheld::AllBut(OUT_OF_TIME),
        };
        let Self {
            client, replicas, ..
        } = self;
        let Some(backend) = replicas.get(&member.server) else {
            return Err(Failure::CutOff);
        };
        let before = client.written();
        let relayed = match backend.run(&route.call(statement)).await {
            Ok(exchange) => relay(client, exchange, &patch).await,
            Err(BackendError::Server { error, .. }) => Err(logical(world, error).into()),
            Err(error) => Err(error.into()),
        };
        let relayed = match relayed {
            Ok(relayed) => relayed,
            // A value did not open in the middle of the rows.
            Err(failure) if client.written() > before => return Err(failure),
            Err(failure) => {
                client.discard();
                if let Failure::Last(error) = &failure {
                    member.server.failed(&error.to_string());
                }
                return Ok(Err(Missed::of(failure, true)?));
            }
        };
        if let Some(error) = relayed.withheld {
            let why = Retry::Refused;
            return Ok(Err(Missed { why, error }));
        }
        member.reads.inc();
        match &relayed.ended {
            Some(ended) => {
                let rows = route.traits.shows_found_rows.then_some(relayed.rows);
                self.observe_read(world, member, ended, rows).await;
            }
            None => {
                // The client has the error behind some rows, or that it took too long.
                self.state.row_count = -1;
                self.state.diagnostics = match relayed.error {
                    Some(code) => {
                        self.proxy.metrics.error(code);
                        self.notes_of(world, member).await
                    }
                    None => Diagnostics::Clean,
                };
            }
        }
        Ok(Ok(()))
    }

    /// Notes what a replica's answer says about the session.
    async fn observe_read(
        &mut self,
        world: &World,
        member: &Member,
        ended: &Ended,
        found_rows: Option<u64>,
    ) {
        self.state.row_count = -1;
        self.state.found_rows = found_rows;
        self.state.found_rows_at = None;
        self.state.diagnostics = match ended.warnings {
            0 => Diagnostics::Clean,
            _ => self.notes_of(world, member).await,
        };
        if found_rows.is_none() {
            self.replicas.answered(&member.server);
        }
    }

    /// The warnings of the last statement on a replica. They are fetched at once: its connection
    /// may be gone when the client asks for them.
    async fn notes_of(&mut self, world: &World, member: &Member) -> Diagnostics {
        let Some(backend) = self.replicas.get(&member.server) else {
            return Diagnostics::Clean;
        };
        let notes = Note::fetch(backend).await.unwrap_or_default();
        let logical = notes.into_iter().map(|note| note.logical(&world.names));
        Diagnostics::of_notes(logical.collect())
    }
}

/// Notes that the primary answers a read that a replica might have answered.
pub(super) fn count_primary_read(world: &World, shard: usize) {
    let fleet = world.fleets.get(shard);
    if let Some(primary) = fleet.and_then(Fleet::primary) {
        primary.reads.inc();
    }
}
