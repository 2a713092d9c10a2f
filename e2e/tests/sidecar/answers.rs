//! What clients are told: errors, refusals, and how much of an answer waits for them.

use super::*;

#[tokio::test]
async fn errors_of_prepared_statements_name_no_physical_schema() -> Result<()> {
    let (shards, mut connection) = started().await?;
    let statements = [
        "SELECT * FROM ticket WHERE v > ? ORDER BY id",
        "UPDATE ticket SET v = ?",
    ];
    let mut prepared = Vec::new();
    for sql in statements {
        prepared.push(connection.prep(sql).await?);
    }
    for server in &shards.servers {
        direct(server)
            .await?
            .query_drop("DROP TABLE shop__0002.ticket")
            .await?;
    }
    for statement in &prepared {
        match connection.exec_drop(statement, (1,)).await {
            Err(Error::Server(error)) => {
                ensure!(error.code == 1146, "{error}");
                ensure!(error.message.contains("'shop.ticket'"), "{error}");
            }
            other => bail!("{other:?}"),
        }
    }
    Ok(())
}

#[tokio::test]
async fn an_error_leaves_the_answers_before_it() -> Result<()> {
    let (_shards, mut connection) = started().await?;
    let mut results = connection
        .query_iter("BEGIN; SELECT * FROM ticket FOR UPDATE")
        .await
        .context("BEGIN is answered by itself")?;
    let second: Result<Vec<Row>, Error> = async {
        results.collect::<Row>().await?;
        results.collect::<Row>().await
    }
    .await;
    drop(results);
    ensure!(
        matches!(&second, Err(Error::Server(error)) if error.code == 1235),
        "{second:?}"
    );
    Ok(())
}

#[tokio::test]
async fn what_cannot_be_served_is_refused_once_and_the_session_goes_on() -> Result<()> {
    let (_shards, mut connection) = started().await?;
    connection
        .query_drop(
            "ALTER TABLE ticket ADD COLUMN a VARCHAR(9) COLLATE utf8mb4_0900_ai_ci, \
             ADD COLUMN b VARCHAR(9) COLLATE utf8mb4_general_ci",
        )
        .await?;
    for sql in [
        "SELECT id FROM ticket ORDER BY CONCAT(a, b)",
        "SELECT CONCAT(a, b) FROM ticket",
    ] {
        let (code, text) = error_of(&mut connection, sql).await?;
        ensure!(code == 1235, "{sql}: {code} {text}");
        let one: Option<u64> = connection.query_first("SELECT 1").await?;
        ensure!(one == Some(1), "{sql}: then {one:?}");
    }
    let charset: Option<String> = connection
        .query_first("SELECT @@character_set_client")
        .await?;
    ensure!(charset.as_deref() == Some("utf8mb4"), "{charset:?}");
    Ok(())
}

#[tokio::test]
async fn answers_that_nobody_reads_do_not_pile_up() -> Result<()> {
    let (shards, mut connection) = started().await?;
    // As many warnings as MySQL keeps.
    let values = vec!["1 / 0"; 1000].join(", ");
    connection.query_drop(format!("SELECT {values}")).await?;
    let before = shards.sidecar.process().resident_memory()?;
    let unread = connection.query_iter("SHOW WARNINGS;".repeat(5000)).await?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let grown = shards
        .sidecar
        .process()
        .resident_memory()?
        .saturating_sub(before);
    drop(unread);
    ensure!(
        grown < 32 << 20,
        "{grown} bytes for answers that nobody reads"
    );
    Ok(())
}

#[tokio::test]
async fn an_error_ends_a_text_of_several_statements() -> Result<()> {
    let (_shards, mut connection) = started().await?;
    connection
        .query_drop("INSERT INTO ticket VALUES (1, 0)")
        .await?;
    let text = "INSERT INTO ticket VALUES (1, 1); INSERT INTO ticket VALUES (2, 2)";
    let (code, _) = error_of(&mut connection, text).await?;
    ensure!(code == 1062, "{code}");
    let found: Vec<u64> = connection.query("SELECT id FROM ticket").await?;
    ensure!(found == [1], "{found:?}");
    Ok(())
}

#[tokio::test]
async fn a_text_in_a_character_set_that_may_hide_a_quote_has_to_be_ascii() -> Result<()> {
    let (_shards, mut connection) = started().await?;
    connection.query_drop("SET @charset = 'gbk'").await?;
    for sql in [
        "SET NAMES 'sjis'",
        "SET character_set_client = gbk",
        "SET character_set_client = 28",
        "SET character_set_client = @charset",
        "SET @x = 1, character_set_client = CONCAT('big', '5')",
    ] {
        connection.query_drop(sql).await?;
        let one: Option<u64> = connection.query_first("SELECT 1 AS `a`").await?;
        ensure!(one == Some(1), "{sql}: then {one:?}");
        for text in ["SELECT 'é'", "SELECT 1; SELECT 'é'", "SELECT 1 -- é"] {
            let (code, text) = error_of(&mut connection, text).await?;
            ensure!(code == 1235, "{sql}: {code} {text}");
        }
        let prepared = connection.prep("SELECT 'é'").await;
        ensure!(
            matches!(&prepared, Err(Error::Server(error)) if error.code == 1235),
            "{prepared:?}"
        );
        connection.query_drop("SET NAMES utf8mb4").await?;
        let text: Option<String> = connection.query_first("SELECT 'é'").await?;
        ensure!(text.as_deref() == Some("é"), "{text:?}");
    }
    Ok(())
}

#[tokio::test]
async fn no_client_is_shown_the_way_past_the_sidecar() -> Result<()> {
    let (shards, mut connection) = started().await?;
    for sql in ["SELECT @@socket", "SELECT 1, @@GLOBAL.socket AS s, 2"] {
        let rows = connection.query_iter(sql).await?;
        let name = rows.columns().context("no columns")?;
        let name = name.iter().find(|c| c.name_str().contains('s'));
        ensure!(name.is_some(), "{sql}: {name:?}");
        drop(rows);
        let row: Row = connection.query_first(sql).await?.context("no row")?;
        let socket: String = row.get(row.len() / 2).context("no value")?;
        ensure!(socket.is_empty(), "{sql}: {socket}");
    }
    // A driver that prefers a socket stays here.
    let options = login(shards.sidecar.port(), &MysqlServer::APPLICATION).prefer_socket(true);
    let mut connection = Conn::new(options).await?;
    let shards: Vec<Row> = connection.query("SHOW REMORA SHARDS").await?;
    ensure!(shards.len() == 2, "{} shards", shards.len());
    Ok(())
}
