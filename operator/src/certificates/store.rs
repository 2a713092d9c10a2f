//! Reading and writing the Secret of the CA.

use std::time::SystemTime;

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};

use super::state::{CaState, StoreError};
use crate::act::is;

/// Reads the CA from Secret `name`, or makes it. Replicas that start together agree, since only
/// one of them can create the Secret.
///
/// # Errors
/// [`StoreError`].
pub async fn load_or_create(
    secrets: &Api<Secret>,
    name: &str,
    now: SystemTime,
) -> Result<CaState, StoreError> {
    if let Some((state, _)) = load(secrets, name).await? {
        return Ok(state);
    }
    let first = CaState::first(name, now)?;
    if create(secrets, name, &first).await? {
        return Ok(first);
    }
    match load(secrets, name).await? {
        Some((state, _)) => Ok(state),
        None => Err(StoreError::Malformed {
            name: name.to_owned(),
            source: None,
        }),
    }
}

/// Reads the CA, with the metadata that [`CaState::secret`] takes; `None`, if it is not there.
///
/// # Errors
/// [`StoreError`].
pub(super) async fn load(
    secrets: &Api<Secret>,
    name: &str,
) -> Result<Option<(CaState, ObjectMeta)>, StoreError> {
    let found = secrets.get_opt(name).await;
    let found = found.map_err(|error| refused(name, error))?;
    found
        .map(|secret| Ok((CaState::read(&secret)?, secret.metadata)))
        .transpose()
}

/// Stores the CA where it is not there. Answers whether it was stored: another may be faster.
///
/// # Errors
/// [`StoreError::Api`].
pub(super) async fn create(
    secrets: &Api<Secret>,
    name: &str,
    state: &CaState,
) -> Result<bool, StoreError> {
    let metadata = ObjectMeta {
        name: Some(name.to_owned()),
        ..ObjectMeta::default()
    };
    let secret = state.secret(metadata);
    match secrets.create(&PostParams::default(), &secret).await {
        Ok(_) => Ok(true),
        Err(error) if is(&error, 409) => Ok(false),
        Err(error) => Err(refused(name, error)),
    }
}

/// Stores the CA in place of what was read with `metadata`. Answers whether it was: somebody may
/// have changed it meanwhile.
///
/// # Errors
/// [`StoreError::Api`].
pub(super) async fn replace(
    secrets: &Api<Secret>,
    state: &CaState,
    metadata: ObjectMeta,
) -> Result<bool, StoreError> {
    let name = metadata.name.clone().unwrap_or_default();
    let secret = state.secret(metadata);
    match secrets
        .replace(&name, &PostParams::default(), &secret)
        .await
    {
        Ok(_) => Ok(true),
        Err(error) if is(&error, 409) => Ok(false),
        Err(error) => Err(refused(&name, error)),
    }
}

fn refused(name: &str, source: kube::Error) -> StoreError {
    StoreError::Api {
        name: name.to_owned(),
        source: Box::new(source),
    }
}
