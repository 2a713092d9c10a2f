//! The Secret in which the replicas share the authority.

use std::collections::BTreeMap;

use k8s_openapi::{ByteString, api::core::v1::Secret};
use kube::{
    Api,
    api::{ObjectMeta, PostParams},
};

use super::{Authority, CertificateError};

const CERTIFICATE: &str = "ca.crt";
const KEY: &str = "ca.key";

/// Why there is no authority.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The API server refused.
    #[error("Secret {name}")]
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

/// Reads the authority from Secret `name`, or makes it. Replicas that start together agree,
/// since only one of them can create the Secret.
///
/// # Errors
/// [`StoreError`].
pub async fn load_or_create(secrets: &Api<Secret>, name: &str) -> Result<Authority, StoreError> {
    let refused = |source| StoreError::Api {
        name: name.to_owned(),
        source: Box::new(source),
    };
    if let Some(secret) = secrets.get_opt(name).await.map_err(refused)? {
        return read(name, &secret);
    }
    let authority = Authority::generate(name)?;
    match secrets
        .create(&PostParams::default(), &secret(name, &authority))
        .await
    {
        Ok(_) => Ok(authority),
        Err(kube::Error::Api(status)) if status.code == 409 => {
            read(name, &secrets.get(name).await.map_err(refused)?)
        }
        Err(error) => Err(refused(error)),
    }
}

fn read(name: &str, secret: &Secret) -> Result<Authority, StoreError> {
    let malformed = |source| StoreError::Malformed {
        name: name.to_owned(),
        source,
    };
    let text = |key| {
        let bytes = &secret.data.as_ref()?.get(key)?.0;
        std::str::from_utf8(bytes).ok()
    };
    let (Some(certificate), Some(key)) = (text(CERTIFICATE), text(KEY)) else {
        return Err(malformed(None));
    };
    Authority::from_pem(certificate, key).map_err(|error| malformed(Some(error)))
}

fn secret(name: &str, authority: &Authority) -> Secret {
    let data = BTreeMap::from([
        (
            CERTIFICATE.to_owned(),
            ByteString(authority.certificate_pem().into()),
        ),
        (
            KEY.to_owned(),
            ByteString(authority.key_pem().as_bytes().to_vec()),
        ),
    ]);
    Secret {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(BTreeMap::from([(
                "app.kubernetes.io/managed-by".to_owned(),
                "remora-operator".to_owned(),
            )])),
            ..ObjectMeta::default()
        },
        data: Some(data),
        type_: Some("Opaque".to_owned()),
        ..Secret::default()
    }
}
