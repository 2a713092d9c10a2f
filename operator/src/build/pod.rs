//! A MySQL pod: mysqld under its supervisor, and a sidecar as gateway and agent.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Affinity, Capabilities, Container, ContainerPort, EnvVar, EnvVarSource, ExecAction,
    HTTPGetAction, ObjectFieldSelector, PodAffinityTerm, PodAntiAffinity, PodSecurityContext,
    PodSpec, PodTemplateSpec, Probe, ResourceRequirements, SeccompProfile, SecurityContext,
    WeightedPodAffinityTerm,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use remora_crds::{Amount, Images, Resources, ShardingCluster};

use super::Site;
use super::object::short_hash;
use super::volumes::{self, BIN, CONFIG, DATA, IDENTITY, RUN, STATE, TLS, TMP, mount, read_only};
use crate::names::{ADMIN_PORT, INJECT, MYSQL_PORT, Names, POD_SPEC, SERVER_PORT};

pub(super) use super::volumes::DATA as DATA_VOLUME;

/// The container that runs mysqld.
pub const MYSQL_CONTAINER: &str = "mysql";
/// The gateway and agent.
pub const SIDECAR_CONTAINER: &str = "remora-sidecar";
/// Copies the supervisor, whose image is not mysqld's.
const SUPERVISOR_CONTAINER: &str = "remora-supervisor";

/// A large server takes minutes to end in order.
const TERMINATION_GRACE: i64 = 300;
/// Recovery after a crash may take long, and must not be cut short: an hour.
const STARTUP_PROBES: i32 = 3600;

/// The template of a shard's pods.
pub(super) fn template(
    cluster: &ShardingCluster,
    names: &Names,
    images: &Images,
    site: &Site,
    my_cnf: &str,
    shard: u16,
) -> PodTemplateSpec {
    let mut labels = names.shard_labels(shard);
    labels.insert(INJECT.to_owned(), "false".to_owned());
    PodTemplateSpec {
        metadata: Some(ObjectMeta {
            labels: Some(labels),
            annotations: Some([(POD_SPEC.to_owned(), pod_spec_hash(cluster, images))].into()),
            ..ObjectMeta::default()
        }),
        spec: Some(PodSpec {
            init_containers: Some(vec![
                supervisor(images, site),
                sidecar(cluster, names, images, site),
            ]),
            containers: vec![mysql(cluster, images, shard)],
            volumes: Some(volumes::volumes(names, my_cnf, shard)),
            affinity: Some(apart(names)),
            security_context: Some(pod_security(cluster.spec.mysql.run_as_user)),
            termination_grace_period_seconds: Some(TERMINATION_GRACE),
            // Only the token of its own audience gets into the pod.
            automount_service_account_token: Some(false),
            enable_service_links: Some(false),
            ..PodSpec::default()
        }),
    }
}

/// Hash of what of the manifest needs a new pod when it changes. Sidecar images are not in it:
/// they are patched into running pods.
#[must_use]
pub(crate) fn pod_spec_hash(cluster: &ShardingCluster, images: &Images) -> String {
    let spec = &cluster.spec;
    let relevant = serde_json::json!([
        images.mysql,
        spec.mysql.resources,
        spec.mysql.config,
        spec.mysql.run_as_user,
        spec.sidecar,
    ]);
    short_hash(relevant.to_string().as_bytes())
}

fn supervisor(images: &Images, site: &Site) -> Container {
    Container {
        name: SUPERVISOR_CONTAINER.to_owned(),
        image: Some(images.supervisor.clone()),
        image_pull_policy: Some(site.image_pull_policy.clone()),
        args: Some(vec!["install".to_owned(), volumes::BIN_FOLDER.to_owned()]),
        resources: Some(requirements(
            &[("cpu", "10m"), ("memory", "16Mi")],
            &[("memory", "32Mi")],
        )),
        security_context: Some(container_security()),
        volume_mounts: Some(vec![mount(BIN, volumes::BIN_FOLDER)]),
        ..Container::default()
    }
}

