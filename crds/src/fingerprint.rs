//! What of a manifest decides where rows are, and its fingerprint.
//!
//! Every shard holds the document in `remora.layout`. Whoever serves a manifest compares: a
//! manifest that would look for rows where they are not is refused, also without Kubernetes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{Algorithm, FieldError, GeneratedKeyKind, ShardingClusterSpec, Table};

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
}

impl LayoutDocument {
    /// The layout that `spec` asks for.
    #[must_use]
    pub fn of(spec: &ShardingClusterSpec) -> Self {
        let layout = |table: &Table| match &table.sharding {
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

    /// The document that the shards should hold after `self`, which they hold, when `wanted` is
    /// served. Tables may be added. A table that is gone from the manifest is remembered, so
    /// that it cannot come back with another layout over its old rows.
    ///
    /// # Errors
    /// The fields of the manifest in which `wanted` contradicts the rows on the shards.
    pub fn admit(&self, wanted: &Self) -> Result<Self, Vec<FieldError>> {
        let mut errors = Vec::new();
        let mut differs = |path: String, held: String, remedy: &str| {
            errors.push(FieldError {
                path,
                reason: format!("the shards hold rows laid out for {held}; {remedy}"),
            });
        };
        let remedy = "set it back, or use empty servers: there is no resharding yet";
        if self.functions != wanted.functions {
            let held = format!("version {} of the hash functions", self.functions);
            differs(
                "apiVersion".to_owned(),
                held,
                "use a version of Remora that has them",
            );
        }
        if self.shards != wanted.shards {
            differs("spec.shards".to_owned(), self.shards.to_string(), remedy);
        }
        if self.database != wanted.database {
            differs(
                "spec.database".to_owned(),
                format!("{:?}", self.database),
                remedy,
            );
        }
        for (name, layout) in &wanted.tables {
            if let Some(held) = self.tables.get(name).filter(|held| *held != layout) {
                differs(format!("spec.tables[{name}]"), held.describe(), remedy);
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let mut merged = self.clone();
        merged.tables.extend(wanted.tables.clone());
        Ok(merged)
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
        }
    }
}

/// The fingerprint of the layout that `spec` asks for.
#[must_use]
pub fn layout_fingerprint(spec: &ShardingClusterSpec) -> String {
    LayoutDocument::of(spec).fingerprint()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::shop;

    #[test]
    fn the_canonical_form_and_its_fingerprint_never_change() {
        let document = LayoutDocument::of(&shop());
        insta::assert_snapshot!(document.to_json());
        insta::assert_snapshot!(document.fingerprint());
    }

    #[test]
    fn the_order_of_tables_and_an_inherited_number_change_nothing() {
        let mut other = shop();
        other.tables.reverse();
        for table in &mut other.tables {
            if let Some(sharding) = &mut table.sharding {
                sharding.tables_per_shard = Some(16);
            }
        }
        assert_eq!(layout_fingerprint(&shop()), layout_fingerprint(&other));
    }

    #[test]
    fn a_document_survives_its_way_through_a_shard() {
        let document = LayoutDocument::of(&shop());
        assert_eq!(
            LayoutDocument::from_json(&document.to_json()).unwrap(),
            document
        );
    }

    #[test]
    fn a_table_may_be_added_and_is_remembered_when_it_goes() {
        let mut small = shop();
        let payment = small.tables.remove(1);
        let held = LayoutDocument::of(&small);
        let grown = held.admit(&LayoutDocument::of(&shop())).unwrap();
        assert_eq!(grown, LayoutDocument::of(&shop()));
        assert_eq!(grown.admit(&held).unwrap(), grown);

        let mut moved = shop();
        moved.tables[1].sharding.as_mut().unwrap().key = vec!["id".to_owned()];
        let errors = grown.admit(&LayoutDocument::of(&moved)).unwrap_err();
        assert_eq!(errors[0].path, format!("spec.tables[{}]", payment.name));
    }

    #[test]
    fn more_shards_and_another_database_are_refused_by_the_field() {
        let held = LayoutDocument::of(&shop());
        let mut other = shop();
        other.shards = 3;
        other.database = "mall".to_owned();
        let errors = held.admit(&LayoutDocument::of(&other)).unwrap_err();
        let paths: Vec<_> = errors.iter().map(|error| error.path.as_str()).collect();
        assert_eq!(paths, ["spec.shards", "spec.database"]);
        assert!(errors[0].reason.contains("laid out for 2"), "{}", errors[0]);
    }
}
