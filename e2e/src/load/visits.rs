//! Clients that come and go, until they are ended: what a rotation or an upgrade must not disturb.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, ensure};
use mysql_async::prelude::Queryable as _;
use mysql_async::{Conn, TxOpts};
use rand::Rng as _;
use tokio::task::JoinSet;

use super::Options;

/// Between two visits of one client: the test is of what goes wrong, not of how much is done.
const REST: Duration = Duration::from_millis(20);

/// What came of all visits so far.
#[derive(Clone, Debug, Default)]
struct Outcome {
    done: u64,
    failed: u64,
    first: String,
}

impl Outcome {
    fn add(&mut self, result: Result<()>) {
        match result {
            Ok(()) => self.done += 1,
            Err(error) => {
                self.failed += 1;
                if self.first.is_empty() {
                    self.first = format!("{error:#}");
                }
            }
        }
    }
}

impl Options {
    /// Lets half of the clients log in anew for each visit, and the others stay; half of each only
    /// read, so that replicas may answer them. Tells `say` each second what came of it, for ever.
    ///
    /// # Errors
    /// Never: what goes wrong is counted.
    pub async fn visit(&self, say: impl Fn(&str)) -> Result<()> {
        let outcome = Arc::new(Mutex::new(Outcome::default()));
        let mut clients = JoinSet::new();
        for number in 0..self.clients {
            let (options, outcome) = (self.clone(), outcome.clone());
            clients.spawn(async move { client(options, number, &outcome).await });
        }
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let seen = outcome
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone();
            say(&format!(
                "{} done, {} failed {}",
                seen.done, seen.failed, seen.first
            ));
        }
    }
}

async fn client(options: Options, number: usize, outcome: &Mutex<Outcome>) {
    let mut kept = None::<Conn>;
    loop {
        let result = visit(&options, &mut kept, number % 4 >= 2).await;
        if (result.is_err() || number.is_multiple_of(2))
            && let Some(connection) = kept.take()
        {
            // It may be gone already.
            drop(connection.disconnect().await);
        }
        outcome
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .add(result);
        tokio::time::sleep(REST).await;
    }
}

/// A payment is made, and all of them are counted; or nothing is made, and orders are looked up
/// beside.
async fn visit(options: &Options, kept: &mut Option<Conn>, reads: bool) -> Result<()> {
    let connection = match kept {
        Some(connection) => connection,
        None => kept.insert(options.connect().await?),
    };
    let order = rand::rng().random_range(1..i64::MAX);
    if reads {
        let none: Option<u64> = connection
            .exec_first("SELECT order_id FROM payment WHERE order_id = ?", (-order,))
            .await?;
        ensure!(none.is_none(), "payment of order {none:?}");
        let _found: Vec<u64> = connection
            .exec(
                "SELECT id FROM pressure_test WHERE mobile_cipher = ?",
                ("555",),
            )
            .await?;
        let all: Option<u64> = connection
            .query_first("SELECT COUNT(*) FROM payment")
            .await?;
        ensure!(all.is_some(), "no count");
        return Ok(());
    }
    let mut transaction = connection.start_transaction(TxOpts::default()).await?;
    transaction
        .exec_drop(
            "INSERT INTO payment (order_id, amount) VALUES (?, 10)",
            (order,),
        )
        .await?;
    let paid: Option<u64> = transaction
        .exec_first("SELECT COUNT(*) FROM payment WHERE order_id = ?", (order,))
        .await?;
    ensure!(paid == Some(1), "{paid:?} payments of order {order}");
    transaction.commit().await?;
    let _all: Option<u64> = connection
        .query_first("SELECT COUNT(*) FROM payment")
        .await?;
    connection
        .exec_drop("DELETE FROM payment WHERE order_id = ?", (order,))
        .await?;
    Ok(())
}
