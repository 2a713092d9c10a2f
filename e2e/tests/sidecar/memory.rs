//! What clients cost while they do nothing.

use remora_e2e::client::{Client, Login};

use super::*;

/// How long the sidecar has to give back what it does not need.
const REST: Duration = Duration::from_secs(2);

async fn resident(shards: &LocalShards) -> Result<u64> {
    tokio::time::sleep(REST).await;
    shards.sidecar.process().resident_memory()
}

#[tokio::test]
async fn a_client_that_rests_costs_ten_kilobytes_at_most() -> Result<()> {
    let (shards, _connection) = started().await?;
    let login = Login::new(shards.sidecar.port(), MysqlServer::APPLICATION);
    let come = async |clients: usize| -> Result<Vec<Client>> {
        let mut all = Vec::with_capacity(clients);
        for _ in 0..clients {
            let mut client = login.connect().await?;
            // It needs no connection to a server.
            client.query("SHOW REMORA SHARDS").await?.rows()?;
            all.push(client);
        }
        Ok(all)
    };
    let first = come(50).await?;
    let before = resident(&shards).await?;
    let clients = come(500).await?;
    let each = resident(&shards).await?.saturating_sub(before) / clients.len() as u64;
    ensure!(each <= 10 << 10, "{each} bytes for each client");
    drop(first);
    Ok(())
}

#[tokio::test]
async fn large_commands_and_answers_leave_no_memory_behind() -> Result<()> {
    let (shards, _connection) = started().await?;
    let login = Login::new(shards.sidecar.port(), MysqlServer::APPLICATION);
    let text = format!(
        "SELECT LENGTH('{}'), REPEAT('y', 4000000)",
        "x".repeat(4_000_000)
    );
    let mut clients = Vec::new();
    let mut before = 0;
    for number in 0..40 {
        let mut client = login.connect().await?;
        let rows = client.query(&text).await?.rows()?;
        ensure!(rows[0][0].as_deref() == Some("4000000"), "{:?}", rows[0][0]);
        clients.push(client);
        // What the first of them make is used by the others.
        if number == 7 {
            before = resident(&shards).await?;
        }
    }
    let grown = resident(&shards).await?.saturating_sub(before);
    ensure!(grown < 16 << 20, "{grown} bytes for clients that rest");
    Ok(())
}
