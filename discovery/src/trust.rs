//! Which certificates a sidecar trusts and shows, by which the operator knows when a CA may be
//! used and when it may be forgotten.

use std::collections::BTreeSet;
use std::fmt;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use sha2::{Digest, Sha256};

use crate::proto;

/// Names a certificate: the SHA-256 of its DER form, in hexadecimal digits.
pub type Fingerprint = String;

/// The certificates that a sidecar trusts and shows. Empty where it has none, and from sidecars
/// of a version that did not tell.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Trust {
    /// CAs by which it verifies the operator on its next connection.
    pub operator: BTreeSet<Fingerprint>,
    /// CAs by which it verifies MySQL servers on its next connection.
    pub servers: BTreeSet<Fingerprint>,
    /// The certificate that its clients are shown, where the operator gave it one.
    pub shown: Option<Fingerprint>,
    /// From the agent of a MySQL server only.
    pub server: Option<ServerTls>,
}

/// What a MySQL server has of the files that it mounts.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ServerTls {
    /// CAs in the file by which it verifies the server that it replicates from.
    pub trusted: BTreeSet<Fingerprint>,
    /// The certificate in force; `None`: it is not that of the file.
    pub shown: Option<Fingerprint>,
}

/// A certificate by which clients outside the mesh know a gateway, and its key. Both as PEM.
#[derive(Clone, PartialEq)]
pub struct GatewayCertificate {
    /// The certificate. Public.
    pub certificate: String,
    /// Its key. Secret.
    pub key: String,
}

impl fmt::Debug for GatewayCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatewayCertificate").finish_non_exhaustive()
    }
}

/// The fingerprint of one certificate.
#[must_use]
pub fn fingerprint(certificate: &[u8]) -> Fingerprint {
    hex::encode(Sha256::digest(certificate))
}

/// The fingerprints of the certificates in `pem`; what is none is left out.
#[must_use]
pub fn fingerprints(pem: &[u8]) -> BTreeSet<Fingerprint> {
    CertificateDer::pem_slice_iter(pem)
        .filter_map(Result::ok)
        .map(|certificate| fingerprint(&certificate))
        .collect()
}

impl From<&GatewayCertificate> for proto::GatewayCertificate {
    fn from(gateway: &GatewayCertificate) -> Self {
        Self {
            certificate: gateway.certificate.clone(),
            key: gateway.key.clone(),
        }
    }
}

impl From<proto::GatewayCertificate> for GatewayCertificate {
    fn from(wire: proto::GatewayCertificate) -> Self {
        Self {
            certificate: wire.certificate,
            key: wire.key,
        }
    }
}

impl From<&Trust> for proto::Trust {
    fn from(trust: &Trust) -> Self {
        Self {
            operator: trust.operator.iter().cloned().collect(),
            servers: trust.servers.iter().cloned().collect(),
            shown: trust.shown.clone().unwrap_or_default(),
            server: trust.server.as_ref().map(|server| proto::ServerTls {
                trusted: server.trusted.iter().cloned().collect(),
                shown: server.shown.clone().unwrap_or_default(),
            }),
        }
    }
}

impl From<proto::Trust> for Trust {
    fn from(wire: proto::Trust) -> Self {
        let some = |text: String| Some(text).filter(|text| !text.is_empty());
        Self {
            operator: wire.operator.into_iter().collect(),
            servers: wire.servers.into_iter().collect(),
            shown: some(wire.shown),
            server: wire.server.map(|server| ServerTls {
                trusted: server.trusted.into_iter().collect(),
                shown: some(server.shown),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_has_a_fingerprint_for_each_certificate() {
        let pem = |name: &str| {
            rcgen::generate_simple_self_signed(vec![name.to_owned()])
                .unwrap()
                .cert
                .pem()
        };
        let (a, b) = (pem("a"), pem("b"));
        let both = fingerprints(format!("{a}{b}").as_bytes());
        let each = fingerprints(a.as_bytes());
        let each: BTreeSet<_> = each.union(&fingerprints(b.as_bytes())).cloned().collect();
        assert_eq!(both, each);
        assert_eq!(both.len(), 2);
        assert_eq!(fingerprints(b"none"), BTreeSet::new());
    }

    #[test]
    fn what_is_trusted_crosses_the_wire() {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let trust = Trust {
            operator: set(&["a", "b"]),
            servers: set(&["c"]),
            shown: Some("d".to_owned()),
            server: Some(ServerTls {
                trusted: set(&["e"]),
                shown: None,
            }),
        };
        assert_eq!(Trust::from(proto::Trust::from(&trust)), trust);
    }
}
