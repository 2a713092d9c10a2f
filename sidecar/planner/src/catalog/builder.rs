//! From a manifest and the rows of information_schema to a catalog.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use remora_crds::ShardingClusterSpec;
use remora_crds::layout::{self, ShardMap, Slot};

use crate::keys::KeyType;

use super::column::{Column, ColumnKind, highest};
use super::protected::Keys;
use super::{
    Catalog, Generated, How, LogicalType, Placement, Protected, Sharded, Table, same_name,
};

/// A manifest that was never validated: a sharded table without a key.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("table {0} has no sharding key in the manifest")]
pub struct CatalogError(String);

/// One row of [`load_sql`]'s answer.
#[derive(Clone, Debug, Default)]
pub struct LoadedColumn {
    /// TABLE_NAME.
    pub table: String,
    /// COLUMN_NAME.
    pub column: String,
    /// DATA_TYPE, such as `bigint`.
    pub data_type: String,
    /// COLUMN_TYPE, such as `bigint unsigned zerofill`.
    pub column_type: String,
    /// COLLATION_NAME of text.
    pub collation: Option<String>,
    /// IS_NULLABLE is `YES`.
    pub nullable: bool,
    /// EXTRA, such as `auto_increment`.
    pub extra: String,
    /// COLUMN_COMMENT.
    pub comment: String,
    /// Of companions of encrypted columns: the keys that they are in, other than their own; `U`
    /// for a unique one of this column alone, `M` for one that it begins, else `P`.
    pub keys: String,
}

impl LoadedColumn {
    /// Reads a row of [`load_sql`]'s answer: nine values as text, NULL as `None`.
    #[must_use]
    pub fn from_row(row: [Option<String>; 9]) -> Self {
        let [
            table,
            column,
            data_type,
            column_type,
            collation,
            nullable,
            extra,
            comment,
            keys,
        ] = row;
        Self {
            table: table.unwrap_or_default(),
            column: column.unwrap_or_default(),
            data_type: data_type.unwrap_or_default(),
            column_type: column_type.unwrap_or_default(),
            collation,
            nullable: nullable.is_some_and(|answer| answer == "YES"),
            extra: extra.unwrap_or_default(),
            comment: comment.unwrap_or_default(),
            keys: keys.unwrap_or_default(),
        }
    }
}

/// The query to run on the first shard, with an account that sees all of the schemas: the
/// columns of the manifest's tables, in order. Nine columns for [`LoadedColumn::from_row`].
#[must_use]
pub fn load_sql(spec: &ShardingClusterSpec) -> String {
    let schema = |slots: u16| layout::schema(&spec.database, slots, Slot(0)).to_string();
    let tables: Vec<String> = spec
        .tables
        .iter()
        .map(|table| {
            let slots = table
                .sharding
                .as_ref()
                .map_or(1, |it| spec.tables_per_shard(it));
            format!("('{}','{}')", schema(slots), table.name)
        })
        .collect();
    let filter = if tables.is_empty() {
        "FALSE".to_owned()
    } else {
        format!("(TABLE_SCHEMA, TABLE_NAME) IN ({})", tables.join(","))
    };
    let encrypts = spec.tables.iter().any(|it| !it.encryption.is_empty());
    let keys = if encrypts { COMPANION_KEYS } else { "''" };
    format!(
        "SELECT TABLE_NAME, COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, COLLATION_NAME, IS_NULLABLE, \
         EXTRA, COLUMN_COMMENT, {keys} FROM information_schema.COLUMNS c WHERE {filter} \
         ORDER BY TABLE_NAME, ORDINAL_POSITION"
    )
}

