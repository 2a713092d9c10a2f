//! What of a manifest decides where rows are, and its fingerprint.
//!
//! Every shard holds the document in `remora.layout`. Whoever serves a manifest compares: a
//! manifest that would look for rows where they are not is refused, also without Kubernetes.

use std::collections::{BTreeMap, BTreeSet};

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

fn table_path(name: &str) -> String {
    format!("spec.tables[{name}]")
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

    /// The tables that only one of `self` and `wanted` names. [`Self::admit`] has to know which
    /// of them the shard has.
    pub fn changed<'a>(&'a self, wanted: &'a Self) -> impl Iterator<Item = &'a str> {
        let only = |one: &'a Self, other: &'a Self| {
            let names = one.tables.keys().map(String::as_str);
            names.filter(move |name| !other.tables.contains_key(*name))
        };
        only(self, wanted).chain(only(wanted, self))
    }

    /// Whether `self`, which a shard holds, says of each table of `wanted` what that says.
    #[must_use]
    pub fn covers(&self, wanted: &Self) -> bool {
        wanted
            .tables
            .iter()
            .all(|(name, layout)| self.tables.get(name) == Some(layout))
    }

    /// The fields of the manifest in which `wanted` contradicts the rows that are laid out as
    /// `self` says, on whatever shard.
    #[must_use]
    pub fn contradictions(&self, wanted: &Self) -> Vec<FieldError> {
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
                differs(table_path(name), held.describe(), remedy);
            }
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
    /// back with another layout.
    ///
    /// # Errors
    /// [`Self::contradictions`].
    pub fn admit(
        &self,
        wanted: &Self,
        shard: u16,
        there: &BTreeSet<String>,
    ) -> Result<Admission, Vec<FieldError>> {
        let errors = self.contradictions(wanted);
        if !errors.is_empty() {
            return Err(errors);
        }
        let mut admission = Admission {
            document: self.clone(),
            refused: BTreeMap::new(),
        };
        let decides = shard == 0;
        for (name, layout) in &wanted.tables {
            if decides && !self.tables.contains_key(name) && there.contains(name) {
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

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    /// The example's layout without its second table, with it, and that table's name.
    fn small_and_whole() -> (LayoutDocument, LayoutDocument, String) {
        let mut small = shop();
        let payment = small.tables.remove(1).name;
        (
            LayoutDocument::of(&small),
            LayoutDocument::of(&shop()),
            payment,
        )
    }

    #[test]
    fn a_table_may_be_added_and_stays_as_it_was_laid_out() {
        let (held, whole, payment) = small_and_whole();
        for shard in [0, 1] {
            let admission = held.admit(&whole, shard, &names(&[])).unwrap();
            assert_eq!(admission.document, whole);
            assert!(admission.refused.is_empty());
        }
        let mut moved = shop();
        moved.tables[1].sharding.as_mut().unwrap().key = vec!["id".to_owned()];
        let moved = LayoutDocument::of(&moved);
        let errors = whole.admit(&moved, 0, &names(&[])).unwrap_err();
        assert_eq!(errors[0].path, format!("spec.tables[{payment}]"));
    }

    #[test]
    fn a_table_that_is_there_without_being_sharded_is_not_taken_for_a_sharded_one() {
        let (held, whole, payment) = small_and_whole();
        assert_eq!(held.changed(&whole).collect::<Vec<_>>(), [&payment]);
        let admission = held.admit(&whole, 0, &names(&[&payment])).unwrap();
        assert_eq!(admission.document, held);
        let errors = admission.errors();
        assert_eq!(errors[0].path, format!("spec.tables[{payment}]"));
        assert!(errors[0].reason.contains("RENAME it"), "{}", errors[0]);
        // Another shard cannot have one: this is a physical table of a sidecar that was faster.
        let admission = held.admit(&whole, 1, &names(&[&payment])).unwrap();
        assert_eq!(admission.document, whole);
    }

    #[test]
    fn a_table_is_taken_out_once_it_is_dropped() {
        let (small, held, payment) = small_and_whole();
        let admission = held.admit(&small, 0, &names(&[&payment])).unwrap();
        assert_eq!(admission.document, held);
        let errors = admission.errors();
        assert_eq!(errors[0].path, format!("spec.tables[{payment}]"));
        assert!(errors[0].reason.contains("put it back"), "{}", errors[0]);
        let elsewhere = held.admit(&small, 1, &names(&[&payment])).unwrap();
        assert_eq!(
            (elsewhere.document, elsewhere.refused.len()),
            (held.clone(), 0)
        );
        let dropped = held.admit(&small, 0, &names(&[])).unwrap();
        assert_eq!((dropped.document, dropped.refused.len()), (small, 0));
    }

    #[test]
    fn more_shards_and_another_database_are_refused_by_the_field() {
        let held = LayoutDocument::of(&shop());
        let mut other = shop();
        other.shards = 3;
        other.database = "mall".to_owned();
        let errors = held.contradictions(&LayoutDocument::of(&other));
        let paths: Vec<_> = errors.iter().map(|error| error.path.as_str()).collect();
        assert_eq!(paths, ["spec.shards", "spec.database"]);
        assert!(errors[0].reason.contains("laid out for 2"), "{}", errors[0]);
    }
}
