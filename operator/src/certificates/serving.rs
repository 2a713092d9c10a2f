//! A server certificate that renews itself.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use arc_swap::ArcSwap;
use rustls::{
    ServerConfig,
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};

use super::{Authority, CertificateError, Trust};

/// How long a server certificate lives.
const LIFE: Duration = Duration::from_secs(24 * 3600);
/// How often it is renewed: a third of its life, so that two failures in a row do no harm.
const RENEWAL: Duration = Duration::from_secs(8 * 3600);
/// How long after a failure it is tried again.
const AGAIN: Duration = Duration::from_secs(60);

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
        let current = ArcSwap::from_pointee(authority.issue(&names, SystemTime::now(), LIFE)?);
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
        // A session that was resumed would go on under the certificate of before.
        config.send_tls13_tickets = 0;
        config.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
        Ok(config)
    }

    /// Renews it for as long as the process lives, and when another CA issues.
    pub async fn renew(self: Arc<Self>, trust: Arc<Trust>) {
        let mut changed = trust.subscribe();
        let mut rest = RENEWAL;
        loop {
            tokio::select! {
                () = tokio::time::sleep(rest) => {}
                // Never an end: the sender lives as long as `trust`.
                _ = changed.changed() => {}
            }
            let issuer = trust.state().issuer.clone();
            rest = match issuer.issue(&self.names, SystemTime::now(), LIFE) {
                Ok(renewed) => {
                    self.current.store(Arc::new(renewed));
                    RENEWAL
                }
                Err(error) => {
                    tracing::error!(%error, "Cannot renew the server certificate");
                    AGAIN
                }
            };
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
    use super::super::CaState;
    use super::super::rotation::Step;
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_is_another_one_after_a_renewal_and_under_another_ca() {
        let now = SystemTime::now();
        let state = CaState::first("remora", now).unwrap();
        let trust = Arc::new(Trust::new(state.clone()));
        let serving = ServingCertificate::new(&state.issuer, vec!["a.svc".into()]).unwrap();
        let shown = || serving.current.load().cert[0].clone();
        let first = shown();
        let renewing = tokio::spawn(serving.clone().renew(trust.clone()));

        tokio::time::sleep(RENEWAL + Duration::from_secs(1)).await;
        let second = shown();
        assert_ne!(first, second);

        let begun = state.after(Step::Begin, "remora", now).unwrap();
        trust.publish(begun.after(Step::Switch, "remora", now).unwrap());
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_ne!(second, shown());
        renewing.abort();
    }
}
