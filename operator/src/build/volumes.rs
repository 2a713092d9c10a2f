//! The volumes of a MySQL pod.

use k8s_openapi::api::core::v1::{
    ConfigMapProjection, ConfigMapVolumeSource, EmptyDirVolumeSource, ProjectedVolumeSource,
    SecretVolumeSource, ServiceAccountTokenProjection, Volume, VolumeMount, VolumeProjection,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use remora_discovery::AUDIENCE;

use crate::names::Names;

/// MySQL's data: the volume that outlives everything. Part of the PersistentVolumeClaim's name.
pub(crate) const DATA: &str = "data";
pub(super) const RUN: &str = "run";
pub(super) const TMP: &str = "tmp";
pub(super) const BIN: &str = "bin";
pub(super) const CONFIG: &str = "config";
pub(super) const TLS: &str = "tls";
pub(super) const STATE: &str = "state";
pub(super) const IDENTITY: &str = "identity";

/// The data directory is a folder in it: the supervisor renames a whole one into place.
pub(super) const DATA_FOLDER: &str = "/var/lib/mysql";
/// mysqld's socket, the fence: shared by mysqld and its agent.
pub(super) const RUN_FOLDER: &str = "/run/remora";
pub(super) const BIN_FOLDER: &str = "/remora/bin";
pub(super) const CONFIG_FOLDER: &str = "/etc/remora/mysql";
/// Where my.cnf says that certificates are.
pub(super) const TLS_FOLDER: &str = "/etc/remora/tls";
/// The last snapshot.
pub(super) const STATE_FOLDER: &str = "/remora/state";
/// The token for discovery, and the CA by which the operator is known.
pub(super) const IDENTITY_FOLDER: &str = "/etc/remora/identity";

/// How long a token is good for; the kubelet renews it at 80 %.
const TOKEN_SECONDS: i64 = 3600;

/// All volumes but the data's, which the StatefulSet claims.
pub(super) fn volumes(names: &Names, my_cnf: &str, shard: u16) -> Vec<Volume> {
    vec![
        empty(RUN, EmptyDirVolumeSource::default()),
        empty(TMP, EmptyDirVolumeSource::default()),
        empty(BIN, EmptyDirVolumeSource::default()),
        // A snapshot holds passwords: it lives in memory and never touches a disk.
        empty(
            STATE,
            EmptyDirVolumeSource {
                medium: Some("Memory".to_owned()),
                size_limit: Some(Quantity("8Mi".to_owned())),
            },
        ),
        config_map(CONFIG, my_cnf),
        Volume {
            name: TLS.to_owned(),
            secret: Some(SecretVolumeSource {
                secret_name: Some(names.shard_tls_secret(shard)),
                // The key is for the pod's group, which owns the volume, and nobody else.
                default_mode: Some(0o440),
                ..SecretVolumeSource::default()
            }),
            ..Volume::default()
        },
        Volume {
            name: IDENTITY.to_owned(),
            projected: Some(ProjectedVolumeSource {
                sources: Some(vec![
                    VolumeProjection {
                        service_account_token: Some(ServiceAccountTokenProjection {
                            audience: Some(AUDIENCE.to_owned()),
                            expiration_seconds: Some(TOKEN_SECONDS),
                            path: "token".to_owned(),
                        }),
                        ..VolumeProjection::default()
                    },
                    VolumeProjection {
                        config_map: Some(ConfigMapProjection {
                            name: names.ca(),
                            ..ConfigMapProjection::default()
                        }),
                        ..VolumeProjection::default()
                    },
                ]),
                ..ProjectedVolumeSource::default()
            }),
            ..Volume::default()
        },
    ]
}

fn empty(name: &str, source: EmptyDirVolumeSource) -> Volume {
    Volume {
        name: name.to_owned(),
        empty_dir: Some(source),
        ..Volume::default()
    }
}

fn config_map(name: &str, map: &str) -> Volume {
    Volume {
        name: name.to_owned(),
        config_map: Some(ConfigMapVolumeSource {
            name: map.to_owned(),
            ..ConfigMapVolumeSource::default()
        }),
        ..Volume::default()
    }
}

/// Mounts a volume for writing.
pub(super) fn mount(name: &str, path: &str) -> VolumeMount {
    VolumeMount {
        name: name.to_owned(),
        mount_path: path.to_owned(),
        ..VolumeMount::default()
    }
}

/// Mounts a volume for reading.
pub(super) fn read_only(name: &str, path: &str) -> VolumeMount {
    VolumeMount {
        read_only: Some(true),
        ..mount(name, path)
    }
}
