//! How the application learns where MySQL is and who it is.

use k8s_openapi::api::core::v1::{Container, EnvVar, EnvVarSource, SecretKeySelector};

use super::{ClusterName, Grant};
use crate::names::Names;

/// The variables, in the names that MySQL's own image and most frameworks use.
pub(super) fn of(grant: &Grant<'_>, user: Option<&str>) -> Vec<EnvVar> {
    let mut variables = vec![
        value("MYSQL_HOST", "127.0.0.1"),
        value("MYSQL_PORT", "3306"),
        value("MYSQL_DATABASE", grant.database),
    ];
    if let Some(user) = user {
        let ClusterName { namespace, name } = grant.cluster;
        let secret = Names::new(namespace, name).user_secret_in(grant.namespace, user);
        variables.push(reference("MYSQL_USER", &secret, "username"));
        variables.push(reference("MYSQL_PASSWORD", &secret, "password"));
    }
    variables
}

/// Adds what `container` does not set itself, before its own variables: these may refer to
/// those that stand before them, as in `mysql://$(MYSQL_USER)@$(MYSQL_HOST)`.
///
/// Kubernetes lets `env` win over `envFrom`. What `envFrom` brings cannot be seen here: a
/// password of ours beside a user of theirs would be worse than both of ours.
pub(super) fn add(container: &mut Container, variables: &[EnvVar]) {
    let own = container.env.get_or_insert_default();
    let is_missing = |variable: &&EnvVar| !own.iter().any(|set| set.name == variable.name);
    let missing: Vec<_> = variables.iter().filter(is_missing).cloned().collect();
    own.splice(0..0, missing);
}

fn value(name: &str, value: &str) -> EnvVar {
    EnvVar {
        name: name.into(),
        value: Some(value.into()),
        value_from: None,
    }
}

fn reference(name: &str, secret: &str, key: &str) -> EnvVar {
    EnvVar {
        name: name.into(),
        value: None,
        value_from: Some(EnvVarSource {
            secret_key_ref: Some(SecretKeySelector {
                name: secret.into(),
                key: key.into(),
                optional: None,
            }),
            ..EnvVarSource::default()
        }),
    }
}
