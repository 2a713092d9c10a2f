//! Container images, made and imported without an engine.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};

use super::Kubernetes;
use super::kubectl::output;
use super::scripts::{folder_of, script};

/// The registry in the names of the images that the tests import. It does not exist: an
/// image that was not imported fails at once.
const REGISTRY: &str = "remora.test";

/// The archives of all images that a cluster with Remora needs.
#[derive(Debug)]
pub struct Images {
    folder: PathBuf,
}

impl Images {
    /// Builds what has changed since they were last built.
    ///
    /// # Errors
    /// If the compiler or MySQL's packages fail; their words are on standard error.
    pub fn build() -> Result<Self> {
        let mut build = Command::new(script("images/build"));
        Ok(Self {
            folder: folder_of(build.env("REGISTRY", REGISTRY))?,
        })
    }

    /// What `helm --set image.registry=…` is given.
    #[must_use]
    pub fn registry(&self) -> &'static str {
        REGISTRY
    }

    /// The archives' paths, by name.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn archives(&self) -> Result<Vec<PathBuf>> {
        let mut archives: Vec<PathBuf> = fs::read_dir(&self.folder)?
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|e| e == "tar"))
            .collect();
        archives.sort();
        Ok(archives)
    }
}

impl Kubernetes {
    /// Gives the node the images, as a registry would.
    ///
    /// # Errors
    /// If containerd refuses one.
    pub fn import(&self, images: &Images) -> Result<()> {
        for archive in images.archives()? {
            let file = File::open(&archive)?;
            output(
                self.inside("ctr")?
                    .args(["-n", "k8s.io", "images", "import", "-"])
                    .stdin(file),
                None,
            )
            .with_context(|| format!("cannot import {}", archive.display()))?;
        }
        Ok(())
    }
}
