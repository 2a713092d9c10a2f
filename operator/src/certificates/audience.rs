//! The pods that must trust a CA before it issues, and forget another before that one may go.
//! Pure, but for [`gather`].

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Container, Pod};
use kube::api::ListParams;
use kube::{Client, ResourceExt};
use remora_discovery::{Fingerprint, Trust as Told, fingerprints};

use crate::build::SIDECAR_CONTAINER;
use crate::injector::CA_ANNOTATION;
use crate::names::{INJECT, Names};
use crate::watched::Scope;

/// Where a sidecar is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Place {
    /// In an application's pod.
    Application,
    /// In the MySQL pod of a shard.
    Server(u16),
}

/// A pod with a sidecar of ours that runs, or will.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Member {
    /// The pod's namespace.
    pub namespace: String,
    /// Its name.
    pub pod: String,
    /// Its UID.
    pub uid: String,
    /// As whom it runs.
    pub service_account: String,
    /// The cluster that it follows.
    pub cluster: Names,
    /// What the sidecar is for.
    pub place: Place,
    /// The CAs that an application's pod was given.
    pub bundle: String,
    /// The sidecar has not run yet: it will begin with what it finds then.
    pub starting: bool,
    /// What it told lately.
    pub told: Option<Told>,
}

impl Member {
    /// The view of `pod`, if it has a sidecar that follows the operator at `discovery`.
    #[must_use]
    pub fn of(pod: &Pod, discovery: &str) -> Option<Self> {
        let spec = pod.spec.as_ref()?;
        let sidecar = spec.init_containers.as_ref()?;
        let sidecar = sidecar.iter().find(|one| one.name == SIDECAR_CONTAINER)?;
        // Another release's operator has pods of its own.
        if variable(sidecar, "REMORA_DISCOVERY")? != discovery {
            return None;
        }
        let status = pod.status.as_ref();
        let phase = status.and_then(|status| status.phase.as_deref());
        if matches!(phase, Some("Succeeded" | "Failed")) {
            return None;
        }
        let (namespace, cluster) = variable(sidecar, "REMORA_CLUSTER")?.split_once('/')?;
        let cluster = Names::new(namespace, cluster);
        let place = match variable(sidecar, "REMORA_ROLE")? {
            "agent" => {
                let shard = pod.labels().get(crate::names::SHARD)?;
                Place::Server(shard.parse().ok()?)
            }
            _ => Place::Application,
        };
        let containers = status.and_then(|status| status.init_container_statuses.as_ref());
        let started = containers.into_iter().flatten().any(|container| {
            let state = container.state.as_ref();
            container.name == SIDECAR_CONTAINER
                && (container.restart_count > 0
                    || state.is_some_and(|state| state.running.is_some()))
        });
        Some(Self {
            namespace: pod.namespace().unwrap_or_default(),
            pod: pod.name_any(),
            uid: pod.uid().unwrap_or_default(),
            service_account: spec.service_account_name.clone().unwrap_or_default(),
            cluster,
            place,
            bundle: pod
                .annotations()
                .get(CA_ANNOTATION)
                .cloned()
                .unwrap_or_default(),
            starting: !started,
            told: None,
        })
    }

    fn trusts(&self, ca: &Fingerprint) -> bool {
        if self.starting {
            // The files of a MySQL pod come from objects that were applied before this is asked.
            return match self.place {
                Place::Application => fingerprints(self.bundle.as_bytes()).contains(ca),
                Place::Server(_) => true,
            };
        }
        let Some(told) = &self.told else {
            return false;
        };
        // One that knows no server yet will be told of them and of their CA at once.
        let servers = told.servers.is_empty() || told.servers.contains(ca);
        let replication = match self.place {
            Place::Application => true,
            Place::Server(_) => told
                .server
                .as_ref()
                .is_some_and(|server| server.trusted.contains(ca)),
        };
        told.operator.contains(ca) && servers && replication
    }

    /// As people name it.
    #[must_use]
    pub fn name(&self) -> String {
        format!("pod {}/{}", self.namespace, self.pod)
    }
}

