//! How a sidecar fares, as it reports.

use crate::{Identity, Trust, proto};

/// How a sidecar fares.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Health {
    /// The listener accepts.
    pub ready: bool,
    /// The snapshot in force.
    pub in_force: Option<Identity>,
    /// Shards whose primary does not answer, and why.
    pub unreachable: Vec<(u16, String)>,
    /// The certificates that it trusts and shows.
    pub trust: Trust,
    /// From the agent of a MySQL server only.
    pub agent: Option<AgentHealth>,
}

/// How a MySQL server and its agent fare.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct AgentHealth {
    /// mysqld answers.
    pub mysqld: bool,
    /// Accounts, schemas and layout are as ordered.
    pub bootstrapped: bool,
    /// Why they are not.
    pub reason: String,
    /// The lowest epoch that the shard takes: that of its layout row; one more when the row was
    /// written for another UID, since a cluster that is made again starts above the old one.
    pub least_epoch: u64,
    /// What of the ordered layout the rows forbid, by the manifest's fields; empty: nothing. The
    /// shard serves the layout that it holds.
    pub refused_layout: String,
    /// The fingerprint of the ordered layout of which `refused_layout` speaks; empty: none was
    /// compared with the rows yet.
    pub judged_layout: String,
}

impl Health {
    pub(crate) fn to_request(
        &self,
        namespace: &str,
        cluster: &str,
        version: &str,
    ) -> proto::ReportRequest {
        let in_force = self.in_force.clone().unwrap_or_default();
        proto::ReportRequest {
            namespace: namespace.to_owned(),
            cluster: cluster.to_owned(),
            version: version.to_owned(),
            ready: self.ready,
            cluster_uid: in_force.uid,
            epoch: in_force.epoch,
            content_hash: in_force.content_hash,
            unreachable: self
                .unreachable
                .iter()
                .map(|(shard, reason)| proto::Unreachable {
                    shard: (*shard).into(),
                    reason: reason.clone(),
                })
                .collect(),
            trust: Some((&self.trust).into()),
            agent: self.agent.as_ref().map(|agent| proto::AgentHealth {
                mysqld: agent.mysqld,
                bootstrapped: agent.bootstrapped,
                reason: agent.reason.clone(),
                least_epoch: agent.least_epoch,
                refused_layout: agent.refused_layout.clone(),
                judged_layout: agent.judged_layout.clone(),
            }),
        }
    }
}

impl From<proto::ReportRequest> for Health {
    fn from(report: proto::ReportRequest) -> Self {
        let in_force = Identity {
            uid: report.cluster_uid,
            epoch: report.epoch,
            content_hash: report.content_hash,
        };
        Self {
            ready: report.ready,
            in_force: (!in_force.uid.is_empty()).then_some(in_force),
            unreachable: report
                .unreachable
                .into_iter()
                .filter_map(|entry| Some((entry.shard.try_into().ok()?, entry.reason)))
                .collect(),
            trust: report.trust.map(Trust::from).unwrap_or_default(),
            agent: report.agent.map(|agent| AgentHealth {
                mysqld: agent.mysqld,
                bootstrapped: agent.bootstrapped,
                reason: agent.reason,
                least_epoch: agent.least_epoch,
                refused_layout: agent.refused_layout,
                judged_layout: agent.judged_layout,
            }),
        }
    }
}
