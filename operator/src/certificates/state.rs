//! The CA as the replicas share it, in a Secret: the one that issues, and during a rotation the
//! one that will or the one that did.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use k8s_openapi::{ByteString, api::core::v1::Secret};
use kube::api::ObjectMeta;

use super::rotation::{Phase, Step};
use super::{Authority, CertificateError, Validity, validity};

/// The CA that issues, under the names that cert-manager uses too.
const CERTIFICATE: &str = "ca.crt";
const KEY: &str = "ca.key";
/// The one that will.
const NEXT_CERTIFICATE: &str = "next.crt";
const NEXT_KEY: &str = "next.key";
/// The one that did. Its key is gone.
const OLD_CERTIFICATE: &str = "old.crt";

/// On the Secret: any value that is not [`ROTATED`]'s asks for another CA.
pub(super) const ROTATE: &str = "remora.dev/rotate-ca";
/// On the Secret: the value of [`ROTATE`] that was obeyed last.
pub(super) const ROTATED: &str = "remora.dev/rotated-ca";
/// On the Secret, for people: where the rotation stands, and who is waited for.
pub(super) const STATUS: &str = "remora.dev/ca-status";

/// Why there is no authority.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The API server refused.
    #[error("Secret {name}: {source}")]
    Api {
        /// The Secret.
        name: String,
        /// The refusal.
        #[source]
        source: Box<kube::Error>,
    },
    /// The Secret holds no authority. It is never replaced: pods trust what it once held.
    #[error(
        "Secret {name} holds no certificate authority (ca.crt, ca.key); delete it to have a new one made, then restart the pods that were injected"
    )]
    Malformed {
        /// The Secret.
        name: String,
        /// What is wrong with it, where it is there.
        #[source]
        source: Option<CertificateError>,
    },
    /// A new one could not be made.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
}

/// The CA, and where its rotation stands.
#[derive(Clone)]
pub struct CaState {
    /// The CA that issues.
    pub issuer: Arc<Authority>,
    /// The one that will. All learn to trust it.
    pub next: Option<Arc<Authority>>,
    /// The certificate of the one that did. All still trust it.
    pub old: Option<String>,
    /// The request that was obeyed last.
    honoured: Option<String>,
    /// The request that stands.
    wanted: Option<String>,
}

impl CaState {
    /// A first CA.
    ///
    /// # Errors
    /// [`CertificateError`].
    pub fn first(name: &str, now: SystemTime) -> Result<Self, CertificateError> {
        Ok(Self {
            issuer: Arc::new(Authority::generate(name, now)?),
            next: None,
            old: None,
            honoured: None,
            wanted: None,
        })
    }

    /// What `secret` holds.
    ///
    /// # Errors
    /// [`StoreError::Malformed`].
    pub fn read(secret: &Secret) -> Result<Self, StoreError> {
        let malformed = |source| StoreError::Malformed {
            name: secret.metadata.name.clone().unwrap_or_default(),
            source,
        };
        let text = |key| {
            let bytes = &secret.data.as_ref()?.get(key)?.0;
            std::str::from_utf8(bytes).ok()
        };
        let authority = |certificate, key| match (text(certificate), text(key)) {
            (Some(certificate), Some(key)) => Authority::from_pem(certificate, key)
                .map(|authority| Some(Arc::new(authority)))
                .map_err(|error| malformed(Some(error))),
            _ => Ok(None),
        };
        let annotation = |name| {
            let annotations = secret.metadata.annotations.as_ref()?;
            annotations.get(name).cloned()
        };
        Ok(Self {
            issuer: authority(CERTIFICATE, KEY)?.ok_or_else(|| malformed(None))?,
            next: authority(NEXT_CERTIFICATE, NEXT_KEY)?,
            old: text(OLD_CERTIFICATE).map(str::to_owned),
            honoured: annotation(ROTATED),
            wanted: annotation(ROTATE),
        })
    }

    /// The Secret that holds it. `metadata` is that of the Secret as it was read, so that it is
    /// only replaced if nobody else did; or that of a new one.
    #[must_use]
    pub fn secret(&self, mut metadata: ObjectMeta) -> Secret {
        let mut data = BTreeMap::new();
        let mut put = |key: &str, value: &str| {
            data.insert(key.to_owned(), ByteString(value.as_bytes().to_vec()));
        };
        put(CERTIFICATE, self.issuer.certificate_pem());
        put(KEY, &self.issuer.key_pem());
        if let Some(next) = &self.next {
            put(NEXT_CERTIFICATE, next.certificate_pem());
            put(NEXT_KEY, &next.key_pem());
        }
        if let Some(old) = &self.old {
            put(OLD_CERTIFICATE, old);
        }
        let manager = ("app.kubernetes.io/managed-by", "remora-operator");
        let labels = metadata.labels.get_or_insert_default();
        labels.insert(manager.0.to_owned(), manager.1.to_owned());
        if let Some(honoured) = &self.honoured {
            let annotations = metadata.annotations.get_or_insert_default();
            annotations.insert(ROTATED.to_owned(), honoured.clone());
        }
        metadata.managed_fields = None;
        Secret {
            metadata,
            data: Some(data),
            type_: Some("Opaque".to_owned()),
            ..Secret::default()
        }
    }

    /// Where the rotation stands.
    #[must_use]
    pub fn phase(&self) -> Phase {
        match (&self.next, &self.old) {
            (Some(_), _) => Phase::Distributing,
            (None, Some(_)) => Phase::Issuing,
            (None, None) => Phase::Settled,
        }
    }

