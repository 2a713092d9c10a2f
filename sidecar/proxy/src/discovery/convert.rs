//! From the operator's snapshot to the data plane's.

use std::sync::Arc;

use crate::snapshot::{BackendTls, LayoutKeeper, Snapshot, SnapshotError};

/// What sessions need of it.
pub(super) fn convert(told: &remora_discovery::Snapshot) -> Result<Snapshot, SnapshotError> {
    let tls = match &told.backend_ca {
        Some(pem) => BackendTls::Verified(Arc::from(pem.as_bytes())),
        None => BackendTls::Preferred,
    };
    let uid = Some(told.identity.uid.clone());
    let snapshot = Snapshot::new(uid, told.spec.clone(), told.topology.clone(), tls)?;
    Ok(Snapshot {
        keeper: LayoutKeeper::Agents,
        ..snapshot
    })
}
