//! Encrypted columns: what applications see, and what MySQL's servers get to see.

use std::path::Path;

use mysql_async::Params;
use remora_e2e::sidecar::column_key;

use super::*;

/// A table as in `pressure_test`, whose phone number is encrypted and whose card is a digest.
fn manifest(slots: u16) -> Value {
    json!({
        "apiVersion": "remora.dev/v1alpha1",
        "kind": "ShardingCluster",
        "metadata": {"name": "shop", "annotations": {}},
        "spec": {
            "shards": 2,
            "database": "shop",
            "encryption": {"keys": [
                {"name": "mobile", "secretRef": {"name": "keys"}},
                {"name": "card", "secretRef": {"name": "keys"}},
            ]},
            "tables": [{
                "name": "person",
                "sharding": {"key": ["id"], "algorithm": {"hash": {}}, "tablesPerShard": slots},
                "encryption": [
                    {"column": "mobile", "key": "mobile", "lookup": "Equality"},
                    {"column": "note", "key": "card"},
                    {"column": "card_md5", "digest": "MD5"},
                    {"column": "card_mac", "digest": "HmacSha256", "key": "card"},
                ],
            }],
        },
    })
}

const CREATE: &str = "CREATE TABLE person (id BIGINT NOT NULL PRIMARY KEY, mobile CHAR(64) NULL, \
     note TEXT NULL, card_md5 CHAR(32) NULL, card_mac CHAR(64) NULL, KEY (mobile))";

/// Marks that stand in every plain value of these tests, and nowhere else.
const MARKS: [&str; 3] = ["Plain-Mobile-", "Plain-Note-", "Plain-Card-"];

async fn started(slots: u16, flags: &[String]) -> Result<(LocalShards, Conn)> {
    let shards = LocalShards::start(&MysqlRoot::get()?, &manifest(slots), flags).await?;
    let mut connection = connect(shards.sidecar.port()).await?;
    connection.query_drop(CREATE).await?;
    Ok((shards, connection))
}

/// All files below a folder that hold one of the texts.
fn holding(folder: &Path, texts: &[Vec<u8>], found: &mut Vec<String>) -> Result<usize> {
    let mut read = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            read += holding(&entry.path(), texts, found)?;
        } else if entry.file_type()?.is_file() {
            let bytes = std::fs::read(entry.path())?;
            read += bytes.len();
            for text in texts {
                if memchr::memmem::find(&bytes, text).is_some() {
                    let text = String::from_utf8_lossy(text).into_owned();
                    found.push(format!("{} holds {text}", entry.path().display()));
                }
            }
        }
    }
    Ok(read)
}

/// What the sidecar's admin port answers.
async fn admin(shards: &LocalShards, path: &str) -> Result<Vec<u8>> {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let address = ("127.0.0.1", shards.sidecar.admin());
    let mut stream = tokio::net::TcpStream::connect(address).await?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(answer)
}

#[tokio::test]
async fn a_table_that_another_sidecar_made_is_known_at_once() -> Result<()> {
    let shards = LocalShards::start(&MysqlRoot::get()?, &manifest(4), &[]).await?;
    let folder = tempfile::tempdir()?;
    let ports: Vec<u16> = shards.servers.iter().map(MysqlServer::port).collect();
    let second = Sidecar::start(folder.path(), &manifest(4), &ports).await?;
    let mut first = connect(shards.sidecar.port()).await?;
    let mut other = connect(second.port()).await?;
    let (code, text) = error_of(&mut other, "SELECT mobile FROM person WHERE id = 1").await?;
    ensure!(
        code == 1146 && text.contains("shop.person"),
        "{code} {text}"
    );
    let prepared = other
        .prep("INSERT INTO person (id, mobile) VALUES (?, 'x')")
        .await;
    ensure!(
        matches!(prepared, Err(Error::Server(ref error)) if error.code == 1146),
        "{prepared:?}"
    );
    tokio::time::sleep(Duration::from_millis(1100)).await;
    first.query_drop(CREATE).await?;
    other
        .exec_drop("INSERT INTO person (id, mobile) VALUES (?, ?)", (1, "a"))
        .await?;
    let found: Option<String> = other
        .query_first("SELECT mobile FROM person WHERE mobile = 'A'")
        .await?;
    ensure!(found.as_deref() == Some("a"), "{found:?}");
    Ok(())
}