fn mysql(cluster: &ShardingCluster, images: &Images, shard: u16) -> Container {
    let program = format!("{}/remora-supervisor", volumes::BIN_FOLDER);
    let run_dir = format!("--run-dir={}", volumes::RUN_FOLDER);
    let probe = |question: &str, timeout: i32| Probe {
        exec: Some(ExecAction {
            command: Some(vec![
                program.clone(),
                "probe".to_owned(),
                question.to_owned(),
                run_dir.clone(),
                format!("--timeout-ms={}", timeout * 1000 - 200),
            ]),
        }),
        timeout_seconds: Some(timeout),
        ..Probe::default()
    };
    let command = [
        program.as_str(),
        "run",
        &format!("--data-dir={}/data", volumes::DATA_FOLDER),
        &run_dir,
        "--",
        "mysqld",
        &format!("--defaults-file={}/my.cnf", volumes::CONFIG_FOLDER),
        // Sixteen numbers for each shard leave room for its replicas.
        &format!("--server-id={}", u32::from(shard) * 16 + 1),
    ]
    .map(str::to_owned);
    Container {
        name: MYSQL_CONTAINER.to_owned(),
        image: Some(images.mysql.clone()),
        image_pull_policy: Some("IfNotPresent".to_owned()),
        command: Some(command.into()),
        ports: Some(vec![port("mysqld", SERVER_PORT)]),
        resources: Some(resources(&cluster.spec.mysql.resources)),
        startup_probe: Some(Probe {
            period_seconds: Some(1),
            failure_threshold: Some(STARTUP_PROBES),
            ..probe("started", 2)
        }),
        // A server that hangs for a minute is ended. One that crashed is live: its supervisor is
        // starting it again.
        liveness_probe: Some(Probe {
            period_seconds: Some(10),
            failure_threshold: Some(6),
            ..probe("live", 5)
        }),
        // Often, so that a server that was restarted is soon ready again; patient, so that a
        // busy node does not take it for dead.
        readiness_probe: Some(Probe {
            period_seconds: Some(1),
            failure_threshold: Some(3),
            ..probe("ready", 2)
        }),
        security_context: Some(container_security()),
        volume_mounts: Some(vec![
            mount(DATA, volumes::DATA_FOLDER),
            mount(RUN, volumes::RUN_FOLDER),
            mount(TMP, "/tmp"),
            read_only(BIN, volumes::BIN_FOLDER),
            read_only(CONFIG, volumes::CONFIG_FOLDER),
            read_only(TLS, volumes::TLS_FOLDER),
        ]),
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        ..Container::default()
    }
}

fn sidecar(cluster: &ShardingCluster, names: &Names, images: &Images, site: &Site) -> Container {
    let value = |name: &str, value: String| EnvVar {
        name: name.to_owned(),
        value: Some(value),
        ..EnvVar::default()
    };
    Container {
        name: SIDECAR_CONTAINER.to_owned(),
        image: Some(images.sidecar.clone()),
        image_pull_policy: Some(site.image_pull_policy.clone()),
        restart_policy: Some("Always".to_owned()),
        args: Some(vec!["run".to_owned()]),
        env: Some(vec![
            value("REMORA_DISCOVERY", site.discovery.clone()),
            value(
                "REMORA_CLUSTER",
                format!("{}/{}", names.namespace, names.cluster),
            ),
            value("REMORA_ROLE", "agent".to_owned()),
            value("REMORA_LISTEN", format!("0.0.0.0:{MYSQL_PORT}")),
            value("REMORA_ADMIN", format!("0.0.0.0:{ADMIN_PORT}")),
            value(
                "REMORA_TOKEN_FILE",
                format!("{}/token", volumes::IDENTITY_FOLDER),
            ),
            value(
                "REMORA_DISCOVERY_CA",
                format!("{}/ca.crt", volumes::IDENTITY_FOLDER),
            ),
            value(
                "REMORA_SNAPSHOT_FILE",
                format!("{}/snapshot", volumes::STATE_FOLDER),
            ),
            value(
                "REMORA_MYSQL_SOCKET",
                format!("{}/mysql.sock", volumes::RUN_FOLDER),
            ),
            value("REMORA_MYSQL_TLS", volumes::TLS_FOLDER.to_owned()),
            value("REMORA_LOG_FORMAT", site.log_format.clone()),
            field("POD_NAME", "metadata.name"),
            field("POD_NAMESPACE", "metadata.namespace"),
        ]),
        ports: Some(vec![port("mysql", MYSQL_PORT), port("admin", ADMIN_PORT)]),
        resources: Some(sidecar_resources(&cluster.spec.sidecar.resources)),
        startup_probe: Some(Probe {
            period_seconds: Some(1),
            failure_threshold: Some(120),
            ..get("/startup")
        }),
        liveness_probe: Some(Probe {
            period_seconds: Some(10),
            ..get("/live")
        }),
        readiness_probe: Some(Probe {
            period_seconds: Some(2),
            ..get("/ready")
        }),
        security_context: Some(container_security()),
        volume_mounts: Some(vec![
            mount(RUN, volumes::RUN_FOLDER),
            mount(STATE, volumes::STATE_FOLDER),
            read_only(IDENTITY, volumes::IDENTITY_FOLDER),
            // It tells mysqld when they change.
            read_only(TLS, volumes::TLS_FOLDER),
        ]),
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        ..Container::default()
    }
}

