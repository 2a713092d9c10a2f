//! The injected application's rows, beside those of one plain MySQL.

use std::fmt::Write as _;

use anyhow::{Result, ensure};
use md5::{Digest as _, Md5};
use mysql_async::Value;
use remora_e2e::kubernetes::{Images, Kubernetes};

use crate::journey::Journey;
use crate::node;
use crate::shop::application;
use crate::sql::{Answer, PodMysql};

const TABLE: &str = "CREATE TABLE pressure_test (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    user_code VARCHAR(64) NOT NULL,
    amount DECIMAL(20,4) NOT NULL,
    mobile_cipher CHAR(64) NOT NULL,
    id_card_md5 CHAR(32) NOT NULL,
    create_time DATETIME NOT NULL,
    KEY user_code (user_code))";

/// What all users' codes begin with; they are not encrypted, so disks show it.
pub(crate) const USER: &str = "Open-User-";
/// What all phone numbers begin with, and nothing else.
pub(crate) const MOBILE: &str = "Plain-Mobile-";
/// The same of id cards.
pub(crate) const CARD: &str = "Plain-Card-";

const COLUMNS: &str = "(id, user_code, amount, mobile_cipher, id_card_md5, create_time)";

/// What is asked of both, as text. Wherever rows could come in any order, their order is given.
const READS: [&str; 12] = [
    "SELECT * FROM pressure_test WHERE id = 1234",
    "SELECT * FROM pressure_test WHERE id IN (3, 1999, 77, 5000) ORDER BY id",
    "SELECT id, user_code, amount FROM pressure_test ORDER BY amount DESC, id LIMIT 20",
    "SELECT id FROM pressure_test ORDER BY user_code, id LIMIT 15 OFFSET 700",
    "SELECT COUNT(*), SUM(amount), MIN(amount), MAX(amount), AVG(amount) FROM pressure_test",
    "SELECT COUNT(*) FROM pressure_test WHERE amount > 1000",
    "SELECT user_code, COUNT(*), SUM(amount), AVG(amount) FROM pressure_test GROUP BY user_code ORDER BY user_code",
    "SELECT DISTINCT user_code FROM pressure_test ORDER BY user_code DESC LIMIT 9",
    "SELECT MAX(create_time), MIN(user_code) FROM pressure_test WHERE id > 500",
    "SELECT id FROM pressure_test WHERE id = NULL",
    "SELECT id, mobile_cipher FROM pressure_test WHERE mobile_cipher IN ('plain-mobile-00000077', 'Plain-Mobile-00001999', 'x') ORDER BY id",
    "SELECT a.id, b.id FROM pressure_test a JOIN pressure_test b ON a.id = b.id WHERE a.id = 7 AND b.mobile_cipher = a.mobile_cipher",
];

pub(crate) fn steps(journey: &mut Journey) {
    journey.foundation("two_thousand_rows_are_those_of_one_mysql", same_rows);
    journey.step("the_rows_are_spread_and_no_physical_name_shows", spread);
    journey.step("keys_come_from_a_sequence", sequence);
}

/// A row's values: a hundred users, amounts with fractions, and a few doubles.
fn row(id: u64) -> [String; 6] {
    let user = (id * 7919) % 100;
    let amount = format!("{}.{:04}", (id * 31) % 2000, (id * 977) % 10_000);
    let seconds = format!(
        "2026-01-{:02} 12:{:02}:{:02}",
        id % 28 + 1,
        id % 60,
        (id * 7) % 60
    );
    [
        id.to_string(),
        format!("{USER}{user:04}"),
        amount,
        format!("{MOBILE}{id:08}"),
        format!("{CARD}{id:08}"),
        seconds,
    ]
}

/// The row as the shop's servers hold it.
fn digested(id: u64) -> [String; 6] {
    let mut row = row(id);
    row[4] = hex::encode(Md5::digest(&row[4]));
    row
}

