//! Encrypted columns: applications see plain values, and the servers' disks nothing of them.

use anyhow::{Context as _, Result, bail, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use memchr::memmem;
use mysql_async::Value;
use remora_e2e::kubernetes::{Images, Kubernetes, SYSTEM};

use crate::journey::Journey;
use crate::rows::{CARD, MOBILE, USER};
use crate::shop::{application, kubectl};
use crate::sql::Answer;
use crate::volumes::{SERVERS, content, files};

pub(crate) fn steps(journey: &mut Journey) {
    journey.step(
        "encrypted_columns_are_found_and_read_as_plain_ones",
        plain_to_applications,
    );
    journey.step(
        "no_plain_value_and_no_key_is_in_data_binlogs_general_logs_or_output",
        |cluster, _| {
            output_is_clean(cluster)?;
            disks_are_clean(cluster, &[BINLOG, GENERAL_LOG])
        },
    );
}

/// After the servers were stopped: all pages are on the disks then.
pub(crate) fn last_steps(journey: &mut Journey) {
    journey.step(
        "the_disks_of_stopped_servers_hold_no_plain_value_and_no_key",
        |cluster, _| disks_are_clean(cluster, &[BINLOG, GENERAL_LOG, DATA]),
    );
}

const COLUMNS: &str = "(user_code, amount, mobile_cipher, id_card_md5, create_time)";

fn plain_to_applications(cluster: &Kubernetes, _: &Images) -> Result<()> {
    let mut app = application(cluster)?;
    // By text and prepared, changed, found, and with errors: each its own way to the servers.
    let day = "2026-02-01 00:00:00";
    app.run(&format!(
        "INSERT INTO pressure_test {COLUMNS} VALUES \
         ('{USER}secret', 1, '{MOBILE}a', '{CARD}a', '{day}'), ('{USER}secret', 2, '{MOBILE}b', '{CARD}b', '{day}')"
    ))?;
    let values = [
        &format!("{USER}secret"),
        "3",
        &format!("{MOBILE}c"),
        &format!("{CARD}c"),
        day,
    ];
    let insert = format!("INSERT INTO pressure_test {COLUMNS} VALUES (?, ?, ?, ?, ?)");
    let answer = app.prepared(&insert, values.map(Value::from).into())?;
    ensure!(answer == Answer::Rows(Vec::new()), "{answer:?}");
    app.run(&format!(
        "UPDATE pressure_test SET mobile_cipher = '{MOBILE}d' WHERE mobile_cipher = '{MOBILE}b'"
    ))?;
    // On each server of each shard, and in each one's general log.
    for hint in ["primary", "replica"] {
        let find = format!(
            "/* remora: {hint} */ SELECT mobile_cipher FROM pressure_test \
             WHERE user_code = '{USER}0001' AND mobile_cipher = '{MOBILE}nobody'"
        );
        let nobody = app.words(&find)?;
        ensure!(nobody.is_empty(), "{nobody}");
    }
    let find = "SELECT mobile_cipher, amount FROM pressure_test \
         WHERE mobile_cipher IN (?, ?, ?) ORDER BY amount";
    let wanted = ["a", "b", "d"].map(|end| Value::from(format!("{MOBILE}{end}")));
    let Answer::Rows(rows) = app.prepared(find, wanted.into())? else {
        bail!("{find} fails")
    };
    let seen: Vec<_> = rows.iter().map(|row| row[0].as_sql(true)).collect();
    ensure!(
        seen == [format!("'{MOBILE}a'"), format!("'{MOBILE}d'")],
        "{seen:?}"
    );
    let card = app.value(&format!(
        "SELECT COUNT(*) FROM pressure_test WHERE id_card_md5 = '{CARD}c' AND mobile_cipher = '{MOBILE}c'"
    ))?;
    ensure!(card == "1", "{card} rows with the card");
    // MySQL's own client, which takes the container's locale, C, for latin1.
    let own = format!(
        "MYSQL_PWD=$MYSQL_PASSWORD mysql -N --get-server-public-key -u$MYSQL_USER $MYSQL_DATABASE \
         -e \"SELECT id FROM pressure_test WHERE mobile_cipher = '{MOBILE}00000077'\""
    );
    let exec = ["exec", "deploy/app", "-c", "app", "--", "sh", "-c", &own];
    let found = kubectl(cluster, &exec)?;
    ensure!(found.trim() == "77", "{found:?}");
    let like = format!("SELECT id FROM pressure_test WHERE mobile_cipher LIKE '{MOBILE}%'");
    let answer = app.text(&like)?;
    ensure!(
        matches!(&answer, Answer::Error(1235, text) if text.contains("mobile_cipher") && !text.contains(MOBILE)),
        "{answer:?}"
    );
    let twice = format!(
        "INSERT INTO pressure_test (id, user_code, amount, mobile_cipher, id_card_md5, create_time) \
         VALUES (1, 'x', 1, '{MOBILE}e', '{CARD}e', '{day}')"
    );
    let answer = app.text(&twice)?;
    ensure!(matches!(answer, Answer::Error(1062, _)), "{answer:?}");
    app.run(&format!(
        "DELETE FROM pressure_test WHERE user_code = '{USER}secret'"
    ))?;
    Ok(())
}

/// What must be in no file: plain values, and the key in each way that it can be written.
fn secrets(cluster: &Kubernetes) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let path = r"jsonpath={.data.mobile\.1}";
    let data = kubectl(cluster, &["get", "secret", "shop-keys", "-o", path])?;
    let entry = BASE64_STANDARD.decode(data.trim())?;
    let key = match entry.len() {
        32 => entry,
        _ => BASE64_STANDARD
            .decode(entry.trim_ascii())
            .context("the key's entry")?,
    };
    ensure!(key.len() == 32, "the key has {} bytes", key.len());
    let base64 = BASE64_STANDARD.encode(&key);
    Ok(vec![
        ("a phone number", MOBILE.into()),
        ("an id card", CARD.into()),
        ("the key in base64", base64.trim_end_matches('=').into()),
        ("the key in hexadecimal", hex::encode(&key).into()),
        ("the key in hexadecimal", hex::encode_upper(&key).into()),
        ("the key", key),
    ])
}