/// Shards on one node would share its fate; but a cluster of one node must work.
fn apart(names: &Names) -> Affinity {
    Affinity {
        pod_anti_affinity: Some(PodAntiAffinity {
            preferred_during_scheduling_ignored_during_execution: Some(vec![
                WeightedPodAffinityTerm {
                    weight: 100,
                    pod_affinity_term: PodAffinityTerm {
                        topology_key: "kubernetes.io/hostname".to_owned(),
                        label_selector: Some(LabelSelector {
                            match_labels: Some(names.selector()),
                            ..LabelSelector::default()
                        }),
                        ..PodAffinityTerm::default()
                    },
                },
            ]),
            ..PodAntiAffinity::default()
        }),
        ..Affinity::default()
    }
}

fn pod_security(user: i64) -> PodSecurityContext {
    PodSecurityContext {
        run_as_non_root: Some(true),
        run_as_user: Some(user),
        run_as_group: Some(user),
        fs_group: Some(user),
        // A large volume is not walked through at each start.
        fs_group_change_policy: Some("OnRootMismatch".to_owned()),
        seccomp_profile: Some(SeccompProfile {
            type_: "RuntimeDefault".to_owned(),
            localhost_profile: None,
        }),
        ..PodSecurityContext::default()
    }
}

fn container_security() -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        read_only_root_filesystem: Some(true),
        capabilities: Some(Capabilities {
            drop: Some(vec!["ALL".to_owned()]),
            add: None,
        }),
        ..SecurityContext::default()
    }
}

fn resources(wanted: &Resources) -> ResourceRequirements {
    let amounts = |amounts: &BTreeMap<String, Amount>| {
        let amounts = amounts
            .iter()
            .map(|(name, amount)| (name.clone(), amount.0.clone()));
        Some(amounts.collect::<BTreeMap<_, _>>()).filter(|map| !map.is_empty())
    };
    ResourceRequirements {
        requests: amounts(&wanted.requests),
        limits: amounts(&wanted.limits),
        claims: None,
    }
}

/// What the manifest says, else what a sidecar needs.
#[must_use]
pub(crate) fn sidecar_resources(wanted: &Resources) -> ResourceRequirements {
    if *wanted == Resources::default() {
        requirements(
            &[("cpu", "50m"), ("memory", "64Mi")],
            &[("memory", "256Mi")],
        )
    } else {
        resources(wanted)
    }
}

fn requirements(requests: &[(&str, &str)], limits: &[(&str, &str)]) -> ResourceRequirements {
    let map = |pairs: &[(&str, &str)]| {
        pairs
            .iter()
            .map(|(name, amount)| ((*name).to_owned(), Quantity((*amount).to_owned())))
            .collect()
    };
    ResourceRequirements {
        requests: Some(map(requests)),
        limits: Some(map(limits)),
        claims: None,
    }
}

fn port(name: &str, port: i32) -> ContainerPort {
    ContainerPort {
        name: Some(name.to_owned()),
        container_port: port,
        protocol: Some("TCP".to_owned()),
        ..ContainerPort::default()
    }
}

fn field(name: &str, path: &str) -> EnvVar {
    EnvVar {
        name: name.to_owned(),
        value_from: Some(EnvVarSource {
            field_ref: Some(ObjectFieldSelector {
                field_path: path.to_owned(),
                ..ObjectFieldSelector::default()
            }),
            ..EnvVarSource::default()
        }),
        ..EnvVar::default()
    }
}

fn get(path: &str) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            path: Some(path.to_owned()),
            port: IntOrString::Int(ADMIN_PORT),
            ..HTTPGetAction::default()
        }),
        timeout_seconds: Some(2),
        ..Probe::default()
    }
}
