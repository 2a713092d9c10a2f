//! How many connections to each MySQL server each sidecar may have. Pure.
//!
//! Every sidecar may connect to every server of its cluster, and all servers are configured alike:
//! so one number for a cluster is enough.

use remora_crds::{GeneratedKeyKind, ShardingClusterSpec};

use crate::build;

/// The agent beside the server: what it looks with, what it acts with, and what it looks after
/// left transactions with.
const AGENT: u32 = 4;
/// The supervisor's probes, of which a slow one may meet the next.
const PROBES: u32 = 2;
/// People, backups (`mysqldump`) and exporters of metrics. MySQL's own place for an administrator,
/// and its administrative port, come on top of `max_connections`.
const PEOPLE: u32 = 5;
/// Sidecars open connections of their own account beside the one that they keep, for a moment:
/// lost transactions, sequences, logins of accounts that only MySQL knows.
const MOMENTARY: u32 = 10;
/// Each replica receives the binary log by one.
const RECEIVER: u32 = 1;
/// A replica that is copied has two more to the server that it is copied from.
const CLONING: u32 = 2;
/// What each sidecar keeps open for itself: catalog, layout and sequences.
const SYSTEM: u32 = 1;
/// The same, to see how servers are.
const MONITOR: u32 = 1;
/// The same, which holds the sidecar's number in keys of type Snowflake.
const NODE: u32 = 1;
/// A sidecar with fewer cannot share them among its clients in a useful way: one transaction and
/// everybody else waits.
const LEAST: u32 = 2;
/// How many sidecars a gateway counts for: whoever has no sidecar comes through it, many clients
/// at a time.
const GATEWAY_WEIGHT: u32 = 4;

/// The shares of a cluster.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Shares {
    /// Of each application's sidecar. `None`: there are too many of them, and each goes through a
    /// gateway.
    pub application: Option<u32>,
    /// Of each MySQL pod's.
    pub gateway: u32,
}

impl Shares {
    /// What of each server's connections each of `applications` sidecars gets.
    #[must_use]
    pub fn of(spec: &ShardingClusterSpec, applications: u32) -> Self {
        let gateways = u32::from(spec.shards) * u32::from(spec.instances_per_shard);
        let gateways = gateways.max(1);
        let own = own(spec);
        let budget = budget(spec);
        let parts = gateways
            .saturating_mul(GATEWAY_WEIGHT)
            .saturating_add(applications);
        let each = (budget / parts).saturating_sub(own);
        // One that has no client yet has none of its own either, so that whoever goes through
        // gateways leaves everything to them.
        let alone = (budget / gateways).saturating_sub(own).max(1);
        if each < LEAST {
            return Self {
                application: None,
                gateway: alone,
            };
        }
        let rest = budget - applications.saturating_mul(each + own);
        Self {
            application: Some(each),
            gateway: (rest / gateways).saturating_sub(own).max(1),
        }
    }
}

/// What a sidecar has beside those that its clients share.
fn own(spec: &ShardingClusterSpec) -> u32 {
    let watched = spec.reads.is_some() || spec.resilience.is_some() || spec.replicas() > 0;
    let mut generated = spec
        .tables
        .iter()
        .filter_map(|it| it.generated_key.as_ref());
    let numbered = generated.any(|key| key.kind == GeneratedKeyKind::Snowflake);
    SYSTEM + if watched { MONITOR } else { 0 } + if numbered { NODE } else { 0 }
}

/// What sidecars may have of a server's connections.
fn budget(spec: &ShardingClusterSpec) -> u32 {
    let replicas: u32 = spec.replicas().into();
    let replication = match replicas {
        0 => 0,
        _ => replicas * RECEIVER + CLONING,
    };
    let reserve = AGENT + PROBES + PEOPLE + MOMENTARY + replication;
    let most = build::max_connections(spec);
    // Where there are hardly any, the reserve must not take them all.
    most.saturating_sub(reserve).max(most / 2)
}

/// The number to count with for `count` sidecars: the next step of a scale with steps of a quarter,
/// so that one pod more does not change what everybody is told.
#[must_use]
pub fn step(count: u32) -> u32 {
    let mut step = 4_u32;
    while step < count {
        step = step.saturating_add(step / 4);
    }
    step
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

    use super::*;
    use crate::fixtures::shop;

    /// A cluster with one server, of so many connections.
    fn spec(max_connections: i32) -> ShardingClusterSpec {
        let mut spec = shop().spec;
        spec.shards = 1;
        spec.reads = None;
        spec.resilience = None;
        spec.mysql.config.insert(
            "max_connections".to_owned(),
            IntOrString::Int(max_connections),
        );
        spec
    }

    /// What all of them have at most, together.
    fn total(spec: &ShardingClusterSpec, applications: u32) -> u32 {
        let shares = Shares::of(spec, applications);
        let gateways = u32::from(spec.shards) * u32::from(spec.instances_per_shard);
        let own = own(spec);
        let of_applications = shares.application.map_or(0, |share| share + own);
        applications * of_applications + gateways * (shares.gateway + own)
    }

    #[test]
    fn five_hundred_sidecars_go_through_the_gateway_of_a_server_with_two_hundred() {
        let shares = Shares::of(&spec(200), 500);
        // 200, less 21 in reserve, less the gateway's own one.
        let expected = Shares {
            application: None,
            gateway: 178,
        };
        assert_eq!(shares, expected);
    }

    #[test]
    fn few_sidecars_have_a_share_each_and_gateways_have_more() {
        // 979 over 20 sidecars and one gateway that counts for 4: 40 each, one of them its own.
        let expected = Shares {
            application: Some(39),
            gateway: 178,
        };
        assert_eq!(Shares::of(&spec(1000), 20), expected);
    }

    #[test]
    fn nobody_gets_a_share_of_one() {
        let spec = spec(200);
        let direct = |applications| Shares::of(&spec, applications).application;
        // Each has one for itself: 179 over 55 + 4 is 3, over 56 + 4 it is 2.
        assert_eq!([direct(55), direct(56)], [Some(2), None]);
    }

    #[test]
    fn together_they_never_have_more_than_there_are() {
        for most in [10, 30, 151, 200, 1000, 5000] {
            let mut spec = spec(most);
            for (shards, instances) in [(1, 1), (4, 1), (2, 3)] {
                (spec.shards, spec.instances_per_shard) = (shards, instances);
                let gateways = u32::from(shards) * u32::from(instances);
                for applications in [0, 1, 7, 55, 56, 100, 500, 10_000] {
                    let total = total(&spec, applications);
                    // A gateway has one for its clients and those of its own in any case.
                    let least = gateways * (1 + own(&spec));
                    assert!(
                        total <= budget(&spec).max(least),
                        "{applications} over {most}: {total}"
                    );
                }
            }
        }
    }

    #[test]
    fn replicas_and_watching_cost_connections() {
        let mut spec = spec(200);
        let alone = Shares::of(&spec, 4);
        spec.instances_per_shard = 3;
        // 175 over 4 sidecars and 3 gateways, two of each are their own.
        let expected = Shares {
            application: Some(8),
            gateway: 43,
        };
        assert_eq!(Shares::of(&spec, 4), expected);
        assert_ne!(alone, expected);
    }

    #[test]
    fn counts_go_by_steps_of_a_quarter() {
        let steps = [0, 4, 5, 9, 100, 122, 500].map(step);
        assert_eq!(steps, [4, 4, 5, 10, 121, 151, 571]);
        assert!((0..5000).all(|count| step(count) >= count && step(count) <= count.max(3) * 4 / 3));
    }
}
