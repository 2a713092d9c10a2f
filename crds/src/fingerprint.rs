//! What of a manifest decides where rows are, and its fingerprint.
//!
//! Every shard holds the document in `remora.layout`. Whoever serves a manifest compares: a
//! manifest that would look for rows where they are not is refused, also without Kubernetes.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{Algorithm, EncryptedColumn, FieldError, GeneratedKeyKind, ShardingClusterSpec, Table};

/// Version of the functions in [`crate::layout`] and of the key hash. A change of either would
/// need another number, and rows moved.
const FUNCTIONS: u32 = 1;

/// What of a manifest decides where rows are.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LayoutDocument {
    functions: u32,
    database: String,
    shards: u16,
    tables: BTreeMap<String, TableLayout>,
}

/// The layout of one table.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
enum TableLayout {
    Broadcast,
    #[serde(rename_all = "camelCase")]
    Hash {
        key: Vec<String>,
        tables_per_shard: u16,
        colocated_with: Option<String>,
        generated_key: Option<(String, GeneratedKeyKind)>,
    },
    /// One of the others, some of whose columns are stored encrypted or as digests.
    #[serde(rename_all = "camelCase")]
    Encrypted {
        columns: BTreeMap<String, EncryptedColumn>,
        rows: Box<TableLayout>,
    },
}

/// What a shard answers to a layout that is wanted.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Admission {
    /// What the shard should hold from now on.
    pub document: LayoutDocument,
    /// The tables that stay as they were, and why with the remedy.
    pub refused: BTreeMap<String, String>,
}

impl Admission {
    /// The refused tables as fields of the manifest.
    #[must_use]
    pub fn errors(&self) -> Vec<FieldError> {
        let error = |(name, reason): (&String, &String)| FieldError {
            path: table_path(name),
            reason: reason.clone(),
        };
        self.refused.iter().map(error).collect()
    }
}

const SET_BACK: &str = "set it back, or use empty servers: there is no resharding yet";

fn table_path(name: &str) -> String {
    format!("spec.tables[{name}]")
}

impl LayoutDocument {
    /// The layout that `spec` asks for.
    #[must_use]
    pub fn of(spec: &ShardingClusterSpec) -> Self {
        let rows = |table: &Table| match &table.sharding {
            None => TableLayout::Broadcast,
            Some(sharding) => {
                let Algorithm::Hash(_) = &sharding.algorithm;
                TableLayout::Hash {
                    key: sharding.key.clone(),
                    tables_per_shard: spec.tables_per_shard(sharding),
                    colocated_with: sharding.colocated_with.clone(),
                    generated_key: table
                        .generated_key
                        .as_ref()
                        .map(|generated| (generated.column.clone(), generated.kind)),
                }
            }
        };
        let layout = |table: &Table| {
            let columns = table.encryption.iter();
            let columns: BTreeMap<_, _> =
                columns.map(|it| (it.column.clone(), it.clone())).collect();
            match columns.is_empty() {
                true => rows(table),
                false => TableLayout::Encrypted {
                    columns,
                    rows: Box::new(rows(table)),
                },
            }
        };
        Self {
            functions: FUNCTIONS,
            database: spec.database.clone(),
            shards: spec.shards,
            tables: spec
                .tables
                .iter()
                .map(|table| (table.name.clone(), layout(table)))
                .collect(),
        }
    }

    /// The same without tables: what servers hold on which Remora never laid out any.
    #[must_use]
    pub fn without_tables(&self) -> Self {
        self.with_tables(|_| false)
    }

    /// The same with those tables of which `keep` holds.
    #[must_use]
    pub fn with_tables(&self, keep: impl Fn(&str) -> bool) -> Self {
        let mut document = self.clone();
        document.tables.retain(|name, _| keep(name));
        document
    }

    /// Keeps of `held` what `self` leaves out or lays out otherwise, and gives the names of it.
    pub fn keep(&mut self, held: &Self) -> Vec<String> {
        let mut kept = Vec::new();
        for (name, layout) in &held.tables {
            if self.tables.get(name) != Some(layout) {
                self.tables.insert(name.clone(), layout.clone());
                kept.push(name.clone());
            }
        }
        kept
    }

    /// The tables that only one of `self` and `wanted` names, or that they lay out differently.
    /// [`Self::admit`] has to know which of them the shard has.
    pub fn changed<'a>(&'a self, wanted: &'a Self) -> impl Iterator<Item = &'a str> {
        let gone = self.tables.keys().map(String::as_str);
        gone.filter(|name| !wanted.tables.contains_key(*name))
            .chain(self.uncovered(wanted))
    }

    /// The tables of `wanted` of which `self`, which a shard holds, does not say the same.
    pub fn uncovered<'a>(&'a self, wanted: &'a Self) -> impl Iterator<Item = &'a str> {
        let other = |(name, layout): &(&'a String, &TableLayout)| {
            self.tables.get(name.as_str()) != Some(*layout)
        };
        wanted
            .tables
            .iter()
            .filter(other)
            .map(|(name, _)| name.as_str())
    }