/// Files of a server in which an unencrypted value must be found: else the search sees nothing.
type Sort = (&'static str, fn(&str) -> bool);
const BINLOG: Sort = ("binary log", |name| name.starts_with("binlog.0"));
const GENERAL_LOG: Sort = ("general log", |name| {
    name.starts_with("shop-") && name.ends_with(".log")
});
const DATA: Sort = ("data file", |name| name == "pressure_test.ibd");

fn disks_are_clean(cluster: &Kubernetes, control: &[Sort]) -> Result<()> {
    let secrets = secrets(cluster)?;
    let mut read = 0;
    for server in SERVERS {
        let mut missing: Vec<&Sort> = control.iter().collect();
        for file in files(cluster, server)? {
            let bytes = content(&file)?;
            read += bytes.len();
            for (what, secret) in &secrets {
                ensure!(
                    memmem::find(&bytes, secret).is_none(),
                    "{} holds {what}",
                    file.display()
                );
            }
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            missing.retain(|(_, is)| !is(&name) || memmem::find(&bytes, USER.as_bytes()).is_none());
        }
        let missing: Vec<_> = missing.iter().map(|sort| sort.0).collect();
        ensure!(
            missing.is_empty(),
            "{server}: the search sees no row in any {missing:?}"
        );
    }
    println!("          {} MiB", read >> 20);
    Ok(())
}

/// What containers print: those of the shop, and the operator's.
fn output_is_clean(cluster: &Kubernetes) -> Result<()> {
    let secrets = secrets(cluster)?;
    let of = |namespace: &str, selector: &str| {
        let logs = [
            "-n",
            namespace,
            "logs",
            "-l",
            selector,
            "--all-containers",
            "--tail=-1",
        ];
        cluster.kubectl(&logs)
    };
    for (namespace, selector) in [
        (crate::shop::NAMESPACE, "remora.dev/inject=true"),
        (SYSTEM, "app.kubernetes.io/component=operator"),
    ] {
        let text = of(namespace, selector)?;
        ensure!(!text.is_empty(), "{selector} printed nothing");
        for (what, secret) in &secrets {
            ensure!(
                memmem::find(text.as_bytes(), secret).is_none(),
                "{selector} prints {what}"
            );
        }
    }
    Ok(())
}
