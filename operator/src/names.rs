//! What things are called, and by which labels they are found again.
//!
//! These can never change: volumes and Secrets that hold data bear them.

use std::collections::BTreeMap;

/// The cluster an object belongs to.
pub const CLUSTER: &str = "remora.dev/cluster";
/// The shard an object belongs to.
pub const SHARD: &str = "remora.dev/shard";
/// On copies of Secrets in other namespaces: the cluster's namespace.
pub const CLUSTER_NAMESPACE: &str = "remora.dev/cluster-namespace";
/// On the ConfigMaps that say where copies of Secrets are.
pub const COPIES: &str = "remora.dev/copies";
/// On what outlives its `ShardingCluster`, because data cannot be read without it.
pub const RETAINED: &str = "remora.dev/retained";
/// Opt-in of pods to injection; MySQL pods say "false", since they bring their own sidecar.
pub const INJECT: &str = "remora.dev/inject";
/// Hash of what was applied, by which an equal apply is skipped.
pub const APPLIED: &str = "remora.dev/applied";
/// Hash of what of the manifest needs a new pod. Only the manifest can change it: an upgrade
/// of the operator restarts no MySQL server.
pub const POD_SPEC: &str = "remora.dev/pod-spec";
/// Who manages the object.
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// The operator, as the manager of fields and of objects.
pub const OPERATOR: &str = "remora-operator";

/// Port of the gateways, and of every sidecar.
pub const MYSQL_PORT: i32 = 3306;
/// Port of mysqld, for sidecars alone.
pub const SERVER_PORT: i32 = 3307;
/// Port of a sidecar's probes and metrics.
pub const ADMIN_PORT: i32 = 4291;

/// A cluster's identity, from which names are made.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Names {
    /// The namespace.
    pub namespace: String,
    /// The cluster's name.
    pub cluster: String,
}

