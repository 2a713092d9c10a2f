//! From the operator's snapshot to the data plane's.

use std::path::PathBuf;
use std::sync::Arc;

use crate::snapshot::{BackendTls, LayoutKeeper, Snapshot, SnapshotError};

/// The MySQL server of this pod.
#[derive(Clone, Debug)]
pub struct OwnServer {
    /// The pod's name: the first label of the server's host name.
    pub pod: String,
    /// Its Unix socket.
    pub socket: PathBuf,
}

/// What sessions need of it.
pub(super) fn convert(
    told: &remora_discovery::Snapshot,
    own: Option<&OwnServer>,
) -> Result<Snapshot, SnapshotError> {
    let tls = match &told.backend_ca {
        Some(pem) => BackendTls::Verified(Arc::from(pem.as_bytes())),
        None => BackendTls::Preferred,
    };
    let uid = Some(told.identity.uid.clone());
    let mut topology = told.topology.clone();
    if let Some(own) = own {
        let instances = topology.shards.iter_mut().flat_map(|s| &mut s.instances);
        for instance in instances {
            if instance.host.split('.').next() == Some(&own.pod) {
                // Nobody is between, and a query costs half as much as by TCP.
                instance.socket = Some(own.socket.clone());
            }
        }
    }
    let snapshot = Snapshot::new(uid, told.spec.clone(), topology, tls)?;
    Ok(Snapshot {
        keeper: LayoutKeeper::Agents,
        ..snapshot
    })
}
