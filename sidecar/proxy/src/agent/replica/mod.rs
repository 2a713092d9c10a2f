//! A replica's agent: observe the own server and the primary, decide (a pure function), act.
//!
//! It writes nothing into the server's rows: whatever a replica has that its primary has not
//! makes it useless. Each round stands alone, so a crash between any two steps is completed by
//! the next one.

mod act;
mod decide;
mod observe;

use std::path::Path;

use remora_crds::{Credentials, Instance, Role};
use remora_discovery::{AgentOrders, Part, Snapshot as Told};

pub(super) use self::act::Copying;
pub(super) use self::decide::State;
use self::decide::{Ordered, Step, decide};
use super::apply::{enter, own_account};
use super::sql::run;
use super::{AgentError, PATIENCE, ServerCertificates};
use crate::backend::BackendConnector;
use crate::snapshot::BackendTls;

/// The primary that is followed, and how it is reached.
pub(super) struct Source {
    connector: BackendConnector,
    primary: Instance,
    account: Credentials,
}

impl Source {
    /// The primary of the orders; `None` if they are not a replica's.
    ///
    /// # Errors
    /// If the certificates by which it is verified are none.
    pub(super) fn of(told: &Told, orders: &AgentOrders) -> Result<Option<Self>, AgentError> {
        let Some(order) = &orders.replication else {
            return Ok(None);
        };
        let Part::Replica { host, port } = &order.part else {
            return Ok(None);
        };
        let tls = match &told.backend_ca {
            Some(pem) => BackendTls::Verified(pem.as_bytes().into()),
            None => BackendTls::Preferred,
        };
        let connector = BackendConnector::new(tls, PATIENCE)
            .map_err(|error| AgentError::Layout(format!("the servers' CA is none: {error}")))?;
        Ok(Some(Self {
            connector,
            primary: Instance {
                host: host.clone(),
                port: *port,
                role: Role::Primary,
                weight: 1,
                socket: None,
            },
            account: order.account.clone(),
        }))
    }
}

/// How a round ended.
pub(super) struct Round {
    /// How the replica fares.
    pub(super) state: State,
    /// MySQL's own identity of the server.
    pub(super) server_uuid: String,
    /// Whether it has a layout row.
    pub(super) holds_rows: bool,
    /// The copy that is to begin, which takes as long as it takes.
    pub(super) copying: Option<Copying>,
}

/// One round. A replica that follows is compared with the primary only when `compare` says so.
///
/// # Errors
/// If mysqld does not answer or refuses.
pub(super) async fn round(
    path: &Path,
    orders: &AgentOrders,
    source: &Source,
    compare: bool,
    certificates: &mut ServerCertificates,
) -> Result<Round, AgentError> {
    let mut backend = enter(path, own_account(orders)?).await?;
    run(&mut backend, "SET sql_mode", "SET SESSION sql_mode = ''").await?;
    certificates.follow(&mut backend).await?;
    let own = observe::own(&mut backend).await?;
    let observed = observe::beside(&mut backend, own, source, compare).await?;
    let ordered = Ordered {
        host: &source.primary.host,
        port: source.primary.port,
        user: &source.account.name,
    };
    let decision = decide(&observed, ordered);
    for step in &decision.steps {
        if let Some(sql) = act::statement(step, source, &observed) {
            tracing::info!(?step, "Following the primary");
            run(&mut backend, step.what(), &sql).await?;
        }
    }
    let copying = if decision.steps.contains(&Step::Clone) {
        Some(Copying::new(&observed, source, backend))
    } else {
        backend.quit().await;
        None
    };
    Ok(Round {
        state: decision.state,
        server_uuid: observed.server_uuid,
        holds_rows: observed.holds_rows,
        copying,
    })
}
