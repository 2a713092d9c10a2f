//! From a table to MySQL's packets, by opensrv-mysql used as a pure function.
//!
//! It never sees a socket: it is given a login and a command in memory, and what it answers to
//! the command is taken from what it wrote.

use std::io;

use async_trait::async_trait;
use opensrv_mysql::{
    AsyncMysqlIntermediary, AsyncMysqlShim, Column, ColumnFlags, ColumnType, ErrorKind, InitWriter,
    OkResponse, ParamParser, QueryResultWriter, StatementMetaWriter,
};
use tokio::io::AsyncWrite;

use super::Table;
use super::memory::{Collect, OnePacketPerRead};

/// Why a table could not be encoded. No table of the console causes it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EncodeError {
    /// The encoder gave up.
    #[error("encoding an answer: {0}")]
    Encoder(#[from] io::Error),
    /// It wrote less than an answer.
    #[error("encoding an answer: it is incomplete")]
    Incomplete,
}

/// Protocol 4.1 with the scramble's length in one byte; the least that the encoder logs in.
const LEAST_CAPABILITIES: u32 = 0x200 | 0x8000;
/// Packets before the command's answer: the greeting, and the login's OK.
const LOGIN_ANSWERS: usize = 2;

/// The payloads of the packets of a text result set: the number of columns, a definition for
/// each, and the rows. What ends columns and rows is left to the caller, who knows the
/// session's status.
pub(crate) async fn encode(table: Table) -> Result<Vec<Vec<u8>>, EncodeError> {
    let (columns, rows) = (table.columns.len(), table.rows.len());
    let mut script = login();
    script.extend(packet(0, b"\x03SHOW"));
    let mut written = Vec::new();
    let shim = Answer(table);
    AsyncMysqlIntermediary::run_on(shim, OnePacketPerRead::new(&script), Collect(&mut written))
        .await?;
    let mut packets = packets(&written).skip(LOGIN_ANSWERS);
    let mut answer: Vec<Vec<u8>> = packets.by_ref().take(1 + columns).collect();
    // The end of the columns, since no newer protocol was asked for.
    packets.next();
    answer.extend(packets.by_ref().take(rows));
    let end = packets.next();
    if answer.len() == 1 + columns + rows && end.is_some() {
        Ok(answer)
    } else {
        Err(EncodeError::Incomplete)
    }
}

fn login() -> Vec<u8> {
    let mut response = LEAST_CAPABILITIES.to_le_bytes().to_vec();
    response.extend(u32::MAX.to_le_bytes());
    response.push(45);
    response.extend([0; 23]);
    // A user and a scramble of one byte: an empty one would be asked for again.
    response.extend(b"console\0\x01x");
    packet(1, &response)
}

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = (payload.len() as u32).to_le_bytes();
    packet[3] = sequence;
    [&packet, payload].concat()
}

fn packets(mut bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    std::iter::from_fn(move || {
        let [a, b, c, _, rest @ ..] = bytes else {
            return None;
        };
        let length = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
        let (payload, rest) = rest.split_at_checked(length)?;
        bytes = rest;
        Some(payload.to_vec())
    })
}

/// Answers every query with one table.
struct Answer(Table);

#[async_trait]
impl<W: AsyncWrite + Send + Unpin> AsyncMysqlShim<W> for Answer {
    type Error = io::Error;

    async fn on_query<'a>(
        &'a mut self,
        _: &'a str,
        results: QueryResultWriter<'a, W>,
    ) -> io::Result<()> {
        let column = |name: &&str| Column {
            table: String::new(),
            column: (*name).to_owned(),
            coltype: ColumnType::MYSQL_TYPE_VAR_STRING,
            colflags: ColumnFlags::NOT_NULL_FLAG,
        };
        let columns: Vec<Column> = self.0.columns.iter().map(column).collect();
        let mut rows = results.start(&columns).await?;
        for row in &self.0.rows {
            rows.write_row(row).await?;
        }
        rows.finish().await
    }

    async fn on_prepare<'a>(
        &'a mut self,
        _: &'a str,
        info: StatementMetaWriter<'a, W>,
    ) -> io::Result<()> {
        info.error(ErrorKind::ER_UNSUPPORTED_PS, b"text only").await
    }

    async fn on_execute<'a>(
        &'a mut self,
        _: u32,
        _: ParamParser<'a>,
        results: QueryResultWriter<'a, W>,
    ) -> io::Result<()> {
        results.completed(OkResponse::default()).await
    }

    async fn on_close(&mut self, _: u32) {}

    async fn on_init<'a>(&'a mut self, _: &'a str, writer: InitWriter<'a, W>) -> io::Result<()> {
        writer.ok().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_table_becomes_count_columns_and_rows() {
        let rows = vec![vec!["0".to_owned(), "db:3306".to_owned()]];
        let table = Table {
            columns: &["shard", "primary"],
            rows,
        };
        let packets = encode(table).await.unwrap();
        assert_eq!(packets.len(), 4);
        assert_eq!(packets[0], b"\x02");
        assert!(memchr::memmem::find(&packets[2], b"primary").is_some());
        assert_eq!(packets[3], b"\x010\x07db:3306");
    }

    #[tokio::test]
    async fn a_table_without_rows_is_a_result_set_too() {
        let packets = encode(Table {
            columns: &["shard"],
            rows: Vec::new(),
        })
        .await
        .unwrap();
        assert_eq!(packets.len(), 2);
    }

    #[tokio::test]
    async fn values_longer_than_the_encoders_buffers_survive() {
        let long = "x".repeat(70_000);
        let table = Table {
            columns: &["sql"],
            rows: vec![vec![long.clone()]],
        };
        let packets = encode(table).await.unwrap();
        assert!(packets[2].ends_with(long.as_bytes()));
    }
}