/// Half of the rows by multi-row INSERTs as text, half by a prepared INSERT.
fn fill(mysql: &mut PodMysql, row: fn(u64) -> [String; 6]) -> Result<()> {
    mysql.run(TABLE)?;
    for batch in (1..=1000_u64).collect::<Vec<_>>().chunks(250) {
        let mut statement = format!("INSERT INTO pressure_test {COLUMNS} VALUES ");
        for (position, id) in batch.iter().enumerate() {
            let comma = if position > 0 { "," } else { "" };
            write!(statement, "{comma}('{}')", row(*id).join("','"))?;
        }
        mysql.run(&statement)?;
    }
    let insert = format!("INSERT INTO pressure_test {COLUMNS} VALUES (?,?,?,?,?,?),(?,?,?,?,?,?)");
    for id in (1001..=2000_u64).step_by(2) {
        let values = [row(id), row(id + 1)]
            .concat()
            .into_iter()
            .map(Value::from)
            .collect();
        let answer = mysql.prepared(&insert, values)?;
        ensure!(answer == Answer::Rows(Vec::new()), "{answer:?}");
    }
    Ok(())
}

fn same_rows(cluster: &Kubernetes, _: &Images) -> Result<()> {
    let mut plain = node::plain_mysql(cluster)?;
    let mut sharded = application(cluster)?;
    // The shop takes digests by itself.
    fill(&mut plain, digested)?;
    fill(&mut sharded, row)?;
    for read in READS {
        let (expected, got) = (plain.text(read)?, sharded.text(read)?);
        ensure!(
            expected == got,
            "{read}\none MySQL: {expected:?}\nthe shop:  {got:?}"
        );
    }
    for id in [1_i64, 2000, -1, 100_000] {
        let read = "SELECT * FROM pressure_test WHERE id = ?";
        let parameters = || vec![Value::from(id)];
        let (expected, got) = (
            plain.prepared(read, parameters())?,
            sharded.prepared(read, parameters())?,
        );
        ensure!(
            expected == got,
            "{read} with {id}\none MySQL: {expected:?}\nthe shop:  {got:?}"
        );
    }
    let double = format!(
        "INSERT INTO pressure_test {COLUMNS} VALUES ('{}')",
        row(7).join("','")
    );
    let (expected, got) = (plain.text(&double)?, sharded.text(&double)?);
    ensure!(
        expected == got,
        "{double}\none MySQL: {expected:?}\nthe shop:  {got:?}"
    );
    Ok(())
}

fn spread(cluster: &Kubernetes, _: &Images) -> Result<()> {
    let mut shop = application(cluster)?;
    let shards = shop.run("SHOW REMORA SHARDS")?;
    ensure!(
        shards.len() == 2,
        "SHOW REMORA SHARDS gives {} rows",
        shards.len()
    );
    let databases = shop.words("SHOW DATABASES")?;
    ensure!(!databases.contains("shop__"), "{databases}");
    let plan = shop.words("EXPLAIN REMORA SELECT * FROM pressure_test WHERE id = 42")?;
    ensure!(
        plan.contains("shop__"),
        "the plan names no physical schema: {plan}"
    );
    Ok(())
}

fn sequence(cluster: &Kubernetes, _: &Images) -> Result<()> {
    let mut shop = application(cluster)?;
    let insert = "INSERT INTO pressure_test (user_code, amount, mobile_cipher, id_card_md5, create_time)
         VALUES ('late', 1, '', '', '2026-02-01 00:00:00'), ('late', 2, '', '', '2026-02-01 00:00:00')";
    shop.run(insert)?;
    let first: u64 = shop.value("SELECT LAST_INSERT_ID()")?.parse()?;
    ensure!(
        first > 2000,
        "a new key, {first}, is not above the given ones"
    );
    let seen = shop.value(&format!(
        "SELECT COUNT(*) FROM pressure_test WHERE id >= {first} AND user_code = 'late'"
    ))?;
    ensure!(seen == "2", "{seen} of the two new rows are there");
    shop.run("DELETE FROM pressure_test WHERE user_code = 'late'")?;
    Ok(())
}
