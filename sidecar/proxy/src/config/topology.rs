//! What makes sense in a topology that someone wrote by hand.

use std::collections::HashSet;

use remora_crds::{FieldError, Role, ShardEndpoints, ShardingCluster, Topology};

/// Everything that is wrong with `topology`, also beside its manifest.
pub(super) fn validate(topology: &Topology, manifest: &ShardingCluster) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut add = |path: &str, reason: String| {
        errors.push(FieldError {
            path: path.to_owned(),
            reason,
        });
    };
    if let Some(name) = &manifest.metadata.name
        && *name != topology.metadata.name
    {
        add(
            "metadata.name",
            format!("is not the manifest's, which is {name:?}"),
        );
    }
    let (wanted, given) = (usize::from(manifest.spec.shards), topology.shards.len());
    if wanted != given {
        add(
            "shards",
            format!("lists {given}, and the manifest has spec.shards: {wanted}"),
        );
    }
    let mut servers = HashSet::new();
    for (index, shard) in topology.shards.iter().enumerate() {
        let path = format!("shards[{index}].instances");
        if let Some(reason) = primaries(shard) {
            add(&path, reason);
        }
        for (number, instance) in shard.instances.iter().enumerate() {
            let path = format!("{path}[{number}]");
            if instance.host.trim().is_empty() {
                add(
                    &format!("{path}.host"),
                    "is empty; name a host or an address".to_owned(),
                );
            }
            if instance.port == 0 {
                add(
                    &format!("{path}.port"),
                    "is 0; give the port of mysqld".to_owned(),
                );
            }
            if !servers.insert((&instance.host, instance.port)) {
                let reason = "is listed before: a server holds the rows of one shard";
                add(&path, reason.to_owned());
            }
        }
    }
    if topology.users.is_empty() {
        add(
            "users",
            "is empty: nobody could log in; list at least one".to_owned(),
        );
    }
    let mut names = HashSet::new();
    for user in &topology.users {
        if !names.insert(&user.name) {
            add(
                &format!("users[{}]", user.name),
                "stands twice; remove one".to_owned(),
            );
        }
    }
    if let Some(pem) = &topology.client_ca
        && !pem.contains("-----BEGIN CERTIFICATE-----")
    {
        let reason = "holds no certificate; give the authorities of clients as PEM";
        add("clientCa", reason.to_owned());
    }
    errors
}

fn primaries(shard: &ShardEndpoints) -> Option<String> {
    match shard
        .instances
        .iter()
        .filter(|i| i.role == Role::Primary)
        .count()
    {
        1 => None,
        0 => Some("has no primary; give one of them `role: Primary`".to_owned()),
        many => Some(format!(
            "has {many} primaries, whose rows would part; leave one"
        )),
    }
}
