//! TLS for both sides, with aws-lc-rs everywhere.

use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::server::{
    ClientHello, NoServerSessionStorage, ResolvesServerCert, VerifierBuilderError,
    WebPkiClientVerifier,
};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, ServerConfig, SignatureScheme};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};

/// Why a TLS configuration could not be made.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The self-made certificate failed.
    #[error("cannot make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// rustls does not accept what it was given.
    #[error("TLS configuration: {0}")]
    Configuration(#[from] rustls::Error),
    /// The certificate for clients, or its key, is not one.
    #[error("certificate for clients: {0}")]
    Shown(rustls_pki_types::pem::Error),
    /// No client could be verified by these authorities.
    #[error("certificate authority of clients: {0}")]
    ClientAuthority(#[from] VerifierBuilderError),
    /// The certificate authority's PEM is not one.
    #[error("certificate authority: {0}")]
    Authority(rustls_pki_types::pem::Error),
}

/// What clients are shown: a certificate made at each start, as MySQL itself makes one when none
/// is configured, until the operator gives another. Clients on loopback do not verify it.
pub struct ShownCertificate {
    current: ArcSwap<CertifiedKey>,
}

impl ShownCertificate {
    /// One that was just made.
    ///
    /// # Errors
    /// If the key or the certificate cannot be made.
    pub(crate) fn self_made() -> Result<Arc<Self>, TlsError> {
        let names = vec!["localhost".into(), "127.0.0.1".into()];
        let made = rcgen::generate_simple_self_signed(names)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let pair = CertifiedKey::new(vec![made.cert.der().clone()], any_supported_type(&key)?);
        let current = ArcSwap::from_pointee(pair);
        Ok(Arc::new(Self { current }))
    }

    /// Shows another one to clients that come from now on. Those that are there go on.
    ///
    /// # Errors
    /// If these are no certificate and its key.
    pub fn show(&self, certificate: &str, key: &str) -> Result<(), TlsError> {
        let chain = CertificateDer::pem_slice_iter(certificate.as_bytes())
            .collect::<Result<Vec<_>, _>>()
            .map_err(TlsError::Shown)?;
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(TlsError::Shown)?;
        let pair = CertifiedKey::new(chain, any_supported_type(&key)?);
        pair.keys_match()?;
        self.current.store(Arc::new(pair));
        Ok(())
    }

    /// TLS towards clients with it. Nothing is resumed: a client that comes back after a rotation
    /// would go on under the certificate of before. With authorities of clients (PEM), a client may
    /// show a certificate, which must be of one of them.
    ///
    /// # Errors
    /// If the authorities are none.
    pub(crate) fn server_config(
        self: &Arc<Self>,
        client_ca: Option<&str>,
    ) -> Result<Arc<ServerConfig>, TlsError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()?;
        let builder = match client_ca {
            None => builder.with_no_client_auth(),
            Some(pem) => {
                let roots = Arc::new(authorities(pem.as_bytes())?);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider)
                    .allow_unauthenticated()
                    .build()?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let mut config = builder.with_cert_resolver(self.clone());
        config.send_tls13_tickets = 0;
        config.session_storage = Arc::new(NoServerSessionStorage {});
        Ok(Arc::new(config))
    }
}

impl ResolvesServerCert for ShownCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current.load_full())
    }
}

impl std::fmt::Debug for ShownCertificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ShownCertificate").finish_non_exhaustive()
    }
}

/// TLS towards backends that takes any certificate: MySQL's `ssl-mode=PREFERRED`, which keeps
/// out listeners but not impostors. For servers with self-made certificates.
///
/// # Errors
/// If rustls lacks a protocol version, which a test would show.
pub(crate) fn accept_any_server() -> Result<Arc<ClientConfig>, TlsError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyServer(provider)))
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// TLS towards backends whose certificate must come from the authorities in `pem`.
///
/// # Errors
/// If `pem` holds no valid certificate.
pub(crate) fn verify_server(pem: &[u8]) -> Result<Arc<ClientConfig>, TlsError> {
    let roots = authorities(pem)?;
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

fn authorities(pem: &[u8]) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        roots.add(certificate.map_err(TlsError::Authority)?)?;
    }
    Ok(roots)
}

/// Verifies that the peer holds the key of the certificate it shows, but not whose it is.
#[derive(Debug)]
struct AnyServer(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(
            message,
            cert,
            dss,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            cert,
            dss,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_certificate_is_shown_only_with_its_own_key() {
        let shown = ShownCertificate::self_made().unwrap();
        let made = |name: &str| rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
        let (a, b) = (made("a"), made("b"));
        let before = shown.current.load_full();
        assert!(
            shown
                .show(&a.cert.pem(), &b.signing_key.serialize_pem())
                .is_err()
        );
        assert!(shown.show("none", "none").is_err());
        assert_eq!(before.cert, shown.current.load().cert);
        shown
            .show(&a.cert.pem(), &a.signing_key.serialize_pem())
            .unwrap();
        assert_eq!(shown.current.load().cert, [a.cert.der().clone()]);
    }
}
