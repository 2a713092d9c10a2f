//! COM_QUERY: one statement or several.

use std::sync::Arc;

use remora_planner::fingerprint::Normalizer;
use remora_planner::lexer::Statements;
use remora_planner::{Catalog, Context, Planned, Planner, Refusal};
use remora_protocol::{Attribute, CapabilityFlags};

use super::Session;
use crate::charsets;
use crate::execute::Request;
use crate::failure::Failure;
use crate::world::World;

/// Answers that are made here are collected up to this size: a client that reads nothing must
/// not make them pile up.
const WRITE_AT: usize = 16 * 1024;

/// How a text is planned: as the client's, or as one that a veiler made.
type PlanFn = fn(&Planner, &Catalog, &Context, &mut Normalizer, &[u8]) -> Result<Planned, Refusal>;

impl Session {
    /// Runs the statements of a text, one after the other, until one fails.
    pub(super) async fn query(
        &mut self,
        sql: &[u8],
        attributes: &[Attribute<'_>],
    ) -> Result<(), Failure> {
        self.admit_text(sql)?;
        if memchr::memchr(b';', sql).is_none() {
            return self.statement(sql, attributes, false).await;
        }
        let mode = self.state.context.sql_mode;
        let ranges: Vec<_> = Statements::new(sql, mode).collect();
        let several = self
            .client
            .capabilities()
            .contains(CapabilityFlags::CLIENT_MULTI_STATEMENTS);
        match &ranges[..] {
            [] => self.statement(sql, attributes, false).await,
            [only] => self.statement(&sql[only.clone()], attributes, false).await,
            // A server that was not told to expect several takes the text for one that is wrong.
            _ if !several => {
                self.refuse_to_pass(sql)?;
                self.pass_on(sql).await
            }
            [all @ .., last] => {
                for range in all {
                    self.state.failed = false;
                    self.statement(&sql[range.clone()], attributes, true)
                        .await?;
                    if self.state.failed {
                        return Ok(());
                    }
                    self.client.finish_answer();
                    if self.client.pending() >= WRITE_AT {
                        self.client.flush().await?;
                    }
                }
                self.statement(&sql[last.clone()], attributes, false).await
            }
        }
    }

    /// Refuses a text whose characters the lexer would split.
    pub(super) fn admit_text(&self, sql: &[u8]) -> Result<(), Failure> {
        if self.state.hides_quotes && !sql.is_ascii() {
            return Err(charsets::refusal().into());
        }
        Ok(())
    }

    async fn statement(
        &mut self,
        sql: &[u8],
        attributes: &[Attribute<'_>],
        more_results: bool,
    ) -> Result<(), Failure> {
        self.admit_metadata(sql)?;
        self.admit_text(sql)?;
        let world = self.proxy.world();
        if world.names.encrypts() && self.veil(&world.catalogs.load(), sql)?.is_some() {
            self.entry.runs_veiled();
            return self
                .veiled_statement(&world, sql, attributes, more_results)
                .await;
        }
        self.entry.runs(sql);
        let (catalog, planned) = self.plan(&world, sql).await?;
        let request = Request {
            sql,
            params: None,
            keys: None,
            charset: None,
            using: &[],
            more_results,
            cover: None,
            attributes,
            cursor: false,
        };
        self.run(&world, &catalog, &planned, &request).await
    }

    /// Plans a text. If it names a table that the catalog does not have yet, the catalog is
    /// asked for anew: another sidecar may have created it.
    pub(super) async fn plan(
        &mut self,
        world: &World,
        sql: &[u8],
    ) -> Result<(Arc<Catalog>, Planned), Failure> {
        let catalog = world.catalogs.load();
        let planned = self.plan_with(&catalog, sql)?;
        if !planned.plan().is_stale() {
            return Ok((catalog, planned));
        }
        self.proxy.refresh_catalog(world).await;
        let catalog = world.catalogs.load();
        let planned = self.plan_with(&catalog, sql)?;
        Ok((catalog, planned))
    }

    /// Plans a text under a catalog.
    pub(crate) fn plan_with(&mut self, catalog: &Catalog, sql: &[u8]) -> Result<Planned, Failure> {
        self.plan_by(Planner::plan, catalog, sql)
    }

    /// Plans and counts.
    pub(super) fn plan_by(
        &mut self,
        plan: PlanFn,
        catalog: &Catalog,
        sql: &[u8],
    ) -> Result<Planned, Failure> {
        let Self {
            proxy,
            state,
            normalizer,
            ..
        } = self;
        let planned = plan(&proxy.planner, catalog, &state.context, normalizer, sql)?;
        proxy.metrics.planned(planned.is_cached());
        Ok(planned)
    }
}
