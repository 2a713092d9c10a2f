//! Values for generated keys that grow: blocks leased from a row on the first shard.
//!
//! A lease is a statement that commits by itself on the sidecar's own connection, so a
//! client's ROLLBACK never gives a value out twice.

use std::collections::HashMap;
use std::sync::Arc;

use remora_protocol::ErrPacket;
use tokio::sync::Mutex;

use crate::backend::BackendError;
use crate::session::HOME;
use crate::system::System;
use crate::world::World;

/// How many values a lease takes. A sidecar that ends leaves a gap of at most so many; a
/// client that inserts row by row waits for shard 0 once in so many rows.
const BLOCK: u64 = 1000;

/// MySQL's number for a value that its type cannot hold.
const OUT_OF_RANGE: u16 = 1690;

/// The open blocks of this process.
#[derive(Debug, Default)]
pub(crate) struct Sequences {
    blocks: Mutex<HashMap<String, Arc<Mutex<Block>>>>,
}

/// Values that are leased and not given out.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    next: u64,
    end: u64,
}

impl Block {
    fn left(&self) -> u64 {
        self.end - self.next
    }

    /// Adds a lease: behind what is left where it follows, else in its place.
    fn extend(&mut self, first: u64, size: u64) {
        if first != self.end {
            self.next = first;
        }
        self.end = first.saturating_add(size);
    }

    /// Takes `count` values, in order.
    fn take(&mut self, count: u64) -> Vec<u64> {
        let first = self.next;
        self.next = self.end.min(first.saturating_add(count));
        (first..self.next).collect()
    }

    /// Forgets values up to `id`: a client used that one by itself.
    fn pass(&mut self, id: u64) {
        self.next = self.next.max(id.saturating_add(1));
        self.end = self.end.max(self.next);
    }
}

impl Sequences {
    /// Gives `count` values for the key of `table`, one after the other without a gap: clients
    /// reckon the keys of a statement's rows from the first. `None` if the sequence was not
    /// begun: somebody must look at the table first.
    ///
    /// # Errors
    /// If a block must be leased and shard 0 cannot be reached.
    pub(crate) async fn take(
        &self,
        system: &System,
        world: &World,
        table: &str,
        count: usize,
    ) -> Result<Option<Vec<u64>>, BackendError> {
        let block = self.block(table).await;
        // Held while leasing: those who wait need the same block.
        let mut block = block.lock().await;
        let wanted = u64::try_from(count).unwrap_or(u64::MAX);
        if block.left() < wanted {
            let size = BLOCK.max(wanted);
            let Some(first) = lease(system, world, table, size).await? else {
                return Ok(None);
            };
            block.extend(first, size);
        }
        Ok(Some(block.take(wanted)))
    }

    /// Begins a sequence above `used`; one that was begun is raised above it.
    ///
    /// # Errors
    /// If shard 0 cannot be reached.
    pub(crate) async fn begin(
        &self,
        system: &System,
        world: &World,
        table: &str,
        used: u64,
    ) -> Result<(), BackendError> {
        let (name, next) = (quoted(table), used.saturating_add(1));
        let sql = format!(
            "INSERT INTO remora.sequence (name, next) VALUES ({name}, {next}) \
             ON DUPLICATE KEY UPDATE next = GREATEST(next, {next})"
        );
        run(system, world, &sql).await.map(drop)
    }

    /// Gives one value that is leased alone: what numbers processes must not leave the rest of
    /// a block to those that end.
    ///
    /// # Errors
    /// If shard 0 cannot be reached.
    pub(crate) async fn number(
        &self,
        system: &System,
        world: &World,
        name: &str,
    ) -> Result<u64, BackendError> {
        loop {
            match lease(system, world, name, 1).await? {
                Some(number) => return Ok(number),
                // No table has such a name, so there is nothing to look at.
                None => self.begin(system, world, name, 0).await?,
            }
        }
    }

    /// Lets no value up to `id` be given out any more: a client inserted that one itself.
    /// Blocks of other sidecars may still hold lower ones. Answers whether the sequence was
    /// begun; nothing happens to one that was not.
    ///
    /// # Errors
    /// If shard 0 must hear of it and cannot be reached.
    pub(crate) async fn pass(
        &self,
        system: &System,
        world: &World,
        table: &str,
        id: u64,
    ) -> Result<bool, BackendError> {
        let block = self.block(table).await;
        let mut block = block.lock().await;
        if id >= block.end && !raise(system, world, table, id).await? {
            return Ok(false);
        }
        block.pass(id);
        Ok(true)
    }

