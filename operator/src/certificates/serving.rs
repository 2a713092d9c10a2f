//! A server certificate that renews itself.

use std::{fmt, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use rustls::{
    ServerConfig,
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};

use super::{Authority, CertificateError};

/// How long a server certificate lives.
const LIFE: Duration = Duration::from_secs(24 * 3600);
/// How often it is renewed: a third of its life, so that two failures in a row do no harm.
const RENEWAL: Duration = Duration::from_secs(8 * 3600);

/// A server certificate that lives for a day and is replaced, for new connections, by
/// [`renew`](Self::renew).
pub struct ServingCertificate {
    names: Vec<String>,
    current: ArcSwap<CertifiedKey>,
}

impl ServingCertificate {
    /// Issues the first one, for `names`.
    ///
    /// # Errors
    /// Those of [`Authority::issue`].
    pub fn new(authority: &Authority, names: Vec<String>) -> Result<Arc<Self>, CertificateError> {
        let current = ArcSwap::from_pointee(authority.issue(&names, LIFE)?);
        Ok(Arc::new(Self { names, current }))
    }

    /// Serves it by TLS 1.2 and 1.3.
    ///
    /// # Errors
    /// Those of rustls; its own provider offers both versions.
    pub fn server_config(self: &Arc<Self>) -> Result<ServerConfig, CertificateError> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(self.clone());
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }

    /// Renews it for as long as the process lives.
    pub async fn renew(self: Arc<Self>, authority: Arc<Authority>) {
        loop {
            tokio::time::sleep(RENEWAL).await;
            match authority.issue(&self.names, LIFE) {
                Ok(renewed) => self.current.store(Arc::new(renewed)),
                Err(error) => tracing::error!(%error, "Cannot renew the server certificate"),
            }
        }
    }
}

impl ResolvesServerCert for ServingCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current.load_full())
    }
}

impl fmt::Debug for ServingCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServingCertificate")
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_is_another_one_after_a_renewal() {
        let authority = Arc::new(Authority::generate("remora").unwrap());
        let serving = ServingCertificate::new(&authority, vec!["a.svc".into()]).unwrap();
        let first = serving.current.load_full();
        let renewing = tokio::spawn(serving.clone().renew(authority));

        tokio::time::sleep(RENEWAL + Duration::from_secs(1)).await;

        assert_ne!(first.cert[0], serving.current.load().cert[0]);
        renewing.abort();
    }
}
