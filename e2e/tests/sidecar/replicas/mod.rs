//! Reads on replicas: by weight, never too old, what the session wrote included, and unharmed by
//! replicas that die or freeze.

mod failing;
mod reading;

use std::collections::BTreeMap;

use remora_e2e::replication::ReplicatedShards;

use super::*;

/// One shard or two, without physical tables.
fn replicated(shards: u16, reads: &Value) -> Value {
    json!({
        "apiVersion": "remora.dev/v1alpha1",
        "kind": "ShardingCluster",
        "metadata": {"name": "shop"},
        "spec": {
            "shards": shards,
            "database": "shop",
            "tables": [{
                "name": "ticket",
                "sharding": {"key": ["id"], "algorithm": {"hash": {}}},
            }],
            "reads": reads,
        },
    })
}

struct Bed {
    cluster: ReplicatedShards,
    connection: Conn,
}

impl Bed {
    /// Shards with a table of 40 rows and so many replicas of these weights.
    async fn start(shards: u16, reads: &Value, replicas: usize, weights: &[u32]) -> Result<Self> {
        let root = MysqlRoot::get()?;
        let manifest = replicated(shards, reads);
        let cluster = ReplicatedShards::start(&root, &manifest, replicas, weights).await?;
        let mut connection = connect(cluster.sidecar.port()).await?;
        connection
            .query_drop("CREATE TABLE ticket (id BIGINT NOT NULL PRIMARY KEY, v INT NULL)")
            .await?;
        let rows: Vec<String> = (1..=40).map(|id| format!("({id}, 0)")).collect();
        connection
            .query_drop(format!("INSERT INTO ticket VALUES {}", rows.join(", ")))
            .await?;
        let bed = Self {
            cluster,
            connection,
        };
        bed.settled().await?;
        Ok(bed)
    }

    fn port(&self) -> u16 {
        self.cluster.sidecar.port()
    }

    /// Waits until replicas have all, and the sidecar knows it.
    async fn settled(&self) -> Result<()> {
        for shard in &self.cluster.shards {
            shard.caught_up().await?;
        }
        until("all servers are up", async || {
            for row in instances(self.port()).await? {
                ensure!(row["health"] == "up", "{row:?}");
            }
            Ok(())
        })
        .await?;
        // The next look of the sidecar's sees what they have now.
        tokio::time::sleep(Duration::from_millis(1500)).await;
        Ok(())
    }

    /// Stops the applier of a replica.
    async fn stop_applier(&self, shard: usize, replica: usize) -> Result<()> {
        let server = &self.cluster.shards[shard].replicas[replica];
        direct(server)
            .await?
            .query_drop("STOP REPLICA SQL_THREAD")
            .await?;
        Ok(())
    }

    /// What the sidecar said of its servers, for an error's text.
    fn said(&self) -> String {
        let log = std::fs::read_to_string(self.cluster.folder.path().join("sidecar.log"));
        let log = log.unwrap_or_default();
        let changes = log.lines().filter(|line| line.contains("changed"));
        changes.collect::<Vec<_>>().join("\n")
    }

    /// How many reads each instance answered.
    async fn reads(&self) -> Result<BTreeMap<u16, u64>> {
        let rows = instances(self.port()).await?;
        let read = |row: &BTreeMap<String, String>| -> Result<(u16, u64)> {
            let (_, port) = row["instance"].rsplit_once(':').context("no port")?;
            Ok((port.parse()?, row["reads"].parse()?))
        };
        rows.iter().map(read).collect()
    }
}

/// SHOW REMORA INSTANCES, each row by column.
async fn instances(port: u16) -> Result<Vec<BTreeMap<String, String>>> {
    let mut connection = connect(port).await?;
    let rows: Vec<Row> = connection.query("SHOW REMORA INSTANCES").await?;
    connection.disconnect().await?;
    let row = |row: Row| {
        let names: Vec<String> = row
            .columns_ref()
            .iter()
            .map(|column| column.name_str().into_owned())
            .collect();
        let values = row
            .unwrap()
            .into_iter()
            .map(|value| mysql_async::from_value_opt::<String>(value).unwrap_or_default());
        names.into_iter().zip(values).collect()
    };
    Ok(rows.into_iter().map(row).collect())
}

/// A function that tells which server runs it. It is declared to only read.
async fn with_where_am_i(bed: &mut Bed) -> Result<()> {
    for shard in &bed.cluster.shards {
        direct(&shard.primary)
            .await?
            .query_drop(
                "CREATE FUNCTION shop.where_am_i() RETURNS INT NOT DETERMINISTIC READS SQL DATA \
                 RETURN @@GLOBAL.port",
            )
            .await?;
    }
    bed.settled().await
}

/// Which server answers the rows of `id`.
async fn answers(connection: &mut Conn, id: u64) -> Result<u16> {
    let sql = format!("SELECT where_am_i() FROM ticket WHERE id = {id}");
    connection.query_first(sql).await?.context("no row")
}

fn declared(more: &str) -> Result<Value> {
    let mut reads: Value = serde_json::from_str(more)?;
    reads["readOnlyFunctions"] = json!(["where_am_i"]);
    Ok(reads)
}
