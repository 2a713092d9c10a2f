//! Adds the sidecar to an application's pod. Pure: a pod and the facts go in, a decision
//! comes out; the webhook does the talking.

mod conflict;
mod environment;
mod request;
mod sidecar;

use k8s_openapi::api::core::v1::{Pod, PodSpec};

pub use request::{ClusterName, InvalidReference, Requested, asks, requested};
pub use sidecar::SidecarOptions;

/// The sidecar's name in the pod.
pub const SIDECAR: &str = "remora-sidecar";

/// The annotation by which users name the cluster, as `[namespace/]name`.
pub const CLUSTER_ANNOTATION: &str = "remora.dev/cluster";
/// The annotation that chooses among the users granted; the first one where absent.
pub const USER_ANNOTATION: &str = "remora.dev/user";
/// The annotation that holds the CA certificates by which discovery is verified. The operator
/// can change it in a running pod, and the kubelet then changes the file.
pub const CA_ANNOTATION: &str = "remora.dev/ca-bundle";
/// The annotation that says what was injected.
pub const STATUS_ANNOTATION: &str = "remora.dev/status";

/// Other meshes' sidecars that must run before ours, or our connections would go around them.
const BEFORE_US: [&str; 2] = ["istio-proxy", "linkerd-proxy"];

/// What the injector knows about the cluster that a pod asks for.
#[derive(Clone, Debug)]
pub struct Grant<'a> {
    /// The cluster.
    pub cluster: &'a ClusterName,
    /// The pod's own namespace.
    pub namespace: &'a str,
    /// The logical database.
    pub database: &'a str,
    /// The users that the pod may log in as, in the manifest's order.
    pub users: &'a [&'a str],
}

/// Why a pod is not started. The text is what the ReplicaSet's events show.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Denied {
    /// `spec.hostNetwork`: 127.0.0.1:3306 would be the node's.
    #[error(
        "the pod uses hostNetwork, where 127.0.0.1:3306 belongs to the whole node; connect to the Service of the ShardingCluster instead of labelling the pod"
    )]
    HostNetwork,
    /// A container takes one of the sidecar's ports.
    #[error(
        "container {container} takes port {port}, which the sidecar listens on in this pod; choose another port"
    )]
    Port {
        /// The container.
        container: String,
        /// The port.
        port: i32,
    },
    /// The user asked for is not granted, or there is none of that name.
    #[error(
        "annotation remora.dev/user: {user} is not a user that ShardingCluster {cluster} grants to this pod (spec.users, spec.access)"
    )]
    User {
        /// The user.
        user: String,
        /// The cluster.
        cluster: ClusterName,
    },
}

/// What becomes of a pod.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It has the sidecar already.
    Unchanged,
    /// It gets the sidecar.
    Injected(Box<Pod>),
}

/// Adds the sidecar to `pod`, which `grant` lets use a cluster.
///
/// It is idempotent, since webhooks may be called again for the same pod.
///
/// # Errors
/// [`Denied`], with a text that says what to change.
pub fn inject(pod: &Pod, grant: &Grant<'_>, options: &SidecarOptions) -> Result<Outcome, Denied> {
    let mut pod = pod.clone();
    let spec = pod.spec.get_or_insert_default();
    let mut init = spec.init_containers.take().unwrap_or_default();
    if init.iter().any(|container| container.name == SIDECAR) {
        return Ok(Outcome::Unchanged);
    }
    conflict::check(spec, &init)?;
    let user = user(&pod, grant)?;

    let environment = environment::of(grant, user);
    let spec = pod.spec.get_or_insert_default();
    for container in spec.containers.iter_mut().chain(&mut init) {
        if !BEFORE_US.contains(&container.name.as_str()) {
            environment::add(container, &environment);
        }
    }
    let place = init
        .iter()
        .rposition(|container| BEFORE_US.contains(&container.name.as_str()))
        .map_or(0, |last| last + 1);
    init.insert(place, sidecar::container(grant.cluster, options));
    spec.init_containers = Some(init);
    add_volumes(spec);
    sidecar::annotate(&mut pod, options);
    Ok(Outcome::Injected(Box::new(pod)))
}

/// The user whose credentials the application's environment gets: the one that the annotation
/// names, else the first one granted. A cluster without users gives none.
fn user<'a>(pod: &Pod, grant: &Grant<'a>) -> Result<Option<&'a str>, Denied> {
    let wanted = pod
        .metadata
        .annotations
        .as_ref()
        .and_then(|map| map.get(USER_ANNOTATION));
    match wanted {
        None => Ok(grant.users.first().copied()),
        Some(wanted) => match grant.users.iter().find(|user| *user == wanted) {
            Some(user) => Ok(Some(user)),
            None => Err(Denied::User {
                user: wanted.clone(),
                cluster: grant.cluster.clone(),
            }),
        },
    }
}

fn add_volumes(spec: &mut PodSpec) {
    spec.volumes
        .get_or_insert_default()
        .extend(sidecar::volumes());
}

#[cfg(test)]
mod tests;
