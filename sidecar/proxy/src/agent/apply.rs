//! Carrying out the orders, in one go.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use remora_discovery::{Account, AgentOrders, Part, Snapshot as Told};

use super::sql::{ask, rows, run, text};
use super::{AgentError, accounts, layout_row, seal::Sealer, socket, source, workload};
use crate::backend::Backend;
use crate::{atomic, layout, sequence};

/// The longest that it may take: thousands of schemas on a slow disk.
pub(super) const TIMEOUT: Duration = Duration::from_secs(300);
/// The agent's own account, which takes over from root.
pub(super) const AGENT: &str = "remora_agent";
/// The same as the definer of procedures: root makes them, before the accounts, which are granted
/// to call them.
const DEFINER: &str = "remora_agent@localhost";
/// The schema or the table is not there.
const MISSING: [u16; 2] = [1049, 1146];
/// Remora's own tables. Replicas have them from their primary.
const OWN_TABLES: [(&str, &str, &str); 3] = [
    ("layout", "CREATE TABLE remora.layout", layout::CREATE_TABLE),
    (
        "sequence",
        "CREATE TABLE remora.sequence",
        sequence::CREATE_TABLE,
    ),
    (
        "decision",
        "CREATE TABLE remora.decision",
        atomic::CREATE_TABLE,
    ),
];
/// Remora's own procedures, as [`atomic::create_procedures`] makes them.
const OWN_PROCEDURES: [&str; 2] = ["decide", "left_over"];

/// The orders are carried out.
#[derive(Debug)]
pub(super) struct Applied {
    /// The agent's connection, to watch mysqld by.
    pub(super) backend: Backend,
    /// The lowest epoch that the shard takes from now on.
    pub(super) epoch: u64,
    /// What of the ordered layout the rows forbid, by the manifest's fields; empty: nothing.
    pub(super) refused: String,
    /// MySQL's own identity of the server.
    pub(super) server_uuid: String,
}

/// Makes mysqld what was ordered of a primary.
///
/// # Errors
/// If mysqld does not answer or refuses, or the rows are not those of the manifest: then
/// nothing was touched.
pub(super) async fn apply(
    path: &Path,
    told: &Told,
    orders: &AgentOrders,
) -> Result<Applied, AgentError> {
    let own = own_account(orders)?;
    let mut backend = enter(path, own).await?;
    // Literals are written for an empty sql_mode.
    run(&mut backend, "SET sql_mode", "SET SESSION sql_mode = ''").await?;
    let verdict = lay_out(&mut backend, told, orders).await?;
    make_accounts(&mut backend, orders, own).await?;
    let mut backend = lock_root(backend, path, own).await?;
    let uuid = ask(&mut backend, "reading server_uuid", "SELECT @@server_uuid").await?;
    Ok(Applied {
        server_uuid: uuid.first().map(|row| text(row, 0)).unwrap_or_default(),
        backend,
        epoch: verdict.epoch,
        refused: verdict.refused,
    })
}

/// The agent's own account.
pub(super) fn own_account(orders: &AgentOrders) -> Result<&Account, AgentError> {
    let own = orders.accounts.iter().find(|account| account.name == AGENT);
    own.ok_or_else(|| AgentError::Layout(format!("the orders name no account {AGENT}")))
}

/// Logs in as the agent; on a server that was just initialised, as root, who has no password
/// there. An agent that cannot log in because it is locked was left half made.
pub(super) async fn enter(path: &Path, own: &Account) -> Result<Backend, AgentError> {
    match socket::log_in(path, AGENT, &own.password).await {
        Ok(backend) => Ok(backend),
        Err(as_agent) => socket::log_in(path, "root", "")
            .await
            // Of the two refusals the agent's is the one that someone can do something about.
            .map_err(|_| socket::failure(as_agent)),
    }
}

/// Checks the layout row, makes the schemas, and writes the row. It comes before everything
/// else, since rows of another layout mean that nothing may be touched; and the row comes last,
/// since sidecars take it that what it names can be used.
async fn lay_out(
    backend: &mut Backend,
    told: &Told,
    orders: &AgentOrders,
) -> Result<layout_row::Verdict, AgentError> {
    let held = layout_held(backend).await?;
    if held.is_none() {
        refuse_foreign_rows(backend, told).await?;
        refuse_lost_rows(orders)?;
    }
    let there = match &held {
        Some(held) => there(backend, told, &layout_row::changed(held, orders)).await?,
        None => BTreeSet::new(),
    };
    let verdict = layout_row::verdict(held.as_ref(), orders, &told.identity, &there)?;
    // The row agrees with the orders, and its epoch is not above theirs.
    source::take_writes(backend, orders.replication.as_ref()).await?;
    make_own(backend).await?;
    make_schemas(backend, told).await?;
    if let Some(write) = &verdict.write {
        run(backend, "writing the layout", write).await?;
    }
    Ok(verdict)
}