/// All such pods, as they were seen last.
#[derive(Clone, Debug, Default)]
pub struct Audience {
    /// `None`: nobody looked yet.
    members: Option<Vec<Member>>,
}

impl Audience {
    /// These pods.
    #[must_use]
    pub fn new(members: Vec<Member>) -> Self {
        Self {
            members: Some(members),
        }
    }

    fn members(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().flatten()
    }

    /// The pods that do not trust `ca` yet.
    #[must_use]
    pub fn without(&self, ca: &Fingerprint) -> Vec<String> {
        let behind = self.members().filter(|member| !member.trusts(ca));
        behind.map(Member::name).collect()
    }

    /// Whether every pod that follows the cluster trusts `ca`.
    #[must_use]
    pub fn all_trust(&self, cluster: &Names, ca: &Fingerprint) -> bool {
        let mut followers = self.members().filter(|member| member.cluster == *cluster);
        self.members.is_some() && followers.all(|member| member.trusts(ca))
    }

    /// Whether every server of the shard shows `certificate`.
    #[must_use]
    pub fn servers_show(&self, cluster: &Names, shard: u16, certificate: &Fingerprint) -> bool {
        let shown = |told: &Told| {
            let server = told.server.as_ref();
            server.and_then(|server| server.shown.clone())
        };
        let place = Place::Server(shard);
        self.show(cluster, |member| member.place == place, certificate, shown)
    }

    /// Whether every gateway of the cluster shows `certificate`.
    #[must_use]
    pub fn gateways_show(&self, cluster: &Names, certificate: &Fingerprint) -> bool {
        let server = |member: &Member| member.place != Place::Application;
        self.show(cluster, server, certificate, |told| told.shown.clone())
    }

    fn show(
        &self,
        cluster: &Names,
        concerns: impl Fn(&Member) -> bool,
        certificate: &Fingerprint,
        shown: impl Fn(&Told) -> Option<Fingerprint>,
    ) -> bool {
        let mut concerned = self
            .members()
            .filter(|member| member.cluster == *cluster && concerns(member) && !member.starting);
        self.members.is_some()
            && concerned.all(|member| {
                let told = member.told.as_ref().and_then(&shown);
                told.as_ref() == Some(certificate)
            })
    }

    /// The applications' pods that were given other CAs than `bundle`.
    pub fn outdated(&self, bundle: &str) -> impl Iterator<Item = &Member> {
        self.members()
            .filter(move |member| member.place == Place::Application && member.bundle != bundle)
    }
}

/// Asks the apiserver for the pods with a sidecar that follows the operator at `discovery`.
///
/// # Errors
/// Those of the apiserver.
pub(super) async fn gather(
    client: &Client,
    scope: &Scope,
    discovery: &str,
) -> kube::Result<Vec<Member>> {
    let mut seen = BTreeSet::new();
    let mut members = Vec::new();
    for pods in scope.apis::<Pod>(client) {
        // MySQL pods have the label too, so that nobody else gives them a sidecar.
        let found = pods.list(&ListParams::default().labels(INJECT)).await?;
        members.extend(found.iter().filter_map(|pod| Member::of(pod, discovery)));
    }
    members.retain(|member| seen.insert(member.uid.clone()));
    Ok(members)
}

fn variable<'a>(container: &'a Container, name: &str) -> Option<&'a str> {
    let variables = container.env.as_ref()?;
    let found = variables.iter().find(|variable| variable.name == name)?;
    found.value.as_deref()
}

#[cfg(test)]
mod tests {
    use remora_discovery::ServerTls;
    use serde_json::json;

    use super::*;

    fn set(names: &[&str]) -> BTreeSet<Fingerprint> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn member(place: Place, told: Option<Told>) -> Member {
        Member {
            namespace: "shop".to_owned(),
            pod: "p".to_owned(),
            uid: "u".to_owned(),
            service_account: "default".to_owned(),
            cluster: Names::new("shop", "shop"),
            place,
            bundle: String::new(),
            starting: false,
            told,
        }
    }

