//! Locks of tables' definitions, which MySQL has sessions hold without a word.

use super::*;

#[tokio::test]
async fn what_failed_without_autocommit_locks_no_definition_behind_rollback() -> Result<()> {
    let (shards, mut connection) = started().await?;
    connection.query_drop("SET autocommit = 0").await?;
    let (code, text) = error_of(&mut connection, "DESCRIBE comes_later").await?;
    ensure!(code == 1146, "{code} {text}");
    connection.query_drop("ROLLBACK").await?;
    let mut other = connect(shards.sidecar.port()).await?;
    let create = other.query_drop("CREATE TABLE comes_later (n INT)");
    tokio::time::timeout(Duration::from_secs(10), create)
        .await
        .context("the definition is locked")??;
    Ok(())
}