    /// The fields of the manifest that may not change from `self` to `wanted`, as the API server
    /// refuses them too.
    #[must_use]
    pub fn contradictions(&self, wanted: &Self) -> Vec<FieldError> {
        let mut errors = self.contradictions_of_all_tables(wanted);
        for (name, layout) in &wanted.tables {
            if let Some(held) = self.tables.get(name).filter(|held| *held != layout) {
                errors.push(FieldError {
                    path: table_path(name),
                    reason: format!(
                        "the shards hold rows laid out for {}; {SET_BACK}",
                        held.describe()
                    ),
                });
            }
        }
        errors
    }

    /// The fields in which `wanted` contradicts all rows that are laid out as `self` says, of
    /// whatever table.
    fn contradictions_of_all_tables(&self, wanted: &Self) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let mut differs = |path: &str, held: String, remedy: &str| {
            errors.push(FieldError {
                path: path.to_owned(),
                reason: format!("the shards hold rows laid out for {held}; {remedy}"),
            });
        };
        if self.functions != wanted.functions {
            let held = format!("version {} of the hash functions", self.functions);
            differs("apiVersion", held, "use a version of Remora that has them");
        }
        if self.shards != wanted.shards {
            differs("spec.shards", self.shards.to_string(), SET_BACK);
        }
        if self.database != wanted.database {
            differs("spec.database", format!("{:?}", self.database), SET_BACK);
        }
        errors
    }

    /// What `shard`, which holds `self`, should hold when `wanted` is served. `there` are those
    /// of the [changed](Self::changed) tables that it has.
    ///
    /// Tables may be added where no rows are in the way: one that is there already was not
    /// sharded, so all its rows are on the first shard. A table may be taken out once it is
    /// dropped: until then its rows are spread, and whoever took it for one that is not sharded
    /// would find those of one shard. The first shard decides both, since it alone has tables
    /// that are not sharded. The others remember what they still have, so that it cannot come
    /// back with another layout: that needs it dropped everywhere, and concerns no other table.
    ///
    /// All changes are admitted or none: those who started before and after would serve
    /// different tables otherwise.
    ///
    /// # Errors
    /// The fields that contradict the rows of all tables.
    pub fn admit(
        &self,
        wanted: &Self,
        shard: u16,
        there: &BTreeSet<String>,
    ) -> Result<Admission, Vec<FieldError>> {
        let errors = self.contradictions_of_all_tables(wanted);
        if !errors.is_empty() {
            return Err(errors);
        }
        let mut admission = Admission {
            document: self.clone(),
            refused: BTreeMap::new(),
        };
        let decides = shard == 0;
        for (name, layout) in &wanted.tables {
            let held = self.tables.get(name);
            if held == Some(layout) {
                continue;
            }
            if let Some(held) = held.filter(|_| there.contains(name)) {
                let reason = format!(
                    "shard {shard} has the table, whose rows are laid out for {}; set it back, or \
                     DROP the table while the manifest says so",
                    held.describe()
                );
                admission.refused.insert(name.clone(), reason);
            } else if decides && there.contains(name) {
                let reason = format!(
                    "the table is there and not sharded, with all its rows on shard 0; take it out \
                     of spec.tables, or RENAME it, and copy its rows into the sharded table of \
                     its name (database {:?})",
                    self.database
                );
                admission.refused.insert(name.clone(), reason);
            } else {
                admission
                    .document
                    .tables
                    .insert(name.clone(), layout.clone());
            }
        }
        for (name, held) in &self.tables {
            if wanted.tables.contains_key(name) {
                continue;
            }
            if !there.contains(name) {
                admission.document.tables.remove(name);
            } else if decides {
                let reason = format!(
                    "the manifest no longer names the table, whose rows are laid out for {}; put \
                     it back, and DROP the table before it is taken out",
                    held.describe()
                );
                admission.refused.insert(name.clone(), reason);
            }
        }
        if !admission.refused.is_empty() {
            admission.document = self.clone();
            for name in self.changed(wanted) {
                admission.refused.entry(name.to_owned()).or_insert_with(|| {
                    "the change waits for those of other tables, which rows are in the way of; \
                     they come into force together"
                        .to_owned()
                });
            }
        }
        Ok(admission)
    }

    /// SHA-256 over the document's canonical JSON, in hexadecimal.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        hex::encode(Sha256::digest(self.to_json()))
    }

    /// The document as canonical JSON: fixed order of fields, tables in the order of their names.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads a document from a shard.
    ///
    /// # Errors
    /// If it is none, or one of a version that this one does not know.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}

impl TableLayout {
    fn describe(&self) -> String {
        match self {
            Self::Broadcast => "broadcast: true".to_owned(),
            Self::Hash {
                key,
                tables_per_shard,
                colocated_with,
                generated_key,
            } => {
                let mut text = format!("key {key:?}, tablesPerShard {tables_per_shard}");
                if let Some(other) = colocated_with {
                    text += &format!(", colocatedWith {other}");
                }
                if let Some((column, kind)) = generated_key {
                    text += &format!(", generatedKey {column} of type {kind:?}");
                }
                text
            }
            Self::Encrypted { columns, rows } => {
                let columns: Vec<&str> = columns.keys().map(String::as_str).collect();
                format!("{}, encryption of {}", rows.describe(), columns.join(", "))
            }
        }
    }
}

/// The fingerprint of the layout that `spec` asks for.
#[must_use]
pub fn layout_fingerprint(spec: &ShardingClusterSpec) -> String {
    LayoutDocument::of(spec).fingerprint()
}

#[cfg(test)]
mod tests;
