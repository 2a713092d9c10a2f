//! Answering with a table of the console.

use remora_protocol::{EofPacket, ErrPacket, OkPacket};

use super::Session;
use crate::console::{Table, encode};
use crate::failure::Failure;

impl Session {
    /// Adds a table to the client's output, as the answer to a statement.
    pub(crate) async fn put_console(
        &mut self,
        table: Table,
        more_results: bool,
    ) -> Result<(), Failure> {
        let columns = table.columns.len();
        let packets = encode(table).await.map_err(|error| {
            tracing::error!(%error, "The console has no answer");
            ErrPacket::new(1105, *b"HY000", "The console has no answer")
        })?;
        let status = self.status(more_results);
        for (index, packet) in packets.iter().enumerate() {
            if index == 0 {
                self.client.put_head(columns as u64);
            } else if index > columns || !self.client.has_bare_results() {
                self.client.put(packet);
            }
            if index == columns {
                self.client.put_columns_end(&EofPacket {
                    warnings: 0,
                    status,
                });
            }
        }
        self.client.put_end(&OkPacket {
            status,
            ..OkPacket::default()
        });
        self.state.succeeded();
        Ok(())
    }
}
