//! The transactions themselves.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::time::Instant;

use anyhow::{Context as _, Result};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, TxOpts};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::KindReport;

const ORDERS: &str = "CREATE TABLE IF NOT EXISTS pressure_test (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    user_code VARCHAR(64) NOT NULL,
    amount DECIMAL(20,4) NOT NULL,
    mobile_cipher CHAR(64) NOT NULL,
    id_card_md5 CHAR(32) NOT NULL,
    create_time DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
    KEY user_code (user_code))";

const PAYMENTS: &str = "CREATE TABLE IF NOT EXISTS payment (
    order_id BIGINT NOT NULL PRIMARY KEY,
    amount DECIMAL(20,4) NOT NULL,
    paid_at DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP)";

/// Rows of one INSERT while the tables are filled.
const BATCH: usize = 250;

/// The three kinds of transaction.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Kind {
    /// Everything hangs on one key: read a row, change it.
    SingleRoute,
    /// A key is drawn from the cluster's sequence, and the operations that hang on it follow.
    NewKey,
    /// A page and an aggregate over every shard.
    FullScan,
}

impl Display for Kind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::SingleRoute => "single route",
            Self::NewKey => "distributed key",
            Self::FullScan => "full scan",
        })
    }
}

/// Makes the tables where they are missing and fills them with `rows` orders.
///
/// # Errors
/// If the server refuses a statement.
pub async fn prepare_tables(connection: &mut Conn, rows: usize) -> Result<()> {
    connection
        .query_drop(ORDERS)
        .await
        .context("CREATE TABLE pressure_test")?;
    connection
        .query_drop(PAYMENTS)
        .await
        .context("CREATE TABLE payment")?;
    let mut random = StdRng::seed_from_u64(0);
    let there: Option<usize> = connection
        .query_first("SELECT COUNT(*) FROM pressure_test")
        .await?;
    let mut missing = rows.saturating_sub(there.unwrap_or_default());
    while missing > 0 {
        let batch = missing.min(BATCH);
        let values: Vec<String> = (0..batch).map(|_| order(&mut random)).collect();
        connection
            .query_drop(format!("{INSERT} {}", values.join(",")))
            .await
            .context("INSERT INTO pressure_test")?;
        missing -= batch;
    }
    Ok(())
}

const INSERT: &str =
    "INSERT INTO pressure_test (user_code, amount, mobile_cipher, id_card_md5) VALUES";

fn order(random: &mut StdRng) -> String {
    format!(
        "('user-{:04}', {}.{:04}, '{:032x}{:032x}', '{:032x}')",
        random.random_range(0..1000),
        random.random_range(0..2000),
        random.random_range(0..10_000),
        random.random::<u128>(),
        random.random::<u128>(),
        random.random::<u128>(),
    )
}

/// Runs transactions on one connection until the time is over. Of twenty, one scans.
pub(super) async fn client(
    mut connection: Conn,
    number: usize,
    until: Instant,
) -> BTreeMap<Kind, KindReport> {
    let mut random = StdRng::seed_from_u64(number as u64 + 1);
    let mut seen = BTreeMap::<Kind, KindReport>::new();
    let mut key = 1;
    while Instant::now() < until {
        let kind = match random.random_range(0..20) {
            0 => Kind::FullScan,
            1..=6 => Kind::NewKey,
            _ => Kind::SingleRoute,
        };
        let begin = Instant::now();
        let result = match kind {
            Kind::SingleRoute => single_route(&mut connection, random.random_range(1..=key)).await,
            Kind::NewKey => new_key(&mut connection, &mut random)
                .await
                .map(|id| key = id),
            Kind::FullScan => full_scan(&mut connection, random.random_range(0..50)).await,
        };
        let entry = seen.entry(kind).or_default();
        match result {
            Ok(()) => entry.latencies.push(begin.elapsed()),
            Err(error) => {
                entry.failures += 1;
                entry.first_failure.get_or_insert(format!("{error:#}"));
            }
        }
    }
    seen
}

async fn single_route(connection: &mut Conn, id: u64) -> Result<()> {
    let mut transaction = connection.start_transaction(TxOpts::default()).await?;
    let _order: Option<(u64, String)> = transaction
        .exec_first(
            "SELECT id, user_code FROM pressure_test WHERE id = ?",
            (id,),
        )
        .await?;
    transaction
        .exec_drop(
            "UPDATE pressure_test SET amount = amount + 1 WHERE id = ?",
            (id,),
        )
        .await?;
    Ok(transaction.commit().await?)
}

async fn new_key(connection: &mut Conn, random: &mut StdRng) -> Result<u64> {
    let values = order(random);
    let mut transaction = connection.start_transaction(TxOpts::default()).await?;
    transaction.query_drop(format!("{INSERT} {values}")).await?;
    let id = transaction
        .last_insert_id()
        .context("the INSERT made no id")?;
    transaction
        .exec_drop(
            "INSERT INTO payment (order_id, amount) VALUES (?, ?)",
            (id, "10.0000"),
        )
        .await?;
    let _paid: Option<u64> = transaction
        .exec_first(
            "SELECT COUNT(*) FROM pressure_test o JOIN payment p ON p.order_id = o.id WHERE o.id = ? AND p.order_id = ?",
            (id, id),
        )
        .await?;
    transaction.commit().await?;
    Ok(id)
}

async fn full_scan(connection: &mut Conn, page: u64) -> Result<()> {
    let _page: Vec<(u64, String)> = connection
        .query(format!(
            "SELECT id, user_code FROM pressure_test ORDER BY id LIMIT 20 OFFSET {}",
            page * 20
        ))
        .await?;
    let _sums: Option<(u64, Option<String>)> = connection
        .query_first("SELECT COUNT(*), MAX(amount) FROM pressure_test WHERE amount > 1000")
        .await?;
    Ok(())
}
