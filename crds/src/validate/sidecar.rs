//! Rules of `spec.sidecar`.

use super::Errors;
use super::span::duration;
use crate::{Pool, Sidecar};

/// Checks the pools.
pub(super) fn sidecar(sidecar: &Sidecar, errors: &mut Errors) {
    errors.unless(
        Sidecar::BACKEND_CONNECTIONS.contains(&sidecar.backend_connections),
        "spec.sidecar.backendConnections",
        "must be from 1 to 10000",
    );
    let pool = &sidecar.pool;
    errors.unless(
        Pool::WARM_CONNECTIONS.contains(&pool.warm_connections),
        "spec.sidecar.pool.warmConnections",
        "must be from 0 to 1000",
    );
    for (value, range, name) in [
        (&pool.queue_timeout, &Pool::QUEUE_TIMEOUTS, "queueTimeout"),
        (&pool.idle_timeout, &Pool::IDLE_TIMEOUTS, "idleTimeout"),
        (&pool.max_lifetime, &Pool::MAX_LIFETIMES, "maxLifetime"),
    ] {
        duration(value, range, &format!("spec.sidecar.pool.{name}"), errors);
    }
}
