//! What the planner knows of the database: the manifest's tables and their columns.

mod builder;
mod column;
mod protected;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use remora_crds::GeneratedKeyKind;
use remora_crds::layout::{ShardIndex, ShardMap, Slot, slot};

use crate::Refusal;
use crate::bound::Place;
use crate::keys::KeyType;

pub use builder::{CatalogBuilder, CatalogError, LoadedColumn, load_sql};
pub use column::{Column, ColumnKind};
pub(crate) use protected::MARK;
pub use protected::{COMPANION_PREFIX, How, LogicalType, Protected, Sealed, Shape};

/// The manifest's tables with their columns as the shards have them now. Immutable; a change
/// makes a new one with a higher version.
#[derive(Debug)]
pub struct Catalog {
    version: u64,
    database: String,
    shards: ShardMap,
    tables: HashMap<String, Arc<Table>>,
    closed: BTreeMap<String, String>,
    most_slots: u16,
    read_only_functions: Vec<String>,
    /// Finds the names of tables with protected columns.
    protected: Vec<memchr::memmem::Finder<'static>>,
}

/// A table that the manifest names.
#[derive(Debug)]
pub struct Table {
    /// Its name, without the database.
    pub name: String,
    /// Its columns in order; empty while the table does not exist.
    pub columns: Vec<Column>,
    /// Where its rows live.
    pub placement: Placement,
    /// The column whose values Remora makes.
    pub generated: Option<Generated>,
    /// Columns that are encrypted or digests.
    pub protected: Vec<Arc<Protected>>,
    /// Why the table, as the shards have it, cannot be served: somebody changed it behind
    /// Remora's back. It counts as missing, and the other tables are served.
    pub problem: Option<String>,
}

/// Where a table's rows live.
#[derive(Debug)]
pub enum Placement {
    /// Spread over shards and slots by the hash of a key.
    Sharded(Sharded),
    /// All rows on every shard.
    Broadcast,
}

/// How a table is spread.
#[derive(Debug)]
pub struct Sharded {
    /// The key's column.
    pub key: String,
    /// How the key is hashed; `None` while the table does not exist.
    pub key_type: Option<KeyType>,
    /// Physical tables on each shard.
    pub slots: u16,
    /// Tables with an equal number keep equal keys together.
    pub group: usize,
    /// The quoted physical schema of each slot.
    pub(crate) schemas: Arc<[Box<[u8]>]>,
}

/// A column whose values Remora makes.
#[derive(Debug)]
pub struct Generated {
    /// The column.
    pub column: String,
    /// Where the values come from.
    pub kind: GeneratedKeyKind,
}

impl Catalog {
    /// Orders catalogs of one process; plans belong to one version.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The logical database of the manifest's tables.
    #[must_use]
    pub fn database(&self) -> &str {
        &self.database
    }

    /// How many shards there are.
    #[must_use]
    pub fn shards(&self) -> u16 {
        self.shards.shards()
    }

    /// All shards, in order.
    pub fn shard_indexes(&self) -> impl Iterator<Item = ShardIndex> + use<> {
        (0..self.shards.shards()).map(ShardIndex)
    }

