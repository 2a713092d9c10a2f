//! What an agent is told to make sure of, and its way over the wire.

use std::fmt;

use remora_crds::Credentials;

use crate::proto;
use crate::snapshot::{MalformedSnapshot, credentials_in, credentials_out, narrow};
use crate::trust::GatewayCertificate;

/// What the agent of one MySQL server makes sure of.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentOrders {
    /// The server's shard.
    pub shard: u16,
    /// Accounts that exist, with these passwords and rights.
    pub accounts: Vec<Account>,
    /// What the shard's row in `remora.layout` says.
    pub layout: LayoutOrder,
    /// What the gateway in the same pod shows its clients; `None`: it makes its own.
    pub gateway: Option<GatewayCertificate>,
    /// What the server is among its shard's instances; `None`: its only one, of an operator that
    /// knows no replicas.
    pub replication: Option<ReplicationOrder>,
}

/// What a server is among its shard's instances.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplicationOrder {
    /// Its number; 0 is the primary for as long as nothing is promoted.
    pub ordinal: u8,
    /// What it is for.
    pub part: Part,
    /// The account by which replicas come to the primary.
    pub account: Credentials,
}

/// What a server is for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Part {
    /// It takes writes.
    Primary {
        /// Whether it may begin with an empty server. Where the shard held rows it may not: an
        /// empty one has lost them.
        may_begin: bool,
        /// How many replicas acknowledge a commit before the client hears of it; 0: none.
        acknowledgements: u8,
    },
    /// It follows the primary there.
    Replica {
        /// The primary's host name.
        host: String,
        /// Its port.
        port: u16,
    },
}

/// An account of a MySQL server.
#[derive(Clone, PartialEq)]
pub struct Account {
    /// Its name.
    pub name: String,
    /// Its password.
    pub password: String,
    /// Its host part: `%` or `localhost`.
    pub host: String,
    /// Each stands between `GRANT` and `TO`.
    pub grants: Vec<String>,
    /// Each stands between `REVOKE` and `FROM`.
    pub revokes: Vec<String>,
    /// It logs in by TLS alone.
    pub require_ssl: bool,
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account")
            .field("name", &self.name)
            .field("host", &self.host)
            .finish_non_exhaustive()
    }
}

/// What a shard's row in `remora.layout` says.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LayoutOrder {
    /// The UID of the cluster that the rows belong to.
    pub cluster_uid: String,
    /// [`remora_crds::LayoutDocument::fingerprint`].
    pub fingerprint: String,
    /// [`remora_crds::LayoutDocument::to_json`].
    pub document: String,
}

pub(crate) fn orders_out(orders: &AgentOrders) -> proto::AgentOrders {
    let account = |account: &Account| proto::Account {
        name: account.name.clone(),
        password: account.password.clone(),
        host: account.host.clone(),
        grants: account.grants.clone(),
        revokes: account.revokes.clone(),
        require_ssl: account.require_ssl,
    };
    proto::AgentOrders {
        shard: orders.shard.into(),
        accounts: orders.accounts.iter().map(account).collect(),
        layout: Some(proto::LayoutOrder {
            cluster_uid: orders.layout.cluster_uid.clone(),
            fingerprint: orders.layout.fingerprint.clone(),
            document: orders.layout.document.clone(),
        }),
        gateway: orders.gateway.as_ref().map(Into::into),
        replication: orders.replication.as_ref().map(replication_out),
    }
}

fn replication_out(order: &ReplicationOrder) -> proto::ReplicationOrder {
    let common = proto::ReplicationOrder {
        ordinal: order.ordinal.into(),
        account: Some(credentials_out(&order.account)),
        ..proto::ReplicationOrder::default()
    };
    match &order.part {
        Part::Primary {
            may_begin,
            acknowledgements,
        } => proto::ReplicationOrder {
            primary: true,
            may_begin: *may_begin,
            acknowledgements: (*acknowledgements).into(),
            ..common
        },
        Part::Replica { host, port } => proto::ReplicationOrder {
            source_host: host.clone(),
            source_port: (*port).into(),
            ..common
        },
    }
}

pub(crate) fn orders_in(orders: proto::AgentOrders) -> Result<AgentOrders, MalformedSnapshot> {
    let account = |account: proto::Account| Account {
        name: account.name,
        password: account.password,
        host: account.host,
        grants: account.grants,
        revokes: account.revokes,
        require_ssl: account.require_ssl,
    };
    let layout = orders.layout.unwrap_or_default();
    Ok(AgentOrders {
        shard: narrow(orders.shard, "agent.shard")?,
        accounts: orders.accounts.into_iter().map(account).collect(),
        layout: LayoutOrder {
            cluster_uid: layout.cluster_uid,
            fingerprint: layout.fingerprint,
            document: layout.document,
        },
        gateway: orders.gateway.map(Into::into),
        replication: orders.replication.map(replication_in).transpose()?,
    })
}

fn replication_in(order: proto::ReplicationOrder) -> Result<ReplicationOrder, MalformedSnapshot> {
    let part = if order.primary {
        Part::Primary {
            may_begin: order.may_begin,
            acknowledgements: narrow(order.acknowledgements, "agent.replication.acknowledgements")?,
        }
    } else {
        Part::Replica {
            host: order.source_host,
            port: narrow(order.source_port, "agent.replication.sourcePort")?,
        }
    };
    Ok(ReplicationOrder {
        ordinal: narrow(order.ordinal, "agent.replication.ordinal")?,
        part,
        account: credentials_in(order.account.unwrap_or_default()),
    })
}
