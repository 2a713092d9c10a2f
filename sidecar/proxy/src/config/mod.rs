//! The file that takes the operator's place: a manifest and a topology, as two YAML documents.

mod document;
mod file;
mod mistake;
mod places;
mod topology;

use std::fmt;
use std::path::{Path, PathBuf};

use remora_crds::{FieldError, LayoutDocument, ShardingCluster, Topology};
use serde::de::DeserializeOwned;

use self::document::{Document, documents};
use crate::snapshot::{BackendTls, Snapshot};

pub use self::file::ConfigFile;
pub use self::mistake::Mistake;

/// The version of both documents.
const API_VERSION: &str = "remora.dev/v1alpha1";
const MANIFEST: &str = "ShardingCluster";
const TOPOLOGY: &str = "Topology";
/// What a manifest has outside `spec`. Its type tolerates more, since the apiserver adds some.
const MANIFEST_FIELDS: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];

/// Why a configuration file is refused. No password is ever part of it.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{path}: {source}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is wrong.
    #[error("{}", Listed(path, mistakes))]
    Wrong {
        /// The file.
        path: PathBuf,
        /// Everything that is wrong, or the first thing that keeps the rest from being read.
        mistakes: Vec<Mistake>,
    },
}

/// Each mistake on a line of its own, in the form that editors jump to.
struct Listed<'a>(&'a Path, &'a [Mistake]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, mistake) in self.1.iter().enumerate() {
            let line_break = if number == 0 { "" } else { "\n" };
            write!(f, "{line_break}{}:{mistake}", self.0.display())?;
        }
        Ok(())
    }
}

/// Reads the text of the file at `path`, to stand in place of `current`.
///
/// # Errors
/// If it is wrong, or contradicts what is in force: an older epoch, another layout.
pub fn parse(path: &Path, text: &str, current: Option<&Snapshot>) -> Result<Snapshot, ConfigError> {
    read(text, current).map_err(|mistakes| ConfigError::Wrong {
        path: path.into(),
        mistakes,
    })
}

/// Reads both documents, to stand in place of `current`.
fn read(text: &str, current: Option<&Snapshot>) -> Result<Snapshot, Vec<Mistake>> {
    let (manifest_text, topology_text) = pair(documents(text).map_err(|e| vec![e])?)?;
    let manifest = typed::<ShardingCluster>(&manifest_text);
    let topology = typed::<Topology>(&topology_text);
    let (manifest, topology) = match (manifest, topology) {
        (Ok(manifest), Ok(topology)) => (manifest, topology),
        (manifest, topology) => {
            return Err([manifest.err(), topology.err()]
                .into_iter()
                .flatten()
                .collect());
        }
    };
    let mut mistakes = located(
        &manifest_text,
        manifest_errors(&manifest, &manifest_text, current),
    );
    let topology_errors = topology::validate(&topology, &manifest);
    mistakes.extend(located(&topology_text, topology_errors));
    mistakes.extend(located(&topology_text, stale(&topology, current)));
    if !mistakes.is_empty() {
        return Err(mistakes);
    }
    let uid = manifest.metadata.uid;
    Snapshot::new(uid, manifest.spec, topology, BackendTls::default()).map_err(|error| {
        vec![Mistake::at(
            topology_text.places.find(""),
            error.to_string(),
        )]
    })
}

/// The manifest and the topology among the documents of a file.
fn pair(documents: Vec<Document>) -> Result<(Document, Document), Vec<Mistake>> {
    let mut mistakes = Vec::new();
    let (mut manifest, mut topology) = (None, None);
    for document in documents {
        let version = document.word("apiVersion");
        if version != Some(API_VERSION) {
            mistakes.push(Mistake::at(
                document.places.find("apiVersion"),
                format!("must be {API_VERSION}"),
            ));
        }
        let kind = match document.word("kind") {
            Some(MANIFEST) => &mut manifest,
            Some(TOPOLOGY) => &mut topology,
            _ => {
                let reason = format!("must be {MANIFEST} or {TOPOLOGY}");
                mistakes.push(Mistake::at(document.places.find("kind"), reason));
                continue;
            }
        };
        if kind.is_some() {
            let reason = "the file has a document of this kind already; remove one";
            mistakes.push(Mistake::at(document.places.find("kind"), reason));
        } else {
            *kind = Some(document);
        }
    }
    match (manifest, topology) {
        (Some(manifest), Some(topology)) if mistakes.is_empty() => Ok((manifest, topology)),
        (manifest, topology) => {
            for (is_there, kind) in [
                (manifest.is_some(), MANIFEST),
                (topology.is_some(), TOPOLOGY),
            ] {
                // A document of some other kind is most likely the missing one, misspelt.
                if !is_there && mistakes.is_empty() {
                    let reason = format!(
                        "the file has no document of kind {kind}; add it, after a line of `---`"
                    );
                    mistakes.push(Mistake {
                        line: 1,
                        column: 1,
                        field: String::new(),
                        reason,
                    });
                }
            }
            Err(mistakes)
        }
    }
}

/// Reads a document as what it is.
fn typed<T: DeserializeOwned>(document: &Document) -> Result<T, Mistake> {
    let mut path = String::new();
    let read = serde_saphyr::with_deserializer_from_str(&document.text, |deserializer| {
        serde_path_to_error::deserialize(deserializer).map_err(|error| {
            path = error.path().to_string();
            error.into_inner()
        })
    });
    read.map_err(|error| Mistake::value(&error, document.places.find(path.trim_matches('.'))))
}

fn located(document: &Document, errors: Vec<FieldError>) -> Vec<Mistake> {
    let locate = |e: FieldError| Mistake::at(document.places.find(&e.path), e.reason);
    errors.into_iter().map(locate).collect()
}

fn manifest_errors(
    manifest: &ShardingCluster,
    document: &Document,
    current: Option<&Snapshot>,
) -> Vec<FieldError> {
    let mut errors = remora_crds::validate(&manifest.spec);
    let unknown = document
        .places
        .fields()
        .filter(|field| !MANIFEST_FIELDS.contains(field));
    errors.extend(unknown.map(|field| FieldError {
        path: field.to_owned(),
        reason: format!(
            "unknown field, expected one of {}",
            MANIFEST_FIELDS.join(", ")
        ),
    }));
    if manifest
        .metadata
        .name
        .as_deref()
        .unwrap_or_default()
        .is_empty()
    {
        let reason = "is missing; name the cluster".to_owned();
        errors.push(FieldError {
            path: "metadata.name".to_owned(),
            reason,
        });
    }
    if let Some(current) = current {
        let held = LayoutDocument::of(&current.spec);
        errors.extend(held.contradictions(&LayoutDocument::of(&manifest.spec)));
    }
    errors
}

fn stale(topology: &Topology, current: Option<&Snapshot>) -> Vec<FieldError> {
    let newer = current.filter(|current| topology.epoch < current.epoch);
    let error = newer.map(|current| FieldError {
        path: "epoch".to_owned(),
        reason: format!(
            "is lower than {}, which is in force; raise it",
            current.epoch
        ),
    });
    error.into_iter().collect()
}

#[cfg(test)]
mod tests;
