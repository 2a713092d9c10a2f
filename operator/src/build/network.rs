//! The NetworkPolicy, where the chart asks for one.

use k8s_openapi::api::networking::v1::{
    NetworkPolicy, NetworkPolicyIngressRule, NetworkPolicyPeer, NetworkPolicyPort,
    NetworkPolicySpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, OwnerReference};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::owned;
use crate::names::{ADMIN_PORT, INJECT, MYSQL_PORT, Names, SERVER_PORT};

/// mysqld is reached by sidecars and by the cluster's other MySQL pods; gateways, probes and
/// metrics by everybody. Policies are made for each cluster, wherever it lives: they have no
/// form for all namespaces.
pub(super) fn policy(names: &Names, owner: &OwnerReference) -> NetworkPolicy {
    let sidecars = NetworkPolicyPeer {
        namespace_selector: Some(LabelSelector::default()),
        pod_selector: Some(labelled(INJECT, "true")),
        ..NetworkPolicyPeer::default()
    };
    // All pods of such a namespace may have been injected, and bear no label of their own.
    let namespaces = NetworkPolicyPeer {
        namespace_selector: Some(labelled(INJECT, "enabled")),
        ..NetworkPolicyPeer::default()
    };
    let servers = NetworkPolicyPeer {
        pod_selector: Some(selector(names)),
        ..NetworkPolicyPeer::default()
    };
    NetworkPolicy {
        metadata: owned(names, owner, names.gateway()),
        spec: Some(NetworkPolicySpec {
            pod_selector: Some(selector(names)),
            policy_types: Some(vec!["Ingress".to_owned()]),
            ingress: Some(vec![
                NetworkPolicyIngressRule {
                    ports: Some(vec![port(SERVER_PORT)]),
                    from: Some(vec![sidecars, namespaces, servers]),
                },
                NetworkPolicyIngressRule {
                    ports: Some(vec![port(MYSQL_PORT), port(ADMIN_PORT)]),
                    from: None,
                },
            ]),
            egress: None,
        }),
    }
}

fn selector(names: &Names) -> LabelSelector {
    LabelSelector {
        match_labels: Some(names.selector()),
        ..LabelSelector::default()
    }
}

fn labelled(key: &str, value: &str) -> LabelSelector {
    LabelSelector {
        match_labels: Some([(key.to_owned(), value.to_owned())].into()),
        ..LabelSelector::default()
    }
}

fn port(port: i32) -> NetworkPolicyPort {
    NetworkPolicyPort {
        port: Some(IntOrString::Int(port)),
        ..NetworkPolicyPort::default()
    }
}