/// Makes Remora's own schema, tables and procedures, as far as they are missing: each of these
/// statements waits for the replicas, also where it changes nothing.
async fn make_own(backend: &mut Backend) -> Result<(), AgentError> {
    let list = "SELECT table_name FROM information_schema.tables \
         WHERE table_schema = 'remora' UNION ALL SELECT routine_name \
         FROM information_schema.routines WHERE routine_schema = 'remora'";
    let listed = ask(backend, "listing remora's own", list).await?;
    let there: BTreeSet<_> = listed.iter().map(|row| text(row, 0)).collect();
    if there.is_empty() {
        run(backend, "CREATE DATABASE remora", sequence::CREATE_SCHEMA).await?;
    }
    for (name, what, sql) in OWN_TABLES {
        if !there.contains(name) {
            run(backend, what, sql).await?;
        }
    }
    let procedures = atomic::create_procedures(Some(DEFINER));
    for (name, sql) in OWN_PROCEDURES.iter().zip(&procedures) {
        if !there.contains(*name) {
            run(backend, "CREATE PROCEDURE of remora", sql).await?;
        }
    }
    Ok(())
}

/// The row in `remora.layout`; `None` on a server that holds nobody's rows.
pub(super) async fn layout_held(
    backend: &mut Backend,
) -> Result<Option<layout_row::Held>, AgentError> {
    match rows(backend, layout_row::READ).await? {
        Ok(rows) => Ok(rows.first().map(layout_row::held)),
        Err(error) if MISSING.contains(&error.code) => Ok(None),
        Err(error) => Err(AgentError::Refused {
            what: "reading the layout",
            error,
        }),
    }
}

/// An empty server must not take the place of one that held rows: its replicas would have to
/// throw theirs away.
fn refuse_lost_rows(orders: &AgentOrders) -> Result<(), AgentError> {
    match orders.replication.as_ref().map(|order| &order.part) {
        Some(Part::Primary {
            may_begin: false, ..
        }) => Err(AgentError::Empty),
        _ => Ok(()),
    }
}

/// Those of `names` that are tables of the manifest's database or of its physical schemas.
async fn there(
    backend: &mut Backend,
    told: &Told,
    names: &BTreeSet<String>,
) -> Result<BTreeSet<String>, AgentError> {
    if names.is_empty() {
        return Ok(BTreeSet::new());
    }
    let look = layout::look_for(&told.spec.database, names.iter().map(String::as_str));
    let found = ask(backend, "looking for tables", &look).await?;
    Ok(found.iter().map(|row| text(row, 0)).collect())
}

async fn refuse_foreign_rows(backend: &mut Backend, told: &Told) -> Result<(), AgentError> {
    let count = workload::count_tables(&workload::schemas(&told.spec));
    let counted = ask(backend, "counting tables", &count).await?;
    match counted.first().map(|row| text(row, 0)).as_deref() {
        Some("0") => Ok(()),
        _ => Err(AgentError::Layout(format!(
            "the server has tables in database {}, and no row in remora.layout that says how \
             they are laid out: use an empty volume, and load the rows through Remora",
            told.spec.database
        ))),
    }
}

/// Makes the accounts, by way of the binary log: replicas have them from there. Those that an
/// earlier version made without it reach a replica with the copy that it begins with.
async fn make_accounts(
    backend: &mut Backend,
    orders: &AgentOrders,
    own: &Account,
) -> Result<(), AgentError> {
    let listed = ask(backend, "listing accounts", accounts::LIST).await?;
    let known = listed
        .iter()
        .map(|row| accounts::known(text(row, 0), text(row, 1), &text(row, 2)))
        .collect();
    let steps = accounts::steps(&known, &orders.accounts, &Sealer::new(&own.password));
    for (what, sql) in &steps {
        run(backend, what, sql).await?;
    }
    Ok(())
}

async fn make_schemas(backend: &mut Backend, told: &Told) -> Result<(), AgentError> {
    let there = ask(backend, "listing schemas", workload::LIST).await?;
    let there = there.iter().map(|row| text(row, 0)).collect();
    let wanted = workload::schemas(&told.spec);
    for sql in workload::missing(&wanted, &there) {
        run(backend, "CREATE DATABASE", &sql).await?;
    }
    Ok(())
}

/// Locks root out, who has no password, by the hand of the agent: that proves that the agent's
/// own account works before the last other way in is closed.
async fn lock_root(backend: Backend, path: &Path, own: &Account) -> Result<Backend, AgentError> {
    backend.quit().await;
    let mut backend = socket::log_in(path, AGENT, &own.password)
        .await
        .map_err(socket::failure)?;
    let open = "SELECT 1 FROM mysql.user \
         WHERE user = 'root' AND host = 'localhost' AND account_locked = 'N'";
    if !ask(&mut backend, "looking at root", open).await?.is_empty() {
        let lock = "ALTER USER root@localhost ACCOUNT LOCK";
        run(&mut backend, "locking root", lock).await?;
    }
    Ok(backend)
}