    /// Somebody asks for another CA, and did not get it yet.
    #[must_use]
    pub fn requested(&self) -> bool {
        self.wanted.is_some() && self.wanted != self.honoured
    }

    /// The validity of the CA that will be, or was, replaced.
    #[must_use]
    pub fn leaving(&self) -> Validity {
        let old = self.old.as_deref().and_then(validity);
        old.unwrap_or_else(|| self.issuer.validity())
    }

    /// The CA that all must trust before the next step: the one that issues, or will.
    #[must_use]
    pub fn coming(&self) -> &Authority {
        self.next.as_ref().unwrap_or(&self.issuer)
    }

    /// All certificates to trust, as PEM.
    #[must_use]
    pub fn bundle(&self) -> String {
        let next = self.next.as_ref().map(|next| next.certificate_pem());
        [
            Some(self.issuer.certificate_pem()),
            next,
            self.old.as_deref(),
        ]
        .into_iter()
        .flatten()
        .map(|pem| format!("{}\n", pem.trim_end()))
        .collect()
    }

    /// The state after `step`, for a CA called `name`.
    ///
    /// # Errors
    /// [`CertificateError`].
    pub fn after(&self, step: Step, name: &str, now: SystemTime) -> Result<Self, CertificateError> {
        let mut state = self.clone();
        match step {
            Step::Begin => {
                state.next = Some(Arc::new(Authority::generate(name, now)?));
                state.honoured.clone_from(&self.wanted);
            }
            Step::Switch => {
                if let Some(next) = state.next.take() {
                    state.old = Some(self.issuer.certificate_pem().to_owned());
                    state.issuer = next;
                }
            }
            Step::Forget => state.old = None,
        }
        Ok(state)
    }

    /// Whether it is the same for those who trust it and those who are issued by it.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        self.issuer.fingerprint() == other.issuer.fingerprint() && self.bundle() == other.bundle()
    }
}

#[cfg(test)]
mod tests {
    use remora_discovery::fingerprints;

    use super::*;

    /// Whether `bundle` holds all certificates of `other`.
    fn holds(bundle: &str, other: &str) -> bool {
        fingerprints(bundle.as_bytes()).is_superset(&fingerprints(other.as_bytes()))
    }

    /// What another replica, or the next one, makes of it.
    fn reread(state: &CaState) -> CaState {
        CaState::read(&state.secret(ObjectMeta::default())).unwrap()
    }

    #[test]
    fn a_rotation_survives_the_operator_at_each_step() {
        let now = SystemTime::now();
        let first = reread(&CaState::first("ca", now).unwrap());
        let begun = reread(&first.after(Step::Begin, "ca", now).unwrap());
        let switched = reread(&begun.after(Step::Switch, "ca", now).unwrap());
        let forgotten = reread(&switched.after(Step::Forget, "ca", now).unwrap());
        let states = [&first, &begun, &switched, &forgotten];

        assert_eq!(
            states.map(CaState::phase),
            [
                Phase::Settled,
                Phase::Distributing,
                Phase::Issuing,
                Phase::Settled
            ]
        );
        let count = |state: &CaState| fingerprints(state.bundle().as_bytes()).len();
        assert_eq!(states.map(count), [1, 2, 2, 1]);
        // The first one issues until all trust the second.
        let issuers = states.map(|state| state.issuer.fingerprint().clone());
        assert_eq!(issuers[0], issuers[1]);
        assert_eq!(issuers[2], issuers[3]);
        assert_ne!(issuers[1], issuers[2]);
        // What is trusted changes by one at a time.
        assert!(holds(&begun.bundle(), &first.bundle()));
        assert!(holds(&switched.bundle(), &begun.bundle()));
        assert!(holds(&switched.bundle(), &forgotten.bundle()));
        assert!(!holds(&forgotten.bundle(), &first.bundle()));
    }

    #[test]
    fn the_key_of_the_old_ca_is_kept_nowhere() {
        let now = SystemTime::now();
        let first = CaState::first("ca", now).unwrap();
        let key = first.issuer.key_pem();
        let begun = first.after(Step::Begin, "ca", now).unwrap();
        let switched = begun.after(Step::Switch, "ca", now).unwrap();
        let data = switched.secret(ObjectMeta::default()).data.unwrap();
        assert!(data.values().all(|value| value.0 != key.as_bytes()));
        assert_eq!(
            data.keys().collect::<Vec<_>>(),
            ["ca.crt", "ca.key", "old.crt"]
        );
    }

    #[test]
    fn a_request_is_obeyed_once() {
        let now = SystemTime::now();
        let first = CaState::first("ca", now).unwrap();
        assert!(!first.requested());
        let mut secret = first.secret(ObjectMeta::default());
        let annotations = secret.metadata.annotations.get_or_insert_default();
        annotations.insert(ROTATE.to_owned(), "today".to_owned());
        let asked = CaState::read(&secret).unwrap();
        assert!(asked.requested());

        let begun = asked.after(Step::Begin, "ca", now).unwrap();
        let stored = CaState::read(&begun.secret(secret.metadata)).unwrap();
        assert!(!stored.requested());
    }

    #[test]
    fn what_is_no_ca_is_not_taken_for_one() {
        assert!(matches!(
            CaState::read(&Secret::default()),
            Err(StoreError::Malformed { .. })
        ));
    }
}
