//! SHOW REMORA … and EXPLAIN REMORA: what the sidecar says of itself.

use remora_planner::ExplainRow;

use super::Session;
use crate::execute::{Cell, Request, put_table, text_column};
use crate::failure::Failure;
use crate::world::World;

impl Session {
    /// SHOW REMORA SHARDS.
    pub(super) async fn show_shards(
        &mut self,
        world: &World,
        request: &Request<'_>,
    ) -> Result<(), Failure> {
        let rows = (0..world.snapshot.shards.len()).map(|shard| {
            let primary = world.snapshot.primary(shard);
            let address = primary.map(|p| format!("{}:{}", p.host, p.port)).unwrap_or_default();
            vec![Cell::Text(shard.to_string().into_bytes()), Cell::Text(address.into_bytes())]
        });
        let rows: Vec<_> = rows.collect();
        let collation = self.account.collation();
        let columns =
            [text_column("shard", 5, collation), text_column("primary", 64, collation)];
        let status = self.status(request.more_results);
        put_table(&mut self.client, &columns, &rows, request.params.is_some(), status);
        Ok(())
    }

    /// EXPLAIN REMORA.
    pub(crate) fn explain(&mut self, rows: &[ExplainRow], more_results: bool) {
        let collation = self.account.collation();
        let columns = [
            text_column("shard", 8, collation),
            text_column("tables", 5, collation),
            text_column("sql", 1024, collation),
            text_column("merge", 256, collation),
        ];
        let row = |row: &ExplainRow| {
            [&row.shard, &row.slots.to_string(), &row.sql, &row.merge]
                .map(|text| Cell::Text(text.as_bytes().to_vec()))
                .to_vec()
        };
        let rows: Vec<_> = rows.iter().map(row).collect();
        let status = self.status(more_results);
        put_table(&mut self.client, &columns, &rows, false, status);
    }
}
