//! Whether a certificate is the one that is wanted. No I/O, no clock.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustls::RootCertStore;
use rustls::client::{WebPkiServerVerifier, danger::ServerCertVerifier};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject};
use x509_parser::prelude::{FromDer, X509Certificate};

/// From when until when a certificate is valid.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Validity {
    /// The first second.
    pub from: SystemTime,
    /// The last one.
    pub until: SystemTime,
}

impl Validity {
    /// Whether two thirds of it are over: time for another, and time to try again.
    #[must_use]
    pub fn is_due(&self, now: SystemTime) -> bool {
        now >= self.from + self.whole() / 3 * 2
    }

    /// Whether less than a twelfth is left: nobody can be waited for any longer.
    #[must_use]
    pub fn is_urgent(&self, now: SystemTime) -> bool {
        now >= self.until - self.whole() / 12
    }

    fn whole(&self) -> Duration {
        self.until.duration_since(self.from).unwrap_or_default()
    }
}

/// When the first certificate in `pem` is valid; `None`, if there is none.
#[must_use]
pub fn validity(pem: &str) -> Option<Validity> {
    let der = CertificateDer::from_pem_slice(pem.as_bytes()).ok()?;
    let (_, certificate) = X509Certificate::from_der(&der).ok()?;
    let at = |time: x509_parser::time::ASN1Time| {
        let seconds = u64::try_from(time.timestamp()).ok()?;
        Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
    };
    let validity = certificate.validity();
    Some(Validity {
        from: at(validity.not_before)?,
        until: at(validity.not_after)?,
    })
}

/// Whether a client that trusts `authority` takes `certificate` for the server `name`.
#[must_use]
pub fn verifies(authority: &str, certificate: &str, name: &str, at: SystemTime) -> bool {
    check(authority, certificate, name, at).is_some()
}

fn check(authority: &str, certificate: &str, name: &str, at: SystemTime) -> Option<()> {
    let der = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).ok();
    let mut roots = RootCertStore::empty();
    roots.add(der(authority)?).ok()?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .ok()?;
    // A wildcard stands for any one label.
    let name = ServerName::try_from(name.replace('*', "any")).ok()?;
    let at = UnixTime::since_unix_epoch(at.duration_since(SystemTime::UNIX_EPOCH).ok()?);
    verifier
        .verify_server_cert(&der(certificate)?, &[], &name, &[], at)
        .ok()
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_due_after_two_thirds_and_urgent_in_the_last_twelfth() {
        let from = SystemTime::UNIX_EPOCH + Duration::from_secs(1000);
        let day = |n: u64| from + Duration::from_secs(n * 24 * 3600);
        let validity = Validity {
            from,
            until: day(12),
        };
        let at = |n| (validity.is_due(day(n)), validity.is_urgent(day(n)));
        assert_eq!(
            [at(0), at(7), at(8), at(10), at(11), at(13)],
            [
                (false, false),
                (false, false),
                (true, false),
                (true, false),
                (true, true),
                (true, true)
            ]
        );
    }

    #[test]
    fn what_is_no_certificate_has_no_validity() {
        assert_eq!(validity("none"), None);
    }
}
