//! `helm test`: do webhook and discovery answer under the names by which the apiserver and
//! sidecars know them, with certificates that these would accept?

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, InvalidDnsNameError, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// A Service's endpoints reach the nodes a little after its pods are ready.
const PATIENCE: Duration = Duration::from_secs(30);
/// One attempt.
const ATTEMPT: Duration = Duration::from_secs(5);
/// Between attempts.
const PAUSE: Duration = Duration::from_secs(1);

/// Options of `remora-operator check`.
#[derive(Args, Clone, Debug)]
pub struct Targets {
    /// The webhook's Service, as `host:port`.
    #[arg(long)]
    pub webhook: String,
    /// Discovery's Service, as `host:port`.
    #[arg(long)]
    pub discovery: String,
    /// The operator's CA certificate, as PEM.
    #[arg(long)]
    pub ca: PathBuf,
}

/// Why the operator cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The CA's file.
    #[error("cannot read the CA in {path}: {source}")]
    Ca {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: pem::Error,
    },
    /// The CA's content.
    #[error("the CA: {0}")]
    Tls(#[from] rustls::Error),
    /// The address has no host or no port.
    #[error("{0} is not host:port")]
    Address(String),
    /// The host cannot be in a certificate.
    #[error("{0}")]
    Name(#[from] InvalidDnsNameError),
    /// Nobody answers, or somebody else.
    #[error("{address}: {source}")]
    Unreachable {
        /// The address.
        address: String,
        /// The last attempt's error.
        #[source]
        source: io::Error,
    },
}

/// Succeeds once both answered.
///
/// # Errors
/// [`CheckError`], when one has not for half a minute.
pub async fn check(targets: &Targets) -> Result<(), CheckError> {
    let connector = connector(&targets.ca)?;
    for address in [&targets.webhook, &targets.discovery] {
        reach(&connector, address).await?;
        tracing::info!(%address, "answers, and its certificate is the operator's");
    }
    Ok(())
}

fn connector(ca: &Path) -> Result<TlsConnector, CheckError> {
    let unreadable = |source| CheckError::Ca {
        path: ca.to_owned(),
        source,
    };
    let certificate = CertificateDer::from_pem_file(ca).map_err(unreadable)?;
    let mut roots = RootCertStore::empty();
    roots.add(certificate)?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

async fn reach(connector: &TlsConnector, address: &str) -> Result<(), CheckError> {
    let (host, _) = address
        .rsplit_once(':')
        .ok_or_else(|| CheckError::Address(address.to_owned()))?;
    let name = ServerName::try_from(host.to_owned())?;
    let begun = Instant::now();
    loop {
        let attempt = async {
            let socket = TcpStream::connect(address).await?;
            connector.connect(name.clone(), socket).await
        };
        let error = match tokio::time::timeout(ATTEMPT, attempt).await {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(error)) => error,
            Err(_) => io::Error::from(io::ErrorKind::TimedOut),
        };
        if begun.elapsed() >= PATIENCE {
            return Err(CheckError::Unreachable {
                address: address.to_owned(),
                source: error,
            });
        }
        tokio::time::sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use tokio::net::TcpListener;

    use super::*;
    use crate::certificates::{Authority, ServingCertificate};
    use crate::webhook;

    /// A server with a certificate for localhost.
    async fn serving(authority: &Authority) -> String {
        let certificate = ServingCertificate::new(authority, vec!["localhost".into()]).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("localhost:{}", listener.local_addr().unwrap().port());
        let tls = certificate.server_config().unwrap();
        tokio::spawn(webhook::serve(
            listener,
            tls,
            Router::new(),
            std::future::pending(),
        ));
        address
    }

    fn targets(folder: &Path, address: &str, authority: &Authority) -> Targets {
        let ca = folder.join("ca.crt");
        std::fs::write(&ca, authority.certificate_pem()).unwrap();
        Targets {
            webhook: address.to_owned(),
            discovery: address.to_owned(),
            ca,
        }
    }

    #[tokio::test]
    async fn what_the_ca_issued_is_found() {
        let authority = Authority::generate("remora", std::time::SystemTime::now()).unwrap();
        let address = serving(&authority).await;
        let folder = tempfile::tempdir().unwrap();
        check(&targets(folder.path(), &address, &authority))
            .await
            .unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn another_ones_server_is_not_the_operator() {
        let address =
            serving(&Authority::generate("other", std::time::SystemTime::now()).unwrap()).await;
        let authority = Authority::generate("remora", std::time::SystemTime::now()).unwrap();
        let connector = {
            let folder = tempfile::tempdir().unwrap();
            connector(&targets(folder.path(), &address, &authority).ca).unwrap()
        };
        let name = ServerName::try_from("localhost").unwrap();
        let socket = TcpStream::connect(&address).await.unwrap();
        assert!(connector.connect(name, socket).await.is_err());
    }

    #[tokio::test]
    async fn an_address_without_a_port_is_named() {
        let authority = Authority::generate("remora", std::time::SystemTime::now()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let error = check(&targets(folder.path(), "remora-webhook", &authority))
            .await
            .unwrap_err();
        assert_eq!(error.to_string(), "remora-webhook is not host:port");
    }
}
