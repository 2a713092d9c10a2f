//! Who may use a cluster: `spec.access`. Pure; the injector and discovery both ask it, so that
//! a pod which was made around the webhook still gets no snapshot.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use remora_crds::{Access, ShardingClusterSpec};

/// The pod that asks.
#[derive(Clone, Copy, Debug)]
pub struct Applicant<'a> {
    /// Its namespace.
    pub namespace: &'a str,
    /// The labels of its namespace.
    pub namespace_labels: &'a BTreeMap<String, String>,
    /// Its service account.
    pub service_account: &'a str,
}

/// The users of `spec` that `applicant` may log in as, in the manifest's order. `None`: it may
/// not use the cluster, which lives in `namespace`, at all.
///
/// Without `spec.access` the cluster's own namespace is granted, with all users.
pub fn granted_users<'a>(
    spec: &'a ShardingClusterSpec,
    namespace: &str,
    applicant: Applicant<'_>,
) -> Option<Vec<&'a str>> {
    let users = spec.users.iter().map(|user| user.name.as_str());
    granted(spec, namespace, applicant, users, |access| &access.users)
}

/// The keys of encrypted columns that `applicant`'s sidecar gets, likewise.
pub fn granted_keys<'a>(
    spec: &'a ShardingClusterSpec,
    namespace: &str,
    applicant: Applicant<'_>,
) -> Option<Vec<&'a str>> {
    let keys = spec.encryption.iter().flat_map(|it| &it.keys);
    let names = keys.map(|key| key.name.as_str());
    granted(spec, namespace, applicant, names, |access| &access.keys)
}

/// Those of `names` that some entry for the applicant lists; an entry that lists none means all.
fn granted<'a>(
    spec: &ShardingClusterSpec,
    namespace: &str,
    applicant: Applicant<'_>,
    names: impl Iterator<Item = &'a str>,
    listed: impl Fn(&Access) -> &[String],
) -> Option<Vec<&'a str>> {
    let own = [Access::default()];
    let access = if spec.access.is_empty() {
        own.as_slice()
    } else {
        &spec.access
    };
    let grants: Vec<&[String]> = access
        .iter()
        .filter(|access| matches(access, namespace, applicant))
        .map(listed)
        .collect();
    if grants.is_empty() {
        return None;
    }
    let holds = |name: &&str| {
        let lists = |grant: &&[String]| grant.is_empty() || grant.iter().any(|it| it == name);
        grants.iter().any(lists)
    };
    Some(names.filter(holds).collect())
}

fn matches(access: &Access, namespace: &str, applicant: Applicant<'_>) -> bool {
    let in_namespace = match &access.namespace_selector {
        None => applicant.namespace == namespace,
        Some(selector) => selects(selector, applicant.namespace_labels),
    };
    in_namespace
        && (access.service_accounts.is_empty()
            || access
                .service_accounts
                .iter()
                .any(|name| name == applicant.service_account))
}

/// Kubernetes' label selector: all of `matchLabels` and all of `matchExpressions`.
fn selects(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    let by_labels = selector
        .match_labels
        .iter()
        .flatten()
        .all(|(key, value)| labels.get(key) == Some(value));
    by_labels
        && selector
            .match_expressions
            .iter()
            .flatten()
            .all(|requirement| meets(requirement, labels))
}