impl Names {
    /// The names of `cluster` in `namespace`.
    #[must_use]
    pub fn new(namespace: &str, cluster: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            cluster: cluster.to_owned(),
        }
    }

    /// The Service in front of all gateways; also the name of the `PodDisruptionBudget`.
    #[must_use]
    pub fn gateway(&self) -> String {
        self.cluster.clone()
    }

    /// A shard's StatefulSet and its headless Service.
    #[must_use]
    pub fn shard(&self, shard: u16) -> String {
        format!("{}-{shard}", self.cluster)
    }

    /// A shard's only pod.
    #[must_use]
    pub fn pod(&self, shard: u16) -> String {
        format!("{}-{shard}-0", self.cluster)
    }

    /// The shard of a pod with this name, if it is one of the cluster's.
    #[must_use]
    pub fn shard_of_pod(&self, pod: &str) -> Option<u16> {
        let (shard, ordinal) = pod
            .strip_prefix(&self.cluster)?
            .strip_prefix('-')?
            .split_once('-')?;
        let shard = shard.parse().ok()?;
        (ordinal == "0" && self.pod(shard) == pod).then_some(shard)
    }

    /// The host name of a shard's mysqld. It has five dots, so that a resolver with
    /// Kubernetes' `ndots:5` asks for it at once instead of trying every search domain.
    #[must_use]
    pub fn host(&self, shard: u16, domain: &str) -> String {
        format!(
            "{}.{}.{}.svc.{domain}",
            self.pod(shard),
            self.shard(shard),
            self.namespace
        )
    }

    /// The Secret of Remora's own accounts.
    #[must_use]
    pub fn system_secret(&self) -> String {
        format!("{}-remora-system", self.cluster)
    }

    /// The Secret with the gateways' certificate, its key, and the CAs to trust.
    #[must_use]
    pub fn gateway_tls_secret(&self) -> String {
        format!("{}-remora-tls", self.cluster)
    }

    /// The Secret with the certificate of a shard's servers, its key, and the CAs to trust.
    #[must_use]
    pub fn shard_tls_secret(&self, shard: u16) -> String {
        format!("{}-remora-tls-{shard}", self.cluster)
    }

    /// The names that the gateways' certificate bears: all forms of the Service's.
    #[must_use]
    pub fn gateway_names(&self, domain: &str) -> Vec<String> {
        let (gateway, namespace) = (self.gateway(), &self.namespace);
        vec![
            format!("{gateway}.{namespace}.svc"),
            format!("{gateway}.{namespace}.svc.{domain}"),
            format!("{gateway}.{namespace}"),
            gateway,
        ]
    }

    /// The names that the certificate of a shard's servers bears: each of its pods, whatever its
    /// ordinal.
    #[must_use]
    pub fn server_names(&self, shard: u16, domain: &str) -> Vec<String> {
        let (shard, namespace) = (self.shard(shard), &self.namespace);
        vec![
            format!("*.{shard}.{namespace}.svc.{domain}"),
            format!("*.{shard}.{namespace}.svc"),
        ]
    }

    /// The Secret of an application's user.
    #[must_use]
    pub fn user_secret(&self, user: &str) -> String {
        format!("{}-{user}", self.cluster)
    }

    /// The Secret of an application's user as it is called in `namespace`: elsewhere than at the
    /// cluster it is a copy. Dots are in no name of a namespace, a cluster or a user, so copies
    /// from different clusters, and the Secrets of a cluster that lives there, never meet.
    #[must_use]
    pub fn user_secret_in(&self, namespace: &str, user: &str) -> String {
        if namespace == self.namespace {
            self.user_secret(user)
        } else {
            format!("{}.{}.{user}", self.namespace, self.cluster)
        }
    }

    /// The ConfigMap that says where copies of users' Secrets are.
    #[must_use]
    pub fn copies(&self) -> String {
        format!("{}-remora-copies", self.cluster)
    }

    /// The ConfigMap with my.cnf, named by its content: a pod keeps the one it started with.
    #[must_use]
    pub fn my_cnf(&self, content_hash: &str) -> String {
        format!(
            "{}-mycnf-{}",
            self.cluster,
            &content_hash[..10.min(content_hash.len())]
        )
    }

    /// The ConfigMap with the operator's CA.
    #[must_use]
    pub fn ca(&self) -> String {
        format!("{}-remora-ca", self.cluster)
    }

    /// Labels of every object of the cluster.
    #[must_use]
    pub fn labels(&self) -> BTreeMap<String, String> {
        [
            ("app.kubernetes.io/name", "remora-mysql"),
            ("app.kubernetes.io/instance", self.cluster.as_str()),
            (MANAGED_BY, OPERATOR),
            (CLUSTER, self.cluster.as_str()),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
    }

    /// Labels of every object of one shard.
    #[must_use]
    pub fn shard_labels(&self, shard: u16) -> BTreeMap<String, String> {
        let mut labels = self.labels();
        labels.insert(SHARD.to_owned(), shard.to_string());
        labels
    }

    /// The labels by which a shard's pods are selected. A StatefulSet's selector is immutable.
    #[must_use]
    pub fn shard_selector(&self, shard: u16) -> BTreeMap<String, String> {
        [(CLUSTER, self.cluster.clone()), (SHARD, shard.to_string())]
            .map(|(name, value)| (name.to_owned(), value))
            .into()
    }

    /// The labels by which all MySQL pods are selected.
    #[must_use]
    pub fn selector(&self) -> BTreeMap<String, String> {
        [(CLUSTER.to_owned(), self.cluster.clone())].into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_tells_its_shard() {
        let names = Names::new("default", "shop");
        assert_eq!(names.shard_of_pod("shop-12-0"), Some(12));
        for other in [
            "shop-12-1",
            "shop-x-0",
            "shop-012-0",
            "shop-0",
            "shopping-1-0",
            "shop",
        ] {
            assert_eq!(names.shard_of_pod(other), None, "{other}");
        }
    }

    #[test]
    fn the_longest_name_fits() {
        let names = Names::new("default", &"a".repeat(remora_crds::MAX_CLUSTER_NAME));
        assert_eq!(names.shard(255).len(), 52);
        assert!(names.pod(255).len() <= 63);
    }
}