    /// A table of the manifest.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<&Arc<Table>> {
        self.tables.get(name)
    }

    /// Why a table of the database is closed, if it is: its rows are not laid out as the
    /// manifest says. It need not be in the manifest.
    #[must_use]
    pub fn closed(&self, name: &str) -> Option<&str> {
        self.closed.get(name).map(String::as_str)
    }

    /// Whether the manifest says that a stored function of this name only reads.
    pub(crate) fn only_reads(&self, function: &str) -> bool {
        self.read_only_functions
            .iter()
            .any(|known| same_name(known, function))
    }

    /// Whether any table is closed.
    #[must_use]
    pub fn has_closed_tables(&self) -> bool {
        !self.closed.is_empty()
    }

    /// All tables of the manifest, in no order.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.tables.values()
    }

    /// Whether some table has protected columns.
    #[must_use]
    pub fn has_protected(&self) -> bool {
        !self.protected.is_empty()
    }

    /// Whether a text may name a table with protected columns. Such names have no character that
    /// a text could write otherwise.
    #[must_use]
    pub fn may_concern_protected(&self, sql: &[u8]) -> bool {
        self.protected.iter().any(|name| name.find(sql).is_some())
    }

    /// Whether all rows are on one server, under their own names: what administers a server
    /// then administers all there is.
    #[must_use]
    pub fn is_one_server(&self) -> bool {
        self.shards() == 1 && !self.has_physical_schemas()
    }

    /// Whether some table is split within its shard, so that physical schemas exist.
    #[must_use]
    pub fn has_physical_schemas(&self) -> bool {
        self.most_slots > 1
    }

    /// The number of slots of the table that is split most.
    #[must_use]
    pub fn most_slots(&self) -> u16 {
        self.most_slots
    }

    /// Whether `schema` is one of the physical schemas, which no client may see.
    #[must_use]
    pub fn is_physical_schema(&self, schema: &str) -> bool {
        self.has_physical_schemas()
            && schema
                .strip_prefix(self.database.as_str())
                .and_then(|rest| rest.strip_prefix("__"))
                .is_some_and(|slot| slot.len() == 4 && slot.bytes().all(|b| b.is_ascii_digit()))
    }

    pub(crate) fn place(&self, hash: u64, slots: u16) -> Place {
        Place {
            shard: self.shards.shard(hash),
            slot: slot(hash, slots),
        }
    }

    /// Every place of a table, in order.
    pub(crate) fn places(&self, slots: u16) -> impl Iterator<Item = Place> + use<> {
        self.shard_indexes().flat_map(move |shard| {
            (0..slots).map(move |slot| Place {
                shard,
                slot: Slot(slot),
            })
        })
    }
}

impl Table {
    /// The spread of a sharded table.
    #[must_use]
    pub fn sharded(&self) -> Option<&Sharded> {
        match &self.placement {
            Placement::Sharded(sharded) => Some(sharded),
            Placement::Broadcast => None,
        }
    }

    /// Whether no shard has the table yet, as far as the catalog knows.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.columns.is_empty()
    }

    /// The place of a column among the others; names compare without case, as in MySQL.
    #[must_use]
    pub fn column_index(&self, name: &str) -> Option<usize> {
        self.columns
            .iter()
            .position(|column| same_name(&column.name, name))
    }

    /// The names of the columns that `SELECT *` shows, in order.
    pub(crate) fn visible(&self) -> impl Iterator<Item = &str> {
        let visible = self.columns.iter().filter(|column| !column.invisible);
        visible.map(|column| column.name.as_str())
    }

    /// A column.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns
            .iter()
            .find(|column| same_name(&column.name, name))
    }

    /// The protected column of this name.
    #[must_use]
    pub fn protected(&self, name: &str) -> Option<&Arc<Protected>> {
        self.protected.iter().find(|it| it.is(name))
    }

    /// The refusal of something for this table.
    pub(crate) fn unsupported(&self, what: &str) -> Refusal {
        let spread = match self.placement {
            Placement::Sharded(_) => "sharded",
            Placement::Broadcast => "on every shard",
        };
        Refusal::unsupported(format!(
            "{what} is not supported for {}, which is {spread}",
            self.name
        ))
    }

    /// Whether the name is the sharding key's.
    #[must_use]
    pub fn is_key(&self, column: &str) -> bool {
        self.sharded()
            .is_some_and(|sharded| same_name(&sharded.key, column))
    }
}

impl Sharded {
    /// Whether equal keys of both tables are in the same place.
    pub(crate) fn is_colocated_with(&self, other: &Self) -> bool {
        let same_hash = match (&self.key_type, &other.key_type) {
            // Integers are hashed by value, whatever their width.
            (Some(KeyType::Integer(_)), Some(KeyType::Integer(_))) => true,
            (own, other) => own == other,
        };
        self.group == other.group && self.slots == other.slots && same_hash
    }

    /// The quoted physical schema of a slot.
    pub(crate) fn schema(&self, slot: Slot) -> &[u8] {
        self.schemas
            .get(usize::from(slot.0))
            .map_or(b"", |schema| schema)
    }
}

/// Column names and aliases compare without case.
pub(crate) fn same_name(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b) || (!a.is_ascii() && a.to_lowercase() == b.to_lowercase())
}
