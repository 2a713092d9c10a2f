//! Reading answers.

use anyhow::{Result, ensure};
use bytes::Buf as _;
use remora_protocol::{
    ColumnDef, ColumnType, ErrPacket, Event, OkPacket, Reply, ReplyScanner, StatusFlags,
    binary_fields, decode_end, payload, text_fields,
};
use tokio::io::AsyncReadExt as _;

use super::{Answer, Client, Outcome, Prepared, Rows, ServerError};

/// How many bytes are read at once while rows are only counted.
const CHUNK: usize = 128 << 10;

/// How a column's binary values are read.
#[derive(Clone, Copy)]
struct Kind {
    kind: ColumnType,
    unsigned: bool,
}

impl Client {
    /// Reads until more bytes are there.
    async fn fill(&mut self) -> Result<()> {
        let read = self.stream.read_buf(&mut self.buffer).await?;
        ensure!(read > 0, "the server closed the connection");
        Ok(())
    }

    /// The next event of an answer, with its packet's payload.
    async fn event(&mut self, scanner: &mut ReplyScanner) -> Result<(Event, Vec<u8>)> {
        loop {
            let found = scanner.scan(&self.buffer)?;
            self.buffer.advance(found.skip);
            if matches!(found.event, Event::NeedMore) {
                self.fill().await?;
                continue;
            }
            let body = payload(&self.buffer[..found.len]).into_owned();
            self.buffer.advance(found.len);
            return Ok((found.event, body));
        }
    }

    /// Reads the answers to a command.
    pub(super) async fn answers(&mut self, reply: Reply, binary: bool) -> Result<Outcome> {
        let mut scanner = ReplyScanner::new(reply, self.capabilities, self.codec.sequence())
            .surface_columns(true)
            .surface_rows(true);
        let mut outcome = Outcome::default();
        let mut rows = Rows::default();
        let mut kinds = Vec::new();
        while !scanner.is_done() {
            let (event, body) = self.event(&mut scanner).await?;
            match event {
                Event::Column => {
                    let column = ColumnDef::decode(&body)?;
                    let name = String::from_utf8_lossy(column.name).into_owned();
                    rows.columns.push(name);
                    kinds.push(Kind {
                        kind: column.kind,
                        unsigned: column
                            .flags
                            .contains(mysql_common::constants::ColumnFlags::UNSIGNED_FLAG),
                    });
                }
                Event::Row if binary => rows.rows.push(binary_row(&body, &kinds)?),
                Event::Row => rows.rows.push(text_row(&body)?),
                Event::Ok { .. } => {
                    let ok = OkPacket::decode(&body, self.capabilities)?;
                    outcome.answers.push(Answer::of(&ok));
                }
                Event::End { .. } => {
                    let ok = decode_end(&body, self.capabilities)?;
                    kinds.clear();
                    outcome.answers.push(Answer {
                        rows: Some(std::mem::take(&mut rows)),
                        ..Answer::of(&ok)
                    });
                }
                Event::Err => outcome.error = Some(ErrPacket::decode(&body)?.into()),
                _ => {}
            }
        }
        let more = outcome.answers.last().is_some_and(|last| {
            last.status
                .contains(StatusFlags::SERVER_MORE_RESULTS_EXISTS)
        });
        ensure!(
            !more || outcome.error.is_some(),
            "more results were announced than came"
        );
        ensure!(self.buffer.is_empty(), "bytes behind the answer");
        Ok(outcome)
    }

    /// Reads the answer to PREPARE.
    pub(super) async fn prepared(&mut self) -> Result<Result<Prepared, ServerError>> {
        let sequence = self.codec.sequence();
        let mut scanner = ReplyScanner::new(Reply::Prepare, self.capabilities, sequence);
        let mut prepared = Err(ServerError {
            code: 0,
            message: "no answer to PREPARE".to_owned(),
        });
        while !scanner.is_done() {
            let (event, body) = self.event(&mut scanner).await?;
            match event {
                Event::PrepareOk(ok) => {
                    prepared = Ok(Prepared {
                        id: ok.statement,
                        params: ok.params,
                    });
                }
                Event::Err => prepared = Err(ErrPacket::decode(&body)?.into()),
                _ => {}
            }
        }
        ensure!(self.buffer.is_empty(), "bytes behind the answer");
        Ok(prepared)
    }

    /// Reads an answer to its end and only counts its bytes. `pause` is called with the count so
    /// far after each piece.
    ///
    /// # Errors
    /// If the connection is lost, or the server answers with an error.
    pub async fn count_bytes(&mut self, mut pause: impl AsyncFnMut(u64)) -> Result<u64> {
        let sequence = self.codec.sequence();
        let mut scanner = ReplyScanner::new(Reply::Command, self.capabilities, sequence);
        let mut count = 0;
        self.buffer.reserve(CHUNK);
        loop {
            let found = scanner.scan(&self.buffer)?;
            self.buffer.advance(found.skip);
            if matches!(found.event, Event::Err) {
                let error = ErrPacket::decode(&payload(&self.buffer[..found.len]))?.into_owned();
                anyhow::bail!("{error}");
            }
            self.buffer.advance(found.len);
            count += (found.skip + found.len) as u64;
            if scanner.is_done() {
                return Ok(count);
            }
            if matches!(found.event, Event::NeedMore) {
                pause(count).await;
                self.buffer.reserve(CHUNK);
                self.fill().await?;
            }
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn text_row(body: &[u8]) -> Result<Vec<Option<String>>> {
    let fields = text_fields(body).map(|field| Ok(field?.value.map(text)));
    fields.collect()
}

/// Integers in decimal digits; times as their bytes, which is enough to compare them.
fn binary_row(body: &[u8], kinds: &[Kind]) -> Result<Vec<Option<String>>> {
    let types: Vec<_> = kinds.iter().map(|kind| kind.kind).collect();
    let fields = binary_fields(body, &types)?.zip(kinds);
    fields
        .map(|(field, kind)| Ok(field?.value.map(|value| binary_value(value, *kind))))
        .collect()
}

fn binary_value(value: &[u8], kind: Kind) -> String {
    use ColumnType as T;
    let integer = matches!(
        kind.kind,
        T::MYSQL_TYPE_TINY
            | T::MYSQL_TYPE_SHORT
            | T::MYSQL_TYPE_YEAR
            | T::MYSQL_TYPE_LONG
            | T::MYSQL_TYPE_INT24
            | T::MYSQL_TYPE_LONGLONG
    );
    if !integer {
        return text(value);
    }
    let number = value
        .iter()
        .rev()
        .fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    if kind.unsigned {
        return number.to_string();
    }
    let unused = 64 - 8 * value.len() as u32;
    ((number << unused).cast_signed() >> unused).to_string()
}