    /// Begins at 1 again: the table was truncated or dropped.
    ///
    /// # Errors
    /// If shard 0 cannot be reached.
    pub(crate) async fn restart(
        &self,
        system: &System,
        world: &World,
        table: &str,
    ) -> Result<(), BackendError> {
        let block = self.block(table).await;
        let mut block = block.lock().await;
        let name = quoted(table);
        let delete = format!("DELETE FROM remora.sequence WHERE name = {name}");
        run(system, world, &delete).await?;
        *block = Block::default();
        Ok(())
    }

    async fn block(&self, table: &str) -> Arc<Mutex<Block>> {
        let mut blocks = self.blocks.lock().await;
        match blocks.get(table) {
            Some(block) => block.clone(),
            None => blocks.entry(table.to_owned()).or_default().clone(),
        }
    }
}

/// Leases `size` values that nobody else gets, and gives the first; `None` if there is no such
/// sequence.
async fn lease(
    system: &System,
    world: &World,
    table: &str,
    size: u64,
) -> Result<Option<u64>, BackendError> {
    let name = quoted(table);
    // The OK packet carries what LAST_INSERT_ID() was given: the row's value before this lease,
    // which is 1 at least, or 0 where there is no row.
    let sql = format!(
        "UPDATE remora.sequence SET next = LAST_INSERT_ID(next) + {size} WHERE name = {name}"
    );
    let ended = run(system, world, &sql).await.map_err(exhausted)?;
    Ok(Some(ended.last_insert_id).filter(|first| *first > 0))
}

/// The error of a sequence that is at its end, as MySQL has it for AUTO_INCREMENT: its own words
/// for the row of the sequence would show what clients do not know of.
fn exhausted(error: BackendError) -> BackendError {
    match error {
        BackendError::Server { shard, error } if error.code == OUT_OF_RANGE => {
            let message = "Failed to read auto-increment value from storage engine";
            BackendError::Server {
                shard,
                error: ErrPacket::new(1467, *b"HY000", message),
            }
        }
        other => other,
    }
}

/// Answers whether there is such a sequence.
async fn raise(system: &System, world: &World, table: &str, id: u64) -> Result<bool, BackendError> {
    let (name, next) = (quoted(table), id.saturating_add(1));
    // A row that is high enough counts as unchanged; LAST_INSERT_ID() tells it from none.
    let sql = format!(
        "UPDATE remora.sequence SET next = GREATEST(next, {next} + 0 * LAST_INSERT_ID(1)) \
         WHERE name = {name}"
    );
    let ended = run(system, world, &sql).await?;
    Ok(ended.last_insert_id > 0)
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
pub(crate) fn quoted(name: &str) -> String {
    format!("'{}'", name.replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_gives_its_values_once_and_in_order() {
        let mut block = Block { next: 5, end: 8 };
        assert_eq!(block.take(2), [5, 6]);
        assert_eq!(block.take(1), [7]);
        assert_eq!(block.left(), 0);
    }

    #[test]
    fn a_lease_that_follows_leaves_no_gap() {
        let mut block = Block { next: 5, end: 8 };
        block.extend(8, 10);
        assert_eq!(block.take(4), [5, 6, 7, 8]);
    }

    #[test]
    fn what_is_left_is_given_up_rather_than_values_with_a_gap() {
        let mut block = Block { next: 5, end: 8 };
        block.extend(1001, 10);
        assert_eq!(block.take(2), [1001, 1002]);
    }

    #[test]
    fn a_value_that_a_client_used_is_passed_over() {
        let mut block = Block { next: 5, end: 100 };
        block.pass(3);
        assert_eq!(block.next, 5);
        block.pass(41);
        assert_eq!(block.take(1), [42]);
        block.pass(200);
        assert_eq!((block.next, block.left()), (201, 0));
    }

    #[test]
    fn a_sequence_at_its_end_fails_as_auto_increment_does() {
        let message = "BIGINT UNSIGNED value is out of range in 'remora.sequence'";
        let error = ErrPacket::new(1690, *b"22003", message);
        let BackendError::Server { error, .. } =
            exhausted(BackendError::Server { shard: 0, error })
        else {
            panic!("another kind of error");
        };
        assert_eq!(error.code, 1467);
        assert!(!String::from_utf8_lossy(&error.message).contains("remora"));
    }

    #[test]
    fn names_cannot_leave_their_quotes() {
        assert_eq!(quoted(r"it's \'"), r"'it''s \\'''");
    }
}
