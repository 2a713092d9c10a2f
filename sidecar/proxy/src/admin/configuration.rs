//! The configuration in force, without secrets.

use serde_json::{Value, json};

use crate::snapshot::{BackendTls, Snapshot};

/// What `/config` shows. Fields are listed one by one: what a snapshot gets later, a secret
/// perhaps, does not show until someone decided that it may.
pub(super) fn shown(snapshot: &Snapshot) -> Value {
    let mut users: Vec<_> = snapshot.users.keys().collect();
    users.sort();
    json!({
        "name": snapshot.name,
        "uid": snapshot.uid,
        "epoch": snapshot.epoch,
        "spec": snapshot.spec,
        "shards": snapshot.shards,
        "users": users,
        "system": snapshot.system.name,
        "backendTls": match snapshot.backend_tls {
            BackendTls::Preferred => "Preferred",
            BackendTls::Verified(_) => "Verified",
        },
    })
}
