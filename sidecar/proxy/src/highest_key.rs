//! The highest value of a generated key that is in a table, wherever it came from.

use remora_crds::layout::{self, Slot};

use crate::backend::{BackendError, Row};
use crate::system::System;
use crate::world::World;

/// The highest value of the generated column of `table` over all its physical tables; `None` if
/// they hold no row, or the catalog knows no such column.
///
/// # Errors
/// If a shard cannot be reached, or refuses.
pub(crate) async fn highest_key(
    system: &System,
    world: &World,
    table: &str,
) -> Result<Option<u64>, BackendError> {
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
        let rows = system.rows(world, shard, &sql).await?;
        highest = highest.max(number(&rows));
    }
    Ok(highest)
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
        "SELECT MAX(highest) FROM ({}) AS parts",
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
             UNION ALL SELECT MAX(`id`) AS highest FROM `shop__0001`.`or``der`) AS parts"
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