    fn application(operator: &[&str], servers: &[&str]) -> Member {
        let told = Told {
            operator: set(operator),
            servers: set(servers),
            ..Told::default()
        };
        member(Place::Application, Some(told))
    }

    #[test]
    fn a_ca_is_trusted_once_both_ways_of_every_pod_know_it() {
        let without = |member: Member| Audience::new(vec![member]).without(&"new".to_owned()).len();
        assert_eq!(without(application(&["old", "new"], &["old", "new"])), 0);
        assert_eq!(without(application(&["old", "new"], &["old"])), 1);
        assert_eq!(without(application(&["old"], &["old", "new"])), 1);
        // It has no snapshot yet.
        assert_eq!(without(application(&["old", "new"], &[])), 0);
        // It is silent, or of a version that does not tell.
        assert_eq!(without(member(Place::Application, None)), 1);
        assert_eq!(
            without(member(Place::Application, Some(Told::default()))),
            1
        );
    }

    #[test]
    fn a_server_must_know_it_for_replication_too_and_show_its_certificate() {
        let server = |trusted: &[&str], shown: &str| {
            let told = Told {
                operator: set(&["new"]),
                servers: set(&["new"]),
                shown: Some("gateway".to_owned()),
                server: Some(ServerTls {
                    trusted: set(trusted),
                    shown: Some(shown.to_owned()),
                }),
            };
            Audience::new(vec![member(Place::Server(1), Some(told))])
        };
        let (names, ca, leaf) = (
            Names::new("shop", "shop"),
            "new".to_owned(),
            "leaf".to_owned(),
        );
        assert!(!server(&["old"], "leaf").all_trust(&names, &ca));
        assert!(server(&["old", "new"], "leaf").all_trust(&names, &ca));
        assert!(server(&[], "leaf").servers_show(&names, 1, &leaf));
        assert!(!server(&[], "other").servers_show(&names, 1, &leaf));
        assert!(server(&[], "other").servers_show(&names, 0, &leaf));
        assert!(server(&[], "").gateways_show(&names, &"gateway".to_owned()));
        assert!(!server(&[], "").gateways_show(&names, &leaf));
    }

    #[test]
    fn before_anybody_looked_nobody_trusts_anything() {
        let (nobody, names) = (Audience::default(), Names::new("shop", "shop"));
        let some = "x".to_owned();
        assert!(!nobody.all_trust(&names, &some));
        assert!(!nobody.servers_show(&names, 0, &some));
        assert!(!nobody.gateways_show(&names, &some));
    }

    #[test]
    fn a_pod_is_seen_by_its_sidecar_and_no_other_operators() {
        let pod = |discovery: &str, phase: &str, state: serde_json::Value| -> Pod {
            serde_json::from_value(json!({
                "metadata": {"name": "app-1", "namespace": "shop", "uid": "u",
                    "annotations": {CA_ANNOTATION: "PEM"}},
                "spec": {"serviceAccountName": "default", "containers": [], "initContainers": [{
                    "name": SIDECAR_CONTAINER,
                    "env": [
                        {"name": "REMORA_DISCOVERY", "value": discovery},
                        {"name": "REMORA_CLUSTER", "value": "data/shop"},
                        {"name": "REMORA_ROLE", "value": "application"},
                    ]}]},
                "status": {"phase": phase, "initContainerStatuses": [{
                    "name": SIDECAR_CONTAINER, "state": state, "restartCount": 0,
                    "image": "i", "imageID": "", "ready": true}]},
            }))
            .unwrap()
        };
        let running = json!({"running": {}});
        let seen = Member::of(&pod("d", "Running", running.clone()), "d").unwrap();
        assert_eq!(seen.cluster, Names::new("data", "shop"));
        assert_eq!((seen.bundle.as_str(), seen.starting), ("PEM", false));
        let waiting = Member::of(&pod("d", "Pending", json!({"waiting": {}})), "d").unwrap();
        assert!(waiting.starting);
        assert_eq!(Member::of(&pod("e", "Running", running.clone()), "d"), None);
        assert_eq!(Member::of(&pod("d", "Succeeded", running), "d"), None);
    }
}
