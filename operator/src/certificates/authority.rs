//! A certificate authority. No I/O.

use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::{crypto::aws_lc_rs::sign::any_supported_type, sign::CertifiedKey};
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use zeroize::Zeroizing;

/// The authority outlives every pod that was given its certificate: until certificates rotate
/// under running pods, its end would be theirs.
const AUTHORITY_LIFE: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
/// Clocks of nodes differ; a certificate is valid a little before it was made.
const CLOCK_SKEW: Duration = Duration::from_secs(3600);

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// Making, signing or reading one failed.
    #[error("certificate")]
    Generate(#[from] rcgen::Error),
    /// TLS does not take the key.
    #[error("private key")]
    Key(#[from] rustls::Error),
}

/// A certificate authority and its key.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
}

impl Authority {
    /// A new one, whose subject is `name`.
    ///
    /// # Errors
    /// [`CertificateError::Generate`], should the random source fail.
    pub fn generate(name: &str) -> Result<Self, CertificateError> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        valid_for(&mut params, AUTHORITY_LIFE);
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?.pem();
        Ok(Self {
            issuer: Issuer::new(params, key),
            certificate,
        })
    }

    /// One that was stored.
    ///
    /// # Errors
    /// [`CertificateError::Generate`] if these are not an authority's certificate and its key.
    pub fn from_pem(certificate: &str, key: &str) -> Result<Self, CertificateError> {
        let issuer = Issuer::from_ca_cert_pem(certificate, KeyPair::from_pem(key)?)?;
        Ok(Self {
            issuer,
            certificate: certificate.to_owned(),
        })
    }

    /// The certificate, as PEM. Public.
    pub fn certificate_pem(&self) -> &str {
        &self.certificate
    }

    /// The key, as PEM. Secret.
    pub fn key_pem(&self) -> Zeroizing<String> {
        Zeroizing::new(self.issuer.key().serialize_pem())
    }

    /// A server certificate for `names`, and its key, that live for `life`.
    ///
    /// # Errors
    /// [`CertificateError`], if a name is no DNS name.
    pub fn issue(
        &self,
        names: &[String],
        life: Duration,
    ) -> Result<CertifiedKey, CertificateError> {
        let (certificate, key) = self.sign(names, life)?;
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        Ok(CertifiedKey::new(
            vec![certificate.der().clone()],
            any_supported_type(&key)?,
        ))
    }

    /// A server certificate for `names`, and its key, as PEM, that live as long as an
    /// authority: for servers that do not fetch a new one by themselves.
    ///
    /// # Errors
    /// [`CertificateError`], if a name is no DNS name.
    pub fn issue_pem(
        &self,
        names: &[String],
    ) -> Result<(String, Zeroizing<String>), CertificateError> {
        let (certificate, key) = self.sign(names, AUTHORITY_LIFE)?;
        Ok((certificate.pem(), Zeroizing::new(key.serialize_pem())))
    }

    fn sign(
        &self,
        names: &[String],
        life: Duration,
    ) -> Result<(Certificate, KeyPair), CertificateError> {
        let mut params = CertificateParams::new(names)?;
        if let Some(name) = names.first() {
            params.distinguished_name.push(DnType::CommonName, name);
        }
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        valid_for(&mut params, life);
        let key = KeyPair::generate()?;
        Ok((params.signed_by(&key, &self.issuer)?, key))
    }
}

fn valid_for(params: &mut CertificateParams, life: Duration) {
    let now = SystemTime::now();
    params.not_before = (now - CLOCK_SKEW).into();
    params.not_after = (now + life).into();
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustls::{
        RootCertStore,
        client::{WebPkiServerVerifier, danger::ServerCertVerifier},
    };
    use rustls_pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject};

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn accepts(authority: &Authority, served: &CertifiedKey, name: &str, at: SystemTime) -> bool {
        let mut roots = RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_slice(authority.certificate_pem().as_bytes()).unwrap())
            .unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let at = UnixTime::since_unix_epoch(at.duration_since(SystemTime::UNIX_EPOCH).unwrap());
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .unwrap()
            .verify_server_cert(
                &served.cert[0],
                &[],
                &ServerName::try_from(name).unwrap(),
                &[],
                at,
            )
            .is_ok()
    }

    #[test]
    fn what_it_issues_is_accepted_for_its_names_and_its_time_alone() {
        let authority = Authority::generate("remora").unwrap();
        let names = ["remora-webhook.remora.svc".to_owned()];
        let served = authority.issue(&names, HOUR).unwrap();
        let now = SystemTime::now();

        assert!(accepts(&authority, &served, &names[0], now));
        assert!(!accepts(
            &authority,
            &served,
            "remora-discovery.remora.svc",
            now
        ));
        assert!(!accepts(&authority, &served, &names[0], now + 2 * HOUR));
        assert!(!accepts(
            &Authority::generate("remora").unwrap(),
            &served,
            &names[0],
            now
        ));
    }

    #[test]
    fn a_stored_authority_issues_what_the_first_ones_certificate_verifies() {
        let first = Authority::generate("remora").unwrap();
        let again = Authority::from_pem(first.certificate_pem(), &first.key_pem()).unwrap();
        let names = ["a.svc".to_owned()];
        let served = again.issue(&names, HOUR).unwrap();
        assert!(accepts(&first, &served, "a.svc", SystemTime::now()));
    }
}
