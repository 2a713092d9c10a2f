//! Carrying out the orders, in one go.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use remora_discovery::{Account, AgentOrders, Snapshot as Told};

use super::sql::{ask, rows, run, text};
use super::{AgentError, accounts, layout_row, seal::Sealer, socket, workload};
use crate::backend::Backend;
use crate::{atomic, layout, sequence};

/// The longest that it may take: thousands of schemas on a slow disk.
pub(super) const TIMEOUT: Duration = Duration::from_secs(300);
/// The agent's own account, which takes over from root.
const AGENT: &str = "remora_agent";
/// The same as the definer of procedures: root makes them, before the accounts, which are granted
/// to call them.
const DEFINER: &str = "remora_agent@localhost";
/// The schema or the table is not there.
const MISSING: [u16; 2] = [1049, 1146];

/// The orders are carried out.
#[derive(Debug)]
pub(super) struct Applied {
    /// The agent's connection, to watch mysqld by.
    pub(super) backend: Backend,
    /// The lowest epoch that the shard takes from now on.
    pub(super) epoch: u64,
    /// What of the ordered layout the rows forbid, by the manifest's fields; empty: nothing.
    pub(super) refused: String,
}

/// Makes mysqld what was ordered.
///
/// # Errors
/// If mysqld does not answer or refuses, or the rows are not those of the manifest: then
/// nothing was touched.
pub(super) async fn apply(
    path: &Path,
    told: &Told,
    orders: &AgentOrders,
) -> Result<Applied, AgentError> {
    let own = orders
        .accounts
        .iter()
        .find(|account| account.name == AGENT)
        .ok_or_else(|| AgentError::Layout(format!("the orders name no account {AGENT}")))?;
    let mut backend = enter(path, own).await?;
    // Literals are written for an empty sql_mode.
    run(&mut backend, "SET sql_mode", "SET SESSION sql_mode = ''").await?;
    let verdict = lay_out(&mut backend, told, orders).await?;
    make_accounts(&mut backend, orders, own).await?;
    let backend = lock_root(backend, path, own).await?;
    Ok(Applied {
        backend,
        epoch: verdict.epoch,
        refused: verdict.refused,
    })
}

/// Logs in as the agent; on a server that was just initialised, as root, who has no password
/// there. An agent that cannot log in because it is locked was left half made.
async fn enter(path: &Path, own: &Account) -> Result<Backend, AgentError> {
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
    let held = match rows(backend, layout_row::READ).await? {
        Ok(rows) => rows.first().map(layout_row::held),
        Err(error) if MISSING.contains(&error.code) => None,
        Err(error) => {
            return Err(AgentError::Refused {
                what: "reading the layout",
                error,
            });
        }
    };
    if held.is_none() {
        refuse_foreign_rows(backend, told).await?;
    }
    let there = match &held {
        Some(held) => there(backend, told, &layout_row::changed(held, orders)).await?,
        None => BTreeSet::new(),
    };
    let verdict = layout_row::verdict(held.as_ref(), orders, &told.identity, &there)?;
    for (what, sql) in [
        ("CREATE DATABASE remora", sequence::CREATE_SCHEMA),
        ("CREATE TABLE remora.layout", layout::CREATE_TABLE),
        ("CREATE TABLE remora.sequence", sequence::CREATE_TABLE),
        ("CREATE TABLE remora.decision", atomic::CREATE_TABLE),
    ] {
        run(backend, what, sql).await?;
    }
    for sql in atomic::create_procedures(Some(DEFINER)) {
        run(backend, "CREATE PROCEDURE of remora", &sql).await?;
    }
    make_schemas(backend, told).await?;
    if let Some(write) = &verdict.write {
        run(backend, "writing the layout", write).await?;
    }
    Ok(verdict)
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

/// Makes the accounts. They are each server's own and not part of its binary log, where later
/// replicas would meet them a second time.
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
    if steps.is_empty() {
        return Ok(());
    }
    run(backend, "SET sql_log_bin", "SET SESSION sql_log_bin = 0").await?;
    for (what, sql) in &steps {
        run(backend, what, sql).await?;
    }
    run(backend, "SET sql_log_bin", "SET SESSION sql_log_bin = 1").await
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
        for sql in [
            "SET SESSION sql_log_bin = 0",
            "ALTER USER root@localhost ACCOUNT LOCK",
        ] {
            run(&mut backend, "locking root", sql).await?;
        }
    }
    Ok(backend)
}
