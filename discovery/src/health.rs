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
    /// Whether the server holds rows.
    pub data: ServerData,
    /// Its part in replication; `None` from an agent that knows no replicas.
    pub replication: Option<ReplicationHealth>,
}

/// Whether a server holds rows.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ServerData {
    /// Not looked at yet.
    #[default]
    Unknown,
    /// It was just initialised: it has no layout row.
    Empty,
    /// It has a layout row.
    Held,
}

/// A server's part in replication.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ReplicationHealth {
    /// Its number among the shard's instances.
    pub ordinal: u8,
    /// Whether it was ordered to take writes.
    pub primary: bool,
    /// MySQL's own identity of the server.
    pub server_uuid: String,
    /// A replica's threads both run: it receives and applies what the primary commits.
    pub following: bool,
    /// Its data is being replaced by the primary's.
    pub cloning: bool,
    /// Transactions that the primary does not have; empty: none. Such a replica follows nobody
    /// and is not to be read.
    pub errant: String,
    /// Primary: how many replicas a commit waits for now.
    pub acknowledgements: u8,
}

impl From<&AgentHealth> for proto::AgentHealth {
    fn from(agent: &AgentHealth) -> Self {
        let data = match agent.data {
            ServerData::Unknown => proto::ServerData::Unspecified,
            ServerData::Empty => proto::ServerData::Empty,
            ServerData::Held => proto::ServerData::Held,
        };
        Self {
            mysqld: agent.mysqld,
            bootstrapped: agent.bootstrapped,
            reason: agent.reason.clone(),
            least_epoch: agent.least_epoch,
            refused_layout: agent.refused_layout.clone(),
            judged_layout: agent.judged_layout.clone(),
            data: data.into(),
            replication: agent
                .replication
                .as_ref()
                .map(|replication| proto::ReplicationHealth {
                    ordinal: replication.ordinal.into(),
                    primary: replication.primary,
                    server_uuid: replication.server_uuid.clone(),
                    following: replication.following,
                    cloning: replication.cloning,
                    errant: replication.errant.clone(),
                    acknowledgements: replication.acknowledgements.into(),
                }),
        }
    }
}

impl From<proto::AgentHealth> for AgentHealth {
    fn from(agent: proto::AgentHealth) -> Self {
        let data = match agent.data() {
            proto::ServerData::Unspecified => ServerData::Unknown,
            proto::ServerData::Empty => ServerData::Empty,
            proto::ServerData::Held => ServerData::Held,
        };
        Self {
            mysqld: agent.mysqld,
            bootstrapped: agent.bootstrapped,
            reason: agent.reason,
            least_epoch: agent.least_epoch,
            refused_layout: agent.refused_layout,
            judged_layout: agent.judged_layout,
            data,
            replication: agent.replication.map(|replication| ReplicationHealth {
                // A shard has no more than nine; a number beyond is nobody's.
                ordinal: replication.ordinal.try_into().unwrap_or(u8::MAX),
                primary: replication.primary,
                server_uuid: replication.server_uuid,
                following: replication.following,
                cloning: replication.cloning,
                errant: replication.errant,
                acknowledgements: replication.acknowledgements.try_into().unwrap_or(u8::MAX),
            }),
        }
    }
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
            agent: self.agent.as_ref().map(Into::into),
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
            agent: report.agent.map(Into::into),
        }
    }
}
