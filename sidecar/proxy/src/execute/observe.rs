//! What the session learns from an answer.

use remora_planner::utility::StatementKind;
use remora_planner::{Leaves, Traits};
use remora_protocol::{CapabilityFlags, Command, ErrPacket, Reply, StatusFlags};

use super::Relayed;
use super::run::Route;
use crate::backend::Ended;
use crate::failure::Failure;
use crate::session::{Diagnostics, InsertId, Session};
use crate::world::World;

/// MySQL's numbers for tables and columns that are not there (any more): another sidecar may
/// have changed them.
const OUTDATED: [u16; 3] = [1054, 1136, 1146];

/// What the parts of a statement say of how they ran, as one server would of all of it.
pub(super) fn how_it_ran<'e>(ends: impl Iterator<Item = &'e Ended>) -> StatusFlags {
    ends.fold(StatusFlags::empty(), |all, ended| {
        all | of_running(ended.status)
    })
}

/// The flags that tell how a statement ran.
pub(super) fn of_running(status: StatusFlags) -> StatusFlags {
    let told = StatusFlags::SERVER_STATUS_NO_GOOD_INDEX_USED
        | StatusFlags::SERVER_STATUS_NO_INDEX_USED
        | StatusFlags::SERVER_QUERY_WAS_SLOW;
    status & told
}

impl Session {
    /// Gives the connection to `shard` what a statement with these traits needs of the session.
    ///
    /// # Errors
    /// If the state is on another server and cannot be brought here.
    pub(super) async fn lend_state(
        &mut self,
        shard: usize,
        traits: &Traits,
    ) -> Result<(), Failure> {
        if traits.uses_last_insert_id || traits.leaves == Leaves::Anything {
            // A function that nobody knows may ask for it, too.
            self.lend_insert_id(shard).await?;
        }
        if let Some(backend) = self.backends.get(shard) {
            // On the single route it is found out afterwards what it was.
            if traits.leaves_state() || traits.assigns_user_variables {
                backend.residue.may_leave_anything();
            }
        }
        if let Some(home) = self.state.variables.on()
            && traits.reads_user_variables
            && home != shard
        {
            self.fetch_variables().await?;
            if self.state.variables.are_kept() {
                return Err(ErrPacket::new(
                    1235,
                    *b"42000",
                    "This version of Remora doesn't yet support reading a user variable that a \
                     statement on another shard assigned and that is too large to be held here",
                )
                .into());
            }
            let world = self.proxy.world();
            self.prepare_backend(&world, shard).await?;
        }
        Ok(())
    }

    /// Notes what an answer of `shard` says about the session.
    ///
    /// # Errors
    /// If the transaction's state must be asked for and cannot be.
    pub(super) async fn observe(
        &mut self,
        world: &World,
        shard: usize,
        relayed: &Relayed,
        route: &Route<'_>,
    ) -> Result<(), Failure> {
        self.backends.used(shard);
        let Some(ended) = &relayed.ended else {
            self.state.failed_on(shard);
            if let Some(code) = relayed.error {
                self.proxy.metrics.error(code);
            }
            if relayed.error.is_some_and(|code| OUTDATED.contains(&code)) {
                self.proxy.refresh_catalog(world).await;
            }
            return self.ask_transaction(shard).await;
        };
        self.heed(shard, ended.status).await;
        let tells_gtids = self
            .client
            .capabilities()
            .contains(CapabilityFlags::CLIENT_DEPRECATE_EOF);
        if relayed.had_rows && !tells_gtids && !route.traits.read && world.reads.is_some() {
            self.may_have_written(shard);
        }
        self.state.row_count = match relayed.had_rows {
            true => -1,
            false => i64::try_from(ended.affected_rows).unwrap_or(-1),
        };
        self.note_found_rows(shard, relayed, route);
        self.state.diagnostics = match ended.warnings {
            0 => Diagnostics::Clean,
            _ => Diagnostics::On(shard),
        };
        match &route.insert {
            Some(report) => {
                if let Some(first) = report.first_generated {
                    self.state.insert_id = InsertId::Known(first);
                }
            }
            // A procedure may have changed it without a word.
            None if ended.last_insert_id != 0
                || route.traits.uses_last_insert_id
                || route.kind == StatementKind::Call =>
            {
                self.insert_id_may_be_on(shard);
            }
            None => {}
        }
        Ok(())
    }

    /// Rows, and what an UPDATE finds, change FOUND_ROWS(); other statements leave it alone.
    fn note_found_rows(&mut self, shard: usize, relayed: &Relayed, route: &Route<'_>) {
        if relayed.had_rows && route.traits.shows_found_rows {
            self.state.found_rows = Some(relayed.rows);
            self.state.found_rows_at = None;
            return;
        }
        let leaves_alone = matches!(
            route.kind,
            StatementKind::Insert
                | StatementKind::Replace
                | StatementKind::Delete
                | StatementKind::Ddl
        );
        if relayed.had_rows || !leaves_alone {
            self.state.found_rows = None;
            self.state.found_rows_at = Some(shard);
        }
    }

    /// A statement on `shard` may have changed LAST_INSERT_ID() there: an OK packet shows an
    /// explicit id too, which does not change it.
    fn insert_id_may_be_on(&mut self, shard: usize) {
        let otherwise = match self.state.insert_id {
            InsertId::Known(id) => id,
            InsertId::Ask { otherwise, .. } => otherwise,
        };
        self.state.insert_id = InsertId::Ask { shard, otherwise };
    }

    /// After an error the server may have rolled the transaction back (a deadlock does that),
    /// and an ERR packet has no status. An OK has, and PING asks for nothing else.
    pub(crate) async fn ask_transaction(&mut self, shard: usize) -> Result<(), Failure> {
        if self.state.autocommit && !self.state.transaction.is_open() {
            return Ok(());
        }
        let Some(backend) = self.backends.get(shard) else {
            return Err(Failure::CutOff);
        };
        let pong = backend
            .command(&Command::Ping, Reply::Command)
            .await?
            .finish()
            .await??;
        self.heed(shard, pong.status).await;
        let known = self.state.locks_definitions.contains(&shard);
        if !self.state.autocommit && !self.state.transaction.is_open() && !known {
            self.state.locks_definitions.push(shard);
        }
        Ok(())
    }
}
