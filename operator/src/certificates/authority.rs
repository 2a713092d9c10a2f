//! A certificate authority. No I/O.

use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use remora_discovery::{Fingerprint, fingerprint};
use rustls::{crypto::aws_lc_rs::sign::any_supported_type, sign::CertifiedKey};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, pem::PemObject};
use zeroize::Zeroizing;

use super::validity::{Validity, validity};

/// How long an authority lives. Its successor is made when two thirds are over, which leaves the
/// last server certificates that it issues their whole life.
const AUTHORITY_LIFE: Duration = Duration::from_secs(365 * 24 * 3600);
/// Clocks of nodes differ; a certificate is valid a little before it was made.
const CLOCK_SKEW: Duration = Duration::from_secs(3600);
/// The longest common name that X.509 allows.
const LONGEST_COMMON_NAME: usize = 64;

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// Making, signing or reading one failed.
    #[error("certificate")]
    Generate(#[from] rcgen::Error),
    /// TLS does not take the key.
    #[error("private key")]
    Key(#[from] rustls::Error),
    /// What should be a certificate is none.
    #[error("the certificate cannot be read")]
    Malformed,
}

/// A certificate authority and its key.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
    fingerprint: Fingerprint,
    validity: Validity,
}

/// A server certificate and its key, as PEM.
pub struct ServerCertificate {
    /// The certificate. Public.
    pub certificate: String,
    /// Its key. Secret.
    pub key: Zeroizing<String>,
}

impl Authority {
    /// A new one, whose subject is `name` and the time: one that follows another must not be taken
    /// for it.
    ///
    /// # Errors
    /// [`CertificateError::Generate`], should the random source fail.
    pub fn generate(name: &str, now: SystemTime) -> Result<Self, CertificateError> {
        let mut params = CertificateParams::default();
        let seconds = now.duration_since(SystemTime::UNIX_EPOCH);
        let name = format!("{name} {}", seconds.unwrap_or_default().as_secs());
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.not_before = (now - CLOCK_SKEW).into();
        params.not_after = (now + AUTHORITY_LIFE).into();
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?.pem();
        Self::new(Issuer::new(params, key), certificate)
    }

    /// One that was stored.
    ///
    /// # Errors
    /// [`CertificateError`] if these are not an authority's certificate and its key.
    pub fn from_pem(certificate: &str, key: &str) -> Result<Self, CertificateError> {
        let issuer = Issuer::from_ca_cert_pem(certificate, KeyPair::from_pem(key)?)?;
        Self::new(issuer, certificate.to_owned())
    }

    fn new(
        issuer: Issuer<'static, KeyPair>,
        certificate: String,
    ) -> Result<Self, CertificateError> {
        let der = CertificateDer::from_pem_slice(certificate.as_bytes())
            .map_err(|_| CertificateError::Malformed)?;
        Ok(Self {
            issuer,
            fingerprint: fingerprint(&der),
            validity: validity(&certificate).ok_or(CertificateError::Malformed)?,
            certificate,
        })
    }

    /// The certificate, as PEM. Public.
    pub fn certificate_pem(&self) -> &str {
        &self.certificate
    }

    /// Names the certificate.
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    /// When it is valid.
    pub fn validity(&self) -> Validity {
        self.validity
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
        now: SystemTime,
        life: Duration,
    ) -> Result<CertifiedKey, CertificateError> {
        let (certificate, key) = self.sign(names, now, life)?;
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        Ok(CertifiedKey::new(
            vec![certificate.der().clone()],
            any_supported_type(&key)?,
        ))
    }

    /// The same as PEM, to be stored.
    ///
    /// # Errors
    /// [`CertificateError`], if a name is no DNS name.
    pub fn issue_pem(
        &self,
        names: &[String],
        now: SystemTime,
        life: Duration,
    ) -> Result<ServerCertificate, CertificateError> {
        let (certificate, key) = self.sign(names, now, life)?;
        Ok(ServerCertificate {
            certificate: certificate.pem(),
            key: Zeroizing::new(key.serialize_pem()),
        })
    }

    fn sign(
        &self,
        names: &[String],
        now: SystemTime,
        life: Duration,
    ) -> Result<(Certificate, KeyPair), CertificateError> {
        let mut params = CertificateParams::new(names)?;
        if let Some(name) = names.iter().find(|name| name.len() <= LONGEST_COMMON_NAME) {
            params.distinguished_name.push(DnType::CommonName, name);
        }
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        // Nobody accepts what outlives its authority.
        let end = (now + life).min(self.validity.until);
        params.not_before = (now - CLOCK_SKEW).max(self.validity.from).into();
        params.not_after = end.into();
        let key = KeyPair::generate()?;
        Ok((params.signed_by(&key, &self.issuer)?, key))
    }
}

#[cfg(test)]
mod tests {
    use super::super::validity::verifies;
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn what_it_issues_is_accepted_for_its_names_and_its_time_alone() {
        let now = SystemTime::now();
        let authority = Authority::generate("remora", now).unwrap();
        let other = Authority::generate("remora", now).unwrap();
        let names = ["remora-webhook.remora.svc".to_owned()];
        let served = authority.issue_pem(&names, now, HOUR).unwrap().certificate;
        let accepts = |authority: &Authority, name: &str, at| {
            verifies(authority.certificate_pem(), &served, name, at)
        };

        assert!(accepts(&authority, &names[0], now));
        assert!(!accepts(&authority, "remora-discovery.remora.svc", now));
        assert!(!accepts(&authority, &names[0], now + 2 * HOUR));
        assert!(!accepts(&other, &names[0], now));
    }

    #[test]
    fn a_stored_authority_issues_what_the_first_ones_certificate_verifies() {
        let now = SystemTime::now();
        let first = Authority::generate("remora", now).unwrap();
        let again = Authority::from_pem(first.certificate_pem(), &first.key_pem()).unwrap();
        let names = ["a.svc".to_owned()];
        let served = again.issue_pem(&names, now, HOUR).unwrap().certificate;
        assert!(verifies(first.certificate_pem(), &served, "a.svc", now));
        assert_eq!(first.fingerprint(), again.fingerprint());
    }

    #[test]
    fn nothing_outlives_its_authority() {
        let now = SystemTime::now();
        let authority = Authority::generate("remora", now).unwrap();
        let late = now + AUTHORITY_LIFE - HOUR;
        let served = authority.issue_pem(&["a.svc".to_owned()], late, 48 * HOUR);
        let served = validity(&served.unwrap().certificate).unwrap();
        assert_eq!(served.until, authority.validity().until);
    }
}