/// The keys of a companion, as [`LoadedColumn::keys`] has them.
const COMPANION_KEYS: &str = "IF(COLUMN_NAME LIKE '\\_\\_remora\\_%', (SELECT GROUP_CONCAT(DISTINCT \
    IF(s.SEQ_IN_INDEX > 1, 'P', IF(s.NON_UNIQUE = 0 AND NOT EXISTS (SELECT 1 FROM \
    information_schema.STATISTICS o WHERE o.TABLE_SCHEMA = s.TABLE_SCHEMA AND o.TABLE_NAME = \
    s.TABLE_NAME AND o.INDEX_NAME = s.INDEX_NAME AND o.SEQ_IN_INDEX = 2), 'U', 'M'))) FROM \
    information_schema.STATISTICS s WHERE s.TABLE_SCHEMA = c.TABLE_SCHEMA AND s.TABLE_NAME = \
    c.TABLE_NAME AND s.COLUMN_NAME = c.COLUMN_NAME AND s.INDEX_NAME NOT LIKE \
    '\\_\\_remora\\_%'), '')";

/// Builds a [`Catalog`].
#[derive(Debug)]
pub struct CatalogBuilder<'a> {
    spec: &'a ShardingClusterSpec,
    columns: HashMap<String, Vec<LoadedColumn>>,
    closed: BTreeMap<String, String>,
}

impl<'a> CatalogBuilder<'a> {
    /// Begins with a manifest, in which every table is missing.
    #[must_use]
    pub fn new(spec: &'a ShardingClusterSpec) -> Self {
        Self {
            spec,
            columns: HashMap::new(),
            closed: BTreeMap::new(),
        }
    }

    /// Closes tables, by name and with the reason: no statement that names one is served.
    #[must_use]
    pub fn closed(mut self, tables: &BTreeMap<String, String>) -> Self {
        self.closed.clone_from(tables);
        self
    }

    /// Adds the columns that exist, in order.
    #[must_use]
    pub fn loaded(mut self, rows: impl IntoIterator<Item = LoadedColumn>) -> Self {
        for row in rows {
            self.columns.entry(row.table.clone()).or_default().push(row);
        }
        self
    }

    /// The catalog.
    ///
    /// # Errors
    /// If the manifest was never validated.
    pub fn build(self, version: u64) -> Result<Catalog, CatalogError> {
        let mut schemas = HashMap::new();
        let mut tables = HashMap::new();
        let mut most_slots = 1;
        for (number, table) in self.spec.tables.iter().enumerate() {
            let mut problem = None;
            let placement = match &table.sharding {
                None => Placement::Broadcast,
                Some(sharding) => {
                    let slots = self.spec.tables_per_shard(sharding);
                    most_slots = most_slots.max(slots);
                    let leader = sharding.colocated_with.as_deref().unwrap_or(&table.name);
                    let group = self
                        .spec
                        .tables
                        .iter()
                        .position(|other| other.name == leader);
                    let key = sharding.key.first().cloned();
                    let key = key.ok_or_else(|| CatalogError(table.name.clone()))?;
                    let key_type = self.key_type(&table.name, &key).unwrap_or_else(|reason| {
                        problem = Some(reason);
                        None
                    });
                    Placement::Sharded(Sharded {
                        key_type,
                        key,
                        slots,
                        group: group.unwrap_or(number),
                        schemas: self.schemas(slots, &mut schemas),
                    })
                }
            };
            let columns = self.columns.get(&table.name).map_or(&[][..], Vec::as_slice);
            let generated = table.generated_key.as_ref().map(|generated| Generated {
                column: generated.column.clone(),
                kind: generated.kind,
            });
            let mut protected: Vec<Protected> = table
                .encryption
                .iter()
                .map(|it| Protected::of(&self.spec.database, &table.name, it))
                .collect();
            if !columns.is_empty() {
                let declared = protected.iter_mut().try_for_each(|it| declare(it, columns));
                problem = problem.or(declared
                    .map_err(|reason| format!("table {}: {reason}", table.name))
                    .err());
            }
            let usable = columns.iter().filter(|_| problem.is_none());
            let columns = usable.map(column).collect();
            let built = Table {
                name: table.name.clone(),
                columns,
                placement,
                generated,
                protected: protected.into_iter().map(Arc::new).collect(),
                problem,
            };
            tables.insert(table.name.clone(), Arc::new(built));
        }
        let shards = ShardMap::equal(self.spec.shards.max(1));
        let reads = self.spec.reads.as_ref();
        Ok(Catalog {
            read_only_functions: reads
                .map(|reads| reads.read_only_functions.clone())
                .unwrap_or_default(),
            version,
            database: self.spec.database.clone(),
            shards,
            tables,
            closed: self.closed,
            most_slots,
            protected: self
                .spec
                .tables
                .iter()
                .filter(|table| !table.encryption.is_empty())
                .map(|table| memchr::memmem::Finder::new(&table.name).into_owned())
                .collect(),
        })
    }

