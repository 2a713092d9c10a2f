//! What keeps a pod from getting the sidecar.

use k8s_openapi::api::core::v1::{Container, PodSpec};

use super::Denied;

/// MySQL's port on loopback, and the one of probes and metrics.
const PORTS: [i32; 2] = [3306, 4291];

/// Refuses pods in which the sidecar could not listen.
pub(super) fn check(spec: &PodSpec, init: &[Container]) -> Result<(), Denied> {
    if spec.host_network == Some(true) {
        return Err(Denied::HostNetwork);
    }
    for container in spec.containers.iter().chain(init) {
        for port in container.ports.iter().flatten() {
            if PORTS.contains(&port.container_port) {
                return Err(Denied::Port {
                    container: container.name.clone(),
                    port: port.container_port,
                });
            }
        }
    }
    Ok(())
}
