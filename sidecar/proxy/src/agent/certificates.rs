//! Bringing mysqld's certificate into force when its files change. mysqld reads them at its start
//! and when it is told to; connections that are there go on.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use remora_discovery::{ServerTls, fingerprints};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use tokio::sync::watch;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::AgentError;
use super::sql::{ask, run, text};
use crate::backend::Backend;

/// How often the files are looked at, and how long a failure rests.
const LOOK: Duration = Duration::from_secs(3);

/// Follows the files of mysqld's certificate.
#[derive(Debug)]
pub struct ServerCertificates {
    folder: Option<PathBuf>,
    told: watch::Sender<Option<ServerTls>>,
    /// What mysqld was told to read, once it proved to have it.
    in_force: Option<Files>,
    looked: Option<Instant>,
}

/// What the folder holds.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Files {
    certificate: Vec<u8>,
    authorities: Vec<u8>,
}

impl Files {
    fn read(folder: &Path) -> std::io::Result<Self> {
        Ok(Self {
            certificate: std::fs::read(folder.join("tls.crt"))?,
            authorities: std::fs::read(folder.join("ca.crt"))?,
        })
    }

    /// The seconds from which and until which the certificate is valid, by which mysqld shows
    /// which one is in force.
    fn validity(&self) -> Option<(i64, i64)> {
        let der = CertificateDer::from_pem_slice(&self.certificate).ok()?;
        let (_, certificate) = X509Certificate::from_der(&der).ok()?;
        let validity = certificate.validity();
        Some((
            validity.not_before.timestamp(),
            validity.not_after.timestamp(),
        ))
    }
}

impl ServerCertificates {
    /// Follows the files in `folder`, if there is one, and tells what mysqld has of them.
    #[must_use]
    pub fn new(folder: Option<PathBuf>, told: watch::Sender<Option<ServerTls>>) -> Self {
        Self {
            folder,
            told,
            in_force: None,
            looked: None,
        }
    }

    /// Another mysqld answers: what the last one had says nothing about it.
    pub(super) fn forget(&mut self) {
        self.in_force = None;
        self.looked = None;
    }

    /// Looks at the files, if it is time, and brings what changed into force.
    ///
    /// # Errors
    /// If mysqld is silent. That it refuses the files is told and logged, and tried again.
    pub(super) async fn follow(&mut self, backend: &mut Backend) -> Result<(), AgentError> {
        let Some(folder) = self.folder.clone() else {
            return Ok(());
        };
        if self.looked.is_some_and(|at| at.elapsed() < LOOK) {
            return Ok(());
        }
        self.looked = Some(Instant::now());
        let files = match Files::read(&folder) {
            Ok(files) => files,
            Err(error) => {
                tracing::warn!(%error, folder = %folder.display(), "mysqld's certificate cannot be read");
                return Ok(());
            }
        };
        if self.in_force.as_ref() == Some(&files) {
            return Ok(());
        }
        let shown = match reload(backend, &files).await {
            Ok(shown) => shown,
            Err(error @ AgentError::Refused { .. }) => {
                tracing::warn!(%error, "mysqld does not take its certificate");
                false
            }
            Err(error) => return Err(error),
        };
        let mut tls = ServerTls {
            trusted: fingerprints(&files.authorities),
            shown: None,
        };
        if shown {
            tls.shown = fingerprints(&files.certificate).into_iter().next();
            tracing::info!("mysqld's certificate is in force");
            self.in_force = Some(files);
        }
        self.told.send_replace(Some(tls));
        Ok(())
    }
}

/// The validity of the certificate in force, as seconds. MySQL shows it as OpenSSL prints it, and
/// in this table also where performance_schema is off.
const IN_FORCE: &str = "SELECT \
    MAX(IF(name = 'Ssl_server_not_before', seconds, NULL)), \
    MAX(IF(name = 'Ssl_server_not_after', seconds, NULL)) \
    FROM (SELECT variable_name AS name, TIMESTAMPDIFF(SECOND, '1970-01-01', \
        STR_TO_DATE(variable_value, '%b %e %H:%i:%s %Y GMT')) AS seconds \
        FROM performance_schema.global_status \
        WHERE variable_name IN ('Ssl_server_not_before', 'Ssl_server_not_after')) AS shown";

/// Tells mysqld to read its files, and whether it shows the certificate of `files` then. It may
/// have read newer ones, or the old ones: the kubelet changes them all at once, but not at the
/// same time for each container.
async fn reload(backend: &mut Backend, files: &Files) -> Result<bool, AgentError> {
    run(
        backend,
        "ALTER INSTANCE RELOAD TLS",
        "ALTER INSTANCE RELOAD TLS",
    )
    .await?;
    let rows = ask(backend, "looking at the certificate in force", IN_FORCE).await?;
    let shown = rows.first().and_then(|row| {
        let number = |column| text(row, column).parse::<i64>().ok();
        Some((number(0)?, number(1)?))
    });
    Ok(shown.is_some() && shown == files.validity())
}