/// An operator that is none of Kubernetes' four selects nothing: to grant by mistake is worse.
fn meets(requirement: &LabelSelectorRequirement, labels: &BTreeMap<String, String>) -> bool {
    let value = labels.get(&requirement.key);
    let listed = |value: &String| requirement.values.iter().flatten().any(|v| v == value);
    match requirement.operator.as_str() {
        "In" => value.is_some_and(listed),
        "NotIn" => !value.is_some_and(listed),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(access: &str) -> ShardingClusterSpec {
        serde_saphyr::from_str(&format!(
            "{{shards: 2, database: shop, users: [{{name: app}}, {{name: report}}], access: {access}}}"
        ))
        .unwrap()
    }

    fn users(
        access: &str,
        namespace: &str,
        labels: &[(&str, &str)],
        account: &str,
    ) -> Option<Vec<String>> {
        let labels = labels
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect();
        let applicant = Applicant {
            namespace,
            namespace_labels: &labels,
            service_account: account,
        };
        granted_users(&spec(access), "data", applicant)
            .map(|users| users.into_iter().map(str::to_owned).collect())
    }

    fn named(names: &[&str]) -> Option<Vec<String>> {
        Some(names.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn without_access_only_the_clusters_own_namespace_is_granted() {
        assert_eq!(
            users("[]", "data", &[], "default"),
            named(&["app", "report"])
        );
        assert_eq!(users("[]", "web", &[], "default"), None);
    }

    #[test]
    fn an_entry_without_a_selector_means_the_clusters_own_namespace() {
        let access = "[{serviceAccounts: [shop]}]";
        assert_eq!(
            users(access, "data", &[], "shop"),
            named(&["app", "report"])
        );
        assert_eq!(users(access, "data", &[], "default"), None);
        assert_eq!(users(access, "web", &[], "shop"), None);
    }

    #[test]
    fn entries_add_up() {
        let access = "[{namespaceSelector: {matchLabels: {team: web}}, users: [app]}, \
                       {namespaceSelector: {}, serviceAccounts: [report], users: [report]}]";
        assert_eq!(
            users(access, "web", &[("team", "web")], "default"),
            named(&["app"])
        );
        assert_eq!(
            users(access, "web", &[("team", "web")], "report"),
            named(&["app", "report"])
        );
        assert_eq!(users(access, "other", &[], "report"), named(&["report"]));
        assert_eq!(users(access, "other", &[], "default"), None);
    }

    #[test]
    fn keys_are_granted_as_users_are() {
        let keys = |access: &str, account: &str| {
            let spec: ShardingClusterSpec = serde_saphyr::from_str(&format!(
                "{{shards: 2, database: shop, access: {access}, encryption: {{keys: [\
                 {{name: mobile, secretRef: {{name: k}}}}, {{name: card, secretRef: {{name: k}}}}]}}}}"
            ))
            .unwrap();
            let labels = BTreeMap::new();
            let applicant = Applicant {
                namespace: "data",
                namespace_labels: &labels,
                service_account: account,
            };
            granted_keys(&spec, "data", applicant)
                .map(|keys| keys.into_iter().map(str::to_owned).collect::<Vec<_>>())
        };
        assert_eq!(keys("[]", "default"), named(&["mobile", "card"]));
        let access = "[{serviceAccounts: [shop], keys: [mobile]}, {serviceAccounts: [audit]}]";
        assert_eq!(keys(access, "shop"), named(&["mobile"]));
        assert_eq!(keys(access, "audit"), named(&["mobile", "card"]));
        assert_eq!(keys(access, "other"), None);
    }

    #[test]
    fn expressions_select_as_kubernetes_does() {
        let select = |expression: &str, labels: &[(&str, &str)]| {
            let access = format!("[{{namespaceSelector: {{matchExpressions: [{expression}]}}}}]");
            users(&access, "web", labels, "default").is_some()
        };
        assert!(select(
            "{key: a, operator: In, values: [x, y]}",
            &[("a", "y")]
        ));
        assert!(!select("{key: a, operator: In, values: [x, y]}", &[]));
        assert!(select("{key: a, operator: NotIn, values: [x]}", &[]));
        assert!(!select(
            "{key: a, operator: NotIn, values: [x]}",
            &[("a", "x")]
        ));
        assert!(select("{key: a, operator: Exists}", &[("a", "")]));
        assert!(select("{key: a, operator: DoesNotExist}", &[]));
        assert!(!select("{key: a, operator: Near}", &[("a", "x")]));
    }
}
