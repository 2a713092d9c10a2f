//! Values for generated keys that grow: blocks leased from a row on the first shard.
//!
//! A lease is a statement that commits by itself on the sidecar's own connection, so a
//! client's ROLLBACK never gives a value out twice.

use std::collections::HashMap;

use tokio::sync::Mutex;

use crate::backend::BackendError;
use crate::world::World;
use crate::session::HOME;
use crate::system::System;

/// How many values a lease takes. A sidecar that ends leaves a gap of at most so many; a
/// client that inserts row by row waits for shard 0 once in so many rows.
const BLOCK: u64 = 1000;

/// The open blocks of this process.
#[derive(Debug, Default)]
pub struct Sequences {
    blocks: Mutex<HashMap<String, Block>>,
}

/// Values that are leased and not given out.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    next: u64,
    end: u64,
}

impl Block {
    /// Takes up to `count` values, in order.
    fn take(&mut self, count: usize, out: &mut Vec<u64>) {
        let wanted = u64::try_from(count).unwrap_or(u64::MAX);
        let until = self.end.min(self.next.saturating_add(wanted));
        out.extend(self.next..until);
        self.next = until;
    }

    /// Forgets values up to `id`: a client used that one by itself.
    fn pass(&mut self, id: u64) {
        self.next = self.next.max(id.saturating_add(1)).min(self.end.max(self.next));
    }
}

impl Sequences {
    /// Gives `count` values for the key of `table`, in order, though not without gaps.
    ///
    /// # Errors
    /// If a block must be leased and shard 0 cannot be reached.
    pub async fn take(
        &self,
        system: &System,
        world: &World,
        table: &str,
        count: usize,
    ) -> Result<Vec<u64>, BackendError> {
        let mut values = Vec::with_capacity(count);
        // Held while leasing: those who wait need the same block.
        let mut blocks = self.blocks.lock().await;
        let block = blocks.entry(table.to_owned()).or_default();
        block.take(count, &mut values);
        if values.len() < count {
            let missing = count - values.len();
            let size = BLOCK.max(u64::try_from(missing).unwrap_or(u64::MAX));
            let first = lease(system, world, table, size).await?;
            *block = Block { next: first, end: first.saturating_add(size) };
            block.take(missing, &mut values);
        }
        Ok(values)
    }

    /// Lets no value up to `id` be given out any more: a client inserted that one itself.
    /// Blocks of other sidecars may still hold lower ones.
    ///
    /// # Errors
    /// If shard 0 must hear of it and cannot be reached.
    pub async fn pass(
        &self,
        system: &System,
        world: &World,
        table: &str,
        id: u64,
    ) -> Result<(), BackendError> {
        let mut blocks = self.blocks.lock().await;
        let block = blocks.entry(table.to_owned()).or_default();
        if id >= block.end {
            raise(system, world, table, id).await?;
            *block = Block { next: id.saturating_add(1), end: id.saturating_add(1) };
        } else {
            block.pass(id);
        }
        Ok(())
    }

    /// Begins at 1 again: the table was truncated or dropped.
    ///
    /// # Errors
    /// If shard 0 cannot be reached.
    pub async fn restart(
        &self,
        system: &System,
        world: &World,
        table: &str,
    ) -> Result<(), BackendError> {
        let mut blocks = self.blocks.lock().await;
        let name = quoted(table);
        let delete = format!("DELETE FROM remora.sequence WHERE name = {name}");
        run(system, world, &delete).await?;
        blocks.remove(table);
        Ok(())
    }
}

async fn lease(
    system: &System,
    world: &World,
    table: &str,
    size: u64,
) -> Result<u64, BackendError> {
    let name = quoted(table);
    let first_free = size.saturating_add(1);
    // The OK packet carries what LAST_INSERT_ID() was given: the row's value before this
    // lease. It is 0 when the row is new.
    let sql = format!(
        "INSERT INTO remora.sequence (name, next) VALUES ({name}, {first_free}) \
         ON DUPLICATE KEY UPDATE next = LAST_INSERT_ID(next) + {size}"
    );
    let ended = run(system, world, &sql).await?;
    Ok(ended.last_insert_id.max(1))
}

async fn raise(system: &System, world: &World, table: &str, id: u64) -> Result<(), BackendError> {
    let name = quoted(table);
    let next = id.saturating_add(1);
    let sql = format!(
        "INSERT INTO remora.sequence (name, next) VALUES ({name}, {next}) \
         ON DUPLICATE KEY UPDATE next = GREATEST(next, {next})"
    );
    run(system, world, &sql).await.map(drop)
}

/// Runs a statement on the sequences' table, which is made when it is not there yet.
async fn run(
    system: &System,
    world: &World,
    sql: &str,
) -> Result<crate::backend::Ended, BackendError> {
    match system.run(world, HOME, sql).await {
        Err(BackendError::Server { error, .. }) if [1049, 1146].contains(&error.code) => {
            for make in [CREATE_SCHEMA, CREATE_TABLE] {
                system.run(world, HOME, make).await?;
            }
            system.run(world, HOME, sql).await
        }
        other => other,
    }
}

/// The schema of what Remora keeps on the shards.
pub(crate) const CREATE_SCHEMA: &str = "CREATE DATABASE IF NOT EXISTS remora";
/// The table of the sequences.
pub(crate) const CREATE_TABLE: &str = "CREATE TABLE IF NOT EXISTS remora.sequence (\
     name VARCHAR(192) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PRIMARY KEY, \
     next BIGINT UNSIGNED NOT NULL)";

/// A name as a string literal.
fn quoted(name: &str) -> String {
    format!("'{}'", name.replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_gives_its_values_once_and_in_order() {
        let mut block = Block { next: 5, end: 8 };
        let mut values = Vec::new();
        block.take(2, &mut values);
        block.take(9, &mut values);
        assert_eq!(values, [5, 6, 7]);
    }

    #[test]
    fn a_value_that_a_client_used_is_passed_over() {
        let mut block = Block { next: 5, end: 100 };
        block.pass(3);
        assert_eq!(block.next, 5);
        block.pass(41);
        let mut values = Vec::new();
        block.take(1, &mut values);
        assert_eq!(values, [42]);
    }

    #[test]
    fn names_cannot_leave_their_quotes() {
        assert_eq!(quoted(r"it's \'"), r"'it''s \\'''");
    }
}
