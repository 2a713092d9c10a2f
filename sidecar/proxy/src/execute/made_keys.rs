//! Values for generated keys, above those that are in the table, wherever they came from.
//!
//! The client's own connections are asked: the sidecar's account reads no rows.

use remora_crds::layout::{self, Slot};
use remora_planner::Needed;

use crate::backend::Row;
use crate::failure::Failure;
use crate::session::Session;
use crate::world::World;

impl Session {
    /// Values for a generated key.
    ///
    /// # Errors
    /// If a shard is needed and cannot be reached.
    pub(super) async fn made_keys(
        &mut self,
        world: &World,
        needed: &Needed,
    ) -> Result<Vec<u64>, Failure> {
        loop {
            match self.proxy.generate(world, needed).await? {
                Some(values) => return Ok(values),
                None => self.begin_sequence(world, &needed.table, 0).await?,
            }
        }
    }

    /// Lets the sequence of `table` pass a key that the client gives itself.
    ///
    /// # Errors
    /// If a shard is needed and cannot be reached.
    pub(super) async fn pass_key(
        &mut self,
        world: &World,
        table: &str,
        key: u64,
    ) -> Result<(), Failure> {
        if self.proxy.pass_sequence(world, table, key).await? {
            return Ok(());
        }
        self.begin_sequence(world, table, key).await
    }

    /// Begins a sequence above the rows that are there, and above `used`. Until all shards were
    /// asked there is none: a shard that is down must not let keys be given out twice.
    async fn begin_sequence(
        &mut self,
        world: &World,
        table: &str,
        used: u64,
    ) -> Result<(), Failure> {
        let highest = self.highest_key(world, table).await?.unwrap_or_default();
        let used = highest.max(used);
        Ok(self.proxy.begin_sequence(world, table, used).await?)
    }

    /// Lets the sequence of `table` pass the keys that are in the table. Answers whether there is
    /// one from `made` on, a value of the sequence.
    ///
    /// # Errors
    /// If a shard cannot be reached.
    pub(super) async fn catch_up(
        &mut self,
        world: &World,
        table: &str,
        made: u64,
    ) -> Result<bool, Failure> {
        match self.highest_key(world, table).await? {
            Some(highest) if highest >= made => {
                self.pass_key(world, table, highest).await?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// The highest value of the generated column of `table` over all its physical tables; `None`
    /// if they hold no row, or may not be read.
    async fn highest_key(&mut self, world: &World, table: &str) -> Result<Option<u64>, Failure> {
        let catalog = world.catalogs.load();
        let Some((known, generated)) = catalog
            .table(table)
            .and_then(|known| Some((known, known.generated.as_ref()?)))
        else {
            return Ok(None);
        };
        let slots = known.sharded().map_or(1, |sharded| sharded.slots);
        let sql = query(catalog.database(), slots, table, &generated.column);
        let mut highest = None;
        for shard in 0..world.snapshot.shards.len() {
            self.prepare_backend(world, shard).await?;
            // Without autocommit the question begins a transaction, which is nobody's.
            let begins = !self.state.autocommit && !self.state.transaction.includes(shard);
            let Some(backend) = self.backends.get(shard) else {
                return Err(Failure::CutOff);
            };
            // An account that may only insert learns nothing here.
            let rows = backend.rows(sql.as_bytes()).await?.unwrap_or_default();
            highest = highest.max(number(&rows));
            if begins {
                backend.query(b"ROLLBACK").await?.finish().await??;
            }
        }
        Ok(highest)
    }
}

/// One row with the highest value of a shard.
fn query(database: &str, slots: u16, table: &str, column: &str) -> String {
    let (table, column) = (quoted(table), quoted(column));
    let parts: Vec<String> = (0..slots)
        .map(|slot| {
            let schema = quoted(&layout::schema(database, slots, Slot(slot)).to_string());
            format!("SELECT MAX({column}) AS highest FROM {schema}.{table}")
        })
        .collect();
    format!(
        "SELECT MAX(highest) FROM ({}) AS parts LIMIT 1",
        parts.join(" UNION ALL ")
    )
}

/// The number in the answer; a negative one is below every generated value.
fn number(rows: &[Row]) -> Option<u64> {
    let value = rows.first()?.first()?.as_ref()?;
    str::from_utf8(value).ok()?.parse().ok()
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_physical_table_of_a_shard_is_asked_in_one_statement() {
        assert_eq!(
            query("shop", 2, "or`der", "id"),
            "SELECT MAX(highest) FROM (SELECT MAX(`id`) AS highest FROM `shop__0000`.`or``der` \
             UNION ALL SELECT MAX(`id`) AS highest FROM `shop__0001`.`or``der`) AS parts LIMIT 1"
        );
    }

    #[test]
    fn tables_without_rows_or_with_negative_keys_hold_nothing_back() {
        let row = |value: Option<&str>| vec![vec![value.map(|v| v.as_bytes().to_vec())]];
        assert_eq!(number(&row(None)), None);
        assert_eq!(number(&row(Some("-4"))), None);
        assert_eq!(number(&row(Some("41"))), Some(41));
        assert_eq!(number(&[]), None);
    }
}