#[tokio::test]
async fn no_plain_value_and_no_key_reaches_a_server_or_a_log() -> Result<()> {
    let flags = [
        "--general-log=ON",
        "--log-bin=binlog",
        "--slow-query-log=ON",
        "--long-query-time=0",
    ];
    let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
    let (shards, mut connection) = started(4, &flags).await?;
    let rows: Vec<String> = (1..=20)
        .map(|id| {
            format!(
                "({id}, 'Plain-Mobile-{id}', 'Plain-Note-{id}', 'Plain-Card-{id}', 'Plain-Card-{id}')"
            )
        })
        .collect();
    connection
        .query_drop(format!(
            "/* Plain-Note-comment */ INSERT INTO person VALUES {} -- Plain-Card-end",
            rows.join(", ")
        ))
        .await?;
    let insert = "INSERT INTO person (id, mobile, note, card_md5, card_mac) VALUES (?, ?, ?, ?, ?)";
    for id in 21..=40 {
        let values = (
            id,
            format!("Plain-Mobile-{id}"),
            format!("Plain-Note-{id}"),
            format!("Plain-Card-{id}"),
            format!("Plain-Card-{id}"),
        );
        connection.exec_drop(insert, values).await?;
    }
    connection
        .query_drop("UPDATE person SET mobile = 'Plain-Mobile-new' WHERE mobile = 'Plain-Mobile-7'")
        .await?;
    connection
        .exec_drop(
            "UPDATE person SET note = ? WHERE id = ?",
            ("Plain-Note-new", 8),
        )
        .await?;
    // Errors, too.
    for wrong in [
        "INSERT INTO person (id, mobile) VALUES (1, 'Plain-Mobile-1')",
        "INSERT INTO person (id, mobile) VALUES (1, 'Plain-Mobile-1'",
        "INSERT INTO person (id, mobile, nothing) VALUES (1, 'Plain-Mobile-1', 2)",
        "INSERT INTO person (id, mobil) VALUES (1, 'Plain-Mobile-1')",
        "INSERT INTO person (id, mobile) VALUES (1, 'Plain-Mobile-1'); INSERT INTO person (id) VALUES (555)",
        "SELECT id FROM person WHERE mobile LIKE 'Plain-Mobile-1%'",
        "SELECT id FROM person WHERE mobile = CONCAT('Plain-Mobile-', 1)",
        "SELECT id FROM person WHERE note = 'Plain-Note-1'",
        "UPDATE person SET mobile = CONCAT('Plain-Mobile-', id)",
        "INSERT INTO person SELECT 99, 'Plain-Mobile-1', NULL, NULL, NULL",
    ] {
        error_of(&mut connection, wrong).await?;
    }

    let found: Vec<(u64, String, String)> = connection
        .query("SELECT id, mobile, note FROM person WHERE mobile IN ('plain-mobile-3', 'Plain-Mobile-new') ORDER BY id")
        .await?;
    let expected = |id: u64, mobile: &str| (id, mobile.to_owned(), format!("Plain-Note-{id}"));
    ensure!(
        found
            == [
                expected(3, "Plain-Mobile-3"),
                expected(7, "Plain-Mobile-new")
            ],
        "{found:?}"
    );
    let found: Option<(u64, String)> = connection
        .exec_first(
            "SELECT id, note FROM person WHERE mobile = ? AND id > ?",
            ("Plain-Mobile-8", 1),
        )
        .await?;
    ensure!(found == Some((8, "Plain-Note-new".to_owned())), "{found:?}");
    let count: Option<u64> = connection
        .query_first("SELECT COUNT(*) FROM person")
        .await?;
    ensure!(count == Some(40), "{count:?}");

    for server in &shards.servers {
        let mut own = direct(server).await?;
        own.query_drop("FLUSH LOGS").await?;
        own.query_drop("FLUSH TABLES").await?;
        own.query_drop("SET GLOBAL innodb_fast_shutdown = 0")
            .await?;
        own.query_drop("SET GLOBAL innodb_max_dirty_pages_pct = 0")
            .await?;
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let mut texts: Vec<Vec<u8>> = MARKS.iter().map(|mark| mark.as_bytes().to_vec()).collect();
    for name in ["mobile", "card"] {
        use base64::Engine as _;
        let key = column_key(name, 1);
        texts.push(base64::prelude::BASE64_STANDARD.decode(&key)?);
        texts.push(key.into_bytes());
    }
    let mut found = Vec::new();
    let mut read = 0;
    for server in &shards.servers {
        read += holding(server.folder().context("no folder")?, &texts, &mut found)?;
    }
    ensure!(read > 1 << 20, "only {read} bytes were looked at");
    ensure!(found.is_empty(), "{found:#?}");
    // The scan itself: what is not encrypted is found.
    let mut seen = Vec::new();
    for server in &shards.servers {
        holding(
            server.folder().context("no folder")?,
            &[b"__remora_mobile".to_vec()],
            &mut seen,
        )?;
    }
    ensure!(seen.len() > 4, "{seen:?}");
    let log = std::fs::read(shards.folder.path().join("sidecar.log"))?;
    for text in &texts {
        ensure!(
            memchr::memmem::find(&log, text).is_none(),
            "the sidecar's log holds it"
        );
    }
    for path in ["/config", "/metrics"] {
        let answer = admin(&shards, path).await?;
        ensure!(answer.len() > 100, "{answer:?}");
        for text in &texts {
            ensure!(
                memchr::memmem::find(&answer, text).is_none(),
                "{path} holds it"
            );
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_lookup_uses_the_index_of_the_companion() -> Result<()> {
    let (shards, mut connection) = started(1, &[]).await?;
    let rows: Vec<String> = (1..=2000).map(|id| format!("({id}, 'm{id}')")).collect();
    connection
        .query_drop(format!(
            "INSERT INTO person (id, mobile) VALUES {}",
            rows.join(", ")
        ))
        .await?;
    let mut own = direct(&shards.servers[0]).await?;
    own.query_drop("ANALYZE TABLE shop.person").await?;
    let tag: Option<Vec<u8>> = own
        .query_first("SELECT __remora_mobile FROM shop.person LIMIT 1")
        .await?;
    let tag: String = tag
        .context("no row")?
        .iter()
        .map(|byte| format!("{byte:02X}"))
        .collect();
    let plan: Option<Row> = own
        .query_first(format!(
            "EXPLAIN FORMAT=TRADITIONAL SELECT * FROM shop.person WHERE __remora_mobile = 0x{tag}"
        ))
        .await?;
    let plan = plan.context("no plan")?;
    let (kind, key): (String, String) = (
        plan.get("type").context("no type")?,
        plan.get("key").context("no key")?,
    );
    ensure!(kind == "ref" && key == "mobile", "{kind} {key}");
    // Nothing of the companion shows.
    for sql in [
        "SELECT __remora_mobile FROM person",
        "UPDATE person SET `__remora_mobile` = 1",
    ] {
        let (code, _) = error_of(&mut connection, sql).await?;
        ensure!(code == 1054, "{code}: {sql}");
    }
    let (_, create): (String, String) = connection
        .query_first("SHOW CREATE TABLE person")
        .await?
        .context("no definition")?;
    ensure!(!create.contains("remora"), "{create}");
    ensure!(
        create.contains("`mobile` char(64) DEFAULT NULL")
            && create.contains("KEY `mobile` (`mobile`)"),
        "{create}"
    );
    let indexes: Vec<Row> = connection.query("SHOW INDEX FROM person").await?;
    let columns: Vec<String> = indexes
        .iter()
        .filter_map(|row| row.get("Column_name"))
        .collect();
    ensure!(columns == ["id", "mobile"], "{columns:?}");
    let (code, text) = error_of(
        &mut connection,
        "SELECT * FROM information_schema.COLUMNS WHERE TABLE_NAME = 'person'",
    )
    .await?;
    ensure!(code == 1235, "{code} {text}");
    Ok(())
}

#[tokio::test]
async fn what_was_tampered_with_is_an_error_by_name() -> Result<()> {
    let (shards, mut connection) = started(1, &[]).await?;
    connection
        .query_drop("INSERT INTO person (id, mobile, note) VALUES (1, 'a', 'b'), (2, 'c', 'd')")
        .await?;
    for server in &shards.servers {
        let mut own = direct(server).await?;
        own.query_drop(
            "UPDATE shop.person SET note = CONCAT(LEFT(note, LENGTH(note) - 1), 'x') WHERE id = 1",
        )
        .await?;
        // Another column's value, and no envelope at all.
        own.query_drop("UPDATE shop.person SET note = mobile WHERE id = 2")
            .await?;
    }
    for sql in [
        "SELECT note FROM person WHERE id = 1",
        "SELECT note FROM person WHERE id = 2",
    ] {
        let (code, text) = error_of(&mut connection, sql).await?;
        ensure!(code == 1105 && text.contains("note"), "{code} {text}");
        let found: Option<String> = connection
            .query_first("SELECT mobile FROM person WHERE id = 1")
            .await?;
        ensure!(found.as_deref() == Some("a"), "{found:?}");
    }
    let (code, _) = error_of(&mut connection, "SELECT note FROM person ORDER BY id").await?;
    ensure!(code == 1105, "{code}");
    let outcome: mysql_async::Result<Vec<String>> = connection
        .exec("SELECT note FROM person WHERE id = ?", (1,))
        .await;
    ensure!(
        matches!(outcome, Err(Error::Server(ref error)) if error.code == 1105),
        "{outcome:?}"
    );
    let found: Option<String> = connection
        .query_first("SELECT mobile FROM person WHERE id = 2")
        .await?;
    ensure!(found.as_deref() == Some("c"), "{found:?}");
    Ok(())
}

#[tokio::test]
async fn a_sidecar_without_a_key_refuses_by_name() -> Result<()> {
    let (shards, mut connection) = started(1, &[]).await?;
    connection
        .query_drop("INSERT INTO person (id, mobile, note) VALUES (1, 'a', 'b')")
        .await?;
    let mut other = manifest(1);
    other["metadata"]["annotations"]["e2e/withheld"] = "card".into();
    let folder = tempfile::tempdir()?;
    let ports: Vec<u16> = shards.servers.iter().map(MysqlServer::port).collect();
    let second = Sidecar::start(folder.path(), &other, &ports).await?;
    let mut lacking = connect(second.port()).await?;
    let found: Option<(u64, String)> = lacking
        .query_first("SELECT id, mobile FROM person WHERE mobile = 'A'")
        .await?;
    ensure!(found == Some((1, "a".to_owned())), "{found:?}");
    for sql in [
        "SELECT note FROM person WHERE id = 1",
        "SELECT * FROM person",
        "UPDATE person SET note = 'x' WHERE id = 1",
        "INSERT INTO person (id, card_mac) VALUES (2, 'x')",
    ] {
        let (code, text) = error_of(&mut lacking, sql).await?;
        ensure!(
            code == 1235 && text.contains("key card"),
            "{code} {text}: {sql}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_new_version_of_a_key_is_used_and_the_old_one_still_opens() -> Result<()> {
    let (shards, mut connection) = started(1, &[]).await?;
    connection
        .query_drop("INSERT INTO person (id, mobile, note) VALUES (1, 'old', 'n')")
        .await?;
    let mut rotated = manifest(1);
    rotated["metadata"]["annotations"]["e2e/versions"] = "2".into();
    rotated["metadata"]["generation"] = 2.into();
    let ports: Vec<u16> = shards.servers.iter().map(MysqlServer::port).collect();
    configure(shards.folder.path(), &rotated, &ports)?;
    let version = async |id: u64| -> Result<Option<u8>> {
        let mut found = None;
        for server in &shards.servers {
            let mut own = direct(server).await?;
            let stored: Option<Vec<u8>> = own
                .query_first(format!("SELECT mobile FROM shop.person WHERE id = {id}"))
                .await?;
            found = found.or(stored.and_then(|stored| stored.get(4).copied()));
        }
        Ok(found)
    };
    let mut id = 1;
    until("the new version is used", async || {
        id += 1;
        connection
            .query_drop(format!(
                "INSERT INTO person (id, mobile) VALUES ({id}, 'new')"
            ))
            .await?;
        ensure!(version(id).await? == Some(2));
        Ok(())
    })
    .await?;
    let found: Vec<String> = connection
        .query("SELECT mobile FROM person WHERE mobile = 'old'")
        .await?;
    ensure!(found == ["old"], "{found:?}");
    // Written again under the new version, it is found by the same tag.
    connection
        .query_drop("UPDATE person SET mobile = 'old' WHERE mobile = 'old'")
        .await?;
    ensure!(version(1).await? == Some(2));
    let found: Vec<u64> = connection
        .query("SELECT id FROM person WHERE mobile = 'old'")
        .await?;
    ensure!(found == [1], "{found:?}");
    Ok(())
}

#[tokio::test]
async fn digests_are_found_by_what_they_are_of() -> Result<()> {
    let (_shards, mut connection) = started(4, &[]).await?;
    connection
        .exec_drop(
            "INSERT INTO person (id, card_md5, card_mac) VALUES (?, ?, ?)",
            (1, "abc", "abc"),
        )
        .await?;
    let md5 = "900150983cd24fb0d6963f7d28e17f72";
    for (sql, params) in [
        (
            "SELECT card_md5 FROM person WHERE card_md5 = 'abc'",
            Params::Empty,
        ),
        (
            "SELECT card_md5 FROM person WHERE card_md5 = ?",
            ("abc",).into(),
        ),
        (
            "SELECT card_md5 FROM person WHERE card_mac IN (?, ?)",
            ("abc", "x").into(),
        ),
        ("SELECT card_md5 FROM person WHERE id = ?", (1,).into()),
    ] {
        let found: Vec<String> = connection.exec(sql, params).await?;
        ensure!(found == [md5], "{found:?}: {sql}");
    }
    let found: Vec<u64> = connection
        .query(format!("SELECT id FROM person WHERE card_md5 = '{md5}'"))
        .await?;
    ensure!(
        found.is_empty(),
        "{found:?}: the digest of the digest is sought"
    );
    Ok(())
}

#[tokio::test]
async fn a_duplicate_shows_the_clients_own_value_and_no_tag() -> Result<()> {
    let shards = LocalShards::start(&MysqlRoot::get()?, &manifest(1), &[]).await?;
    let mut connection = connect(shards.sidecar.port()).await?;
    connection
        .query_drop(
            "CREATE TABLE person (id BIGINT NOT NULL, mobile VARCHAR(20) NULL, note TEXT NULL, \
             card_md5 CHAR(32) NULL, card_mac CHAR(64) NULL, n INT, UNIQUE KEY uk (id, mobile))",
        )
        .await?;
    connection
        .query_drop("INSERT INTO person (id, mobile, n) VALUES (1, 'abc', 1), (1, 'other', 2)")
        .await?;
    for insert in [
        "INSERT INTO person (id, mobile) VALUES (1, 'ABC')",
        "INSERT INTO person (id, mobile) VALUES (7, 'x'), (1, 'ABC')",
    ] {
        let (code, text) = error_of(&mut connection, insert).await?;
        ensure!(
            code == 1062 && text == "Duplicate entry '1-ABC' for key 'person.uk'",
            "{code} {text}"
        );
        let warnings: Vec<(String, u16, String)> = connection.query("SHOW WARNINGS").await?;
        ensure!(
            warnings.iter().all(|(_, _, text)| !text.contains("\\x")),
            "{warnings:?}"
        );
    }
    connection
        .query_drop("INSERT IGNORE INTO person (id, mobile) VALUES (1, 'abc')")
        .await?;
    let warnings: Vec<(String, u16, String)> = connection.query("SHOW WARNINGS").await?;
    ensure!(
        warnings.len() == 1 && warnings[0].2.contains("'1-abc'"),
        "{warnings:?}"
    );
    // Over several shards the warnings are gathered here.
    let rows = |value: &str| {
        let rows = (1..=8).map(|id| format!("({id}, '{value}')"));
        rows.collect::<Vec<_>>().join(", ")
    };
    for value in ["abc", "ABC"] {
        let insert = format!(
            "INSERT IGNORE INTO person (id, mobile) VALUES {}",
            rows(value)
        );
        connection.query_drop(insert).await?;
    }
    let warnings: Vec<(String, u16, String)> = connection.query("SHOW WARNINGS").await?;
    ensure!(
        warnings.len() == 8 && warnings.iter().all(|(_, _, text)| text.contains("-ABC'")),
        "{warnings:?}"
    );
    connection
        .query_drop("DELETE FROM person WHERE id > 1 AND mobile = 'abc'")
        .await?;
    connection
        .query_drop("DELETE FROM person WHERE mobile = 'x'")
        .await?;
    connection
        .query_drop("INSERT INTO person (id, mobile) VALUES (1, 'x') ON DUPLICATE KEY UPDATE mobile = VALUES(mobile)")
        .await?;
    let found: Vec<u64> = connection
        .query("SELECT id FROM person WHERE mobile = 'X'")
        .await?;
    ensure!(found == [1], "{found:?}");
    Ok(())
}