    /// How an existing table's key is hashed; `None` if there is no such table.
    fn key_type(&self, table: &str, key: &str) -> Result<Option<KeyType>, String> {
        let Some(columns) = self.columns.get(table) else {
            return Ok(None);
        };
        let found = columns.iter().find(|column| same_name(&column.column, key));
        let found = found.ok_or_else(|| {
            format!("table {table} has no column {key}, which the manifest names as its key")
        })?;
        KeyType::declared(&found.column_type, found.collation.as_deref())
            .map(Some)
            .map_err(|reason| format!("table {table}: {reason}"))
    }

    /// The quoted schemas of a number of slots, shared by all tables that have as many.
    fn schemas(&self, slots: u16, known: &mut HashMap<u16, Arc<[Box<[u8]>]>>) -> Arc<[Box<[u8]>]> {
        let database = &self.spec.database;
        let quoted = |slot| {
            let name = layout::schema(database, slots, Slot(slot)).to_string();
            format!("`{}`", name.replace('`', "``"))
                .into_bytes()
                .into_boxed_slice()
        };
        Arc::clone(
            known
                .entry(slots)
                .or_insert_with(|| (0..slots).map(quoted).collect()),
        )
    }
}

/// Notes how a protected column was declared, as its table on the shards says. One that is not
/// stored as the manifest says is not served: what it holds is not what it is taken for.
fn declare(protected: &mut Protected, columns: &[LoadedColumn]) -> Result<(), String> {
    let name = &protected.column;
    let find = |name: &str| columns.iter().find(|it| same_name(&it.column, name));
    // An ALTER may have dropped it, or not added it yet.
    let Some(found) = find(name) else {
        return Ok(());
    };
    match &mut protected.how {
        How::Digest { kind, .. } => {
            let key_type = KeyType::declared(&found.column_type, found.collation.as_deref());
            match key_type {
                Ok(KeyType::Text { length, .. }) if length >= kind.characters() => Ok(()),
                _ => Err(format!(
                    "column {name} is a digest of {} characters and must be a CHAR or VARCHAR of \
                     as many; DROP the table and CREATE it anew",
                    kind.characters()
                )),
            }
        }
        How::Sealed(sealed) => {
            let marked = LogicalType::marked(&found.comment).map(|(declared, _)| declared);
            let whole = marked.is_some() && sealed.lookup == find(&sealed.companion).is_some();
            sealed.declared = marked;
            let keys = find(&sealed.companion).map_or("", |it| &it.keys);
            sealed.keys = Keys {
                unique: keys.contains('U'),
                first: keys.contains('M'),
                part: !keys.is_empty(),
            };
            match whole {
                true => Ok(()),
                false => Err(format!(
                    "column {name} is not stored as an encrypted one of the manifest's kind; DROP \
                     the table and CREATE it anew through Remora"
                )),
            }
        }
    }
}

fn column(loaded: &LoadedColumn) -> Column {
    let extra = loaded.extra.to_ascii_lowercase();
    Column {
        name: loaded.column.clone(),
        kind: ColumnKind::of(&loaded.data_type),
        collation: loaded.collation.clone(),
        nullable: loaded.nullable,
        auto_increment: extra.contains("auto_increment"),
        zerofill: loaded.column_type.to_ascii_lowercase().contains("zerofill"),
        invisible: extra.contains("invisible"),
        highest: highest(&loaded.column_type),
    }
}
