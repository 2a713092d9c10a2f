//! The sidecar's container, its volumes, and the pod's label and annotations.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::core::v1::{
        Capabilities, Container, ContainerPort, DownwardAPIProjection, DownwardAPIVolumeFile,
        EmptyDirVolumeSource, EnvVar, HTTPGetAction, ObjectFieldSelector, Pod, Probe,
        ProjectedVolumeSource, ResourceRequirements, SeccompProfile, SecurityContext,
        ServiceAccountTokenProjection, Volume, VolumeMount, VolumeProjection,
    },
    apimachinery::pkg::{api::resource::Quantity, util::intstr::IntOrString},
};

use super::{CA_ANNOTATION, ClusterName, SIDECAR, STATUS_ANNOTATION};
use crate::names::INJECT;

/// What the operator was started with, and its CA.
#[derive(Clone, Debug)]
pub struct SidecarOptions {
    /// The sidecar's image.
    pub image: String,
    /// When the kubelet pulls it: `Always`, `IfNotPresent` or `Never`.
    pub image_pull_policy: String,
    /// Where discovery is, as `https://host:port`.
    pub discovery: String,
    /// The certificates, as PEM, by which discovery is verified.
    pub ca_bundle: String,
    /// `json` or `text`.
    pub log_format: String,
    /// `spec.sidecar.resources`, or the defaults.
    pub resources: ResourceRequirements,
}

/// Who asks discovery: only the sidecar mounts it.
const IDENTITY: &str = "remora-identity";
const IDENTITY_PATH: &str = "/var/run/remora/identity";
/// The last snapshot, which holds passwords: memory, never a disk.
const STATE: &str = "remora-state";
const STATE_PATH: &str = "/var/run/remora/state";
/// `nonroot` of distroless images, which ours imitates.
const NOBODY: i64 = 65532;
/// The audience that discovery asks the TokenReview for: no other service's token passes.
const AUDIENCE: &str = "remora.dev/discovery";

/// A native sidecar (an init container that goes on running): it starts before the
/// application and ends after it. It has no preStop, which the kubelet would run at the
/// beginning of the termination; SIGTERM reaches it last.
pub(super) fn container(cluster: &ClusterName, options: &SidecarOptions) -> Container {
    let env = [
        ("REMORA_DISCOVERY", options.discovery.clone()),
        ("REMORA_CLUSTER", cluster.to_string()),
        ("REMORA_ROLE", "application".into()),
        ("REMORA_LISTEN", "127.0.0.1:3306".into()),
        // What is not for everybody it answers to loopback alone.
        ("REMORA_ADMIN", "0.0.0.0:4291".into()),
        ("REMORA_TOKEN_FILE", format!("{IDENTITY_PATH}/token")),
        ("REMORA_DISCOVERY_CA", format!("{IDENTITY_PATH}/ca.crt")),
        ("REMORA_SNAPSHOT_FILE", format!("{STATE_PATH}/snapshot")),
        ("REMORA_LOG_FORMAT", options.log_format.clone()),
    ];
    Container {
        name: SIDECAR.into(),
        image: Some(options.image.clone()),
        image_pull_policy: Some(options.image_pull_policy.clone()),
        restart_policy: Some("Always".into()),
        args: Some(vec!["run".into()]),
        env: Some(
            env.into_iter()
                .map(|(name, value)| EnvVar {
                    name: name.into(),
                    value: Some(value),
                    value_from: None,
                })
                .collect(),
        ),
        ports: Some(vec![ContainerPort {
            name: Some("remora-probes".into()),
            container_port: 4291,
            ..ContainerPort::default()
        }]),
        // A second at most between the snapshot and the application's start.
        startup_probe: Some(probe("/startup", 1, 120)),
        liveness_probe: Some(probe("/live", 10, 3)),
        readiness_probe: Some(probe("/ready", 2, 3)),
        resources: Some(options.resources.clone()),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            capabilities: Some(Capabilities {
                add: None,
                drop: Some(vec!["ALL".into()]),
            }),
            read_only_root_filesystem: Some(true),
            run_as_group: Some(NOBODY),
            run_as_non_root: Some(true),
            run_as_user: Some(NOBODY),
            seccomp_profile: Some(SeccompProfile {
                type_: "RuntimeDefault".into(),
                localhost_profile: None,
            }),
            ..SecurityContext::default()
        }),
        termination_message_policy: Some("FallbackToLogsOnError".into()),
        volume_mounts: Some(vec![
            mount(IDENTITY, IDENTITY_PATH, true),
            mount(STATE, STATE_PATH, false),
        ]),
        ..Container::default()
    }
}

fn probe(path: &str, period_seconds: i32, failure_threshold: i32) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            path: Some(path.into()),
            port: IntOrString::String("remora-probes".into()),
            ..HTTPGetAction::default()
        }),
        period_seconds: Some(period_seconds),
        failure_threshold: Some(failure_threshold),
        ..Probe::default()
    }
}

fn mount(name: &str, path: &str, read_only: bool) -> VolumeMount {
    VolumeMount {
        name: name.into(),
        mount_path: path.into(),
        read_only: read_only.then_some(true),
        ..VolumeMount::default()
    }
}

/// The token works with `automountServiceAccountToken: false` too: it is a projection of its
/// own. The certificates come from an annotation, so that they can change while the pod runs.
pub(super) fn volumes() -> [Volume; 2] {
    let token = VolumeProjection {
        service_account_token: Some(ServiceAccountTokenProjection {
            audience: Some(AUDIENCE.into()),
            expiration_seconds: Some(3600),
            path: "token".into(),
        }),
        ..VolumeProjection::default()
    };
    let certificates = VolumeProjection {
        downward_api: Some(DownwardAPIProjection {
            items: Some(vec![DownwardAPIVolumeFile {
                path: "ca.crt".into(),
                field_ref: Some(ObjectFieldSelector {
                    api_version: None,
                    field_path: format!("metadata.annotations['{CA_ANNOTATION}']"),
                }),
                ..DownwardAPIVolumeFile::default()
            }]),
        }),
        ..VolumeProjection::default()
    };
    [
        Volume {
            name: IDENTITY.into(),
            projected: Some(ProjectedVolumeSource {
                // Readable whatever the pod's users and groups: only the sidecar mounts it.
                default_mode: Some(0o444),
                sources: Some(vec![token, certificates]),
            }),
            ..Volume::default()
        },
        Volume {
            name: STATE.into(),
            empty_dir: Some(EmptyDirVolumeSource {
                medium: Some("Memory".into()),
                size_limit: Some(Quantity("8Mi".into())),
            }),
            ..Volume::default()
        },
    ]
}

/// Labels the pod, and leaves the certificates for the volume, and what was injected for people.
pub(super) fn annotate(pod: &mut Pod, options: &SidecarOptions) {
    // The NetworkPolicy lets the pod through by it, also when its namespace's label goes.
    let labels = pod.metadata.labels.get_or_insert_default();
    labels.insert(INJECT.into(), "true".into());
    let annotations: &mut BTreeMap<String, String> =
        pod.metadata.annotations.get_or_insert_default();
    annotations.insert(CA_ANNOTATION.into(), options.ca_bundle.clone());
    let status = serde_json::json!({
        "image": options.image,
        "version": env!("CARGO_PKG_VERSION"),
    });
    annotations.insert(STATUS_ANNOTATION.into(), status.to_string());
}
