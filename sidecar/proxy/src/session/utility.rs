//! Statements that concern the session rather than rows.

use std::time::Instant;

use remora_planner::utility::{self, Show, ShowKind, StatementKind};
use remora_protocol::{Command, ErrPacket, Reply};

use super::{HOME, Session};
use crate::console;
use crate::execute::{Patch, Request, relay};
use crate::failure::Failure;
use crate::world::World;

impl Session {
    /// Runs a statement that the planner leaves to the session.
    pub(crate) async fn utility(
        &mut self,
        world: &World,
        kind: StatementKind,
        leaves_state: bool,
        request: &Request<'_>,
    ) -> Result<(), Failure> {
        let (sql, mode) = (request.sql, self.state.context.sql_mode);
        match kind {
            StatementKind::Set => self.set(world, leaves_state, request).await,
            StatementKind::Transaction => self.transaction(world, request).await,
            StatementKind::Use => {
                let Ok(name) = utility::use_database(sql, mode) else {
                    return self.pass_on(sql).await;
                };
                self.change_database(&name.name(sql)).await?;
                self.put_database_ok(request.more_results);
                Ok(())
            }
            StatementKind::Show | StatementKind::ShowRemora => match utility::show(sql, mode) {
                Ok(show) => self.show(world, &show, request).await,
                Err(_) => Err(not_supported("this form of SHOW")),
            },
            StatementKind::UnlockTables => self.unlock_tables(request).await,
            StatementKind::Kill => self.kill(world, request).await,
            StatementKind::Diagnostics => self.get_diagnostics(world, request).await,
            StatementKind::Prepared => self.prepared_by_name(world, request).await,
            _ => Err(not_supported("this statement")),
        }
    }

    async fn show(
        &mut self,
        world: &World,
        show: &Show,
        request: &Request<'_>,
    ) -> Result<(), Failure> {
        match show.kind {
            ShowKind::Warnings
            | ShowKind::Errors
            | ShowKind::CountWarnings
            | ShowKind::CountErrors => self.show_diagnostics(world, show.kind, request).await,
            ShowKind::ProcessList => {
                let binary = request.params.is_some();
                self.show_processes(show.full, binary, request.more_results)
                    .await
            }
            ShowKind::RemoraShards => {
                self.put_console(console::shards(&world.snapshot), request.more_results)
                    .await
            }
            ShowKind::RemoraInstances => {
                self.put_console(
                    console::instances(&world.fleets, Instant::now()),
                    request.more_results,
                )
                .await
            }
            ShowKind::Status => self.show_client_status(show, request),
            ShowKind::RemoraConnections => {
                let table = console::connections(&world.fleets, &world.snapshot.connections);
                self.put_console(table, request.more_results).await
            }
            _ => Err(not_supported("this form of SHOW")),
        }
    }

    /// Locks are on the first shard, where tables live that may be locked.
    async fn unlock_tables(&mut self, request: &Request<'_>) -> Result<(), Failure> {
        if self.backends.get(HOME).is_some() {
            self.pass_to(HOME, request.sql, request.more_results)
                .await?;
            let unlocked = self.state.row_count >= 0;
            if let Some(backend) = self.backends.get(HOME).filter(|_| unlocked) {
                backend.residue.unlocked_tables();
            }
            return Ok(());
        }
        self.put_ok(request.more_results);
        Ok(())
    }

    /// Lets a server answer a text as it stands: one that is wrong, so that MySQL says how.
    pub(super) async fn pass_on(&mut self, sql: &[u8]) -> Result<(), Failure> {
        let shard = self.any_shard();
        let world = self.proxy.world();
        self.prepare_backend(&world, shard).await?;
        if let Some(backend) = self.backends.get(shard) {
            backend.is_unclear();
        }
        self.pass_to(shard, sql, false).await
    }

    /// Lets a connected server answer, and notes what that says about the transaction.
    pub(super) async fn pass_to(
        &mut self,
        shard: usize,
        sql: &[u8],
        more_results: bool,
    ) -> Result<(), Failure> {
        let Some(backend) = self.backends.get(shard) else {
            return Err(Failure::CutOff);
        };
        let exchange = backend.query(sql).await?;
        let patch = Patch {
            more_results,
            ..Patch::default()
        };
        let relayed = relay(&mut self.client, exchange, &patch).await?;
        self.observe_transaction(shard, &relayed).await
    }

    /// COM_FIELD_LIST: where the table is split, on its first physical table.
    pub(super) async fn field_list(
        &mut self,
        table: &[u8],
        wildcard: &[u8],
    ) -> Result<(), Failure> {
        let world = self.proxy.world();
        self.prepare_backend(&world, HOME).await?;
        let database = &world.snapshot.spec.database;
        let name = String::from_utf8_lossy(table);
        let of_manifest = self.state.context.database.as_ref() == Some(database);
        let catalog = world.catalogs.load();
        let protected = catalog.table(&name).filter(|it| !it.protected.is_empty());
        if of_manifest && protected.is_some() {
            return Err(not_supported(
                "COM_FIELD_LIST of a table with encrypted columns; use SHOW COLUMNS",
            ));
        }
        let slots = catalog
            .table(&name)
            .and_then(|t| t.sharded())
            .map_or(1, |s| s.slots);
        let Some(home) = self.backends.get(HOME) else {
            return Err(Failure::CutOff);
        };
        if of_manifest && slots > 1 {
            let slot = remora_crds::layout::Slot(0);
            let schema = remora_crds::layout::schema(database, slots, slot).to_string();
            home.use_database(&schema).await??;
        }
        let command = Command::FieldList { table, wildcard };
        let exchange = home.command(&command, Reply::FieldList).await?;
        let patch = Patch {
            names: Some(&world.names),
            ..Patch::default()
        };
        relay(&mut self.client, exchange, &patch).await?;
        Ok(())
    }
}

/// MySQL's 1235.
pub(super) fn not_supported(what: &str) -> Failure {
    let message = format!("This version of Remora doesn't yet support {what}");
    ErrPacket::new(1235, *b"42000", message).into()
}
